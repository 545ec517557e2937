//! Opaque tokens: introspection, verifiers of the application, static tokens and API keys.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, timeout};
use turnbuckle_types::Principal;

use super::support::{Fixture, NOW, RESOURCE, TestIssuer};
use crate::server::{TokenRejection, TokenVerifier, VerifiedToken, VerifyFuture};
use crate::test_http::{Reply, ScriptedServer};
use crate::test_log::Log;

const STATIC: &str = "a-long-random-token-0123456789";

fn introspecting(issuer: &TestIssuer) -> Fixture {
    let url = issuer.server.url("/introspect");
    Fixture::new(|it| it.introspection(issuer.issuer(), url, "rs id", "s:e c"))
}

fn active(name: &str, value: Value) -> Reply {
    let mut claims = json!({
        "active": true, "sub": "ann", "client_id": "app", "aud": RESOURCE, "scope": "read write",
        "exp": NOW + 3600,
    });
    claims[name] = value;
    Reply::json(claims)
}

#[tokio::test]
async fn an_opaque_token_is_introspected() {
    let issuer = TestIssuer::start().await;
    issuer.set_introspection(active("username", json!("Ann")));
    let fixture = introspecting(&issuer);
    fixture.assert_admitted("opaque").await;
    let principal = fixture.requests()[0].principal.clone().unwrap();
    assert_eq!(
        (principal.issuer.as_str(), principal.subject.as_str()),
        (issuer.issuer().as_str(), "ann")
    );
    assert_eq!(principal.scopes, ["read", "write"]);
    let request = &issuer.server.requests()[0];
    assert_eq!(request.form("token").as_deref(), Some("opaque"));
    // The client id and secret are encoded as in a form before they are joined.
    assert_eq!(
        request.header("authorization"),
        Some("Basic cnMraWQ6cyUzQWUrYw==")
    );
}

#[tokio::test]
async fn an_introspected_token_may_have_a_type_of_access_tokens() {
    let issuer = TestIssuer::start().await;
    let fixture = introspecting(&issuer);
    for name in ["Bearer", "DPoP", "access_token", "at+jwt", "another"] {
        issuer.set_introspection(active("token_type", json!(name)));
        fixture.assert_admitted(name).await;
    }
}

#[tokio::test]
async fn an_active_token_is_asked_about_once_a_minute() {
    let issuer = TestIssuer::start().await;
    issuer.set_introspection(active("x", json!(1)));
    let fixture = introspecting(&issuer);
    for _ in 0..5 {
        fixture.assert_admitted("opaque").await;
    }
    assert_eq!(issuer.count("/introspect"), 1);
    fixture.advance(60);
    issuer.set_introspection(Reply::json(json!({"active": false})));
    fixture.assert_refused("opaque").await;
    assert_eq!(issuer.count("/introspect"), 2);
}

#[tokio::test]
async fn an_inactive_token_is_not_asked_about_again_at_once() {
    let issuer = TestIssuer::start().await;
    let fixture = introspecting(&issuer);
    for _ in 0..5 {
        fixture.assert_refused("dead").await;
    }
    assert_eq!(issuer.count("/introspect"), 1);
    issuer.set_introspection(active("x", json!(1)));
    fixture.advance(10);
    fixture.assert_admitted("dead").await;
}

// requirement: 191fec6b8487 2b577b0c8903 772a89216815 ffdbb4924039
#[tokio::test]
async fn an_introspected_token_must_be_for_this_resource_and_in_time() {
    let issuer = TestIssuer::start().await;
    let fixture = introspecting(&issuer);
    for (number, (name, value)) in [
        ("aud", json!("https://other.example")),
        ("aud", json!(null)),
        ("iss", json!("https://other.example")),
        ("exp", json!(NOW - 100)),
        ("nbf", json!(NOW + 100)),
        ("active", json!(false)),
        ("active", json!(null)),
        ("cnf", json!({"x5t#S256": "abc"})),
        ("token_type", json!("refresh_token")),
        ("token_type", json!("ID_TOKEN")),
        ("token_type", json!("refreshToken")),
        ("token_type", json!("Refresh Token")),
        ("token_type", json!("urn:example:oauth:Refresh-Token")),
        ("tokenType", json!("refresh_token")),
        ("token_use", json!("refresh_token")),
        ("typ", json!("Refresh")),
        ("typ", json!("Offline")),
        ("type", json!("refresh")),
        ("kind", json!("refresh_token")),
        ("events", json!({})),
    ]
    .into_iter()
    .enumerate()
    {
        issuer.set_introspection(active(name, value));
        fixture.assert_refused(&format!("opaque-{number}")).await;
    }
}

