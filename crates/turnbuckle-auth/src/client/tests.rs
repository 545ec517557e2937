//! Tests of whole logins: the layer, an MCP server and its authorization server, and a user.
//!
//! The inner service of the layer stands for the MCP server's endpoint. Its metadata come from a
//! [`ScriptedServer`], and a second one is the authorization server.

mod logins;
mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use http::Request;
use serde_json::json;

use self::support::{
    McpEndpoint, REDIRECT, User, authorization_server, client, failure, parameter, post,
    requests_to, resource_metadata, send, server_metadata, servers,
};
use super::store::MemoryStore;
use super::{OAuth, StepKind};
use crate::error::AuthErrorKind;
use crate::pkce;
use crate::secret::Secret;
use crate::test_http::{Reply, ScriptedServer};
use crate::test_log::Log;

// requirement: 00c4e276eb4f 1c67e8f30abd 1c70e7d84209 256b5231af6c 45decc3ef68f 4874013d90db
// requirement: 4d66f7be6f6a 5452aaca7d95 54fc8909e860 5545d04935b0 55e7ce2cfa26 57923699172c
// requirement: 599b20164796 671d1d24494a 7042b83154ca 729f4016ec41 72a504056094 74ffc37d3e6a
// requirement: 7765f3f87a2a 78cc07722237 8303f9da39c7 8ed3afdf3680 93a52234bbcb a93ce58267b6
// requirement: ba16b4303415 bfe169d59932 c39b0c152282 c9c46982aad7 ca7a3ec2b334 d35bce523461
// requirement: d89a33745faf e00a57be3d69 e48d5e551f7b e66bade0ebe4 f1b06ae6f99b ff0cd6f072de
#[tokio::test]
async fn a_401_leads_to_a_login_and_the_token_goes_with_every_request() {
    let (auth, mcp) = servers(None).await;
    let (user, endpoint) = (User::default(), McpEndpoint::accepting("token-1"));
    let url = mcp.url("/mcp");
    let oauth = client(&url, MemoryStore::new(), user.clone());
    for _ in 0..3 {
        assert_eq!(post(&oauth, &endpoint, &url).await.status(), 200);
    }
    let registered = requests_to(&auth.requests(), "/register")[0].json();
    assert_eq!(registered["redirect_uris"], json!([REDIRECT]));
    assert_eq!(registered["application_type"], "native");
    assert!(
        registered["grant_types"]
            .as_array()
            .unwrap()
            .contains(&json!("refresh_token"))
    );
    let opened = user.opened_pages();
    assert_eq!(opened.len(), 1);
    let get = |name: &str| parameter(&opened[0], name).unwrap();
    assert_eq!(get("client_id"), "client-1");
    assert_eq!(get("redirect_uri"), REDIRECT);
    assert_eq!(get("resource"), url);
    assert_eq!(get("scope"), "known");
    assert_eq!(get("code_challenge_method"), "S256");
    let requests = auth.requests();
    let tokens = requests_to(&requests, "/token");
    assert_eq!(tokens.len(), 1);
    let form = |name: &str| tokens[0].form(name).unwrap();
    assert_eq!(form("grant_type"), "authorization_code");
    assert_eq!(form("code"), "the-code");
    assert_eq!(form("client_id"), "client-1");
    assert_eq!(form("redirect_uri"), REDIRECT);
    assert_eq!(form("resource"), url);
    let challenge = pkce::sha256_base64url(&form("code_verifier"));
    assert_eq!(challenge, get("code_challenge"));
    // One request without a token, then each with it, and never in the URL.
    let bearer = Some("Bearer token-1".to_owned());
    let expected = [None, bearer.clone(), bearer.clone(), bearer];
    assert_eq!(
        endpoint.received_requests(),
        expected.map(|authorization| (url.clone(), authorization))
    );
}

// requirement: 4667890f6eca
#[tokio::test]
async fn a_client_with_an_https_redirect_registers_as_web() {
    let (auth, mcp) = servers(None).await;
    let (redirect_uri, url) = ("https://app.example.com/callback", mcp.url("/mcp"));
    let user = User {
        redirect_uri: Some(redirect_uri),
        ..User::default()
    };
    let oauth = client(&url, MemoryStore::new(), user);
    let endpoint = McpEndpoint::accepting("token-1");
    assert_eq!(post(&oauth, &endpoint, &url).await.status(), 200);
    let registered = requests_to(&auth.requests(), "/register")[0].json();
    assert_eq!(registered["application_type"], "web");
    assert_eq!(registered["redirect_uris"], json!([redirect_uri]));
}

