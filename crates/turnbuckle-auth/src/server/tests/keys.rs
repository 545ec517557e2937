//! The keys of an issuer: rotation, storms of unknown keys, and issuers that fail.

use std::time::{Duration, Instant};

use serde_json::json;

use super::support::{Fixture, TestIssuer, TestKey, jwks};
use crate::test_http::Reply;

#[tokio::test]
async fn keys_are_fetched_once_and_verified_tokens_are_cached() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    for number in 0..20 {
        fixture
            .assert_admitted(&issuer.token_with("jti", json!(number % 5)))
            .await;
    }
    assert_eq!(issuer.count("/jwks"), 1);
}

#[tokio::test]
async fn many_first_requests_share_one_fetch() {
    let issuer = TestIssuer::start().await;
    issuer.set_jwks(jwks(&[&issuer.key]).delay(Duration::from_millis(100)));
    let fixture = Fixture::for_issuer(&issuer);
    let token = issuer.token();
    let mut tasks = Vec::new();
    for _ in 0..16 {
        tasks.push(fixture.post_token(&token));
    }
    for answer in join_all(tasks).await {
        assert_eq!(answer.status, 200);
    }
    assert_eq!(issuer.count("/jwks"), 1);
}

#[tokio::test]
async fn a_new_key_is_found_when_keys_rotate() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    fixture.assert_admitted(&issuer.token()).await;
    let second = TestKey::es256("two", 2);
    issuer.set_jwks(jwks(&[&issuer.key, &second]));
    fixture
        .assert_admitted(&second.sign(&issuer.claims()))
        .await;
    assert_eq!(issuer.count("/jwks"), 2);
    // The second rotation comes too soon: it waits for the interval.
    let third = TestKey::es256("three", 3);
    issuer.set_jwks(jwks(&[&third]));
    fixture.assert_refused(&third.sign(&issuer.claims())).await;
    fixture.advance(30);
    fixture.assert_admitted(&third.sign(&issuer.claims())).await;
    // The withdrawn key counts no more for new tokens.
    fixture
        .assert_refused(&second.sign(&json!({"iss": issuer.issuer()})))
        .await;
}

#[tokio::test]
async fn a_withdrawn_key_counts_for_a_limited_time() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let token = issuer.token();
    fixture.assert_admitted(&token).await;
    issuer.set_jwks(jwks(&[&TestKey::es256("two", 2)]));
    fixture.advance(299);
    fixture.assert_admitted(&token).await;
    // The cached token is verified again. The keys are ten minutes old: newer ones are fetched
    // meanwhile, and what the old ones verify is kept for a few seconds only.
    fixture.advance(301);
    fixture.assert_admitted(&token).await;
    issuer.wait_for("/jwks", 2).await;
    let mut admitted = 0;
    while fixture.post_token(&token).await.status == 200 {
        admitted += 1;
        assert!(admitted < 100, "the withdrawn key still counts");
        fixture.advance(10);
    }
}

#[tokio::test]
async fn no_request_waits_for_newer_keys_while_the_old_ones_are_good() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    fixture.assert_admitted(&issuer.token()).await;
    // The issuer takes longer than the time limit of a request to it.
    issuer.set_jwks(jwks(&[&issuer.key]).delay(Duration::from_secs(60)));
    fixture.advance(600);
    let start = Instant::now();
    for number in 0..10 {
        let token = issuer.token_with("jti", json!(number));
        fixture.assert_admitted(&token).await;
    }
    assert!(
        start.elapsed() < Duration::from_secs(4),
        "{:?}",
        start.elapsed()
    );
    issuer.wait_for("/jwks", 2).await;
    assert_eq!(issuer.count("/jwks"), 2);
}

