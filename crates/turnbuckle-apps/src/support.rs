//! The declaration of the extension by servers and clients.

use serde::{Deserialize, Deserializer};
use turnbuckle_server::{Extension, HandlerContext};

use crate::page::MIME_TYPE;

/// The id of the extension.
pub const EXTENSION_ID: &str = "io.modelcontextprotocol/ui";

/// Returns the extension for
/// [`ServerBuilder::extension`](turnbuckle_server::ServerBuilder::extension). A server declares it
/// without settings.
///
/// Specification: extensions/overview, "Negotiation".
#[must_use]
pub fn extension() -> Extension {
    Extension::new(EXTENSION_ID)
}

/// Returns whether the client declared for this request that it shows pages.
///
/// A tool may return other text to other clients, but should always return some: the model reads it
/// in any case.
///
/// Specification: MCP Apps, "Client\<\>Server Capability Negotiation" (2026-01-26).
#[must_use]
pub fn is_supported(context: &HandlerContext) -> bool {
    context.extension(EXTENSION_ID).is_some_and(supports_pages)
}

/// The settings that a client declares.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientSettings {
    mime_types: Vec<String>,
}

fn supports_pages<'de>(settings: impl Deserializer<'de>) -> bool {
    ClientSettings::deserialize(settings)
        .is_ok_and(|settings| settings.mime_types.iter().any(|known| known == MIME_TYPE))
}

#[cfg(test)]
mod tests {
    use turnbuckle_types::Json;

    use super::*;

    fn shows(settings: &str) -> bool {
        supports_pages(settings.parse::<Json>().unwrap().as_raw())
    }

    #[test]
    fn a_client_supports_pages_if_it_names_their_media_type() {
        for yes in [
            r#"{"mimeTypes": ["text/html;profile=mcp-app"]}"#,
            r#"{"features": ["x"], "mimeTypes": ["text/uri-list", "text/html;profile=mcp-app"]}"#,
        ] {
            assert!(shows(yes), "{yes}");
        }
        for no in [
            "{}",
            "null",
            r#"{"mimeTypes": []}"#,
            r#"{"mimeTypes": ["text/html"]}"#,
            r#"{"mimeTypes": "text/html;profile=mcp-app"}"#,
        ] {
            assert!(!shows(no), "{no}");
        }
    }
}