#[tokio::test]
async fn the_end_of_a_session_starts_no_login() {
    let (_auth, mcp) = servers(None).await;
    let (user, endpoint) = (User::default(), McpEndpoint::accepting("token-1"));
    let url = mcp.url("/mcp");
    let oauth = client(&url, MemoryStore::new(), user.clone());
    let refused = send(&oauth, &endpoint, Request::delete(&url)).await;
    assert_eq!(refused.status(), 401);
    assert!(user.opened_pages().is_empty());
    assert_eq!(post(&oauth, &endpoint, &url).await.status(), 200);
    let ended = send(&oauth, &endpoint, Request::delete(&url)).await;
    assert_eq!(ended.status(), 200, "it has the token that there is");
}

// requirement: f243c98b3627
#[tokio::test]
async fn a_token_is_sent_to_its_own_server_only() {
    let (auth, mcp) = servers(None).await;
    let endpoint = McpEndpoint::new(|authorization| match authorization {
        Some("Bearer token-1") => (200, None),
        _ => (401, None),
    });
    let url = mcp.url("/mcp");
    let oauth = client(&url, MemoryStore::new(), User::default());
    assert_eq!(post(&oauth, &endpoint, &url).await.status(), 200);
    let port = mcp.address().port();
    for other in [
        format!("http://127.0.0.1:{}/mcp", port ^ 1),
        format!("https://127.0.0.1:{port}/mcp"),
        format!("http://localhost:{port}/mcp"),
        auth.url("/mcp"),
    ] {
        assert_eq!(post(&oauth, &endpoint, &other).await.status(), 401);
        assert_eq!(endpoint.received_requests().pop(), Some((other, None)));
    }
}

// requirement: 471dbea3725b 790e6c19ec2c 8a1d74080686 a0a2e8f8f7bb b11f9c890cfa c15d4ad326ba
// requirement: c9edef340d23 caf8b2f31edd d28691237157 de4a80d33b8d
#[tokio::test]
async fn a_step_up_asks_for_all_scopes_together_and_has_a_limit() {
    let (_auth, mcp) = servers(None).await;
    let is_met = Arc::new(AtomicBool::new(true));
    let meets = Arc::clone(&is_met);
    let endpoint = McpEndpoint::new(move |authorization| match authorization {
        None => (401, Some("Bearer scope=\"read\"".to_owned())),
        Some("Bearer token-2") if meets.load(Ordering::Relaxed) => (200, None),
        _ => {
            let challenge = "Bearer error=\"insufficient_scope\", scope=\"write\"";
            (403, Some(challenge.to_owned()))
        }
    });
    let (user, url) = (User::default(), mcp.url("/mcp"));
    let oauth = client(&url, MemoryStore::new(), user.clone());
    assert_eq!(post(&oauth, &endpoint, &url).await.status(), 200);
    // The challenge counts, not `scopes_supported`; and what was granted stays.
    assert_eq!(user.scopes(), ["read", "read write"]);
    // The server asks again for what it was given: no third login.
    is_met.store(false, Ordering::Relaxed);
    for _ in 0..3 {
        let response = post(&oauth, &endpoint, &url).await;
        assert_eq!(response.status(), 403);
        assert!(failure(&response).contains("write"));
    }
    assert_eq!(user.opened_pages().len(), 2);
}

// requirement: 20b979b46d03
#[tokio::test]
async fn a_login_without_a_refresh_token_is_repeated() {
    let (auth, mcp) = servers(None).await;
    let (user, url, store) = (User::default(), mcp.url("/mcp"), MemoryStore::new());
    for token in ["token-1", "token-2"] {
        let oauth = client(&url, store.clone(), user.clone());
        let endpoint = McpEndpoint::accepting(token);
        assert_eq!(post(&oauth, &endpoint, &url).await.status(), 200);
    }
    assert_eq!(user.opened_pages().len(), 2);
    for request in requests_to(&auth.requests(), "/token") {
        assert_eq!(request.form("grant_type").unwrap(), "authorization_code");
    }
}

