//! Tests of the redaction: what is a secret, and the work that texts cause.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use serde_json::json;

use super::super::known_secrets::KnownSecrets;
use super::*;

/// Redacts a value, and returns it if nothing of it is secret.
fn redact(value: &mut Value, known: &SecretSearch) {
    let text = Document::new(value.to_string().into());
    if let Some(redacted) = redact_json(&text, known) {
        *value = serde_json::from_slice(&redacted).unwrap();
    }
}

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

fn kind_of(value: &Value) -> ValueKind {
    let text = Document::new(value.to_string().into());
    text.root().unwrap().kind()
}

#[test]
fn what_is_not_secret_stays_as_it_was_written() {
    let redacted = |text: &str| {
        let document = Document::new(text.to_owned().into());
        let redacted = redact_json(&document, &secrets([]))?;
        Some(String::from_utf8(redacted).unwrap())
    };
    let text = r#"{"b": 1E400, "a":9007199254740993,"a" :"\u0041", "n":[ ]}"#;
    assert_eq!(redacted(text), None);
    let text = r#" {"b": 1E400,"token" : "x","token":null, "a":["\u0041", "Bearer abc"]}"#;
    let expected =
        r#"{"b": 1E400,"token" : "[redacted]","token":null, "a":["\u0041", "Bearer [redacted]"]}"#;
    assert_eq!(redacted(text).as_deref(), Some(expected));
    // A fault ends the search: the writer of such a text looks at the rest as plain text.
    assert_eq!(redacted("{"), None);
}

#[test]
fn nesting_costs_no_stack() {
    let deep = format!(
        "{}{{\"token\":1}}{}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let redacted = redact_json(&Document::new(deep.into()), &secrets([])).unwrap();
    assert!(String::from_utf8(redacted).unwrap().contains(REDACTED));
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
        assert!(!is_secret(name, kind_of(&value)), "{name}");
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
        assert!(is_secret(name, ValueKind::Array), "{name}");
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
