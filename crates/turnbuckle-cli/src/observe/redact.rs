//! Redaction of secrets in the trace file.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

/// The replacement for secrets.
pub(super) const REDACTED: &str = "[redacted]";

/// Parts of names whose values are secret. Names are compared in lower case without punctuation.
const SECRET_NAMES: [&str; 13] = [
    "authorization",
    "cookie",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "sessionid",
    // The server's own record of a call, which may hold what the user answered.
    "requeststate",
];

/// Returns whether a member or header of that name holds a secret. Numbers of tokens, as of a model's
/// answer, and the protocol's own `progressToken` are none.
pub(super) fn is_secret(name: &str, value: &Value) -> bool {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let is_count = plain.ends_with("tokens") && value.is_number();
    !value.is_null()
        && !is_count
        && plain != "progresstoken"
        && SECRET_NAMES.iter().any(|secret| plain.contains(secret))
}

/// Redacts members with secret names, the values that a user typed into a form, and known secrets in
/// any text.
pub(super) fn redact(value: &mut Value, known: &[String]) {
    match value {
        Value::Object(members) => {
            redact_form(members);
            for (name, value) in members {
                match is_secret(name, value) {
                    true => *value = Value::from(REDACTED),
                    false => redact(value, known),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, known)),
        Value::String(text) => {
            if let Some(hidden) = redact_text(text, known) {
                *text = hidden;
            }
        }
        _ => {}
    }
}

/// Redacts the values of an elicitation result: `action`, and an object as `content`.
fn redact_form(members: &mut serde_json::Map<String, Value>) {
    let is_result = members.get("action").is_some_and(Value::is_string);
    if let (true, Some(Value::Object(fields))) = (is_result, members.get_mut("content")) {
        for value in fields.values_mut() {
            *value = Value::from(REDACTED);
        }
    }
}

/// Redacts known secrets in a text, and the credentials of the schemes Bearer, DPoP and Basic.
/// Returns `None` if there are none.
pub(super) fn redact_text(text: &str, known: &[String]) -> Option<String> {
    let mut hidden = None;
    for secret in known {
        let seen: &str = hidden.as_deref().unwrap_or(text);
        if seen.contains(secret.as_str()) {
            hidden = Some(seen.replace(secret.as_str(), REDACTED));
        }
    }
    let seen = hidden.as_deref().unwrap_or(text);
    redact_credentials(seen).or(hidden)
}

/// The authentication schemes whose credentials are redacted wherever a text has them.
const SCHEMES: [&str; 3] = ["bearer", "dpop", "basic"];

/// Redacts the credentials behind the name of a scheme, such as `Bearer abc`. Returns `None` if
/// there are none.
fn redact_credentials(text: &str) -> Option<String> {
    let mut hidden = String::new();
    let mut copied = 0;
    // Of several spaces the first counts, so that each part of the text is looked at once.
    let is_first = |space: &usize| !text[..*space].ends_with(' ');
    let spaces = text.match_indices(' ').map(|(space, _)| space);
    for (start, scheme, credentials) in spaces
        .filter(is_first)
        .filter_map(|space| credentials_behind(text, space))
    {
        if start < copied {
            continue;
        }
        // The words "basic example" are no credentials.
        if scheme.eq_ignore_ascii_case("basic") && !is_name_and_password(credentials) {
            continue;
        }
        hidden.push_str(&text[copied..start]);
        hidden.push_str(REDACTED);
        copied = start + credentials.len();
    }
    if hidden.is_empty() {
        return None;
    }
    hidden.push_str(&text[copied..]);
    Some(hidden)
}

/// Returns the position of the credentials behind a space, the scheme in front of it, and the
/// credentials; `None` if no scheme stands there.
fn credentials_behind(text: &str, space: usize) -> Option<(usize, &str, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let scheme_start = text[..space]
        .rfind(|c: char| !is_word(c))
        .map_or(0, |before| {
            before + text[before..].chars().next().map_or(1, char::len_utf8)
        });
    let scheme = &text[scheme_start..space];
    let is_known = SCHEMES
        .iter()
        .any(|known| known.eq_ignore_ascii_case(scheme));
    let rest = &text[space..];
    let start = space + (rest.len() - rest.trim_start_matches(' ').len());
    let end = text[start..]
        .find(|c: char| !(c.is_ascii_alphanumeric() || "-._~+/=:".contains(c)))
        .map_or(text.len(), |length| start + length);
    (is_known && start < end).then(|| (start, scheme, &text[start..end]))
}

/// Returns whether a text is what Basic authentication sends: `name:password` in Base64.
fn is_name_and_password(text: &str) -> bool {
    const CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let text = text.trim_end_matches(['.', ':']);
    [alphabet::STANDARD, alphabet::URL_SAFE]
        .iter()
        .filter_map(|alphabet| GeneralPurpose::new(alphabet, CONFIG).decode(text).ok())
        .any(|decoded| decoded.contains(&b':'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::known_secrets::KnownSecrets;
    use super::*;

    fn secrets<const N: usize>(values: [&str; N]) -> Vec<String> {
        let secrets = KnownSecrets::default();
        secrets.add(values.map(ToOwned::to_owned));
        secrets.lock().clone()
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
        redact(&mut value, &[]);
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
        redact(&mut value, &[]);
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
        redact(&mut value, &["s3cr3t-value".into()]);
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
            assert_eq!(redact_text(text, &[]).as_deref(), Some(expected));
        }
        for text in [
            "",
            "Bearer ",
            "a basic example",
            "Basic authentication",
            "forbearer abc",
            "basic, dpop, bearer",
        ] {
            assert_eq!(redact_text(text, &[]), None, "{text}");
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
    fn work_grows_with_the_length_of_the_text_alone() {
        // With the square of it, each text would take a quarter of an hour.
        for piece in [" ", "bearer ", "basic a", "-", "a ", "ü "] {
            let text = piece.repeat((1 << 20) / piece.len());
            redact_text(&text, &secrets(["s3cr3t-value"]));
        }
    }
}