// requirement: 4c23ed895e37 5f2fb62faae3 6746d7f83be7 8c66547c0824 9a20eba2434e bec089237ade
// requirement: cf669948fc13 e7ba6f1ca9ac f243c98b3627
#[tokio::test]
async fn a_new_issuer_gets_neither_the_client_nor_the_tokens_of_the_former() {
    let former = authorization_server(Some("refresh-of-the-former")).await;
    let new = authorization_server(None).await;
    let issuer = Arc::new(Mutex::new(former.origin()));
    let mcp = resource_metadata(&issuer).await;
    let (user, url, store) = (User::default(), mcp.url("/mcp"), MemoryStore::new());
    let oauth = client(&url, store.clone(), user.clone());
    let endpoint = McpEndpoint::accepting("token-1");
    assert_eq!(post(&oauth, &endpoint, &url).await.status(), 200);
    *issuer.lock().unwrap() = new.origin();
    // The same client asks with a token that no longer counts.
    let is_new = AtomicBool::new(false);
    let endpoint = McpEndpoint::new(move |_| match is_new.swap(true, Ordering::Relaxed) {
        true => (200, None),
        false => (401, None),
    });
    assert_eq!(post(&oauth, &endpoint, &url).await.status(), 200);
    assert_eq!(requests_to(&new.requests(), "/register").len(), 1);
    assert_eq!(requests_to(&former.requests(), "/token").len(), 1);
    for request in new.requests() {
        let body = String::from_utf8(request.body).unwrap();
        assert!(!body.contains("refresh-of-the-former"), "{body}");
    }
    let requests = new.requests();
    let tokens = requests_to(&requests, "/token");
    assert_eq!(tokens.len(), 1);
    assert_eq!(tokens[0].form("grant_type").unwrap(), "authorization_code");
    let opened = user.opened_pages();
    assert_eq!(opened[1].origin().ascii_serialization(), new.origin());
    // Back at the former issuer its own client is used again.
    *issuer.lock().unwrap() = former.origin();
    oauth.log_out().await.unwrap();
    let endpoint = McpEndpoint::accepting("token-2");
    assert_eq!(post(&oauth, &endpoint, &url).await.status(), 200);
    assert_eq!(requests_to(&former.requests(), "/register").len(), 1);
}

#[tokio::test]
async fn a_new_issuer_sees_neither_the_scopes_nor_the_key_of_the_former() {
    let start = dpop_authorization_server;
    let (former, new) = (start().await, start().await);
    let issuer = Arc::new(Mutex::new(former.origin()));
    let mcp = resource_metadata(&issuer).await;
    let (user, url) = (User::default(), mcp.url("/mcp"));
    let oauth = OAuth::builder(&url, MemoryStore::new()).login_ui(user.clone());
    let oauth = oauth.dpop().build().unwrap();
    let endpoint = McpEndpoint::new(|authorization| match authorization {
        Some(_) => (200, None),
        None => (401, Some("DPoP scope=\"of-the-former\"".to_owned())),
    });
    assert_eq!(post(&oauth, &endpoint, &url).await.status(), 200);
    *issuer.lock().unwrap() = new.origin();
    let is_refused = AtomicBool::new(false);
    let endpoint = McpEndpoint::new(move |_| {
        let was_refused = is_refused.swap(true, Ordering::Relaxed);
        (if was_refused { 200 } else { 401 }, None)
    });
    assert_eq!(post(&oauth, &endpoint, &url).await.status(), 200);
    assert_eq!(user.scopes(), ["of-the-former", "known"]);
    let opened = user.opened_pages();
    let [former_key, new_key] = [0, 1].map(|page| parameter(&opened[page], "dpop_jkt").unwrap());
    assert_ne!(former_key, new_key);
}

/// Starts an authorization server whose tokens are bound to keys.
async fn dpop_authorization_server() -> ScriptedServer {
    ScriptedServer::start(|request| match request.path.as_str() {
        "/register" => Reply::status(201).with_json(json!({"client_id": "client"})),
        "/token" => Reply::json(json!({"access_token": "token", "token_type": "DPoP"})),
        _ => Reply::json(server_metadata(&request.origin())),
    })
    .await
}

#[tokio::test]
async fn a_server_that_takes_bearer_tokens_only_ends_the_logins_with_dpop() {
    let auth = dpop_authorization_server().await;
    let mcp = resource_metadata(&Arc::new(Mutex::new(auth.origin()))).await;
    let (user, url, store) = (User::default(), mcp.url("/mcp"), MemoryStore::new());
    let endpoint = McpEndpoint::new(|_| (401, Some("Bearer".to_owned())));
    // The second one is another process: its token comes from the store.
    for _ in 0..2 {
        let oauth = OAuth::builder(&url, store.clone()).login_ui(user.clone());
        let oauth = oauth.dpop().build().unwrap();
        for _ in 0..2 {
            let text = failure(&post(&oauth, &endpoint, &url).await);
            for part in ["names Bearer and no DPoP", "OAuthBuilder::dpop", "--dpop"] {
                assert!(text.contains(part), "{text}");
            }
        }
        assert_eq!(user.opened_pages().len(), 1);
        let steps = oauth.transcript().steps;
        assert!(steps.iter().any(|step| step.response.contains("no DPoP")));
    }
    // Without DPoP the login goes on.
    let oauth = client(&url, store, user.clone());
    post(&oauth, &endpoint, &url).await;
    assert_eq!(user.opened_pages().len(), 2);
}

