//! Names from the wire stand in one place each: a method beside its type, a header at the edge.

use super::source::{Source, rooms};
use super::{Breach, Wall};
use crate::tree::Tree;

pub(super) const METHODS: Wall = Wall {
    name: "method names",
    advice: "sessions and transports carry methods without knowing them; \
             use the type's `METHOD`, or move what it means to turnbuckle-server",
    check: |tree| literals(tree, knows_no_method, is_method),
};

pub(super) const HEADERS: Wall = Wall {
    name: "header names",
    advice: "HTTP's words live in turnbuckle-http, and those that mirror the body \
             in turnbuckle-wire/src/era/headers",
    check: |tree| literals(tree, knows_no_header, is_header),
};

/// The first parts of the protocol's method names.
const AREAS: &[&str] = &[
    "completion",
    "elicitation",
    "logging",
    "notifications",
    "prompts",
    "resources",
    "roots",
    "sampling",
    "server",
    "subscriptions",
    "tasks",
    "tools",
];

const HEADER_NAMES: &[&str] = &[
    "authorization",
    "cache-control",
    "content-type",
    "last-event-id",
    "www-authenticate",
    "x-accel-buffering",
];

fn literals(tree: &Tree, room: fn(&str) -> bool, named: fn(&str) -> bool) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for source in rooms(tree).filter(|source| room(source.path)) {
        let Source { path, code, .. } = &source;
        let found = source
            .literals()
            .into_iter()
            .filter(|(_, text)| named(text));
        breaches.extend(found.map(|(offset, text)| Breach::at(path, code, offset, text)));
    }
    breaches
}

fn knows_no_method(path: &str) -> bool {
    [
        "crates/turnbuckle-session/",
        "crates/turnbuckle-http/",
        "crates/turnbuckle-stdio/",
    ]
    .iter()
    .any(|room| path.starts_with(room))
}

fn is_method(text: &str) -> bool {
    let area = text.split_once('/').map(|(area, _)| area);
    matches!(text, "initialize" | "ping") || area.is_some_and(|area| AREAS.contains(&area))
}

fn knows_no_header(path: &str) -> bool {
    // The tool is a user: it sends the headers that it is told to, and hides their values.
    ![
        "crates/turnbuckle-http/",
        "crates/turnbuckle-wire/src/era/headers",
        "crates/turnbuckle-cli/",
    ]
    .iter()
    .any(|room| path.starts_with(room))
}

fn is_header(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.starts_with("mcp-") || HEADER_NAMES.contains(&text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(wall: &Wall, path: &str, text: &str) -> usize {
        (wall.check)(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn a_method_name_in_a_session_or_a_transport_is_found() {
        let http = "crates/turnbuckle-http/src/endpoint.rs";
        assert_eq!(found(&METHODS, http, "if method == \"tools/call\" {}"), 1);
        assert_eq!(found(&METHODS, http, "const PING: &[u8] = b\"ping\";"), 1);
        assert_eq!(
            found(&METHODS, http, "f(\"application/json\"); // \"tools/call\""),
            0
        );
        let kernel = "crates/turnbuckle-session/src/kernel/mod.rs";
        assert_eq!(found(&METHODS, kernel, "f(r\"notifications/progress\")"), 1);
        assert_eq!(
            found(
                &METHODS,
                "crates/turnbuckle-types/src/tool.rs",
                "\"tools/call\""
            ),
            0
        );
    }

    #[test]
    fn a_header_name_away_from_the_edge_is_found() {
        let text = "get(\"Mcp-Session-Id\"); get(\"content-type\"); get(\"accept\")";
        assert_eq!(
            found(&HEADERS, "crates/turnbuckle-session/src/driver.rs", text),
            2
        );
        assert_eq!(
            found(&HEADERS, "crates/turnbuckle-wire/src/era/headers.rs", text),
            0
        );
        assert_eq!(
            found(&HEADERS, "crates/turnbuckle-http/src/endpoint.rs", text),
            0
        );
    }
}
