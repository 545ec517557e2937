//! The protected server: other kinds of tokens, its metadata, and browsers.

use std::sync::{Arc, Mutex};

use http::Request;
use serde_json::json;
use turnbuckle::Authorize as _;
use turnbuckle::auth::client::store::{CredentialStore as _, MemoryStore};
use turnbuckle::auth::{OAuth, ResourceServer, Secret};
use turnbuckle::http::{HttpServerOptions, StreamableHttp};
use turnbuckle_auth_testing::{Endpoint, TestAuthorizationServer};

use super::harness::{
    Reply, Running, TIMEOUT, User, Wire, World, call, connect, credentials, failing_call, get,
    logged_in, modern, post, send, serve, shop,
};

#[tokio::test]
async fn an_opaque_token_is_introspected_once_and_cached() {
    for wire in Wire::ALL {
        let opaque = |it: turnbuckle_auth_testing::TestAuthorizationServerBuilder| {
            it.opaque_tokens(true)
                .client("shop", "shop-secret", [""; 0])
        };
        let world = World::serving(wire, shop(), opaque, |it, server| {
            let endpoint = format!("{}/introspect", server.issuer());
            it.introspection(server.issuer(), endpoint, "shop", "shop-secret")
        })
        .await;
        let oauth = world.oauth(&User::new(), &MemoryStore::new());
        let client = world.connect(&oauth).await.unwrap();
        for _ in 0..5 {
            assert_eq!(call(&client, "whoami").await.unwrap(), "alice", "{wire:?}");
        }
        let token = oauth.access_token().await.unwrap();
        assert!(!token.expose().contains('.'), "it is no JWT");
        let events = world.authorization_server.events();
        let asked = events
            .iter()
            .filter(|it| it.endpoint == Endpoint::Introspection);
        assert_eq!(asked.count(), 1, "{wire:?}");
    }
}

#[tokio::test]
async fn static_tokens_and_api_keys_name_their_caller() {
    let world = World::serving(
        Wire::Modern,
        shop(),
        |it| it,
        |it, _| {
            it.static_token("backup", "backup-token-1234567890", ["orders:read"])
                .static_token("reader", "reader-token-1234567890", [""; 0])
                .api_key_header("x-api-key")
        },
    )
    .await;
    let call = |header: &'static str, value: &'static str, tool: &'static str| {
        let params = json!({"name": tool, "arguments": {}});
        let mut request = modern(&world.url, None, "tools/call", &params);
        request.headers_mut().insert(header, value.parse().unwrap());
        send(request)
    };
    let text = |reply: &Reply| reply.json()["result"]["content"][0]["text"].clone();
    let bearer = call("authorization", "Bearer backup-token-1234567890", "whoami").await;
    assert_eq!(text(&bearer), "backup");
    let key = call("x-api-key", "reader-token-1234567890", "whoami").await;
    assert_eq!(text(&key), "reader");
    let orders = call("x-api-key", "backup-token-1234567890", "read_orders").await;
    assert_eq!(text(&orders), "three orders");
    let refused = call("x-api-key", "reader-token-1234567890", "read_orders").await;
    assert_eq!(refused.status, 403);
    for wrong in [
        "backup",
        "backup-token-123456789",
        "backup-token-12345678900",
    ] {
        assert_eq!(
            call("x-api-key", wrong, "whoami").await.status,
            401,
            "{wrong}"
        );
    }
    assert_eq!(get(&world.url).await.status, 401);
}

#[tokio::test]
async fn every_request_of_a_session_is_checked() {
    let world = World::start(Wire::Legacy).await;
    let client = world
        .connect(&world.oauth(&User::new(), &MemoryStore::new()))
        .await
        .unwrap();
    call(&client, "whoami").await.unwrap();
    let used = world.exchanges(200).pop().unwrap().headers;
    let session = used["mcp-session-id"].clone();
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"});
    for token in [None, Some("nonsense")] {
        let mut request = post(&world.url, token, &message);
        request
            .headers_mut()
            .insert("mcp-session-id", session.clone());
        let reply = send(request).await;
        assert_eq!(reply.status, 401, "a session never authenticates");
        assert!(
            reply
                .header("www-authenticate")
                .unwrap()
                .contains("resource_metadata=")
        );
    }
}

