//! The declaration of the extension by servers and clients.

use serde::{Deserialize, Deserializer};
use turnbuckle_server::{Extension, HandlerContext};

use crate::page::MIME_TYPE;

/// The id of the MCP Apps extension.
pub const EXTENSION_ID: &str = "io.modelcontextprotocol/ui";

/// Returns the declaration of MCP Apps by a server, without settings, to be passed to
/// [`ServerBuilder::extension`](turnbuckle_server::ServerBuilder::extension).
///
/// Specification: extensions/overview, "Negotiation".
#[must_use]
pub fn extension() -> Extension {
    Extension::new(EXTENSION_ID)
}

/// Returns whether the client of this request declared that it can show the pages of MCP Apps.
///
/// Call it in a handler that returns more text to a client without pages. A tool should return some
/// text to every client, since the model reads the text and not the page.
///
/// Specification: MCP Apps, "Client\<\>Server Capability Negotiation" (2026-01-26).
#[must_use]
pub fn is_supported(context: &HandlerContext) -> bool {
    context.extension(EXTENSION_ID).is_some_and(supports_pages)
}

/// The settings with which a client declares the extension.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientSettings {
    mime_types: Vec<String>,
}

/// Returns whether the settings of a client name the media type of pages.
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
