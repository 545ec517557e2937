//! Header values: text in, text out, with a sentinel around what a header cannot carry plainly.
//!
//! Specification: basic/transports/streamable-http, "Value Encoding" (2026-07-28).

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use turnbuckle_types::{Number, RawJson};

const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// An invalid header value: it has bytes that no header may carry, or its Base64 does not decode to
/// text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidHeaderValue {
    /// A byte that is neither visible ASCII nor space nor tab.
    #[error("it has a character that a header may not carry")]
    Character,
    /// The text between the sentinels is not Base64 with its padding.
    #[error("it is marked as Base64 and is not")]
    Base64,
    /// The bytes behind the Base64 are not UTF-8.
    #[error("its Base64 does not encode UTF-8")]
    Utf8,
}

/// Returns the text of a header value, borrowed unless it was encoded.
///
/// Surrounding spaces and tabs are no part of a value. The sentinel is case-sensitive; a value with
/// only one half of it is plain text.
///
/// # Errors
/// When the value has a byte that no header may carry, or says that it is Base64 and is not.
pub fn decode_value(value: &[u8]) -> Result<Cow<'_, str>, InvalidHeaderValue> {
    let value = trim(value);
    if !value.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) {
        return Err(InvalidHeaderValue::Character);
    }
    let value = str::from_utf8(value).map_err(|_| InvalidHeaderValue::Character)?;
    match value
        .strip_prefix(OPEN)
        .and_then(|rest| rest.strip_suffix(CLOSE))
    {
        None => Ok(Cow::Borrowed(value)),
        Some(encoded) => {
            let bytes = STANDARD
                .decode(encoded)
                .map_err(|_| InvalidHeaderValue::Base64)?;
            let text = String::from_utf8(bytes).map_err(|_| InvalidHeaderValue::Utf8)?;
            Ok(Cow::Owned(text))
        }
    }
}

/// Returns the header value for `text`, borrowed where a header can carry it as it is.
///
/// A tab inside the text is encoded too: some intermediaries turn it into a space.
#[must_use]
pub fn encode_value(text: &str) -> Cow<'_, str> {
    let visible = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let padded = text.starts_with(' ') || text.ends_with(' ');
    let looks_encoded = text.starts_with(OPEN) && text.ends_with(CLOSE);
    if visible && !padded && !looks_encoded {
        return Cow::Borrowed(text);
    }
    let mut encoded = String::with_capacity(OPEN.len() + text.len().div_ceil(3) * 4 + CLOSE.len());
    encoded.push_str(OPEN);
    STANDARD.encode_string(text, &mut encoded);
    encoded.push_str(CLOSE);
    Cow::Owned(encoded)
}

/// Returns whether a decoded header value equals a value of the body.
///
/// Strings match exactly, booleans as `true` and `false`, numbers by their value: `42.0` is `42`,
/// and no digit is rounded away. `null`, arrays and objects match nothing.
#[must_use]
pub(super) fn value_matches(header: &str, body: RawJson<'_>) -> bool {
    let json = body.as_str();
    match json.as_bytes().first() {
        Some(b'"') => body.text().is_some_and(|body| body == header),
        Some(b't' | b'f') => json == header,
        Some(b'-' | b'0'..=b'9') => json == header || same_number(json, header),
        _ => false,
    }
}

fn same_number(one: &str, other: &str) -> bool {
    // The parser tolerates white space around a number; a header's value has none.
    let number = |text: &str| (text.trim() == text).then(|| text.parse::<Number>().ok())?;
    number(one)
        .zip(number(other))
        .is_some_and(|(one, other)| one.numeric_cmp(&other).is_eq())
}

