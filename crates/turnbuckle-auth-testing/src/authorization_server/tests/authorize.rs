//! Authorization codes.

use serde_json::json;

use super::super::jwt;
use super::{CLIENT, REDIRECT, RESOURCE, Script, VERIFIER, builder, claims, header, now};

#[tokio::test]
async fn a_code_becomes_a_token_for_the_resource() {
    let script = Script::start(builder()).await;
    let redirect = script.authorize(&[]).await;
    let parameters = redirect.redirect();
    assert_eq!(parameters["state"], "st&te=1");
    assert_eq!(parameters["iss"], script.server.issuer());
    let answer = script.exchange(&parameters["code"], &[]).await;
    let body = answer.ok();
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(body["token_type"], "Bearer");
    assert_eq!(body["expires_in"], 3600);
    assert_eq!(body["scope"], "read write");
    assert!(body["refresh_token"].is_string());
    assert!(body.get("id_token").is_none());

    let token = answer.text("access_token");
    let header = header(&token);
    assert_eq!(
        (&header["alg"], &header["typ"]),
        (&json!("ES256"), &json!("at+jwt"))
    );
    let claims = claims(&token);
    assert_eq!(claims["iss"], script.server.issuer());
    assert_eq!(claims["sub"], "alice");
    assert_eq!(claims["aud"], RESOURCE);
    assert_eq!(claims["client_id"], CLIENT);
    assert_eq!(claims["scope"], "read write");
    let life = claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap();
    assert_eq!(life, 3600);
    assert!(claims["jti"].is_string());
    assert!(claims.get("cnf").is_none());

    let jwks = script.get(&script.url("/jwks")).await.ok();
    assert!(jwt::verify(&token, &jwks, now()).is_ok());
}

#[tokio::test]
async fn a_client_or_redirect_uri_that_is_wrong_is_never_redirected_to() {
    let script = Script::start(builder()).await;
    for (changes, text) in [
        (vec![("client_id", "unknown")], "no such client"),
        (vec![("client_id", "")], "client_id is missing"),
        (
            vec![("client_id", CLIENT), ("client_id", CLIENT)],
            "client_id is repeated",
        ),
        (vec![("redirect_uri", "")], "redirect_uri is missing"),
        (
            vec![("redirect_uri", "https://evil.example/callback")],
            "none that the client",
        ),
        (
            vec![("redirect_uri", "http://127.0.0.1/callback/x")],
            "none that the client",
        ),
        (
            vec![("redirect_uri", "http://127.0.0.1:1@evil.example/callback")],
            "none that",
        ),
        (
            vec![("redirect_uri", "http://localhost/callback")],
            "none that the client",
        ),
        (
            vec![("redirect_uri", REDIRECT), ("redirect_uri", REDIRECT)],
            "is repeated",
        ),
        (vec![("state", "a"), ("state", "b")], "state is repeated"),
        (
            vec![("client_id", "<script>"), ("redirect_uri", "<script>")],
            "no such client",
        ),
    ] {
        let answer = script.authorize(&changes).await;
        answer.assert_page(400, text);
        assert!(!answer.body.contains("<script>"));
    }
}

#[tokio::test]
async fn other_mistakes_are_told_to_the_client_with_state_and_iss() {
    let script = Script::start(builder()).await;
    for (changes, error) in [
        (
            vec![("response_type", "token")],
            "unsupported_response_type",
        ),
        (vec![("response_type", "")], "invalid_request"),
        (vec![("response_mode", "fragment")], "invalid_request"),
        (vec![("code_challenge", "")], "invalid_request"),
        (vec![("code_challenge", "short")], "invalid_request"),
        (vec![("code_challenge_method", "plain")], "invalid_request"),
        (vec![("code_challenge_method", "")], "invalid_request"),
        (
            vec![("scope", "read"), ("scope", "write")],
            "invalid_request",
        ),
        (vec![("scope", "admin")], "invalid_scope"),
        (vec![("resource", "")], "invalid_target"),
        (
            vec![("resource", "http://127.0.0.1:9999/mcp/")],
            "invalid_target",
        ),
        (
            vec![("resource", "http://127.0.0.1:9999/mcp#x")],
            "invalid_target",
        ),
        (
            vec![("resource", RESOURCE), ("resource", RESOURCE)],
            "invalid_target",
        ),
        (vec![("request", "e30.e30.")], "request_not_supported"),
        (
            vec![("request_uri", "https://a.example")],
            "request_uri_not_supported",
        ),
    ] {
        let parameters = script.authorize(&changes).await.redirect();
        assert_eq!(parameters["error"], error, "{changes:?}");
        assert_eq!(parameters["state"], "st&te=1");
        assert_eq!(parameters["iss"], script.server.issuer());
        assert!(!parameters.contains_key("code"));
        assert_eq!(script.last_error().as_deref(), Some(error));
    }
}

#[tokio::test]
async fn the_port_of_a_loopback_redirect_may_differ_but_not_between_the_two_requests() {
    let script = Script::start(builder()).await;
    let redirect = "http://127.0.0.1:4711/callback";
    let code = script.code(&[("redirect_uri", redirect)]).await;
    script
        .exchange(&code, &[("redirect_uri", redirect)])
        .await
        .ok();
    let code = script.code(&[("redirect_uri", redirect)]).await;
    let other = [("redirect_uri", "http://127.0.0.1:4712/callback")];
    script
        .exchange(&code, &other)
        .await
        .assert_error(400, "invalid_grant");
}