#[tokio::test]
async fn a_storm_of_unknown_keys_causes_one_fetch() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    fixture.assert_admitted(&issuer.token()).await;
    let mut tokens = Vec::new();
    for number in 0..50 {
        tokens.push(TestKey::es256(&format!("unknown-{number}"), 7).sign(&issuer.claims()));
    }
    let answers = join_all(
        tokens
            .iter()
            .map(|token| fixture.post_token(token))
            .collect(),
    )
    .await;
    assert!(answers.iter().all(|answer| answer.status == 401));
    for token in &tokens {
        fixture.assert_refused(token).await;
    }
    assert_eq!(issuer.count("/jwks"), 2);
    fixture.advance(30);
    fixture.assert_refused(&tokens[0]).await;
    assert_eq!(issuer.count("/jwks"), 3);
    // Wrong signatures of a known key count as unknown keys do.
    fixture.advance(30);
    for seed in 7..17 {
        fixture
            .assert_refused(&TestKey::es256("one", seed).sign(&issuer.claims()))
            .await;
        fixture.assert_refused(&tokens[0]).await;
    }
    assert_eq!(issuer.count("/jwks"), 4);
}

#[tokio::test]
async fn a_key_that_is_replaced_under_its_identifier_is_found() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    fixture.assert_admitted(&issuer.token()).await;
    let second = TestKey::es256("one", 2);
    issuer.set_jwks(jwks(&[&second]));
    fixture
        .assert_admitted(&second.sign(&issuer.claims()))
        .await;
    assert_eq!(issuer.count("/jwks"), 2);
    // The next one waits for the interval.
    let third = TestKey::es256("one", 3);
    issuer.set_jwks(jwks(&[&third]));
    fixture.assert_refused(&third.sign(&issuer.claims())).await;
    fixture.advance(30);
    fixture.assert_admitted(&third.sign(&issuer.claims())).await;
    assert_eq!(issuer.count("/jwks"), 3);
}

#[tokio::test]
async fn a_wrong_signature_is_401_while_the_issuer_fails() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    fixture.assert_admitted(&issuer.token()).await;
    issuer.set_jwks(Reply::status(500));
    for _ in 0..3 {
        fixture
            .assert_refused(&TestKey::es256("one", 7).sign(&issuer.claims()))
            .await;
    }
    assert_eq!(issuer.count("/jwks"), 2);
    let unknown = TestKey::es256("two", 2).sign(&issuer.claims());
    assert_eq!(fixture.post_token(&unknown).await.status, 503);
}

#[tokio::test]
async fn keys_without_or_with_equal_identifiers_are_all_tried() {
    let issuer = TestIssuer::start().await;
    let mut keys = [
        TestKey::es256("same", 2),
        TestKey::es256("same", 3),
        TestKey::es256("x", 4),
    ];
    keys[2].jwk.as_object_mut().unwrap().remove("kid");
    issuer.set_jwks(jwks(&keys.each_ref()));
    let fixture = Fixture::for_issuer(&issuer);
    for key in &keys {
        let mut header = key.header();
        header.as_object_mut().unwrap().remove("kid");
        fixture
            .assert_admitted(&key.sign_with(&header, &issuer.claims()))
            .await;
    }
    fixture
        .assert_admitted(&keys[0].sign(&issuer.claims()))
        .await;
    fixture
        .assert_admitted(&keys[1].sign(&issuer.claims()))
        .await;
}

#[tokio::test]
async fn keys_that_cannot_be_reached_are_503_and_not_401() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    for reply in [
        Reply::status(500),
        Reply::status(200).with_body("no json"),
        Reply::json(json!({"keys": "none"})),
    ] {
        issuer.set_jwks(reply);
        fixture.advance(5);
        let answer = fixture.post_token(&issuer.token()).await;
        assert_eq!(answer.status, 503);
        assert_eq!(answer.header("retry-after"), Some("5"));
        assert!(answer.challenges().is_empty());
    }
    // There is a pause between failed fetches.
    let before = issuer.count("/jwks");
    issuer.set_jwks(jwks(&[&issuer.key]));
    assert_eq!(fixture.post_token(&issuer.token()).await.status, 503);
    assert_eq!(issuer.count("/jwks"), before);
    fixture.advance(5);
    fixture.assert_admitted(&issuer.token()).await;
}

