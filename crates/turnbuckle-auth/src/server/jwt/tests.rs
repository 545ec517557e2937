//! Tests of reading key sets. Tokens are tested with the whole resource server.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::jwk::KeySet;
use crate::jws::JwtAlgorithm;

fn parse(keys: &Value) -> usize {
    KeySet::parse(json!({ "keys": keys }).to_string().as_bytes())
        .unwrap()
        .len()
}

fn bytes(length: usize) -> String {
    URL_SAFE_NO_PAD.encode(vec![0xa5; length])
}

#[test]
fn keys_that_are_weak_malformed_or_for_other_uses_are_left_out() {
    let ec = json!({"kty": "EC", "crv": "P-256", "x": bytes(32), "y": bytes(32)});
    let with = |name: &str, value: Value| {
        let mut key = ec.clone();
        key[name] = value;
        key
    };
    assert_eq!(
        parse(&json!([
            ec,
            with("use", json!("sig")),
            with("alg", json!("ES256"))
        ])),
        3
    );
    for key in [
        json!(null),
        json!({}),
        json!("key"),
        with("use", json!("enc")),
        with("key_ops", json!(["encrypt"])),
        with("alg", json!("ECDH-ES")),
        with("alg", json!("none")),
        with("alg", json!("HS256")),
        with("crv", json!("P-521")),
        with("x", json!(bytes(31))),
        with("y", json!("not base64!")),
        json!({"kty": "OKP", "crv": "Ed25519", "x": bytes(16)}),
        json!({"kty": "OKP", "crv": "X25519", "x": bytes(32)}),
        json!({"kty": "RSA", "n": bytes(128), "e": "AQAB"}),
        json!({"kty": "RSA", "n": bytes(1024), "e": "AQAB"}),
        json!({"kty": "RSA", "n": bytes(256), "e": ""}),
        json!({"kty": "oct", "k": bytes(32)}),
    ] {
        // One bad key does not spoil the others.
        assert_eq!(parse(&json!([key, ec])), 1, "{key}");
    }
}

#[test]
fn an_invalid_key_verifies_no_signature() {
    let keys = json!({"keys": [
        {"kty": "EC", "crv": "P-256", "x": bytes(32), "y": bytes(32)},
        {"kty": "OKP", "crv": "Ed25519", "x": bytes(32)},
        {"kty": "RSA", "n": bytes(256), "e": "AA"},
    ]});
    let set = KeySet::parse(keys.to_string().as_bytes()).unwrap();
    assert_eq!(set.len(), 3);
    for (_, algorithm) in JwtAlgorithm::ALL {
        for key in set.candidates(None, algorithm) {
            for length in [0, 1, 64, 256] {
                let verified = key.key.verifies("message", &vec![1; length], algorithm);
                assert_ne!(verified, Some(true));
            }
        }
    }
}

#[test]
fn documents_that_are_not_key_sets_are_errors() {
    for document in [
        "",
        "[]",
        "{}",
        r#"{"keys":{}}"#,
        r#"{"keys":[],"keys":[]}"#,
        "\u{feff}{}",
    ] {
        assert!(KeySet::parse(document.as_bytes()).is_err(), "{document}");
    }
}
