//! Decoding errors of arguments, described with texts that a model can act on.

use turnbuckle_schema::Violation;
use turnbuckle_types::base::text::{shorten, shorten_to};
use turnbuckle_types::describe_decode_error;

use super::json_path::json_path_at;
use crate::error::ArgumentError;

/// The longest message of a type's own decoding that is passed on, in characters.
const MAX_MESSAGE_CHARS: usize = 300;

/// Returns the error for arguments that are not an object.
pub(super) fn not_an_object(text: &str) -> ArgumentError {
    let message = format!("expected an object, got {}", shorten(text));
    Violation::at_path([""; 0], message).into()
}

/// Returns the error for a decoding error that the schema did not predict: the type accepts less
/// than its schema. `format_at` returns the `format` that the schema has at a path.
#[cold]
pub(super) fn explain_mismatch(
    text: &str,
    error: &serde_json::Error,
    format_at: impl FnOnce(&[String]) -> Option<String>,
) -> ArgumentError {
    if !text.starts_with('{') {
        return not_an_object(text);
    }
    violation(
        json_path_at(text, error.line(), error.column()),
        error,
        format_at,
    )
    .into()
}

/// Describes a decoding error without repeating any value: the path, and the expected value.
#[cold]
pub(crate) fn describe_mismatch(text: &str, error: &serde_json::Error) -> String {
    let message = error_message(error);
    if !error.is_data() {
        return shorten(&message);
    }
    let mut path = json_path_at(text, error.line(), error.column());
    let problem = if let Some(name) = quoted_name(&message, "missing field `") {
        path.push(name.to_owned());
        "is missing, but required".to_owned()
    } else if let Some((_, expected)) = found_and_expected(&message) {
        format!("expected {}", shorten_to(expected, MAX_MESSAGE_CHARS))
    } else {
        // The type's own text may repeat the value.
        "is not what was asked for".to_owned()
    };
    if path.is_empty() {
        problem
    } else {
        format!("`{}`: {problem}", shorten(&path.join("/")))
    }
}

/// Returns the violation of a decoding error. serde's errors have no structure, but fixed texts;
/// texts of the type's own are passed on.
fn violation(
    mut path: Vec<String>,
    error: &serde_json::Error,
    format_at: impl FnOnce(&[String]) -> Option<String>,
) -> Violation {
    let text = error_message(error);
    if let Some(name) = quoted_name(&text, "missing field `") {
        path.push(name.to_owned());
        return Violation::at_path(path, "is missing, but required");
    }
    if text == "invalid type: map, expected unit" {
        return Violation::at_path(path, "takes no members");
    }
    let message = match found_and_expected(&text) {
        Some((got, expected)) => {
            format!(
                "expected {}, got {}",
                shorten_to(expected, MAX_MESSAGE_CHARS),
                shorten(got)
            )
        }
        None => {
            let own = shorten_to(&text, MAX_MESSAGE_CHARS);
            match format_at(&path) {
                Some(format) => format!("{own}; expected {}", describe_format(&format)),
                None => own,
            }
        }
    };
    Violation::at_path(path, message)
}

/// Describes a `format` by an example.
fn describe_format(format: &str) -> String {
    let (what, example) = match format {
        "date-time" => ("a date and time", "1999-12-31T09:30:00Z"),
        "partial-date-time" => ("a date and time without a time zone", "1999-12-31T09:30:00"),
        "zoned-date-time" => (
            "a date and time with a time zone",
            "1999-12-31T09:30:00+01:00[Europe/Berlin]",
        ),
        "date" => ("a date", "1999-12-31"),
        "time" => ("a time", "09:30:00Z"),
        "partial-time" => ("a time", "09:30:00"),
        "duration" => ("a duration", "PT1H30M"),
        "uuid" => ("a UUID", "67e55044-10b1-426f-9247-bb680e5fe0c8"),
        "uri" => ("an absolute URI", "https://example.com/a"),
        other => return format!("the format {}", shorten(other)),
    };
    format!("{what} such as \"{example}\"")
}

/// Returns the text of a decoding error without its line and column.
fn error_message(error: &serde_json::Error) -> String {
    let mut text = describe_decode_error(error);
    if let Some(end) = text.rfind(" at line ") {
        text.truncate(end);
    }
    text
}

/// Splits the text of an error into the value that was found and the one that was expected.
fn found_and_expected(text: &str) -> Option<(&str, &str)> {
    ["invalid type: ", "invalid value: ", "unknown variant "]
        .iter()
        .find_map(|start| text.strip_prefix(start)?.rsplit_once(", expected "))
}

/// Returns the name in back quotes after `start`, if the text has nothing else.
fn quoted_name<'a>(text: &'a str, start: &str) -> Option<&'a str> {
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
    fn a_mismatch_is_described_by_its_path_and_never_by_its_value() {
        for (text, message) in [
            (r#"{"age":"secret"}"#, "`age`: expected u8"),
            (r#"{"age":"secret, expected u8"}"#, "`age`: expected u8"),
            (r#"{"age":4711}"#, "`age`: expected u8"),
            (r#"{"size":"secret"}"#, "`size`: expected `small`"),
            (r#"{"own":"secret"}"#, "`own`: is not what was asked for"),
            (r#""secret""#, "expected struct Form"),
        ] {
            let error = serde_json::from_str::<Form>(text).unwrap_err();
            assert_eq!(describe_mismatch(text, &error), message, "{text}");
        }
        let error = serde_json::from_str::<Form>("{").unwrap_err();
        assert_eq!(
            describe_mismatch("{", &error),
            "EOF while parsing an object"
        );
    }
}
