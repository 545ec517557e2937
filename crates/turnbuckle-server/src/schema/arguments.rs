//! Why arguments are not what a handler takes, in words that a model can act on.

use std::fmt;

use turnbuckle_schema::{Violation, Violations, shorten, shorten_to};
use turnbuckle_types::undecoded;

use super::place::place_at;

/// The longest message that a type's own decoding contributes, in characters.
const LONGEST_MESSAGE: usize = 300;

/// Why arguments are not what a tool takes. Its text is meant for the model that sent them.
///
/// Specification: server/tools, Error Handling (2026-07-28).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArgumentError(Violations);

impl<V: Into<Violations>> From<V> for ArgumentError {
    fn from(violations: V) -> Self {
        Self(violations.into())
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("arguments").fmt(f)
    }
}

impl std::error::Error for ArgumentError {}

/// Arguments are an object, always.
pub(super) fn not_an_object(text: &str) -> ArgumentError {
    let message = format!("expected an object, got {}", shorten(text));
    Violation::at([""; 0], message).into()
}

/// What a decoding error tells of, where the schema had nothing to say: a type that takes less than
/// its schema does.
#[cold]
pub(super) fn explain(text: &str, error: &serde_json::Error) -> ArgumentError {
    if !text.starts_with('{') {
        return not_an_object(text);
    }
    violation(place_at(text, error.line(), error.column()), error).into()
}

/// The violation that a decoding error tells of. serde has no structure in its errors, but its
/// sentences are fixed; a sentence of the type's own passes as it is.
fn violation(mut place: Vec<String>, error: &serde_json::Error) -> Violation {
    let text = undecoded(error);
    let text = match text.rfind(" at line ") {
        Some(end) => &text[..end],
        None => &text,
    };
    if let Some(name) = quoted(text, "missing field `") {
        place.push(name.to_owned());
        return Violation::at(place, "is missing, but required");
    }
    if text == "invalid type: map, expected unit" {
        return Violation::at(place, "takes no members");
    }
    let found = ["invalid type: ", "invalid value: ", "unknown variant "]
        .iter()
        .find_map(|start| text.strip_prefix(start)?.rsplit_once(", expected "));
    let message = match found {
        Some((got, expected)) => {
            format!(
                "expected {}, got {}",
                shorten_to(expected, LONGEST_MESSAGE),
                shorten(got)
            )
        }
        None => shorten_to(text, LONGEST_MESSAGE),
    };
    Violation::at(place, message)
}

/// The name in back quotes after `start`, if the text is just that.
fn quoted<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    text.strip_prefix(start)?.strip_suffix('`')
}
