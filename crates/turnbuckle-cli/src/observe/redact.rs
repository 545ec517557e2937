//! Redaction of secrets in the trace file.
//!
//! Each rule finds ranges of a text in one pass, and everything that is found is replaced at once: the
//! work grows with the length of the text alone, whatever it holds.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;
use turnbuckle_inspector::api::ValueKind;
use turnbuckle_inspector::values::{Document, Value as JsonValue};
use turnbuckle_types::base::secrets::is_secret_name;

use super::known_secrets::SecretSearch;

#[cfg(test)]
mod tests;

/// The replacement for secrets.
pub(super) const REDACTED: &str = "[redacted]";

/// The most texts that are JSON within each other. A deeper one is redacted as a whole.
const MAX_JSON_TEXTS: usize = 3;

/// Returns whether a member of that name holds a secret. Numbers of tokens, as of a model's answer, are
/// none.
fn is_secret(name: &str, kind: ValueKind) -> bool {
    let is_count =
        || kind == ValueKind::Number && ends_with_ignoring_case(name.as_bytes(), b"tokens");
    kind != ValueKind::Null && is_secret_name(name) && !is_count()
}

/// Redacts in a JSON text members with secret names, the values that a user typed into a form, and in any
/// string what [`redact_text`] finds. A string that is a JSON object or array is redacted like a text.
/// Everything else stays byte for byte. Returns `None` if the text has no secrets.
pub(super) fn redact_json(text: &Document, known: &SecretSearch) -> Option<Vec<u8>> {
    redact_texts(text, known, MAX_JSON_TEXTS)
}

/// Redacts a JSON text. `json_texts` is how many texts that are JSON may be within each other.
fn redact_texts(text: &Document, known: &SecretSearch, json_texts: usize) -> Option<Vec<u8>> {
    let root = text.root()?;
    let mut hidden: Vec<(Range<usize>, String)> = Vec::new();
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        match value.kind() {
            ValueKind::String => {
                let redacted = value
                    .as_str()
                    .and_then(|string| redact_string(&string, known, json_texts));
                hidden.extend(redacted.map(|redacted| (value.range(), quote(&redacted))));
            }
            ValueKind::Object => {
                let form = form_fields(value);
                for member in value.children() {
                    let name = member.key().unwrap_or_default();
                    if is_secret(&name, member.kind()) {
                        hidden.push((member.range(), quote(REDACTED)));
                    } else if form.is_some_and(|form| form.range() == member.range()) {
                        let fields = member.children();
                        hidden.extend(fields.map(|field| (field.range(), quote(REDACTED))));
                    } else {
                        open.push(member);
                    }
                }
            }
            ValueKind::Array => open.extend(value.children()),
            _ => {}
        }
    }
    if hidden.is_empty() {
        return None;
    }
    hidden.sort_by_key(|(range, _)| range.start);
    let raw = root.raw();
    let mut redacted = Vec::with_capacity(raw.len());
    let mut copied = root.range().start;
    let start = copied;
    for (range, replacement) in hidden {
        redacted.extend_from_slice(&raw[copied - start..range.start - start]);
        redacted.extend_from_slice(replacement.as_bytes());
        copied = range.end;
    }
    redacted.extend_from_slice(&raw[copied - start..]);
    Some(redacted)
}

/// Returns a text as a JSON string.
fn quote(text: &str) -> String {
    Value::from(text).to_string()
}

fn redact_string(text: &str, known: &SecretSearch, json_texts: usize) -> Option<String> {
    if !text.trim_start().starts_with(['{', '[']) {
        return redact_text(text, known);
    }
    let inner = Document::new(text.to_owned().into());
    if inner.fault().is_some() {
        return redact_text(text, known);
    }
    let Some(json_texts) = json_texts.checked_sub(1) else {
        return Some(REDACTED.to_owned());
    };
    let redacted = redact_texts(&inner, known, json_texts)?;
    Some(String::from_utf8_lossy(&redacted).into_owned())
}

