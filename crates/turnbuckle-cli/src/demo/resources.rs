//! Resources: text, bytes, one to watch, and a family of them under a template.

use serde::Serialize;
use turnbuckle::types::{BlobResourceContents, CacheScope, Error, ResourceContents};
use turnbuckle::{
    Context, Reading, Resource, ResourceTemplate, Result, resource, resource_template,
};

use super::completion;
use super::media::PIXEL_PNG;

/// The resource that changes when it is touched.
pub(super) const WATCHED: &str = "test://watched-resource";

/// For how long clients may keep what never changes: an hour, in milliseconds.
const LONG: u64 = 3_600_000;

pub(super) fn resources() -> Vec<Resource> {
    vec![
        resource("test://static-text", "Static Text Resource", static_text)
            .description("A static text resource for testing")
            .mime_type("text/plain")
            .cache(LONG, CacheScope::Public),
        resource(
            "test://static-binary",
            "Static Binary Resource",
            static_binary,
        )
        .description("A static binary resource (image) for testing")
        .mime_type("image/png")
        .cache(LONG, CacheScope::Public),
        resource("test://example-resource", "Example Resource", example)
            .description("The resource that a prompt can embed")
            .mime_type("text/plain"),
        resource(WATCHED, "Watched Resource", watched)
            .description("A resource that can be subscribed to")
            .mime_type("text/plain"),
    ]
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        resource_template("test://template/{id}/data", "Resource Template", data)
            .description("A resource template with parameter substitution")
            .mime_type("application/json")
            .complete("id", completion::ids),
    ]
}

async fn static_text(_: Reading, _: Context) -> &'static str {
    "This is the content of the static text resource."
}

async fn static_binary(reading: Reading, _: Context) -> Vec<ResourceContents> {
    vec![
        BlobResourceContents::new(reading.uri, PIXEL_PNG)
            .mime_type("image/png")
            .into(),
    ]
}

async fn example(_: Reading, _: Context) -> &'static str {
    "Embedded resource content for testing."
}

async fn watched(_: Reading, _: Context) -> &'static str {
    "Watched resource content"
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    id: &'a str,
    template_test: bool,
    data: String,
}

/// What the template's variables stand for in the URI is in `reading`.
async fn data(reading: Reading, _: Context) -> Result<String> {
    let Some(id) = reading.variables.text("id") else {
        return Err(Error::resource_not_found(reading.uri).into());
    };
    let data = format!("Data for ID: {id}");
    Ok(serde_json::to_string(&Data {
        id,
        template_test: true,
        data,
    })?)
}
