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

/// Why a text does not decode, in words that repeat nothing of it but names of members: where, and
/// what was expected there.
#[cold]
pub(crate) fn misfit(text: &str, error: &serde_json::Error) -> String {
    let told = sentence(error);
    if !error.is_data() {
        return shorten(&told);
    }
    let mut place = place_at(text, error.line(), error.column());
    let problem = if let Some(name) = quoted(&told, "missing field `") {
        place.push(name.to_owned());
        "is missing, but required".to_owned()
    } else if let Some((_, expected)) = found_and_expected(&told) {
        format!("expected {}", shorten_to(expected, LONGEST_MESSAGE))
    } else {
        // The sentence is of the type's own, and may say anything.
        "is not what was asked for".to_owned()
    };
    match place.is_empty() {
        true => problem,
        false => format!("`{}`: {problem}", shorten(&place.join("/"))),
    }
}

/// The violation that a decoding error tells of. serde has no structure in its errors, but its
/// sentences are fixed; a sentence of the type's own passes as it is.
fn violation(mut place: Vec<String>, error: &serde_json::Error) -> Violation {
    let text = sentence(error);
    if let Some(name) = quoted(&text, "missing field `") {
        place.push(name.to_owned());
        return Violation::at(place, "is missing, but required");
    }
    if text == "invalid type: map, expected unit" {
        return Violation::at(place, "takes no members");
    }
    let message = match found_and_expected(&text) {
        Some((got, expected)) => {
            format!(
                "expected {}, got {}",
                shorten_to(expected, LONGEST_MESSAGE),
                shorten(got)
            )
        }
        None => shorten_to(&text, LONGEST_MESSAGE),
    };
    Violation::at(place, message)
}

/// What a decoding error says, without its line and column.
fn sentence(error: &serde_json::Error) -> String {
    let mut text = undecoded(error);
    if let Some(end) = text.rfind(" at line ") {
        text.truncate(end);
    }
    text
}

/// The two halves of a sentence that says what was found and what was expected.
fn found_and_expected(text: &str) -> Option<(&str, &str)> {
    ["invalid type: ", "invalid value: ", "unknown variant "]
        .iter()
        .find_map(|start| text.strip_prefix(start)?.rsplit_once(", expected "))
}

/// The name in back quotes after `start`, if the text is just that.
fn quoted<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    text.strip_prefix(start)?.strip_suffix('`')
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Size {
        Small,
    }

    #[derive(Debug, Deserialize)]
    struct Form {
        #[expect(dead_code, reason = "only whether it decodes is of interest")]
        age: Option<u8>,
        #[expect(dead_code, reason = "only whether it decodes is of interest")]
        size: Option<Size>,
        #[expect(dead_code, reason = "only whether it decodes is of interest")]
        #[serde(default, deserialize_with = "own")]
        own: (),
    }

    fn own<'de, D: serde::Deserializer<'de>>(from: D) -> Result<(), D::Error> {
        let text = String::deserialize(from)?;
        Err(serde::de::Error::custom(format!("what is {text:?}?")))
    }

    #[test]
    fn a_misfit_is_told_by_its_place_and_never_by_its_value() {
        for (text, told) in [
            (r#"{"age":"secret"}"#, "`age`: expected u8"),
            (r#"{"age":"secret, expected u8"}"#, "`age`: expected u8"),
            (r#"{"age":4711}"#, "`age`: expected u8"),
            (r#"{"size":"secret"}"#, "`size`: expected `small`"),
            (r#"{"own":"secret"}"#, "`own`: is not what was asked for"),
            (r#""secret""#, "expected struct Form"),
        ] {
            let error = serde_json::from_str::<Form>(text).unwrap_err();
            assert_eq!(misfit(text, &error), told, "{text}");
        }
        let error = serde_json::from_str::<Form>("{").unwrap_err();
        assert_eq!(misfit("{", &error), "EOF while parsing an object");
    }
}
