//! The resources of the server.

use serde_json::{Value, json};
use turnbuckle_wire::revision::Features;

use super::call::Call;
use super::refusal::{Answer, Refusal};

/// An image of one pixel, in the format of PNG.
pub(super) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const RESOURCES: [(&str, &str, &str); 4] = [
    ("static-text", "test://static-text", "text/plain"),
    ("static-binary", "test://static-binary", "image/png"),
    ("watched-resource", "test://watched-resource", "text/plain"),
    ("example-resource", "test://example-resource", "text/plain"),
];

/// Returns the resources that are listed.
pub(super) fn list(features: &Features) -> Vec<Value> {
    let definition = |(name, uri, media): (&str, &str, &str)| {
        let mut definition = json!({"name": name, "uri": uri, "mimeType": media,
            "description": format!("The resource {name}")});
        if features.titles {
            definition["title"] = name.into();
        }
        definition
    };
    RESOURCES.map(definition).into()
}

/// Returns the templates that are listed.
pub(super) fn templates(features: &Features) -> Vec<Value> {
    let mut template = json!({"name": "template", "uriTemplate": "test://template/{id}/data",
        "mimeType": "application/json", "description": "Data of an id"});
    if features.titles {
        template["title"] = "Template".into();
    }
    vec![template]
}

/// Reads a resource.
pub(super) fn read(call: &Call) -> Answer {
    let uri = uri_of(call)?;
    let content = match uri {
        "test://static-binary" => json!({"uri": uri, "mimeType": "image/png", "blob": PIXEL}),
        _ => match template_id(uri) {
            Some(id) => json!({"uri": uri, "mimeType": "application/json",
                "text": json!({"id": id}).to_string()}),
            None if is_listed(uri) => json!({"uri": uri, "mimeType": "text/plain",
                "text": format!("The content of {uri}")}),
            None => return Err(unknown(call, uri)),
        },
    };
    Ok(json!({"contents": [content]}))
}

/// Begins or ends a subscription of the session.
pub(super) fn subscribe(call: &Call) -> Answer {
    let uri = uri_of(call)?;
    if !is_listed(uri) && template_id(uri).is_none() {
        return Err(unknown(call, uri));
    }
    match call.method.as_str() {
        "resources/subscribe" => call.session.subscribe(uri),
        _ => call.session.unsubscribe(uri),
    }
    Ok(json!({}))
}

fn uri_of(call: &Call) -> Result<&str, Refusal> {
    let uri = call.params["uri"].as_str();
    uri.ok_or_else(|| Refusal::new(-32602, "there is no uri"))
}

fn is_listed(uri: &str) -> bool {
    RESOURCES.iter().any(|(_, listed, _)| *listed == uri)
}

fn template_id(uri: &str) -> Option<&str> {
    let id = uri
        .strip_prefix("test://template/")?
        .strip_suffix("/data")?;
    (!id.is_empty() && !id.contains('/')).then_some(id)
}

fn unknown(call: &Call, uri: &str) -> Refusal {
    let code = match call.features().resource_not_found_code {
        true => -32002,
        false => -32602,
    };
    Refusal::new(code, "no such resource").with(json!({"uri": uri}))
}
