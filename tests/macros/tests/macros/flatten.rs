//! Groups of arguments beside single ones.

use serde_json::{Value, json};
use turnbuckle::{Server, data, resource, resources, server, testing, tool, tools};

use crate::arguments::call_text;

/// A page of a list.
#[data]
struct Page {
    /// The number of items to skip
    #[schema(default = 0)]
    offset: u32,
    /// The number of items to return
    #[schema(min = 1, max = 100)]
    limit: u32,
}

/// Search the books.
#[tool]
fn search(
    /** what to look for */
    query: String,
    #[flatten] page: Page,
) -> String {
    format!("{query} {} {}", page.offset, page.limit)
}

#[resource("books://{shelf}{?offset,limit}")]
fn books(#[flatten] page: Page, shelf: String) -> String {
    format!("{shelf} {} {}", page.offset, page.limit)
}

struct Shop;

#[server]
impl Shop {
    #[tool]
    fn orders(&self, #[flatten] page: Page) -> String {
        format!("{} {}", page.offset, page.limit)
    }
}

fn server() -> turnbuckle::ServerBuilder {
    let server = Server::new("books", "1.0.0").tools(tools![search]);
    server.resources(resources![books]).group(Shop)
}

#[tokio::test]
async fn the_fields_of_a_flattened_parameter_are_arguments() {
    let text = call_text(server(), "search", json!({"query": "sea", "limit": 5})).await;
    assert_eq!(text, "sea 0 5");
    let text = call_text(server(), "orders", json!({"offset": 1, "limit": 2})).await;
    assert_eq!(text, "1 2");
    let client = testing::connect(server()).await.unwrap();
    let tools = client.list_tools().fetch_all().await.unwrap();
    let search = tools.iter().find(|tool| tool.name == "search").unwrap();
    let schema: Value = serde_json::from_str(search.input_schema.as_str()).unwrap();
    assert_eq!(schema["required"], json!(["query", "limit"]));
    assert_eq!(schema["properties"]["limit"]["maximum"], 100);
    assert_eq!(
        schema["properties"]["offset"]["description"],
        "The number of items to skip"
    );
    let read = client
        .read_resource("books://new?offset=3&limit=4")
        .await
        .unwrap();
    let read = serde_json::to_value(&read).unwrap();
    assert_eq!(read["contents"][0]["text"], "new 3 4");
}

#[tokio::test]
async fn errors_about_flattened_arguments_name_the_argument() {
    for (arguments, expected) in [
        (json!({"query": "sea", "limit": 500}), "limit"),
        (json!({"query": "sea", "limit": "many"}), "limit"),
        (json!({"query": "sea"}), "limit"),
        (json!({"query": "sea", "limt": 5}), "did you mean"),
        (json!({"qery": "sea", "limit": 5}), "did you mean"),
    ] {
        let text = call_text(server(), "search", arguments.clone()).await;
        assert!(text.contains(expected), "{arguments}: {text}");
    }
}
