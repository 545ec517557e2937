//! What is declared of the extension, by a server and by its clients.

use serde::{Deserialize, Deserializer};
use turnbuckle_server::{Context, Extension};

use crate::page::MIME_TYPE;

/// The extension's id.
pub const ID: &str = "io.modelcontextprotocol/ui";

/// The extension, for [`ServerBuilder::extension`](turnbuckle_server::ServerBuilder::extension): a
/// server declares it without settings.
///
/// Specification: extensions/overview, "Negotiation".
#[must_use]
pub fn extension() -> Extension {
    Extension::new(ID)
}

/// Whether the client declared, for this very request, that it shows pages.
///
/// A tool may have something else to say where it does not. It is never a reason to say nothing:
/// the model reads words in any case.
///
/// Specification: MCP Apps, "Client\<\>Server Capability Negotiation" (2026-01-26).
#[must_use]
pub fn is_supported(context: &Context) -> bool {
    context.extension(ID).is_some_and(shows_pages)
}

/// What a client declares.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Settings {
    mime_types: Vec<String>,
}

fn shows_pages<'de>(settings: impl Deserializer<'de>) -> bool {
    Settings::deserialize(settings)
        .is_ok_and(|settings| settings.mime_types.iter().any(|known| known == MIME_TYPE))
}

#[cfg(test)]
mod tests {
    use turnbuckle_types::Json;

    use super::*;

    fn shows(settings: &str) -> bool {
        shows_pages(settings.parse::<Json>().unwrap().as_raw())
    }

    #[test]
    fn a_client_shows_pages_if_it_names_their_media_type() {
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
