//! Headers that mirror a body: what they say is what an independent reading of them says, and what
//! one end writes is what the other takes, and nothing else.

use http::{HeaderName, HeaderValue};
use turnbuckle_types::{ErrorKind, RawJson, Schema};
use turnbuckle_wire::era::headers::{
    HeaderValues, InvalidHeaderValue, check_param_headers, decode_value, encode_value,
    mirror_param_headers,
};
use turnbuckle_wire::era::{ParamHeader, param_headers};

use super::written::{Written, cut};

/// Prefix and suffix of an encoded value.
const SENTINEL: (&[u8], &[u8]) = (b"=?base64?", b"?=");

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Runs the target on `input`: a header value, which is also used as a text; and a request whose
/// first line is the schema of a tool, with headers, and the arguments as its body; see `Written`.
pub fn headers(input: &[u8]) {
    value(input);
    for line in input.split(|byte| *byte == b'\n') {
        value(cut(line, b':').1);
    }
    if let Ok(text) = std::str::from_utf8(input) {
        check_encoding(text);
        text.split('\n').for_each(check_encoding);
    }
    arguments(&Written::read(input));
}

/// Asserts that a value decodes as the model says, and that its text is encoded to a value of the
/// same text.
fn value(value: &[u8]) {
    let decoded = decode_value(value);
    let modelled = model(value);
    assert_eq!(decoded.as_deref().ok(), modelled.as_deref().ok());
    assert_eq!(decoded.as_ref().err(), modelled.as_ref().err());
    if let Ok(text) = decoded {
        check_encoding(&text);
    }
}

/// Asserts that a text is encoded to a valid header value, unchanged where possible, and decodes to
/// the same text.
fn check_encoding(text: &str) {
    let value = encode_value(text);
    let header = HeaderValue::from_str(&value).expect("a header can carry it");
    assert_eq!(decode_value(header.as_bytes()).as_deref(), Ok(text));
    assert_eq!(value.trim(), value, "nothing that is trimmed on the way");
    let plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && text.trim() == text;
    let (open, close) = SENTINEL;
    let marked = text.as_bytes().starts_with(open) && text.as_bytes().ends_with(close);
    assert_eq!(value == text, plain && !marked, "{text:?} {value:?}");
}

/// Returns the bytes between prefix and suffix.
fn strip_sentinel(value: &[u8]) -> Option<&[u8]> {
    let inner = value.strip_prefix(SENTINEL.0)?;
    inner.strip_suffix(SENTINEL.1)
}

/// Returns the text of a value, decoded in the simplest manner.
fn model(value: &[u8]) -> Result<String, InvalidHeaderValue> {
    let value: Vec<char> = value.iter().copied().map(char::from).collect();
    let value: String = value.into_iter().collect();
    let value = value.trim_matches([' ', '\t']);
    if !value.chars().all(|it| matches!(it, '\t' | ' '..='~')) {
        return Err(InvalidHeaderValue::Character);
    }
    let Some(encoded) = strip_sentinel(value.as_bytes()) else {
        return Ok(value.to_owned());
    };
    let bytes = base64(encoded).ok_or(InvalidHeaderValue::Base64)?;
    String::from_utf8(bytes).map_err(|_| InvalidHeaderValue::Utf8)
}

/// Decodes padded Base64 bit by bit.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text.iter().rposition(|byte| *byte != b'=');
    let digits = &text[..digits.map_or(0, |last| last + 1)];
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 || digits.len() % 4 == 1 {
        return None;
    }
    if digits.is_empty() {
        return text.is_empty().then(Vec::new);
    }
    let mut bits = Vec::new();
    for digit in digits {
        let number = ALPHABET.iter().position(|other| other == digit)?;
        bits.extend((0..6).rev().map(|bit| number >> bit & 1 == 1));
    }
    let (bytes, rest) = bits.split_at(bits.len() / 8 * 8);
    let byte = |bits: &[bool]| bits.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
    (!rest.contains(&true)).then(|| bytes.chunks(8).map(byte).collect())
}

/// Asserts that declared headers can be sent, that matching ones are accepted, and that differing
/// ones are refused.
fn arguments(request: &Written<'_>) {
    let schema = std::str::from_utf8(request.line).ok();
    let Some(schema) = schema.and_then(|schema| schema.parse::<Schema>().ok()) else {
        return;
    };
    let Ok(declared) = param_headers(&schema) else {
        return;
    };
    for (at, ParamHeader { header, path, .. }) in declared.iter().enumerate() {
        let name = HeaderName::from_bytes(header.as_bytes()).expect("a header's name");
        assert_eq!(name.as_str(), header, "it is in lower case");
        assert!(!path.is_empty());
        let twice = declared[..at].iter().any(|other| other.header == *header);
        assert!(!twice, "{header} is declared twice");
    }
    let arguments = request.text().and_then(|it| serde_json::from_str(it).ok());
    let sent = check_param_headers(&declared, arguments, |name| request.values(name).collect());
    if let Err(error) = &sent {
        assert_eq!(*error.kind(), ErrorKind::HeaderMismatch);
    }
    match mirror_param_headers(&declared, arguments) {
        Ok(ours) => check_mirroring(&declared, arguments, &ours),
        // What cannot be mirrored is never taken, whatever its header says.
        Err(error) => {
            assert!(sent.is_err(), "{error}");
            assert!(matches!(error.kind(), ErrorKind::InvalidParams));
        }
    }
}

/// Asserts that the headers we send are accepted, and refused if one is missing, repeated, or has
/// another text.
fn check_mirroring(
    declared: &[ParamHeader],
    arguments: Option<RawJson<'_>>,
    ours: &[(&str, String)],
) {
    let judge = |change: &dyn Fn(&str, &str) -> Option<String>, repeated: Option<&str>| {
        let changed: Vec<_> = ours
            .iter()
            .filter_map(|(name, value)| Some((*name, change(name, value)?)))
            .collect();
        let outcome = check_param_headers(declared, arguments, |name| {
            let mut values = changed.iter().filter(|(other, _)| *other == name);
            match values.next() {
                Some(_) if repeated == Some(name) => HeaderValues::Repeated,
                value => value.map(|(_, value)| value.as_bytes()).into(),
            }
        });
        outcome.is_ok()
    };
    let same = |_: &str, value: &str| Some(value.to_owned());
    assert!(judge(&same, None), "what we mirror is what we accept");
    for (changed, _) in ours {
        let without = |name: &str, value: &str| (name != *changed).then(|| value.to_owned());
        let other = |name: &str, value: &str| {
            let end = if name == *changed { "x" } else { "" };
            Some(value.to_owned() + end)
        };
        assert!(!judge(&without, None), "{changed} is missing");
        assert!(!judge(&other, None), "{changed} says something else");
        assert!(!judge(&same, Some(changed)), "{changed} comes twice");
    }
}
