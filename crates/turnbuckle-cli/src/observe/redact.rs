//! Redaction of secrets in the trace file.
//!
//! Each rule finds ranges of a text in one pass, and everything that is found is replaced at once: the
//! work grows with the length of the text alone, whatever it holds.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;
use turnbuckle_types::base::secrets::is_secret_name;

use super::known_secrets::SecretSearch;

/// The replacement for secrets.
pub(super) const REDACTED: &str = "[redacted]";

/// The most texts that are JSON within each other. A deeper one is redacted as a whole.
const MAX_JSON_TEXTS: usize = 3;

/// Returns whether a member or header of that name holds a secret. Numbers of tokens, as of a model's
/// answer, are none.
fn is_secret(name: &str, value: &Value) -> bool {
    let is_count = || value.is_number() && ends_with_ignoring_case(name.as_bytes(), b"tokens");
    !value.is_null() && is_secret_name(name) && !is_count()
}

/// Redacts members with secret names, the values that a user typed into a form, and in any text what
/// [`redact_text`] finds. A text that is a JSON object or array is redacted like a value.
pub(super) fn redact(value: &mut Value, known: &SecretSearch) {
    redact_value(value, known, MAX_JSON_TEXTS);
}

/// Redacts a value, and returns whether it has changed. `json_texts` is how many texts that are JSON may
/// be within each other.
fn redact_value(value: &mut Value, known: &SecretSearch, json_texts: usize) -> bool {
    let mut is_changed = false;
    match value {
        Value::Object(members) => {
            is_changed |= redact_form(members);
            for (name, value) in members {
                if is_secret(name, value) {
                    *value = Value::from(REDACTED);
                    is_changed = true;
                } else {
                    is_changed |= redact_value(value, known, json_texts);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                is_changed |= redact_value(item, known, json_texts);
            }
        }
        Value::String(text) => {
            if let Some(hidden) = redact_string(text, known, json_texts) {
                *text = hidden;
                is_changed = true;
            }
        }
        _ => {}
    }
    is_changed
}

fn redact_string(text: &str, known: &SecretSearch, json_texts: usize) -> Option<String> {
    if !text.trim_start().starts_with(['{', '[']) {
        return redact_text(text, known);
    }
    let Ok(mut value) = serde_json::from_str(text) else {
        return redact_text(text, known);
    };
    let Some(json_texts) = json_texts.checked_sub(1) else {
        return Some(REDACTED.to_owned());
    };
    redact_value(&mut value, known, json_texts).then(|| value.to_string())
}

/// Redacts the values of an elicitation result: `action`, and an object as `content`. Returns whether
/// there are any.
fn redact_form(members: &mut serde_json::Map<String, Value>) -> bool {
    let is_result = members.get("action").is_some_and(Value::is_string);
    match members.get_mut("content") {
        Some(Value::Object(fields)) if is_result => {
            for value in fields.values_mut() {
                *value = Value::from(REDACTED);
            }
            !fields.is_empty()
        }
        _ => false,
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::known_secrets::KnownSecrets;
    use super::*;

    fn secrets<const N: usize>(values: [&str; N]) -> SecretSearch {
        let secrets = KnownSecrets::default();
        secrets.add(values.map(ToOwned::to_owned));
        secrets.search()
    }

    #[test]
    fn members_with_secret_names_are_redacted_at_any_depth() {
        let mut value = json!({
            "params": {
                "_meta": {"progressToken": 7},
                "maxTokens": 100,
                "arguments": {"api_key": "k", "list": [{"Authorization": "Bearer x", "ok": 1}]},
            },
            "access-token": {"inner": true},
            "password": null,
        });
        redact(&mut value, &secrets([]));
        assert_eq!(
            value,
            json!({
                "params": {
                    "_meta": {"progressToken": 7},
                    "maxTokens": 100,
                    "arguments": {"api_key": REDACTED, "list": [{"Authorization": REDACTED, "ok": 1}]},
                },
                "access-token": REDACTED,
                "password": null,
            })
        );
    }

    #[test]
    fn answers_to_forms_and_the_state_of_a_request_are_redacted() {
        let mut value = json!({"params": {
            "requestState": "sealed",
            "inputResponses": {"q": {"action": "accept", "content": {"pin": 1234}}},
        }});
        redact(&mut value, &secrets([]));
        assert_eq!(
            value,
            json!({"params": {
                "requestState": REDACTED,
                "inputResponses": {"q": {"action": "accept", "content": {"pin": REDACTED}}},
            }})
        );
    }

    #[test]
    fn known_secrets_are_redacted_in_any_text() {
        let mut value = json!({"text": "it is s3cr3t-value, really", "other": "Bearer abc"});
        redact(&mut value, &secrets(["s3cr3t-value"]));
        assert_eq!(
            value,
            json!({"text": "it is [redacted], really", "other": "Bearer [redacted]"})
        );
    }

    #[test]
    fn credentials_of_known_schemes_are_redacted_anywhere_in_a_text() {
        for (text, expected) in [
            ("Bearer abc", "Bearer [redacted]"),
            ("bearer  abc.d-e_f~g+h/i==", "bearer  [redacted]"),
            (
                "curl -H 'Authorization: Bearer abc' and BEARER def, too",
                "curl -H 'Authorization: Bearer [redacted]' and BEARER [redacted], too",
            ),
            ("sent DPoP eyJ.a.b; ok", "sent DPoP [redacted]; ok"),
            ("ü:Basic YTpi\n", "ü:Basic [redacted]\n"),
            ("basic dXNlcjpwYXNzd29yZA==", "basic [redacted]"),
            ("basic dXNlcjpwYXNzd29yZA", "basic [redacted]"),
            ("bearer bearer abc", "bearer [redacted] [redacted]"),
        ] {
            assert_eq!(redact_text(text, &secrets([])).as_deref(), Some(expected));
        }
        for text in [
            "",
            "Bearer ",
            "a basic example",
            "Basic authentication",
            "forbearer abc",
            "basic, dpop, bearer",
        ] {
            assert_eq!(redact_text(text, &secrets([])), None, "{text}");
        }
    }

    #[test]
    fn ordinary_names_are_not_secret() {
        for (name, value) in [
            ("progressToken", json!("a")),
            ("maxTokens", json!(100)),
            ("Mcp-Method", json!("ping")),
            ("name", json!("a")),
            ("inputTokens", json!(7)),
            ("password", json!(null)),
        ] {
            assert!(!is_secret(name, &value), "{name}");
        }
        for name in [
            "Mcp-Session-Id",
            "X-Api-Key",
            "Set-Cookie",
            "refresh_token",
            "client_secret",
            "accessTokens",
            "refresh_tokens",
        ] {
            assert!(is_secret(name, &json!(["a"])), "{name}");
        }
    }

    #[test]
    fn a_longer_secret_is_redacted_before_one_that_it_begins_with() {
        let mut value = json!("it is secret-12345, really");
        redact(&mut value, &secrets(["secret-1", "secret-12345"]));
        assert_eq!(value, json!("it is [redacted], really"));
    }

    #[test]
    fn values_of_secret_names_are_redacted_in_a_text() {
        for (text, expected) in [
            (
                "https://a/mcp?token=abc&x=1",
                "https://a/mcp?token=[redacted]&x=1",
            ),
            (
                "API_KEY=abc DB_PASSWORD='a b'",
                "API_KEY=[redacted] DB_PASSWORD='[redacted]'",
            ),
            (
                r#"{"access_token": "a\"b", broken"#,
                r#"{"access_token": "[redacted]", broken"#,
            ),
            ("password : hunter2, ok", "password : [redacted], ok"),
            ("Set-Cookie: sid=1; a=b", "Set-Cookie: [redacted]; a=b"),
            (
                "Authorization: Bearer abc",
                "Authorization: Bearer [redacted]",
            ),
            ("token=token=abc", "token=[redacted]"),
            ("token=\"open", "token=\"[redacted]"),
        ] {
            let shown = redact_text(text, &secrets([]));
            assert_eq!(shown.as_deref(), Some(expected));
        }
        for text in [
            "key=abc",
            "token=",
            "token_type=Bearer",
            "https://a/b?c=d",
            "a: b",
            "==::",
        ] {
            assert_eq!(redact_text(text, &secrets([])), None, "{text}");
        }
    }

    #[test]
    fn a_text_that_is_json_is_redacted_like_a_value() {
        let inner = json!({"access_token": "abc", "ok": 1}).to_string();
        let mut value = json!({"content": [{"type": "text", "text": inner}]});
        redact(&mut value, &secrets([]));
        let text = value["content"][0]["text"].as_str().unwrap();
        assert_eq!(text, r#"{"access_token":"[redacted]","ok":1}"#);
        // Not spelled anew without need.
        let mut value = json!(" [1.50, {\"a\" : 2}] ");
        redact(&mut value, &secrets([]));
        assert_eq!(value, json!(" [1.50, {\"a\" : 2}] "));
        let deep = (0..9).fold(json!({"token": "abc"}), |inner, _| {
            json!([inner.to_string()])
        });
        let mut value = deep;
        redact(&mut value, &secrets([]));
        assert!(!value.to_string().contains("abc"), "{value}");
    }

    #[test]
    fn secrets_that_overlap_are_redacted_in_full() {
        let known = secrets(["abcdef", "defghi", "cdefgh", "redacted"]);
        for (text, expected) in [
            ("-abcdefghi-", "-[redacted]-"),
            ("-abcdef-defghi-", "-[redacted]-[redacted]-"),
            ("abcdefabcdef", "[redacted][redacted]"),
            ("[redacted]", "[[redacted]]"),
        ] {
            assert_eq!(
                redact_text(text, &known).as_deref(),
                Some(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn everything_is_redacted_once_the_known_secrets_are_too_large_to_search_for() {
        let secrets = KnownSecrets::default();
        secrets.add(["x".repeat(2 << 20)]);
        assert_eq!(
            redact_text("harmless", &secrets.search()).as_deref(),
            Some(REDACTED)
        );
        assert_eq!(redact_text("", &secrets.search()), None);
    }

    #[test]
    fn work_grows_with_the_length_of_the_text_alone() {
        // With the square of it, each text would take a quarter of an hour.
        for piece in [
            " ",
            "bearer ",
            "basic a",
            "basic a ",
            "-",
            "a ",
            "ü ",
            "\"",
            "\\",
            "{",
            "[\"",
            "=",
            ":",
            "token=",
            "token=\"",
            "\"token\":",
            "a=",
            "token = ",
            "YTpi",
        ] {
            let mut text = Value::from(piece.repeat((1 << 20) / piece.len()));
            redact(&mut text, &secrets([]));
        }
        // Texts in texts, each of them nearly as long as the one around it.
        let long = "x".repeat(1 << 20);
        let mut value = (0..20).fold(json!([long]), |inner, _| json!([inner.to_string(), "x"]));
        redact(&mut value, &secrets([]));
    }

    #[test]
    fn work_does_not_grow_with_the_number_of_known_secrets() {
        let known = KnownSecrets::default();
        known.add((0..1000).map(|number| format!("{}{number:04}", "a".repeat(number))));
        let known = known.search();
        for piece in ["a", "a0"] {
            redact_text(&piece.repeat((1 << 20) / piece.len()), &known);
        }
    }
}
