//! Refresh tokens.

use std::time::Duration;

use super::{Script, builder, claims};

#[tokio::test]
async fn each_refresh_token_works_once() {
    let script = Script::start(builder()).await;
    let mut refresh = script.log_in().await.text("refresh_token");
    for _ in 0..5 {
        let answer = script.refresh(&refresh, &[]).await;
        let next = answer.text("refresh_token");
        assert_ne!(next, refresh);
        assert!(script.is_active(&answer.text("access_token")).await);
        refresh = next;
    }
}

#[tokio::test]
async fn a_reused_refresh_token_revokes_its_whole_family() {
    let script = Script::start(builder()).await;
    let login = script.log_in().await;
    let first = login.text("refresh_token");
    let answer = script.refresh(&first, &[]).await;
    let (token, second) = (answer.text("access_token"), answer.text("refresh_token"));
    let other_login = script.log_in().await;

    script
        .refresh(&first, &[])
        .await
        .assert_error(400, "invalid_grant");
    script
        .refresh(&second, &[])
        .await
        .assert_error(400, "invalid_grant");
    assert!(!script.is_active(&token).await);
    assert!(!script.is_active(&login.text("access_token")).await);
    script
        .refresh(&other_login.text("refresh_token"), &[])
        .await
        .ok();
}

#[tokio::test]
async fn of_two_refreshes_at_once_one_fails_and_the_family_is_revoked() {
    let script = Script::start(builder()).await;
    for _ in 0..10 {
        let refresh = script.log_in().await.text("refresh_token");
        let (one, two) = tokio::join!(script.refresh(&refresh, &[]), script.refresh(&refresh, &[]));
        let mut statuses = [one.status, two.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 400]);
        let winner = if one.status == 200 { one } else { two };
        let next = winner.text("refresh_token");
        script
            .refresh(&next, &[])
            .await
            .assert_error(400, "invalid_grant");
    }
}

#[tokio::test]
async fn a_refresh_narrows_scopes_but_never_widens_them() {
    let script = Script::start(builder()).await;
    let code = script.code(&[("scope", "read")]).await;
    let refresh = script.exchange(&code, &[]).await.text("refresh_token");
    let wider = [("scope", "read write")];
    script
        .refresh(&refresh, &wider)
        .await
        .assert_error(400, "invalid_scope");

    let refresh = script.log_in().await.text("refresh_token");
    let narrow = script.refresh(&refresh, &[("scope", "read")]).await;
    assert_eq!(claims(&narrow.text("access_token"))["scope"], "read");
    // The grant keeps its scopes.
    let full = script.refresh(&narrow.text("refresh_token"), &[]).await;
    assert_eq!(claims(&full.text("access_token"))["scope"], "read write");
}

#[tokio::test]
async fn a_refresh_token_is_bound_to_client_and_resource() {
    let script = Script::start(builder().resource("http://other.example/mcp")).await;
    let refresh = script.log_in().await.text("refresh_token");
    for (changes, error) in [
        (
            vec![("client_id", "web"), ("client_secret", "s3cret")],
            "invalid_grant",
        ),
        (
            vec![("resource", "http://other.example/mcp")],
            "invalid_target",
        ),
        (vec![("resource", "")], "invalid_target"),
    ] {
        script
            .refresh(&refresh, &changes)
            .await
            .assert_error(400, error);
    }
    script
        .refresh(&refresh, &[("client_id", "")])
        .await
        .assert_error(401, "invalid_client");
    script
        .refresh("unknown", &[])
        .await
        .assert_error(400, "invalid_grant");
    // None of these spent it.
    script.refresh(&refresh, &[]).await.ok();
}

#[tokio::test]
async fn refresh_tokens_expire() {
    let script = Script::start(builder().refresh_ttl(Duration::ZERO)).await;
    let refresh = script.log_in().await.text("refresh_token");
    script
        .refresh(&refresh, &[])
        .await
        .assert_error(400, "invalid_grant");
}

#[tokio::test]
async fn without_rotation_the_refresh_token_stays() {
    let script = Script::start(builder().rotate_refresh_tokens(false)).await;
    let refresh = script.log_in().await.text("refresh_token");
    for _ in 0..3 {
        let answer = script.refresh(&refresh, &[]).await;
        assert!(answer.ok().get("refresh_token").is_none());
    }
}

#[tokio::test]
async fn offline_access_can_be_required_for_refresh_tokens() {
    let script = Script::start(builder().require_offline_access(true)).await;
    assert!(script.log_in().await.ok().get("refresh_token").is_none());
    let code = script.code(&[("scope", "read offline_access")]).await;
    assert!(script.exchange(&code, &[]).await.ok()["refresh_token"].is_string());
    let metadata = script
        .get(&script.url("/.well-known/openid-configuration"))
        .await
        .ok();
    assert!(
        metadata["scopes_supported"]
            .as_array()
            .unwrap()
            .contains(&"offline_access".into())
    );
}

#[tokio::test]
async fn revoking_a_refresh_token_ends_the_login() {
    let script = Script::start(builder()).await;
    let login = script.log_in().await;
    let (token, refresh) = (login.text("access_token"), login.text("refresh_token"));
    let form = |token| [("token", token), ("client_id", super::CLIENT)];
    let foreign = [
        ("token", refresh.as_str()),
        ("client_id", "web"),
        ("client_secret", "s3cret"),
    ];
    script
        .post("/revoke", &foreign, &[])
        .await
        .assert_error(400, "invalid_request");
    assert!(script.is_active(&token).await);
    assert_eq!(
        script.post("/revoke", &form(&refresh), &[]).await.status,
        200
    );
    assert!(!script.is_active(&token).await);
    script
        .refresh(&refresh, &[])
        .await
        .assert_error(400, "invalid_grant");

    let login = script.log_in().await;
    let token = login.text("access_token");
    assert_eq!(script.post("/revoke", &form(&token), &[]).await.status, 200);
    assert!(!script.is_active(&token).await);
    script.refresh(&login.text("refresh_token"), &[]).await.ok();
    assert_eq!(
        script.post("/revoke", &form("unknown"), &[]).await.status,
        200
    );
    script
        .post("/revoke", &[("token", "x")], &[])
        .await
        .assert_error(401, "invalid_client");
}
