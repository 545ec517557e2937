//! Tokens are never passed on and never shown.

use std::sync::Arc;

use serde_json::json;
use turnbuckle_types::Principal;

use super::support::{Fixture, TestIssuer, request};
use crate::server::{ResourceServer, VerifiedToken};
use crate::test_log::Log;

const STATIC: &str = "a-long-random-token-0123456789";

// requirement: 2a5363ac6c04 5f2fb62faae3 6cd185751b6f 8c66547c0824
#[tokio::test]
async fn tokens_never_reach_the_inner_service() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::new(|it| {
        it.issuer(issuer.issuer())
            .static_token("ci", STATIC, ["x"])
            .api_key_header("x-api-key")
    });
    let bearer = format!("Bearer {}", issuer.token());
    let static_bearer = format!("Bearer {STATIC}");
    for headers in [
        // Once verified, once from the cache.
        [
            ("authorization", bearer.as_str()),
            ("dpop", "proof"),
            ("x-other", "kept"),
        ],
        [
            ("authorization", bearer.as_str()),
            ("dpop", "proof"),
            ("x-other", "kept"),
        ],
        [
            ("authorization", static_bearer.as_str()),
            ("dpop", "proof"),
            ("x-other", "kept"),
        ],
        [
            ("x-api-key", STATIC),
            ("dpop", "proof"),
            ("x-other", "kept"),
        ],
    ] {
        assert_eq!(fixture.post(&headers).await.status, 200);
    }
    let seen = fixture.requests();
    assert_eq!(seen.len(), 4);
    for seen in seen {
        assert!(seen.principal.is_some());
        let names: Vec<_> = seen.headers.keys().map(http::HeaderName::as_str).collect();
        assert_eq!(names, ["x-other"]);
    }
}

#[tokio::test]
async fn a_principal_of_others_is_replaced() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let authorization = format!("Bearer {}", issuer.token());
    for _ in 0..2 {
        let mut forged = request("POST", "/mcp", &[("authorization", &authorization)]);
        forged
            .extensions_mut()
            .insert(Arc::new(Principal::new("evil", "root")));
        forged
            .extensions_mut()
            .insert(Principal::new("evil", "root"));
        fixture.send(forged).await;
    }
    for seen in fixture.requests() {
        assert_eq!(seen.principal.unwrap().subject, "ann");
    }
}

// requirement: 3ed2aec9b98f
#[tokio::test]
async fn secrets_are_not_in_debug() {
    let issuer = TestIssuer::start().await;
    let url = issuer.server.url("/introspect");
    let builder = ResourceServer::builder("https://mcp.example.com")
        .issuer(issuer.issuer())
        .introspection(issuer.issuer(), url, "client", "client-secret")
        .static_token("ci", STATIC, ["x"]);
    assert!(!format!("{builder:?}").contains("secret"));
    assert!(!format!("{builder:?}").contains(STATIC));
    let server = builder.build().unwrap();
    let service = tower_layer::Layer::layer(&server, ());
    for text in [
        format!("{server:?}"),
        format!("{server:#?}"),
        format!("{service:?}"),
    ] {
        assert!(!text.contains("secret") && !text.contains(STATIC), "{text}");
        assert!(text.contains("mcp.example.com"), "{text}");
    }
    let principal = Principal::new("i", "s").claims(r#"{"email":"private"}"#.parse().unwrap());
    assert!(!format!("{:?}", VerifiedToken::new(principal, ["a"])).contains("private"));
}

#[tokio::test]
async fn the_log_has_the_reason_without_the_token() {
    let log = Log::start();
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let mut tokens = Vec::new();
    for (name, value) in [
        ("aud", json!("https://other.example")),
        ("exp", json!(1)),
        ("iss", json!("https://evil.example")),
        ("sub", json!(1)),
    ] {
        tokens.push(issuer.token_with(name, value));
    }
    tokens.push("opaque-and-unknown".to_owned());
    for token in &tokens {
        fixture.assert_refused(token).await;
    }
    let log = log.text();
    for reason in [
        "audience",
        "expired",
        "issuer is not trusted",
        "claims are malformed",
    ] {
        assert!(log.contains(reason), "{reason}: {log}");
    }
    for token in &tokens {
        for part in token.split('.') {
            assert!(!log.contains(part), "{log}");
        }
    }
}
