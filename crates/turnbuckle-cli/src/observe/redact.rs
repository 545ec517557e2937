//! Redaction of secrets in the trace file.

use serde_json::Value;

/// The replacement for secrets.
pub(super) const REDACTED: &str = "[redacted]";

/// Parts of names whose values are secret. Names are compared in lower case without punctuation.
const SECRET_NAMES: [&str; 12] = [
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

/// Endings of names that look secret but are not: the protocol's own.
const HARMLESS_NAMES: [&str; 3] = ["progresstoken", "maxtokens", "tokens"];

/// Returns whether a member or header of that name holds a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    !HARMLESS_NAMES.iter().any(|name| plain.ends_with(name))
        && SECRET_NAMES.iter().any(|secret| plain.contains(secret))
}

/// Redacts members with secret names, and known secrets in any text.
pub(super) fn redact(value: &mut Value, known: &[String]) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match is_secret(name) && !value.is_null() {
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

/// Redacts known secrets and bearer tokens in a text. Returns `None` if there are none.
pub(super) fn redact_text(text: &str, known: &[String]) -> Option<String> {
    let mut hidden = None;
    for secret in known {
        let seen: &str = hidden.as_deref().unwrap_or(text);
        if seen.contains(secret.as_str()) {
            hidden = Some(seen.replace(secret.as_str(), REDACTED));
        }
    }
    let seen = hidden.as_deref().unwrap_or(text);
    match seen.get(..7) {
        Some(scheme) if scheme.eq_ignore_ascii_case("bearer ") => {
            Some(format!("Bearer {REDACTED}"))
        }
        _ => hidden,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
    fn known_secrets_are_redacted_in_any_text() {
        let mut value = json!({"text": "it is s3cr3t-value, really", "other": "Bearer abc"});
        redact(&mut value, &["s3cr3t-value".into()]);
        assert_eq!(
            value,
            json!({"text": "it is [redacted], really", "other": "Bearer [redacted]"})
        );
    }

    #[test]
    fn ordinary_names_are_not_secret() {
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
