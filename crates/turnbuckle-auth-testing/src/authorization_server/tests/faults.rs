//! Fault switches.

use std::time::{Duration, Instant};

use super::super::FailedRequests;
use super::{REDIRECT, Script, builder, claims};

#[tokio::test]
async fn failing_requests_have_no_effect() {
    let script = Script::start(builder()).await;
    script.server.set_faults(|it| {
        it.failed_token_requests = FailedRequests::new(2, 503, "temporarily_unavailable")
    });
    let code = script.code(&[]).await;
    for _ in 0..2 {
        script
            .exchange(&code, &[])
            .await
            .assert_error(503, "temporarily_unavailable");
    }
    let refresh = script.exchange(&code, &[]).await.text("refresh_token");
    script
        .server
        .set_faults(|it| it.failed_refreshes = FailedRequests::new(1, 400, "invalid_grant"));
    script
        .refresh(&refresh, &[])
        .await
        .assert_error(400, "invalid_grant");
    script.refresh(&refresh, &[]).await.ok();
    script
        .server
        .set_faults(|it| it.failed_refreshes = FailedRequests::new(5, 42, "x"));
    script.refresh(&refresh, &[]).await.assert_error(500, "x");
    script.server.reset_faults();
    let metadata = script.url("/.well-known/oauth-authorization-server");
    script
        .server
        .set_faults(|it| it.failed_metadata_requests = FailedRequests::new(1, 500, "server_error"));
    assert_eq!(script.get(&metadata).await.status, 500);
    script.get(&metadata).await.ok();
}

#[tokio::test]
async fn a_lost_answer_spends_the_refresh_token() {
    let script = Script::start(builder()).await;
    let refresh = script.log_in().await.text("refresh_token");
    script
        .server
        .set_faults(|it| it.dropped_refresh_answers = 1);
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

    script.server.set_faults(|it| it.dropped_token_answers = 1);
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
    script
        .server
        .set_faults(|it| it.omit_response_issuer = true);
    assert!(!script.authorize(&[]).await.redirect().contains_key("iss"));
    assert!(
        !script
            .authorize(&[("scope", "x")])
            .await
            .redirect()
            .contains_key("iss")
    );
    script.server.reset_faults();
    script
        .server
        .set_faults(|it| it.response_issuer = Some("https://evil.example".to_owned()));
    assert_eq!(
        script.authorize(&[]).await.redirect()["iss"],
        "https://evil.example"
    );
    script.server.reset_faults();
    script
        .server
        .set_faults(|it| it.response_state = Some("other".to_owned()));
    assert_eq!(script.authorize(&[]).await.redirect()["state"], "other");
    script.server.reset_faults();
    script.server.set_faults(|it| it.denied_authorizations = 1);
    assert_eq!(
        script.authorize(&[]).await.redirect()["error"],
        "access_denied"
    );
    script.code(&[]).await;
}

#[tokio::test]
async fn documents_can_be_wrong_huge_and_slow() {
    let script = Script::start(builder()).await;
    let url = script.url("/.well-known/oauth-authorization-server");
    script
        .server
        .set_faults(|it| it.metadata_issuer = Some("https://evil.example".to_owned()));
    assert_eq!(
        script.get(&url).await.ok()["issuer"],
        "https://evil.example"
    );
    script.server.set_faults(|it| it.metadata_issuer = None);
    script.server.set_faults(|it| it.metadata_bytes = 1_000_000);
    assert!(script.get(&url).await.body.len() > 1_000_000);
    script.server.set_faults(|it| it.metadata_bytes = 0);
    script.server.set_faults(|it| it.omit_pkce_methods = true);
    assert!(
        script
            .get(&url)
            .await
            .ok()
            .get("code_challenge_methods_supported")
            .is_none()
    );
    script
        .server
        .set_faults(|it| it.delay = Duration::from_millis(300));
    let start = Instant::now();
    script.get(&url).await.ok();
    assert!(start.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn token_answers_can_lack_optional_members() {
    let script = Script::start(builder()).await;
    script
        .server
        .set_faults(|it| it.withhold_refresh_tokens = true);
    script.server.set_faults(|it| it.omit_expires_in = true);
    script.server.set_faults(|it| it.omit_scope = true);
    script
        .server
        .set_faults(|it| it.token_ttl = Some(Duration::from_secs(3)));
    let body = script.log_in().await.ok();
    for name in ["refresh_token", "expires_in", "scope"] {
        assert!(body.get(name).is_none(), "{name}");
    }
    let claims = claims(body["access_token"].as_str().unwrap());
    assert_eq!(
        claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(),
        3
    );
    script.server.reset_faults();
    assert_eq!(script.log_in().await.ok()["expires_in"], 3600);
}
