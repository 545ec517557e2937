//! Resources: text, bytes, one to watch, and a family of them under a template.

use serde_json::json;
use turnbuckle::Typing;
use turnbuckle::prelude::*;

use super::content::PIXEL;

/// The resource that changes when it is touched.
pub(super) const WATCHED: &str = "test://watched-resource";

/// For how long clients may keep what never changes: an hour, in milliseconds.
const LONG: u64 = 3_600_000;

pub(super) struct Resources;

#[server]
impl Resources {
    /// A static text resource for testing
    #[resource(
        "test://static-text",
        name = "Static Text Resource",
        mime = "text/plain",
        cache(ttl = LONG, public)
    )]
    fn static_text() -> &'static str {
        "This is the content of the static text resource."
    }

    /// A static binary resource (image) for testing
    #[resource(
        "test://static-binary",
        name = "Static Binary Resource",
        mime = "image/png",
        cache(ttl = LONG, public)
    )]
    fn static_binary() -> Vec<u8> {
        PIXEL.to_vec()
    }

    /// The resource that a prompt can embed
    #[resource(
        "test://example-resource",
        name = "Example Resource",
        mime = "text/plain"
    )]
    fn example() -> &'static str {
        "Embedded resource content for testing."
    }

    /// A resource that can be subscribed to
    #[resource(
        "test://watched-resource",
        name = "Watched Resource",
        mime = "text/plain"
    )]
    fn watched() -> &'static str {
        "Watched resource content"
    }

    /// A resource template with parameter substitution
    #[resource(
        "test://template/{id}/data",
        name = "Resource Template",
        mime = "application/json"
    )]
    fn data(#[schema(complete = ids)] id: String) -> String {
        let data = format!("Data for ID: {id}");
        json!({ "id": id, "templateTest": true, "data": data }).to_string()
    }
}

/// Numbers that begin with what is typed. Only the first hundred are sent; the rest is counted.
fn ids(typing: Typing) -> Vec<String> {
    let all = (1..=999).map(|id: u16| id.to_string());
    all.filter(|id| id.starts_with(&typing.value)).collect()
}