#[tokio::test]
async fn an_issuer_that_fails_later_does_not_invalidate_known_keys() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    fixture
        .assert_admitted(&issuer.token_with("exp", json!(fixture.now() + 9_000)))
        .await;
    issuer.set_jwks(Reply::status(500));
    let token = issuer.token_with("exp", json!(fixture.now() + 9_000));
    fixture.advance(3_000);
    fixture.assert_admitted(&token).await;
    fixture.advance(600);
    assert_eq!(fixture.post_token(&token).await.status, 503);
}

#[tokio::test]
async fn metadata_of_another_issuer_is_not_used() {
    let issuer = TestIssuer::start().await;
    let url = issuer.server.url("/jwks");
    let metadata = json!({"issuer": "https://honest.example", "jwks_uri": url});
    issuer.state.lock().unwrap().metadata = Some(Reply::json(metadata));
    let fixture = Fixture::for_issuer(&issuer);
    assert_eq!(fixture.post_token(&issuer.token()).await.status, 503);
    assert_eq!(issuer.count("/jwks"), 0);
}

#[tokio::test]
async fn a_configured_key_url_needs_no_metadata() {
    let issuer = TestIssuer::start().await;
    let url = issuer.server.url("/jwks");
    let fixture = Fixture::new(|it| it.jwks(issuer.issuer(), url));
    fixture.assert_admitted(&issuer.token()).await;
    assert_eq!(issuer.server.paths(), ["/jwks"]);
}

#[tokio::test]
async fn a_huge_key_set() {
    let issuer = TestIssuer::start().await;
    issuer.set_jwks(Reply::status(200).with_body(" ".repeat(8 << 20)));
    let fixture = Fixture::for_issuer(&issuer);
    assert_eq!(fixture.post_token(&issuer.token()).await.status, 503);
    issuer.set_jwks(
        Reply::status(200)
            .with_body(" ".repeat(8 << 20))
            .without_length(),
    );
    fixture.advance(5);
    assert_eq!(fixture.post_token(&issuer.token()).await.status, 503);
}

#[tokio::test]
async fn a_slow_key_set() {
    let issuer = TestIssuer::start().await;
    let interval = Duration::from_millis(200);
    issuer.set_jwks(jwks(&[&issuer.key]).byte_interval(interval));
    let fixture = Fixture::for_issuer(&issuer);
    let start = Instant::now();
    assert_eq!(fixture.post_token(&issuer.token()).await.status, 503);
    assert!(start.elapsed() < Duration::from_secs(9));
}

#[tokio::test]
async fn a_cancelled_request_does_not_cancel_the_fetch() {
    let issuer = TestIssuer::start().await;
    issuer.set_jwks(jwks(&[&issuer.key]).delay(Duration::from_millis(200)));
    let fixture = Fixture::for_issuer(&issuer);
    let token = issuer.token();
    let cancelled = tokio::time::timeout(Duration::from_millis(50), fixture.post_token(&token));
    assert!(cancelled.await.is_err());
    fixture.assert_admitted(&token).await;
    assert_eq!(issuer.count("/jwks"), 1);
}

#[tokio::test]
async fn a_key_set_with_many_keys_is_cut() {
    let issuer = TestIssuer::start().await;
    let mut all = vec![TestKey::es256("x", 9); 200];
    all.push(issuer.key.clone());
    issuer.set_jwks(jwks(&all.iter().collect::<Vec<_>>()));
    Fixture::for_issuer(&issuer)
        .assert_refused(&issuer.token())
        .await;
}

async fn join_all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut outputs: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none()
                && let std::task::Poll::Ready(ready) = future.as_mut().poll(cx)
            {
                *output = Some(ready);
            }
        }
        if outputs.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    outputs.into_iter().flatten().collect()
}