#[tokio::test]
async fn an_introspection_endpoint_that_fails_is_503() {
    let issuer = TestIssuer::start().await;
    let fixture = introspecting(&issuer);
    for reply in [
        Reply::status(500),
        Reply::status(401),
        Reply::status(302).header("location", "https://evil.example"),
        Reply::status(200).with_body("no json"),
        Reply::json(json!({"active": "true"})),
        Reply::status(200).with_body(" ".repeat(1 << 20)),
    ] {
        issuer.set_introspection(reply);
        let answer = fixture.post_token("opaque").await;
        assert_eq!(answer.status, 503);
        assert_eq!(answer.header("retry-after"), Some("5"));
    }
    issuer.set_introspection(active("x", json!(1)));
    fixture.assert_admitted("opaque").await;
}

#[tokio::test]
async fn a_jwt_of_another_issuer_is_not_shown_to_the_introspection_endpoint() {
    let issuer = TestIssuer::start().await;
    issuer.set_introspection(active("x", json!(1)));
    let fixture = introspecting(&issuer);
    let foreign = issuer.token_with("iss", json!("https://other.example"));
    fixture.assert_refused(&foreign).await;
    assert_eq!(issuer.count("/introspect"), 0);
    fixture.assert_admitted(&issuer.token()).await;
}

#[tokio::test]
async fn a_token_in_an_api_key_header_is_not_introspected() {
    let issuer = TestIssuer::start().await;
    issuer.set_introspection(active("x", json!(1)));
    let url = issuer.server.url("/introspect");
    let fixture = Fixture::new(|it| {
        it.introspection(issuer.issuer(), url, "id", "secret")
            .api_key_header("x-api-key")
    });
    fixture.assert_admitted("opaque").await;
    assert_eq!(fixture.post(&[("x-api-key", "opaque")]).await.status, 401);
    assert_eq!(issuer.count("/introspect"), 1);
}

const STRANGER: &str = "192.0.2.66";
const OTHER: &str = "198.51.100.1";

/// Sends requests with 700 tokens from one address, and returns once that address has its share of
/// the requests to the authorization server.
async fn send_strangers(fixture: &Fixture, server: &ScriptedServer) -> JoinSet<()> {
    let mut strangers = JoinSet::new();
    for number in 0..700 {
        let response = fixture.start_from(STRANGER, &format!("stranger-{number}"));
        strangers.spawn(async move { drop(response.await) });
    }
    while server.requests().len() < 16 {
        yield_now().await;
    }
    strangers
}

#[tokio::test]
async fn strangers_at_one_address_keep_no_good_token_out() {
    let server = ScriptedServer::start(|request| match request.form("token").as_deref() {
        Some("good" | "new") => active("x", json!(1)),
        _ => Reply::status(200).delay(Duration::from_secs(3600)),
    });
    let server = server.await;
    let (issuer, url) = (server.origin(), server.url("/introspect"));
    let fixture = Fixture::new(|it| it.introspection(issuer, url, "id", "secret"));
    let admitted = async |address, token| {
        let response = timeout(Duration::from_secs(4), fixture.start_from(address, token));
        assert_eq!(response.await.expect("no wait").status(), 200, "{token}");
    };
    admitted(STRANGER, "good").await;
    fixture.advance(60);
    let strangers = send_strangers(&fixture, &server).await;
    admitted(OTHER, "new").await;
    // Its result is no longer kept, but that it was good is known.
    admitted(STRANGER, "good").await;
    assert_eq!(server.requests().len(), 1 + 16 + 2);
    drop(strangers);
}

struct Verifier {
    calls: Arc<AtomicUsize>,
    cache: Duration,
}

impl TokenVerifier for Verifier {
    fn verify<'a>(&'a self, token: &'a str) -> VerifyFuture<'a> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let principal = Principal::new("https://own.example", "bob").scopes(["a"]);
        Box::pin(async move {
            match token {
                "good" => Ok(VerifiedToken::new(principal, [RESOURCE])
                    .expires_at(NOW + 100)
                    .cache_for(self.cache)),
                "for-others" => Ok(VerifiedToken::new(principal, ["https://other.example"])),
                "for-nobody" => Ok(VerifiedToken::new(principal, [""; 0])),
                "old" => Ok(VerifiedToken::new(principal, [RESOURCE]).expires_at(NOW - 100)),
                "down" => Err(TokenRejection::Unavailable("no database".into())),
                _ => Err(TokenRejection::Invalid("unknown".into())),
            }
        })
    }
}