#[tokio::test]
async fn a_server_with_both_challenges_lets_a_client_with_dpop_log_in_anew() {
    let auth = dpop_authorization_server().await;
    let mcp = resource_metadata(&Arc::new(Mutex::new(auth.origin()))).await;
    let (user, url) = (User::default(), mcp.url("/mcp"));
    let oauth = OAuth::builder(&url, MemoryStore::new()).login_ui(user.clone());
    let oauth = oauth.dpop().build().unwrap();
    let endpoint = McpEndpoint::new(|_| {
        let challenge = "Bearer scope=\"b\", DPoP scope=\"d\"";
        (401, Some(challenge.to_owned()))
    });
    let text = failure(&post(&oauth, &endpoint, &url).await);
    assert!(text.contains("refuses the token that"), "{text}");
    assert_eq!(user.scopes(), ["d"]);
}

#[tokio::test]
async fn the_way_of_a_secret_that_worked_is_kept_for_the_next_login() {
    let auth = ScriptedServer::start(|request| match request.path.as_str() {
        "/register" => Reply::status(201).with_json(json!({
            "client_id": "client", "client_secret": "hidden",
        })),
        "/token" => match request.form("client_secret") {
            Some(_) => Reply::json(json!({"access_token": "token", "token_type": "Bearer"})),
            None => Reply::status(401).with_json(json!({"error": "invalid_client"})),
        },
        _ => {
            let mut metadata = server_metadata(&request.origin());
            metadata["token_endpoint_auth_methods_supported"] = json!(["client_secret_basic"]);
            Reply::json(metadata)
        }
    })
    .await;
    let mcp = resource_metadata(&Arc::new(Mutex::new(auth.origin()))).await;
    let (user, url) = (User::default(), mcp.url("/mcp"));
    let oauth = client(&url, MemoryStore::new(), user);
    oauth.log_in().await.unwrap();
    let transcript = oauth.transcript().to_string();
    let expected = "by client_secret_post after invalid_client";
    assert!(transcript.contains(expected), "{transcript}");
    oauth.log_out().await.unwrap();
    oauth.log_in().await.unwrap();
    let requests = auth.requests();
    let in_form: Vec<bool> = requests_to(&requests, "/token")
        .iter()
        .map(|request| request.form("client_secret").is_some())
        .collect();
    assert_eq!(in_form, [false, true, true]);
    assert_eq!(requests_to(&requests, "/register").len(), 1);
}

// requirement: 041579c1d693 25fcdec93f0f 776f2cabcb36 bec089237ade ca7a3ec2b334 cf669948fc13
// requirement: ddabcfd81fb6 e73da8245886 e7ba6f1ca9ac
#[tokio::test]
async fn a_configured_client_is_used_at_its_issuer_only() {
    let auth = authorization_server(None).await;
    let other = authorization_server(None).await;
    let issuer = Arc::new(Mutex::new(auth.origin()));
    let mcp = resource_metadata(&issuer).await;
    let (user, url) = (User::default(), mcp.url("/mcp"));
    let oauth = || OAuth::builder(&url, MemoryStore::new()).login_ui(user.clone());
    let secret = || Some(Secret::new("hidden"));
    let endpoint = McpEndpoint::accepting("token-1");
    let bound = oauth().registered_client(auth.origin(), "configured", secret());
    let bound = bound.build().unwrap();
    assert_eq!(post(&bound, &endpoint, &url).await.status(), 200);
    assert_eq!(
        parameter(&user.opened_pages()[0], "client_id").as_deref(),
        Some("configured")
    );
    assert!(requests_to(&auth.requests(), "/register").is_empty());
    // The server moves: with and without a configured issuer this is an error.
    let free = oauth().client_id("configured", secret()).build().unwrap();
    let endpoint = McpEndpoint::accepting("token-2");
    assert_eq!(post(&free, &endpoint, &url).await.status(), 200);
    *issuer.lock().unwrap() = other.origin();
    let endpoint = McpEndpoint::new(|_| (401, None));
    for oauth in [bound, free] {
        let response = post(&oauth, &endpoint, &url).await;
        assert_eq!(response.status(), 401);
        let text = failure(&response);
        assert!(
            text.contains(&auth.origin()) && text.contains(&other.origin()),
            "{text}"
        );
        let error = oauth.log_in().await.unwrap_err();
        assert_eq!(error.kind(), AuthErrorKind::Registration);
    }
    assert_eq!(user.opened_pages().len(), 2);
    assert!(
        other
            .requests()
            .iter()
            .all(|request| request.method == "GET")
    );
}

