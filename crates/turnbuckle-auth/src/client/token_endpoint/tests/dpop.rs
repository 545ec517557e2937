//! Token requests with DPoP proofs.

use std::sync::atomic::{AtomicUsize, Ordering};

use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::*;
use crate::dpop::DpopKey;

fn proof_claims(request: &RecordedRequest) -> Value {
    let proof = request.header("dpop").unwrap();
    assert_eq!(request.headers.get_all("dpop").iter().count(), 1);
    let claims = proof.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap()
}

#[tokio::test]
async fn a_nonce_that_the_server_asks_for_is_sent_once_and_then_always() {
    let count = AtomicUsize::new(0);
    let mut fixture = Fixture::new(move |request| {
        let count = count.fetch_add(1, Ordering::SeqCst);
        match proof_claims(request)["nonce"].as_str() {
            None => Reply::status(400)
                .header("dpop-nonce", "nonce-1")
                .with_json(json!({ "error": "use_dpop_nonce" })),
            Some(_) => token("dpop").header("dpop-nonce", &format!("nonce-{}", count + 1)),
        }
    })
    .await;
    fixture.dpop = Some(DpopSession::new(DpopKey::generate().unwrap()));
    assert_eq!(fixture.request().await.unwrap().token_type, "DPoP");
    fixture.request().await.unwrap();
    let claims: Vec<_> = fixture.http.requests().iter().map(proof_claims).collect();
    let nonces: Vec<_> = claims
        .iter()
        .map(|claims| claims["nonce"].as_str())
        .collect();
    assert_eq!(nonces, [None, Some("nonce-1"), Some("nonce-2")]);
    for claims in &claims {
        assert_eq!(claims["htm"], "POST");
        assert_eq!(claims["htu"], json!(fixture.http.url("/token")));
        assert_eq!(claims["iat"], json!(NOW));
        assert_eq!(claims["ath"], Value::Null);
    }
    assert!(claims[0]["jti"] != claims[1]["jti"] && claims[1]["jti"] != claims[2]["jti"]);
}

#[tokio::test]
async fn a_server_that_never_likes_the_nonce_is_asked_twice() {
    let mut fixture = Fixture::new(|_| {
        Reply::status(400)
            .header("dpop-nonce", "again")
            .with_json(json!({ "error": "use_dpop_nonce" }))
    })
    .await;
    fixture.dpop = Some(DpopSession::new(DpopKey::generate().unwrap()));
    assert_eq!(refusal(fixture.request().await).1, "use_dpop_nonce");
    assert_eq!(fixture.http.requests().len(), 2);
    fixture.dpop = None;
    fixture.request().await.unwrap_err();
    assert_eq!(fixture.http.requests().len(), 3, "no retry without DPoP");
}

#[tokio::test]
async fn a_bearer_token_is_refused_if_dpop_was_asked_for() {
    let mut fixture = Fixture::new(|_| token("Bearer")).await;
    fixture.dpop = Some(DpopSession::new(DpopKey::generate().unwrap()));
    let error = fixture.request().await.unwrap_err();
    assert!(error.to_string().contains("not DPoP"), "{error}");
    let without_type = Fixture::new(|_| Reply::json(json!({ "access_token": "a" }))).await;
    let without_type = Fixture {
        dpop: fixture.dpop.take(),
        ..without_type
    };
    without_type.request().await.unwrap_err();
}