/// Returns the fields of an elicitation result: the object `content` beside the text `action`.
fn form_fields(result: JsonValue<'_>) -> Option<JsonValue<'_>> {
    let content = result.member("content")?;
    let action = result.member("action")?;
    let is_form = action.kind() == ValueKind::String && content.kind() == ValueKind::Object;
    is_form.then_some(content)
}

/// Redacts in a text the known secrets, the credentials of the schemes Bearer, DPoP and Basic, and the
/// values of secret names, as in `token=…` or `"token": "…"`. Returns `None` if there are none.
pub(super) fn redact_text(text: &str, known: &SecretSearch) -> Option<String> {
    let mut found = known.find(text);
    found.extend(find_credentials(text));
    found.extend(find_values(text));
    replace(text, found)
}

/// Redacts in a line of JSON the known secrets and the credentials, member names included. Returns
/// `None` if there are none.
pub(super) fn redact_line(line: &str, known: &SecretSearch) -> Option<String> {
    let mut found = known.find(line);
    found.extend(find_credentials(line));
    replace(line, found)
}

/// Returns whether a command line has a secret: credentials, the value of a secret name, or a word with
/// the name of a secret, such as `--token` before its value.
pub(crate) fn has_secret(line: &str) -> bool {
    line.split_whitespace().any(is_secret_name)
        || !find_credentials(line).is_empty()
        || !find_values(line).is_empty()
}

/// Replaces ranges of a text, which may overlap.
fn replace(text: &str, mut ranges: Vec<Range<usize>>) -> Option<String> {
    if ranges.is_empty() {
        return None;
    }
    ranges.sort_by_key(|range| range.start);
    let mut hidden = String::with_capacity(text.len());
    let mut copied = 0;
    for range in ranges {
        if range.end <= copied {
            continue;
        }
        // What overlaps the range before it belongs to its replacement.
        if range.start >= copied {
            hidden.push_str(&text[copied..range.start]);
            hidden.push_str(REDACTED);
        }
        copied = range.end;
    }
    hidden.push_str(&text[copied..]);
    Some(hidden)
}

/// Returns the values behind secret names: up to the quote if they are quoted, or else up to a space
/// or a character that ends a parameter.
fn find_values(text: &str) -> Vec<Range<usize>> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_quote = |c: char| c == '"' || c == '\'';
    let is_sign = |byte: &u8| matches!(byte, b'=' | b':');
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(length) = text.as_bytes()[from..].iter().position(is_sign) {
        let sign = from + length;
        let before = text[from..sign].trim_end_matches(' ');
        let before = before.strip_suffix(is_quote).unwrap_or(before);
        let name_start = before.trim_end_matches(is_name).len();
        from = sign + 1;
        if !is_secret_name(&before[name_start..]) {
            continue;
        }
        let rest = text[from..].trim_start_matches(' ');
        let start = text.len() - rest.len();
        let value = match rest.chars().next().filter(|first| is_quote(*first)) {
            Some(quote) => up_to_quote(&rest[1..], quote),
            None => rest.find(ends_value).map_or(rest, |end| &rest[..end]),
        };
        let is_scheme = SCHEMES
            .iter()
            .any(|scheme| scheme.eq_ignore_ascii_case(value));
        if !value.is_empty() && !is_scheme {
            let start = start + usize::from(rest.starts_with(is_quote));
            found.push(start..start + value.len());
        }
        from = start + value.len();
    }
    found
}

/// Returns whether a character ends a value that is not quoted.
fn ends_value(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '"' | '\'' | '&' | ';' | ',' | '(' | ')' | '{' | '}' | '[' | ']' | '<' | '>' | '\\'
        )
}

/// Returns the part of a text before a quote that is not escaped.
fn up_to_quote(text: &str, quote: char) -> &str {
    let mut is_escaped = false;
    let end = text.find(|c: char| {
        let ends = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    end.map_or(text, |end| &text[..end])
}

/// The authentication schemes whose credentials are redacted wherever a text has them.
const SCHEMES: [&str; 3] = ["bearer", "dpop", "basic"];

/// Returns the credentials behind the names of schemes, such as `Bearer abc`.
fn find_credentials(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::new();
    let mut found = Vec::new();
    for (space, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b' ') {
        // The last byte of each scheme is a letter: of several spaces the first counts.
        let Some(scheme) = scheme_before(text, space) else {
            continue;
        };
        let spaces = bytes[space..].iter().take_while(|byte| **byte == b' ');
        let start = space + spaces.count();
        let credentials = bytes[start..]
            .iter()
            .take_while(|byte| is_credential(**byte));
        let end = start + credentials.count();
        // The words "basic example" are no credentials.
        let is_found = match scheme {
            "basic" => is_name_and_password(&text[start..end], &mut decoded),
            _ => start < end,
        };
        if is_found {
            found.push(start..end);
        }
    }
    found
}

/// Returns the scheme whose name ends at `end`, if one does. It is no part of a longer word.
fn scheme_before(text: &str, end: usize) -> Option<&'static str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let before = &text.as_bytes()[..end];
    SCHEMES.into_iter().find(|scheme| {
        ends_with_ignoring_case(before, scheme.as_bytes())
            && !text[..end - scheme.len()].ends_with(is_word)
    })
}

/// Returns whether a byte can be part of a token.
fn is_credential(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=' | b':')
}

fn ends_with_ignoring_case(text: &[u8], end: &[u8]) -> bool {
    let tail = text.len().checked_sub(end.len()).map(|from| &text[from..]);
    tail.is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

/// Returns whether a text is what Basic authentication sends: `name:password` in Base64. `decoded` is
/// a buffer that calls share.
fn is_name_and_password(text: &str, decoded: &mut Vec<u8>) -> bool {
    const CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    // Made once: their tables cost more than most texts.
    static STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, CONFIG);
    static URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, CONFIG);
    let text = text.trim_end_matches(['.', ':']);
    // The alphabets differ in two characters.
    let engine = match text.contains(['-', '_']) {
        true => &URL_SAFE,
        false => &STANDARD,
    };
    decoded.clear();
    engine.decode_vec(text, decoded).is_ok() && decoded.contains(&b':')
}
