//! Types of other crates as arguments and results.

use serde_json::json;
use turnbuckle::{Server, data, tool, tools};
use url::Url;
use uuid::Uuid;

use crate::arguments::call_text;

#[data]
struct Link {
    id: Uuid,
    target: Url,
}

#[tool]
fn host(link: Link, fallback: Option<Url>) -> String {
    let _ = fallback;
    format!("{} {}", link.id, link.target.host_str().unwrap_or_default())
}

#[tokio::test]
async fn types_of_other_crates_are_arguments_with_the_feature_of_their_name() {
    let server = Server::new("links", "1.0.0").tools(tools![host]);
    let link = json!({
        "id": "67e55044-10b1-426f-9247-bb680e5fe0c8",
        "target": "https://example.com/a",
    });
    let text = call_text(server, "host", json!({"link": link})).await;
    assert_eq!(text, "67e55044-10b1-426f-9247-bb680e5fe0c8 example.com");
}
