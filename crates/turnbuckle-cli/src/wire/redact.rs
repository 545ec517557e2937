//! What a log of the wire must not hold.

use serde_json::Value;

/// What stands in place of a secret.
pub(super) const HIDDEN: &str = "[redacted]";

/// Names, or parts of names, whose values are secrets.
const SECRETS: [&str; 12] = [
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
];

/// Names that only look like secrets: the protocol's own.
const HARMLESS: [&str; 3] = ["progresstoken", "maxtokens", "tokens"];

/// Whether the value of a member or a header of that name is a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    !HARMLESS.iter().any(|name| plain.ends_with(name))
        && SECRETS.iter().any(|secret| plain.contains(secret))
}

/// Hides what members with secret names hold, and known secrets wherever they stand.
pub(super) fn redact(value: &mut Value, known: &[String]) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match is_secret(name) && !value.is_null() {
                    true => *value = Value::from(HIDDEN),
                    false => redact(value, known),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, known)),
        Value::String(text) => {
            if let Some(hidden) = without(text, known) {
                *text = hidden;
            }
        }
        _ => {}
    }
}

/// The text without known secrets and without bearer tokens; none if there are none in it.
pub(super) fn without(text: &str, known: &[String]) -> Option<String> {
    let mut hidden = None;
    for secret in known {
        let seen: &str = hidden.as_deref().unwrap_or(text);
        if seen.contains(secret.as_str()) {
            hidden = Some(seen.replace(secret.as_str(), HIDDEN));
        }
    }
    let seen = hidden.as_deref().unwrap_or(text);
    match seen.get(..7) {
        Some(scheme) if scheme.eq_ignore_ascii_case("bearer ") => Some(format!("Bearer {HIDDEN}")),
        _ => hidden,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_with_secret_names_are_hidden_at_any_depth() {
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
                    "arguments": {"api_key": HIDDEN, "list": [{"Authorization": HIDDEN, "ok": 1}]},
                },
                "access-token": HIDDEN,
                "password": null,
            })
        );
    }

    #[test]
    fn known_secrets_are_hidden_wherever_they_stand() {
        let mut value = json!({"text": "it is s3cr3t-value, really", "other": "Bearer abc"});
        redact(&mut value, &["s3cr3t-value".into()]);
        assert_eq!(
            value,
            json!({"text": "it is [redacted], really", "other": "Bearer [redacted]"})
        );
    }

    #[test]
    fn ordinary_names_are_no_secrets() {
        for name in [
            "progressToken",
            "maxTokens",
            "Mcp-Method",
            "name",
            "inputTokens",
        ] {
            assert!(!is_secret(name), "{name}");
        }
        for name in [
            "Mcp-Session-Id",
            "X-Api-Key",
            "Set-Cookie",
            "refresh_token",
            "client_secret",
        ] {
            assert!(is_secret(name), "{name}");
        }
    }
}
