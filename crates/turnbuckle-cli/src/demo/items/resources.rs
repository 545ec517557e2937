//! Resources: text, binary data, one to subscribe to, and a template.

use serde_json::json;
use turnbuckle::CompletionRequest;
use turnbuckle::prelude::*;

use super::content::PIXEL;

/// The URI of the resource that `touch_watched_resource` touches.
pub(super) const WATCHED_URI: &str = "test://watched-resource";

/// The time for which clients may cache static resources: an hour, in milliseconds.
const STATIC_TTL_MS: u64 = 3_600_000;

pub(super) struct Resources;

#[server]
impl Resources {
    /// A static text resource for testing
    #[resource(
        "test://static-text",
        name = "Static Text Resource",
        title = "Static text",
        mime = "text/plain",
        cache(ttl = STATIC_TTL_MS, public)
    )]
    fn static_text() -> &'static str {
        "This is the content of the static text resource."
    }

    /// A static binary resource (image) for testing
    #[resource(
        "test://static-binary",
        name = "Static Binary Resource",
        title = "Static image",
        mime = "image/png",
        cache(ttl = STATIC_TTL_MS, public)
    )]
    fn static_binary() -> Vec<u8> {
        PIXEL.to_vec()
    }

    /// The resource that a prompt can embed
    #[resource(
        "test://example-resource",
        name = "Example Resource",
        title = "Example",
        mime = "text/plain"
    )]
    fn example() -> &'static str {
        "Embedded resource content for testing."
    }

    /// A resource that can be subscribed to
    #[resource(
        "test://watched-resource",
        name = "Watched Resource",
        title = "Watched",
        mime = "text/plain"
    )]
    fn watched() -> &'static str {
        "Watched resource content"
    }

    /// A resource template with parameter substitution
    #[resource(
        "test://template/{id}/data",
        name = "Resource Template",
        title = "Template",
        mime = "application/json"
    )]
    fn data(#[schema(complete = complete_id)] id: String) -> String {
        let data = format!("Data for ID: {id}");
        json!({ "id": id, "templateTest": true, "data": data }).to_string()
    }
}

/// Returns the numbers that begin with the typed text. The library sends the first hundred and the
/// total.
fn complete_id(typing: CompletionRequest) -> Vec<String> {
    let all = (1..=999).map(|id: u16| id.to_string());
    all.filter(|id| id.starts_with(&typing.value)).collect()
}
