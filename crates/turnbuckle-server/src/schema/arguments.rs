//! Decoding of arguments, with errors that a model can act on.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_path_to_error::{Path, Segment};
use turnbuckle_schema::{Violation, Violations, shorten, shorten_to};

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

/// Decodes the arguments of a call; absent ones count as `{}`.
///
/// The text is decoded once, straight into `T`. Only when that fails is it read again, to find the
/// place. `()` takes an empty object.
///
/// # Errors
/// If the arguments are not a `T`.
pub(crate) fn decode_arguments<T: DeserializeOwned>(
    arguments: Option<&RawValue>,
) -> Result<T, ArgumentError> {
    let text = arguments.map_or("{}", RawValue::get);
    serde_json::from_str(text).or_else(|_| decode_again(text))
}

#[cold]
fn decode_again<T: DeserializeOwned>(text: &str) -> Result<T, ArgumentError> {
    if !text.starts_with('{') {
        let got = shorten(text);
        let message = format!("expected an object, got {got}");
        return Err(Violation::at([""; 0], message).into());
    }
    let is_empty = text[1..].trim_start().starts_with('}');
    // A unit is written `null`; nothing else that takes arguments decodes from it.
    if is_empty && let Ok(unit) = serde_json::from_str("null") {
        return Ok(unit);
    }
    let deserializer = &mut serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let place = segments(error.path());
        explain(place, &error.into_inner()).into()
    })
}

/// The violation that a decoding error tells of. serde has no structure in its errors, but its
/// sentences are fixed; a sentence of the type's own passes as it is.
fn explain(mut place: Vec<String>, error: &serde_json::Error) -> Violation {
    let text = error.to_string();
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

/// The names and indexes of a place in the JSON.
fn segments(path: &Path) -> Vec<String> {
    path.iter()
        .filter_map(|segment| match segment {
            Segment::Seq { index } => Some(index.to_string()),
            Segment::Map { key } => Some(key.clone()),
            // The variant of an enum is no place in the JSON where it is told by a tag.
            Segment::Enum { .. } | Segment::Unknown => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Forecast {
        city: String,
        days: Option<u8>,
        units: Option<Units>,
        #[serde(default)]
        stops: Vec<Stop>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Units {
        Metric,
        Imperial,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Stop {
        name: String,
    }

    fn decode<T: DeserializeOwned>(json: &str) -> Result<T, String> {
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        decode_arguments(Some(raw)).map_err(|error| error.to_string())
    }

    #[test]
    fn good_arguments_decode() {
        let forecast: Forecast = decode(r#"{"city":"Bern","units":"metric"}"#).unwrap();
        assert_eq!(forecast.city, "Bern");
        assert_eq!(forecast.units, Some(Units::Metric));
    }

    #[test]
    fn errors_say_where_what_was_expected_and_what_came() {
        for (json, expected) in [
            ("{}", "arguments.city: is missing, but required"),
            (
                r#"{"city":"Bern","units":"kelvin"}"#,
                "arguments.units: expected `metric` or `imperial`, got `kelvin`",
            ),
            (
                r#"{"city":5}"#,
                "arguments.city: expected a string, got integer `5`",
            ),
            (
                r#"{"city":null}"#,
                "arguments.city: expected a string, got null",
            ),
            (
                r#"{"city":"Bern","days":300}"#,
                "arguments.days: expected u8, got integer `300`",
            ),
            (
                r#"{"city":"Bern","stops":[{"name":"a"},{}]}"#,
                "arguments.stops[1].name: is missing, but required",
            ),
            (
                r#"{"city":"Bern","stops":[{"nom":"a"}]}"#,
                "arguments.stops[0].nom: unknown field `nom`, expected `name`",
            ),
            (
                r#"{"city":"a","city":"b"}"#,
                "arguments: duplicate field `city`",
            ),
            ("[1]", "arguments: expected an object, got [1]"),
            ("null", "arguments: expected an object, got null"),
        ] {
            assert_eq!(decode::<Forecast>(json), Err(expected.to_owned()), "{json}");
        }
    }

    #[test]
    fn what_came_is_repeated_shortened_and_without_control_characters() {
        let json = format!(
            r#"{{"city":"a","units":"\u001b[31m{}"}}"#,
            "x".repeat(100_000)
        );
        let message = decode::<Forecast>(&json).unwrap_err();
        assert!(message.len() < 500, "{}", message.len());
        assert!(
            !message.contains('\u{1b}') && message.contains("\\u{1b}[31mxxx"),
            "{message}"
        );
        let key = format!(
            r#"{{"city":"a","stops":[{{"{}":1}}]}}"#,
            "k\\n".repeat(100_000)
        );
        let message = decode::<Forecast>(&key).unwrap_err();
        assert!(
            message.len() < 1000 && !message.contains('\n'),
            "{}",
            message.len()
        );
    }

    #[test]
    fn absent_arguments_are_empty_ones() {
        assert_eq!(decode_arguments::<Value>(None), Ok(serde_json::json!({})));
        let error = decode_arguments::<Forecast>(None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "arguments.city: is missing, but required"
        );
    }

    #[test]
    fn no_arguments_take_an_empty_object_only() {
        assert_eq!(decode_arguments::<()>(None), Ok(()));
        assert_eq!(decode::<()>("{}"), Ok(()));
        assert_eq!(decode::<()>("{ \n}"), Ok(()));
        assert_eq!(
            decode::<()>(r#"{"a":1}"#),
            Err("arguments: takes no members".to_owned())
        );
        assert!(decode::<()>("[]").is_err());
    }

    #[test]
    fn a_null_is_no_object_even_where_the_type_would_take_it() {
        assert_eq!(decode::<Option<Stop>>("{}"), Ok(None));
        assert!(decode::<Stop>("{}").is_err());
    }

    #[test]
    fn deep_arguments_are_refused() {
        let json = format!(r#"{{"a":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        assert!(
            decode::<Value>(&json)
                .unwrap_err()
                .contains("recursion limit")
        );
    }
}
