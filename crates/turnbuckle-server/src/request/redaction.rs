//! Redaction of texts, for results and for the messages that a handler sends while it runs.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use turnbuckle_types::Json;

use crate::schema::end_of_string;

/// A function that returns the replacement of a text, if it is to be replaced.
pub(crate) type Redact = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The redactions of the layers around a handler.
#[derive(Clone)]
pub(crate) struct Redactions {
    /// The function of the innermost layer.
    redact: Arc<Redact>,
    outer: Option<Arc<Redactions>>,
}

impl Redactions {
    /// Creates the redactions of a layer within others.
    pub(crate) fn new(redact: Arc<Redact>, outer: Option<Arc<Self>>) -> Self {
        Self { redact, outer }
    }

    /// Redacts a text by each layer, from the innermost on.
    pub(crate) fn redact_text(&self, text: &mut String) {
        let mut layer = Some(self);
        while let Some(Self { redact, outer }) = layer {
            if let Some(redacted) = redact(text) {
                *text = redacted;
            }
            layer = outer.as_deref();
        }
    }

    /// Redacts the strings in a JSON value by each layer, from the innermost on.
    pub(crate) fn redact_json(&self, json: &mut Json) {
        let mut layer = Some(self);
        while let Some(Self { redact, outer }) = layer {
            redact_json(json, &**redact);
            layer = outer.as_deref();
        }
    }
}

/// Redacts the strings in a JSON value, but for the keys of objects, and returns whether any has changed.
/// Everything else stays as it was written.
pub(crate) fn redact_json(json: &mut Json, redact: &Redact) -> bool {
    let text = json.as_str();
    let mut redacted = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(start) = text[at..].find('"').map(|quote| at + quote) {
        let end = end_of_string(text.as_bytes(), start) + 1;
        at = end;
        let is_key = text[end..].trim_start().starts_with(':');
        if !is_key
            && let Ok(AnyText(value)) = serde_json::from_str(&text[start..end])
            && let Some(replacement) = redact(&value)
            && let Ok(replacement) = serde_json::to_string(&replacement)
        {
            redacted.push_str(&text[copied..start]);
            redacted.push_str(&replacement);
            copied = end;
        }
    }
    if copied == 0 {
        return false;
    }
    redacted.push_str(&text[copied..]);
    if let Ok(redacted) = redacted.parse() {
        *json = redacted;
    }
    true
}

/// A JSON string as text, with U+FFFD in place of halves of surrogate pairs. JSON can have these, and
/// raw JSON of a handler or another server is sent with them.
struct AnyText(String);

impl<'de> Deserialize<'de> for AnyText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = AnyText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<AnyText, E> {
                Ok(AnyText(String::from_utf8_lossy(bytes).into_owned()))
            }
        }

        deserializer.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stars(text: &str) -> Option<String> {
        text.contains("sk-").then(|| text.replace("sk-", "\""))
    }

    #[test]
    fn strings_in_json_are_redacted_and_all_else_stays_as_written() {
        let text = r#"{ "sk-key" : ["sk-1", 1.50, "a\"sk-2\" é"], "b":{"c":"\u0073k-3"} }"#;
        let mut json: Json = text.parse().unwrap();
        assert!(redact_json(&mut json, &stars));
        assert_eq!(
            json.as_str(),
            r#"{ "sk-key" : ["\"1", 1.50, "a\"\"2\" é"], "b":{"c":"\"3"} }"#
        );
        assert!(!redact_json(&mut json, &stars));
    }

    #[test]
    fn half_a_surrogate_pair_hides_no_secret() {
        for text in [r#"["sk-1 \ud800"]"#, r#"{"a": "\udfff\u0073k-1"}"#] {
            let mut json: Json = text.parse().unwrap();
            assert!(redact_json(&mut json, &stars), "{text}");
            assert!(!json.as_str().contains("k-"), "{json}");
        }
    }

    #[test]
    fn the_innermost_layer_redacts_first() {
        let layer = |from: &'static str, to: &'static str, outer| {
            let redact = move |text: &str| Some(text.replace(from, to));
            Redactions::new(Arc::new(redact), outer)
        };
        let outer = Arc::new(layer("b", "c", None));
        let both = layer("a", "b", Some(outer));
        let mut text = "a".to_owned();
        both.redact_text(&mut text);
        assert_eq!(text, "c");
        let mut json: Json = "\"a\"".parse().unwrap();
        both.redact_json(&mut json);
        assert_eq!(json.as_str(), "\"c\"");
    }
}