#[tokio::test]
async fn a_code_used_twice_revokes_the_tokens_that_came_from_it() {
    let script = Script::start(builder()).await;
    let code = script.code(&[]).await;
    let answer = script.exchange(&code, &[]).await;
    let (token, refresh) = (answer.text("access_token"), answer.text("refresh_token"));
    assert!(script.is_active(&token).await);
    script
        .exchange(&code, &[])
        .await
        .assert_error(400, "invalid_grant");
    assert!(!script.is_active(&token).await);
    script
        .refresh(&refresh, &[])
        .await
        .assert_error(400, "invalid_grant");
}

#[tokio::test]
async fn a_code_is_bound_to_client_redirect_uri_verifier_and_resource() {
    let script = Script::start(builder().resource("http://other.example/mcp")).await;
    for (change, error) in [
        (("redirect_uri", "http://127.0.0.1/other"), "invalid_grant"),
        (
            (
                "code_verifier",
                "0123456789012345678901234567890123456789-._~abd",
            ),
            "invalid_grant",
        ),
        (("code_verifier", "short"), "invalid_grant"),
        (("resource", "http://other.example/mcp"), "invalid_target"),
        (("resource", ""), "invalid_target"),
    ] {
        let code = script.code(&[]).await;
        script
            .exchange(&code, &[change])
            .await
            .assert_error(400, error);
        // One wrong attempt spends the code.
        script
            .exchange(&code, &[])
            .await
            .assert_error(400, "invalid_grant");
    }
    for missing in ["redirect_uri", "code_verifier", "code"] {
        let code = script.code(&[]).await;
        script
            .exchange(&code, &[(missing, "")])
            .await
            .assert_error(400, "invalid_request");
    }
    let code = script.code(&[]).await;
    let other = [("client_id", "web"), ("client_secret", "s3cret")];
    script
        .exchange(&code, &other)
        .await
        .assert_error(400, "invalid_grant");
    // Another client cannot spend it.
    script.exchange(&code, &[]).await.ok();
    script
        .exchange("unknown", &[])
        .await
        .assert_error(400, "invalid_grant");
}

#[tokio::test]
async fn a_code_expires_after_a_minute() {
    let script = Script::start(builder()).await;
    let advance = |seconds| {
        script
            .server
            .set_faults(|it| it.clock_advance_seconds = seconds);
    };
    let code = script.code(&[]).await;
    advance(60);
    script
        .exchange(&code, &[])
        .await
        .assert_error(400, "invalid_grant");
    let code = script.code(&[]).await;
    advance(60 + 55);
    let token = script.exchange(&code, &[]).await.text("access_token");
    advance(115 + 3595);
    assert!(script.is_active(&token).await);
    advance(115 + 3600);
    assert!(!script.is_active(&token).await);
}

#[tokio::test]
async fn a_server_without_required_resource_serves_clients_of_2025_03_26() {
    let script = Script::start(builder().require_resource(false)).await;
    let code = script.code(&[("resource", "")]).await;
    let answer = script.exchange(&code, &[("resource", "")]).await;
    assert_eq!(claims(&answer.text("access_token"))["aud"], RESOURCE);
    let refresh = answer.text("refresh_token");
    script.refresh(&refresh, &[("resource", "")]).await.ok();
}

#[tokio::test]
async fn openid_adds_an_id_token_with_the_nonce() {
    let script = Script::start(builder()).await;
    let code = script
        .code(&[("scope", "openid read"), ("nonce", "n-1")])
        .await;
    let id_token = script.exchange(&code, &[]).await.text("id_token");
    let claims = claims(&id_token);
    assert_eq!(
        (&claims["aud"], &claims["nonce"]),
        (&json!(CLIENT), &json!("n-1"))
    );
    assert_eq!(
        (&claims["sub"], &header(&id_token)["typ"]),
        (&json!("alice"), &json!("JWT"))
    );
}

#[tokio::test]
async fn events_name_requests_but_no_secrets() {
    let script = Script::start(builder()).await;
    let code = script.code(&[]).await;
    let refresh = script.exchange(&code, &[]).await.text("refresh_token");
    script.refresh(&refresh, &[]).await.ok();
    let events = script.server.events();
    assert_eq!(events.len(), 3);
    assert_eq!(events[0].endpoint, super::super::Endpoint::Authorization);
    assert_eq!(events[1].grant_type.as_deref(), Some("authorization_code"));
    assert_eq!(events[1].client_id.as_deref(), Some(CLIENT));
    assert_eq!(events[2].resource.as_deref(), Some(RESOURCE));
    assert!(
        events[1]
            .parameter_names
            .contains(&"code_verifier".to_owned())
    );
    let shown = format!("{events:?} {:?}", script.server);
    for secret in [code.as_str(), refresh.as_str(), VERIFIER] {
        assert!(!shown.contains(secret));
    }
    script.server.clear_events();
    assert!(script.server.events().is_empty());
}