#[tokio::test]
async fn the_metadata_is_served_at_both_paths_without_a_token() {
    let world = World::start(Wire::Modern).await;
    let origin = world.url.trim_end_matches("/mcp");
    for path in [
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-protected-resource",
    ] {
        let document = get(&format!("{origin}{path}")).await;
        assert_eq!(document.status, 200, "{path}");
        assert_eq!(document.header("access-control-allow-origin"), Some("*"));
        let document = document.json();
        assert_eq!(document["resource"], world.resource);
        let issuer = world.authorization_server.issuer();
        assert_eq!(document["authorization_servers"], json!([issuer]));
        let scopes = ["orders:read", "orders:write", "orders:admin"];
        let mut found: Vec<_> = document["scopes_supported"].as_array().unwrap().clone();
        found.sort_by_key(ToString::to_string);
        let mut scopes: Vec<_> = scopes.map(serde_json::Value::from).to_vec();
        scopes.sort_by_key(ToString::to_string);
        assert_eq!(found, scopes);
    }
    // No other path is public.
    for path in [
        "/.well-known/oauth-protected-resource/mcp/x",
        "/.well-known/x",
        "/",
    ] {
        assert_eq!(get(&format!("{origin}{path}")).await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn a_server_below_a_prefix_of_a_router_is_protected_and_found() {
    let authorization_server = TestAuthorizationServer::builder().auto_approve(true);
    let authorization_server = authorization_server.start().await.unwrap();
    // The address must be known before the router is made.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let url = format!("{origin}/api/v1/mcp");
    let auth = ResourceServer::builder(&url).issuer(authorization_server.issuer());
    let auth = auth.build().unwrap();
    let endpoint = StreamableHttp::new(shop(), HttpServerOptions::new());
    let metadata = auth.metadata_service().unwrap();
    let metadata_path = auth.metadata_path().unwrap().to_owned();
    assert_eq!(
        metadata_path,
        "/.well-known/oauth-protected-resource/api/v1/mcp"
    );
    let api = axum::Router::new().nest_service("/v1/mcp", endpoint.auth(auth));
    let router = axum::Router::new()
        .route_service(&metadata_path, metadata)
        .nest("/api", api);
    let serving = async move { axum::serve(listener, router).await.unwrap() };
    let _serving = Running::spawn(serving);

    let refused = get(&url).await;
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(
        challenge.contains(&format!("{origin}{metadata_path}")),
        "{challenge}"
    );
    for wire in Wire::STREAMABLE {
        let user = User::new();
        let oauth = OAuth::builder(&url, MemoryStore::new())
            .login_ui(user.clone())
            .build()
            .unwrap();
        let client = connect(wire, &url, &oauth).await.unwrap();
        assert_eq!(call(&client, "whoami").await.unwrap(), "alice", "{wire:?}");
        assert_eq!(user.parameter("resource"), Some(url.clone()));
    }
}

#[tokio::test]
async fn a_browsers_preflight_needs_no_token_and_its_page_can_read_the_challenge() {
    let world = World::start(Wire::Modern).await;
    let preflight = Request::options(&world.url)
        .header("origin", "https://app.example")
        .header("access-control-request-method", "POST")
        .header(
            "access-control-request-headers",
            "authorization,content-type,mcp-method",
        )
        .body(http_body_util::Full::default())
        .unwrap();
    let reply = send(preflight).await;
    assert!((200..300).contains(&reply.status), "{reply:?}");
    let allowed = reply
        .header("access-control-allow-headers")
        .unwrap()
        .to_lowercase();
    assert!(
        allowed.contains("authorization") || allowed == "*",
        "{allowed}"
    );
    assert_eq!(
        reply.header("access-control-allow-origin"),
        Some("https://app.example")
    );

    let params = json!({"name": "read_orders", "arguments": {}});
    let token = world.token("bob", &["other"]);
    for (token, status) in [(None, 401), (Some("nonsense"), 401), (Some(&*token), 403)] {
        let mut request = modern(&world.url, token, "tools/call", &params);
        request
            .headers_mut()
            .insert("origin", "https://app.example".parse().unwrap());
        let reply = send(request).await;
        assert_eq!(reply.status, status);
        let exposed = reply
            .headers
            .get_all("access-control-expose-headers")
            .iter();
        let exposed: Vec<_> = exposed
            .map(|it| it.to_str().unwrap().to_lowercase())
            .collect();
        assert!(
            exposed.join(",").contains("www-authenticate"),
            "{status} {exposed:?}"
        );
        assert!(
            reply.header("access-control-allow-origin").is_some(),
            "{status} {reply:?}"
        );
    }
}

#[tokio::test]
async fn rotated_keys_do_not_interrupt_clients() {
    let world = World::start(Wire::Modern).await;
    let store = logged_in(&world).await;
    world.authorization_server.rotate_keys().unwrap();
    let user = User::new();
    let client = world.connect(&world.oauth(&user, &store)).await.unwrap();
    assert_eq!(call(&client, "whoami").await.unwrap(), "alice");
    let other = world.oauth(&User::new(), &MemoryStore::new());
    let other = world.connect(&other).await.unwrap();
    assert_eq!(
        call(&other, "whoami").await.unwrap(),
        "alice",
        "the new key is fetched"
    );
    assert_eq!(user.logins(), 0);
}

#[tokio::test]
async fn a_token_does_not_follow_a_redirect_to_another_origin() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let elsewhere = axum::Router::new().fallback(move |headers: http::HeaderMap| {
        let noted = noted.clone();
        async move {
            noted.lock().unwrap().push(headers);
            http::StatusCode::NOT_FOUND
        }
    });
    let (elsewhere, _serving) = serve(elsewhere).await;
    let target = format!("{elsewhere}/mcp");
    let redirect = move || async move { axum::response::Redirect::temporary(&target) };
    let (moved, _moved) = serve(axum::Router::new().fallback(redirect)).await;
    let moved = format!("{moved}/mcp");
    // The redirecting server has the credentials of an earlier login.
    let world = World::start(Wire::Modern).await;
    let store = logged_in(&world).await;
    let stored = Secret::new(credentials(&store).await.to_string());
    let store = MemoryStore::new();
    store
        .save(&format!("credentials:{moved}"), &stored)
        .await
        .unwrap();
    let oauth = OAuth::builder(&moved, store).stored_only().build().unwrap();
    assert!(oauth.access_token().await.is_some());
    failing_call(Wire::Modern, &moved, &oauth).await;
    for headers in seen.lock().unwrap().iter() {
        assert!(
            !headers.contains_key("authorization"),
            "the token went to another origin"
        );
    }
}

#[tokio::test]
async fn attack_wrong_audience_a_token_for_another_resource_of_the_same_issuer() {
    for wire in Wire::ALL {
        let world = World::start(wire).await;
        let server = &world.authorization_server;
        for audience in [
            "http://127.0.0.1:1/mcp",
            &format!("{}/x", world.resource),
            "app",
        ] {
            let token = server.issue_token("alice", "app", audience, ["orders:read"], TIMEOUT);
            let params = json!({"name": "whoami", "arguments": {}});
            let token = token.unwrap();
            let reply = send(modern(&world.url, Some(&token), "tools/call", &params)).await;
            assert_eq!(reply.status, 401, "{wire:?} {audience}");
            let challenge = reply.header("www-authenticate").unwrap();
            assert!(challenge.contains("invalid_token"), "{challenge}");
        }
    }
}