#[tokio::test]
async fn a_verifier_of_the_application_is_asked() {
    for (cache, calls) in [(Duration::ZERO, 3), (Duration::from_secs(60), 1)] {
        let verifier = Verifier {
            calls: Arc::default(),
            cache,
        };
        let counted = Arc::clone(&verifier.calls);
        let issuer = "https://own.example";
        let fixture = Fixture::new(|it| it.verifier(verifier).authorization_server(issuer));
        assert_eq!(
            fixture.server.metadata().unwrap().authorization_servers,
            [issuer]
        );
        for _ in 0..3 {
            fixture.assert_admitted("good").await;
        }
        assert_eq!(counted.load(Ordering::SeqCst), calls);
        for token in ["for-others", "for-nobody", "old", "bad"] {
            fixture.assert_refused(token).await;
        }
        assert_eq!(fixture.post_token("down").await.status, 503);
    }
}

/// A verifier that never ends for strangers.
struct SlowVerifier;

impl TokenVerifier for SlowVerifier {
    fn verify<'a>(&'a self, token: &'a str) -> VerifyFuture<'a> {
        Box::pin(async move {
            if token != "good" {
                pending::<()>().await;
            }
            let principal = Principal::new("https://own.example", "bob");
            Ok(VerifiedToken::new(principal, [RESOURCE]))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn strangers_at_one_address_keep_no_good_token_from_a_verifier() {
    let fixture = Fixture::new(|it| it.verifier(SlowVerifier));
    let start = Instant::now();
    let mut strangers = JoinSet::new();
    for number in 0..700 {
        let response = fixture.start_from(STRANGER, &format!("stranger-{number}"));
        strangers.spawn(async move { response.await.status() });
    }
    yield_now().await;
    let admitted = fixture.start_from(OTHER, "good").await;
    assert_eq!(admitted.status(), 200);
    // Known by now: no stranger at its address is in the way.
    let admitted = fixture.start_from(STRANGER, "good").await;
    assert_eq!(
        (admitted.status().as_u16(), start.elapsed()),
        (200, Duration::ZERO)
    );
    // The share of an address is used up, and the others do not wait for ever.
    assert_eq!(strangers.join_next().await.unwrap().unwrap(), 503);
    assert_eq!(start.elapsed(), Duration::from_secs(5));
}

// requirement: fcbcd51c2ef8
#[tokio::test]
async fn static_tokens_and_api_keys() {
    let fixture = Fixture::new(|it| {
        it.static_token("ci", STATIC, ["admin"])
            .api_key_header("X-Api-Key")
            .required_scopes(["read"])
            .scope_implies("admin", ["read"])
            .static_token("weak", "another-long-random-token", [""; 0])
    });
    fixture.assert_admitted(STATIC).await;
    assert_eq!(fixture.post(&[("x-api-key", STATIC)]).await.status, 200);
    for seen in fixture.requests() {
        let principal = seen.principal.unwrap();
        assert_eq!(principal.issuer, "urn:turnbuckle:static");
        assert_eq!(
            (principal.subject.as_str(), principal.client.as_deref()),
            ("ci", None)
        );
        assert_eq!(principal.scopes, ["admin", "read"]);
        assert!(seen.headers.is_empty());
    }
    assert_eq!(
        fixture.post_token("another-long-random-token").await.status,
        403
    );
    fixture.assert_refused(&STATIC[1..]).await;
    assert_eq!(fixture.post(&[("x-api-key", "wrong")]).await.status, 401);
    let answer = fixture.send(super::support::request(
        "POST",
        &format!("/mcp?access_token={STATIC}"),
        &[],
    ));
    assert_eq!(answer.await.status, 400);
}

#[tokio::test]
async fn static_tokens_stand_beside_an_issuer() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::new(|it| it.issuer(issuer.issuer()).static_token("ci", STATIC, ["x"]));
    fixture.assert_admitted(STATIC).await;
    fixture.assert_admitted(&issuer.token()).await;
    fixture.assert_refused("another-long-random-token").await;
    assert_eq!(issuer.count("/jwks"), 1);
}

/// A verifier that panics, with a message that quotes the token.
struct Panicking;

impl TokenVerifier for Panicking {
    fn verify<'a>(&'a self, token: &'a str) -> VerifyFuture<'a> {
        assert!(!token.starts_with("early"), "no verdict on {token}");
        Box::pin(async move { panic!("no result for {token}") })
    }
}

#[tokio::test]
async fn a_verifier_that_panics_cannot_check_the_token() {
    let log = Log::start();
    let fixture = Fixture::new(|it| it.verifier(Panicking));
    for token in ["early-0123456789", "late-0123456789"] {
        let answer = fixture.post_token(token).await;
        assert_eq!(answer.status, 503, "{answer:?}");
        assert_eq!(answer.header("retry-after"), Some("5"));
        assert!(
            !answer.body.contains("verdict") && !answer.body.contains("result"),
            "{answer:?}"
        );
    }
    assert!(fixture.requests().is_empty());
    let text = log.text();
    for line in ["ERROR", "no verdict on [token]", "no result for [token]"] {
        assert!(text.contains(line), "{text}");
    }
    assert!(!text.contains("0123456789"), "{text}");
}