// requirement: 0870de85907e 2a9fab7eac31 3e4360dd43c4 4c23ed895e37 5f2fb62faae3 6746d7f83be7
// requirement: 8c66547c0824 9a20eba2434e
#[tokio::test]
async fn no_code_is_sent_after_a_redirect_of_another_login_or_issuer() {
    let (auth, mcp) = servers(None).await;
    let url = mcp.url("/mcp");
    let right = User::default();
    for user in [
        User {
            state: Some("guess"),
            ..right.clone()
        },
        User {
            issuer: Some("https://evil.example"),
            ..right.clone()
        },
    ] {
        let oauth = client(&url, MemoryStore::new(), user);
        let response = post(&oauth, &McpEndpoint::accepting("token-1"), &url).await;
        assert_eq!(response.status(), 401);
        assert!(failure(&response).contains("redirect"));
    }
    assert_eq!(right.opened_pages().len(), 2);
    assert!(requests_to(&auth.requests(), "/token").is_empty());
}

#[tokio::test]
async fn a_redirect_uri_in_clear_text_to_another_machine_is_refused() {
    let (auth, mcp) = servers(None).await;
    let url = mcp.url("/mcp");
    let user = User {
        redirect_uri: Some("http://app.example/callback"),
        ..User::default()
    };
    let oauth = client(&url, MemoryStore::new(), user.clone());
    let response = post(&oauth, &McpEndpoint::accepting("token-1"), &url).await;
    assert!(failure(&response).contains("neither https nor loopback"));
    assert!(user.opened_pages().is_empty());
    assert!(requests_to(&auth.requests(), "/register").is_empty());
}

// requirement: 9262cafb096c
#[tokio::test]
async fn a_dangerous_authorization_url_is_recorded_and_not_opened() {
    let log = Log::start();
    let auth = ScriptedServer::start(|request| {
        let mut metadata = server_metadata(&request.origin());
        metadata["authorization_endpoint"] = "javascript:alert(1)".into();
        Reply::json(metadata)
    })
    .await;
    let mcp = resource_metadata(&Arc::new(Mutex::new(auth.origin()))).await;
    let (user, url) = (User::default(), mcp.url("/mcp"));
    let oauth = client(&url, MemoryStore::new(), user.clone());
    let response = post(&oauth, &McpEndpoint::accepting("token-1"), &url).await;
    assert_eq!(response.status(), 401);
    assert!(user.opened_pages().is_empty());
    let transcript = oauth.transcript();
    let failed = transcript.steps.iter().find(|step| !step.succeeded);
    let failed = failed.unwrap();
    assert_eq!(failed.step, StepKind::AuthorizationServerMetadata);
    assert!(
        failed.response.contains("javascript:alert(1) is refused"),
        "{failed:?}"
    );
    let log = log.text();
    let line = "WARN message=no browser is sent to the authorization server error=the URL \
                javascript:alert(1) is refused";
    assert!(log.contains(line), "{log}");
}

// requirement: 5a6104914500 6b9926ad36ef 97c80688c927
#[tokio::test]
async fn a_server_of_2025_03_26_gets_its_url_without_a_trailing_slash() {
    let mcp = ScriptedServer::start(|request| match request.path.as_str() {
        "/register" => Reply::status(201).with_json(json!({"client_id": "client-1"})),
        "/token" => Reply::json(json!({"access_token": "token-1", "token_type": "bearer"})),
        _ => Reply::status(404),
    })
    .await;
    let (user, url) = (User::default(), mcp.url("/"));
    let oauth = client(&url, MemoryStore::new(), user.clone());
    let endpoint = McpEndpoint::accepting("token-1");
    assert_eq!(post(&oauth, &endpoint, &url).await.status(), 200);
    // The server does not know the parameter, and gets it all the same.
    let opened = user.opened_pages();
    assert_eq!(parameter(&opened[0], "resource"), Some(mcp.origin()));
    let requests = mcp.requests();
    assert_eq!(
        requests_to(&requests, "/token")[0].form("resource"),
        Some(mcp.origin())
    );
}