/// Returns the value without the spaces and tabs around it.
fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = value {
        value = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn every_text_survives_a_header(text in ".*") {
            let value = encode_value(&text);
            proptest::prop_assert!(value.bytes().all(|byte| matches!(byte, b' '..=b'~')));
            proptest::prop_assert_eq!(decode_value(value.as_bytes()).unwrap(), &*text);
        }

        #[test]
        fn no_value_is_a_panic(value in proptest::collection::vec(proptest::num::u8::ANY, 0..64)) {
            let _ = decode_value(&value);
        }
    }

    fn raw(json: &str) -> RawJson<'_> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn texts_of_the_page_are_encoded_as_it_says() {
        let table = [
            ("us-west1", "us-west1"),
            ("us west 1", "us west 1"),
            ("", ""),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ];
        for (text, value) in table {
            assert_eq!(encode_value(text), value);
            assert_eq!(decode_value(value.as_bytes()).unwrap(), text);
        }
        assert!(matches!(encode_value("a\tb"), Cow::Owned(_)));
    }

    #[test]
    fn plain_values_are_borrowed_and_trimmed() {
        assert!(matches!(
            decode_value(b"\t a b \t"),
            Ok(Cow::Borrowed("a b"))
        ));
        assert!(matches!(decode_value(b"a\tb"), Ok(Cow::Borrowed("a\tb"))));
        assert!(matches!(decode_value(b" \t"), Ok(Cow::Borrowed(""))));
    }

    #[test]
    fn half_a_sentinel_or_another_case_is_plain_text() {
        for plain in [
            "=?base64?SGVsbG8=",
            "SGVsbG8=?=",
            "=?BASE64?SGVsbG8=?=",
            "=?base64?=",
        ] {
            assert_eq!(decode_value(plain.as_bytes()).unwrap(), plain);
        }
    }

    #[test]
    fn an_encoded_header_value_that_does_not_decode_is_refused() {
        let table: [(&[u8], _); 8] = [
            (b"=?base64?SGVsbG8?=", InvalidHeaderValue::Base64),
            (b"=?base64?SGVs!!!bG8=?=", InvalidHeaderValue::Base64),
            (b"=?base64?SGVs bG8=?=", InvalidHeaderValue::Base64),
            (b"=?base64?SGVsbG9=?=", InvalidHeaderValue::Base64),
            (b"=?base64?/w==?=", InvalidHeaderValue::Utf8),
            (b"a\nb", InvalidHeaderValue::Character),
            (b"a\x7fb", InvalidHeaderValue::Character),
            ("é".as_bytes(), InvalidHeaderValue::Character),
        ];
        for (value, expected) in table {
            assert_eq!(decode_value(value), Err(expected), "{value:?}");
        }
        assert_eq!(decode_value(b"=?base64??=").unwrap(), "");
    }

    #[test]
    fn numbers_match_by_value_and_exactly() {
        for (header, body) in [
            ("42", "42"),
            ("42.0", "42"),
            ("42", "42.0"),
            ("4.2e1", "42"),
            ("-0", "0"),
            (
                "123456789012345678901234567890",
                "123456789012345678901234567890.0",
            ),
        ] {
            assert!(value_matches(header, raw(body)), "{header} {body}");
        }
        for (header, body) in [
            ("43", "42"),
            ("", "42"),
            ("+42", "42"),
            ("042", "42"),
            ("0x2a", "42"),
            ("42 ", "42"),
            (
                "123456789012345678901234567891",
                "123456789012345678901234567890",
            ),
            ("9007199254740993", "9007199254740992"),
        ] {
            assert!(!value_matches(header, raw(body)), "{header} {body}");
        }
    }

    #[test]
    fn other_values_match_exactly_or_not_at_all() {
        assert!(value_matches("a\"b", raw(r#""a\"b""#)));
        assert!(value_matches("42", raw(r#""42""#)));
        assert!(!value_matches("42.0", raw(r#""42""#)));
        assert!(!value_matches("A", raw(r#""a""#)));
        assert!(value_matches("true", raw("true")));
        assert!(!value_matches("TRUE", raw("true")));
        assert!(!value_matches("false", raw("true")));
        for nothing in ["null", "[]", "{}"] {
            assert!(!value_matches(nothing, raw(nothing)));
        }
    }
}
