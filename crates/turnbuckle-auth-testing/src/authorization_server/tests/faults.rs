//! Fault switches.

use std::time::{Duration, Instant};

use super::{REDIRECT, Script, builder, claims};

#[tokio::test]
async fn failing_requests_have_no_effect() {
    let script = Script::start(builder()).await;
    let faults = script.server.faults();
    faults.fail_token_requests(2, 503, "temporarily_unavailable");
    let code = script.code(&[]).await;
    for _ in 0..2 {
        script
            .exchange(&code, &[])
            .await
            .assert_error(503, "temporarily_unavailable");
    }
    let refresh = script.exchange(&code, &[]).await.text("refresh_token");
    faults.fail_refresh_requests(1, 400, "invalid_grant");
    script
        .refresh(&refresh, &[])
        .await
        .assert_error(400, "invalid_grant");
    script.refresh(&refresh, &[]).await.ok();
    faults.fail_refresh_requests(5, 42, "x");
    script.refresh(&refresh, &[]).await.assert_error(500, "x");
    faults.reset();
    let metadata = script.url("/.well-known/oauth-authorization-server");
    faults.fail_metadata_requests(1, 500);
    assert_eq!(script.get(&metadata).await.status, 500);
    script.get(&metadata).await.ok();
}

#[tokio::test]
async fn a_lost_answer_spends_the_refresh_token() {
    let script = Script::start(builder()).await;
    let refresh = script.log_in().await.text("refresh_token");
    script.server.faults().drop_refresh_answers(1);
    let form = [
        ("grant_type", "refresh_token"),
        ("client_id", super::CLIENT),
        ("refresh_token", &refresh),
        ("resource", super::RESOURCE),
    ];
    assert!(script.try_post("/token", &form, &[]).await.is_err());
    assert!(script.server.events().last().unwrap().is_dropped);
    script
        .refresh(&refresh, &[])
        .await
        .assert_error(400, "invalid_grant");

    script.server.faults().drop_token_answers(1);
    let code = script.code(&[]).await;
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", super::CLIENT),
        ("code", &code),
        ("redirect_uri", REDIRECT),
        ("code_verifier", super::VERIFIER),
        ("resource", super::RESOURCE),
    ];
    assert!(script.try_post("/token", &form, &[]).await.is_err());
    script.log_in().await.ok();
}

#[tokio::test]
async fn authorization_responses_can_be_wrong() {
    let script = Script::start(builder()).await;
    let faults = script.server.faults();
    faults.omit_response_issuer(true);
    assert!(!script.authorize(&[]).await.redirect().contains_key("iss"));
    assert!(
        !script
            .authorize(&[("scope", "x")])
            .await
            .redirect()
            .contains_key("iss")
    );
    faults.reset();
    faults.set_response_issuer(Some("https://evil.example"));
    assert_eq!(
        script.authorize(&[]).await.redirect()["iss"],
        "https://evil.example"
    );
    faults.reset();
    faults.set_response_state(Some("other"));
    assert_eq!(script.authorize(&[]).await.redirect()["state"], "other");
    faults.reset();
    faults.deny_authorizations(1);
    assert_eq!(
        script.authorize(&[]).await.redirect()["error"],
        "access_denied"
    );
    script.code(&[]).await;
}

#[tokio::test]
async fn documents_can_be_wrong_huge_and_slow() {
    let script = Script::start(builder()).await;
    let faults = script.server.faults();
    let url = script.url("/.well-known/oauth-authorization-server");
    faults.set_metadata_issuer(Some("https://evil.example"));
    assert_eq!(
        script.get(&url).await.ok()["issuer"],
        "https://evil.example"
    );
    faults.set_metadata_issuer(None);
    faults.pad_metadata(1_000_000);
    assert!(script.get(&url).await.body.len() > 1_000_000);
    faults.pad_metadata(0);
    faults.omit_pkce_methods(true);
    assert!(
        script
            .get(&url)
            .await
            .ok()
            .get("code_challenge_methods_supported")
            .is_none()
    );
    faults.delay_answers(Duration::from_millis(300));
    let start = Instant::now();
    script.get(&url).await.ok();
    assert!(start.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn token_answers_can_lack_what_a_client_wants() {
    let script = Script::start(builder()).await;
    let faults = script.server.faults();
    faults.withhold_refresh_tokens(true);
    faults.omit_expires_in(true);
    faults.omit_scope(true);
    faults.set_token_ttl(Some(Duration::from_secs(3)));
    let body = script.log_in().await.ok();
    for name in ["refresh_token", "expires_in", "scope"] {
        assert!(body.get(name).is_none(), "{name}");
    }
    let claims = claims(body["access_token"].as_str().unwrap());
    assert_eq!(
        claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(),
        3
    );
    faults.reset();
    assert_eq!(script.log_in().await.ok()["expires_in"], 3600);
}
