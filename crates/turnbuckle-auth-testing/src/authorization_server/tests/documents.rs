//! Metadata documents, keys, introspection.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::{TestAuthorizationServer, jwt};
use super::{CLIENT, RESOURCE, Script, basic, builder, claims, now};
use turnbuckle_auth::AuthorizationServerMetadata;

#[tokio::test]
async fn both_metadata_documents_have_the_members_that_mcp_requires() {
    for path in ["", "/tenant1", "/a/b"] {
        let script = Script::start(builder().path(path)).await;
        let issuer = script.server.issuer().to_owned();
        let origin = issuer.strip_suffix(path).unwrap();
        let documents = [
            format!("{origin}/.well-known/oauth-authorization-server{path}"),
            format!("{origin}/.well-known/openid-configuration{path}"),
            format!("{issuer}/.well-known/openid-configuration"),
        ];
        for url in documents {
            let answer = script.get(&url).await;
            assert_eq!(answer.header("content-type"), "application/json");
            let value = answer.ok();
            let metadata: AuthorizationServerMetadata = serde_json::from_value(value).unwrap();
            assert_eq!(metadata.issuer, issuer);
            assert_eq!(
                metadata.code_challenge_methods_supported,
                Some(vec!["S256".to_owned()])
            );
            assert!(metadata.authorization_response_iss_parameter_supported);
            assert!(metadata.client_id_metadata_document_supported);
            assert_eq!(metadata.token_endpoint, Some(format!("{issuer}/token")));
            assert_eq!(metadata.response_types_supported, ["code"]);
        }
        // The document of another issuer is not here.
        let other = format!("{origin}/.well-known/oauth-authorization-server/other");
        assert_eq!(script.get(&other).await.status, 404);
        if !path.is_empty() {
            let root = format!("{origin}/.well-known/oauth-authorization-server");
            assert_eq!(script.get(&root).await.status, 404);
            assert_eq!(script.get(&format!("{origin}/token")).await.status, 404);
        }
        let token = script.log_in().await.text("access_token");
        assert_eq!(claims(&token)["iss"], issuer);
    }
}

#[tokio::test]
async fn either_document_can_be_switched_off() {
    let script = Script::start(builder().oauth_metadata(false)).await;
    let oauth = "/.well-known/oauth-authorization-server";
    let openid = "/.well-known/openid-configuration";
    assert_eq!(script.get(&script.url(oauth)).await.status, 404);
    let document = script.get(&script.url(openid)).await.ok();
    assert_eq!(document["subject_types_supported"], json!(["public"]));
    let script = Script::start(builder().openid_metadata(false).dynamic_registration(false)).await;
    assert_eq!(script.get(&script.url(openid)).await.status, 404);
    assert!(
        script
            .get(&script.url(oauth))
            .await
            .ok()
            .get("registration_endpoint")
            .is_none()
    );
}

#[tokio::test]
async fn rotation_keeps_former_keys_and_replacement_does_not() {
    let script = Script::start(builder()).await;
    let url = script.server.jwks_uri();
    let token = script.log_in().await.text("access_token");
    for count in [2, 3, 4, 4] {
        script.server.rotate_keys().unwrap();
        let jwks = script.get(&url).await.ok();
        assert_eq!(jwks["keys"].as_array().unwrap().len(), count);
        assert_eq!(jwks, jwks_of(&script.server));
        for key in jwks["keys"].as_array().unwrap() {
            assert!(key.get("d").is_none());
        }
    }
    assert!(jwt::verify(&token, &jwks_of(&script.server), now()).is_err());
    let token = script.log_in().await.text("access_token");
    script.server.rotate_keys().unwrap();
    assert!(jwt::verify(&token, &jwks_of(&script.server), now()).is_ok());
    script.server.replace_keys().unwrap();
    assert!(jwt::verify(&token, &jwks_of(&script.server), now()).is_err());
    // Introspection goes by the server's own list.
    assert!(script.is_active(&token).await);
}

#[tokio::test]
async fn introspection_is_for_clients_with_credentials() {
    let script = Script::start(builder().opaque_tokens(true)).await;
    let login = script.log_in().await;
    let token = login.text("access_token");
    assert!(!token.contains('.'));
    let authorization = basic("web", "s3cret");
    let headers = [("authorization", authorization.as_str())];
    let answer = script
        .post("/introspect", &[("token", &token)], &headers)
        .await;
    let body = answer.ok();
    assert_eq!(answer.header("cache-control"), "no-store");
    for (name, value) in [
        ("active", json!(true)),
        ("sub", json!("alice")),
        ("aud", json!(RESOURCE)),
        ("scope", json!("read write")),
        ("client_id", json!(CLIENT)),
        ("token_type", json!("Bearer")),
    ] {
        assert_eq!(body[name], value, "{name}");
    }
    // A refresh token is no access token.
    let refresh = login.text("refresh_token");
    let inactive = script
        .post("/introspect", &[("token", &refresh)], &headers)
        .await;
    assert_eq!(inactive.ok(), json!({ "active": false }));
    let public = [("token", token.as_str()), ("client_id", CLIENT)];
    script
        .post("/introspect", &public, &[])
        .await
        .assert_error(401, "invalid_client");
    let nobody = [("token", token.as_str())];
    script
        .post("/introspect", &nobody, &[])
        .await
        .assert_error(401, "invalid_client");
    script
        .post("/introspect", &[], &headers)
        .await
        .assert_error(400, "invalid_request");
}

#[tokio::test]
async fn tokens_can_be_issued_without_a_request() {
    let script = Script::start(builder()).await;
    let ttl = Duration::from_secs(5);
    let token = script
        .server
        .issue_token("bob", "ci", "https://a.example", ["x"], ttl)
        .unwrap();
    let verified = jwt::verify(&token, &jwks_of(&script.server), now()).unwrap();
    assert!(verified.has_audience("https://a.example"));
    assert_eq!(verified.text("sub"), Some("bob"));
    assert!(script.is_active(&token).await);
    let odd = script
        .server
        .sign_claims("odd+jwt", &json!({ "exp": 1 }))
        .unwrap();
    assert_eq!(super::header(&odd)["typ"], "odd+jwt");
    assert!(jwt::verify(&odd, &jwks_of(&script.server), now()).is_err());
}

#[tokio::test]
async fn wrong_settings_do_not_start() {
    for path in [
        "tenant1",
        "/tenant1/",
        "//a",
        "/a/../b",
        "/a?b",
        "/.well-known/x",
        "/ä",
    ] {
        let started = TestAuthorizationServer::builder().path(path).start().await;
        assert!(
            started.unwrap_err().to_string().contains("`path`"),
            "{path}"
        );
    }
    let evil = TestAuthorizationServer::builder().public_client("x", ["http://evil.example/"]);
    assert!(evil.start().await.is_err());
    let server = TestAuthorizationServer::builder().start().await.unwrap();
    let port = url::Url::parse(server.issuer()).unwrap().port().unwrap();
    let taken = TestAuthorizationServer::builder().port(port).start().await;
    assert!(taken.unwrap_err().to_string().contains(&port.to_string()));
    server.shutdown().await;
    _ = TestAuthorizationServer::builder()
        .port(port)
        .start()
        .await
        .unwrap();
}

/// Returns the public keys of a server.
fn jwks_of(server: &TestAuthorizationServer) -> Value {
    serde_json::from_str(server.jwks().as_str()).unwrap()
}
