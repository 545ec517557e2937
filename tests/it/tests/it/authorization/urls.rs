//! Attacks by URLs and documents that a server names: forged requests, huge documents.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use turnbuckle::auth::AuthErrorKind;
use turnbuckle::auth::OAuth;
use turnbuckle::auth::client::store::MemoryStore;

use super::harness::{
    User, Wire, World, auth_error, auth_error_kind, call, failing_call, logged_in, modern,
    refusing, send, serve,
};

/// The address of the metadata service of cloud providers.
const CLOUD: &str = "http://169.254.169.254";

/// The longest that a refusal takes: no connection is tried.
const AT_ONCE: Duration = Duration::from_secs(5);

#[tokio::test]
async fn attack_ssrf_by_metadata_the_challenge_names_an_internal_address() {
    let challenge = format!("Bearer resource_metadata=\"{CLOUD}/latest\"");
    let router = axum::Router::new().fallback(move || {
        let challenge = challenge.clone();
        async move {
            (
                http::StatusCode::UNAUTHORIZED,
                [("www-authenticate", challenge)],
            )
        }
    });
    let (origin, _serving) = serve(router).await;
    let url = format!("{origin}/mcp");
    let user = User::new();
    let oauth = OAuth::builder(&url, MemoryStore::new())
        .login_ui(user.clone())
        .build()
        .unwrap();
    let start = Instant::now();
    let error = auth_error(&failing_call(Wire::Modern, &url, &oauth).await);
    assert!(start.elapsed() < AT_ONCE);
    let refused = error
        .transcript()
        .steps
        .iter()
        .any(|step| step.request.contains("169.254.169.254") && !step.succeeded);
    assert!(refused, "{}", error.transcript());
    assert_eq!(user.logins(), 0);
}

#[tokio::test]
async fn attack_ssrf_by_metadata_the_issuer_is_an_internal_address() {
    for issuer in [
        CLOUD,
        "http://[::ffff:169.254.169.254]",
        "http://0.0.0.0",
        "http://[fe80::1]",
    ] {
        let (url, _, _serving) = refusing(issuer, |_| (401, "Bearer".to_owned())).await;
        let user = User::new();
        let oauth = OAuth::builder(&url, MemoryStore::new())
            .login_ui(user.clone())
            .build()
            .unwrap();
        let start = Instant::now();
        let error = failing_call(Wire::Modern, &url, &oauth).await;
        assert!(start.elapsed() < AT_ONCE, "{issuer}");
        let kind = auth_error_kind(&error);
        let expected = [AuthErrorKind::UrlRefused, AuthErrorKind::Discovery];
        assert!(expected.contains(&kind), "{issuer} {error:?}");
        assert_eq!(user.logins(), 0, "{issuer}");
    }
}

/// Starts an authorization server whose metadata has these members beside its issuer, and an MCP
/// server that names it. Returns the URL of the latter.
async fn with_metadata(members: Value) -> (String, Vec<super::harness::Running>) {
    let metadata = move |headers: http::HeaderMap| async move {
        let issuer = format!("http://{}", headers["host"].to_str().unwrap());
        let mut document = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "registration_endpoint": format!("{issuer}/register"),
            "code_challenge_methods_supported": ["S256"],
        });
        for (name, value) in members.as_object().unwrap() {
            document[name] = value.clone();
        }
        document.to_string()
    };
    let registered = || async { (http::StatusCode::CREATED, r#"{"client_id":"app"}"#) };
    let redirected = |uri: http::Uri| async move {
        let url = url::Url::parse(&format!("http://x{uri}")).unwrap();
        let parameter = |name: &str| super::harness::query_parameter(url.as_str(), name).unwrap();
        let (back, state) = (parameter("redirect_uri"), parameter("state"));
        axum::response::Redirect::to(&format!("{back}?code=secret-code&state={state}"))
    };
    let router = axum::Router::new()
        .route(
            "/.well-known/oauth-authorization-server",
            axum::routing::get(metadata),
        )
        .route("/authorize", axum::routing::get(redirected))
        .route("/register", axum::routing::post(registered));
    let (issuer, serving) = serve(router).await;
    let (url, _, resource) = refusing(&issuer, |_| (401, "Bearer".to_owned())).await;
    (url, vec![serving, resource])
}

#[tokio::test]
async fn attack_ssrf_by_endpoints_in_the_metadata_of_the_authorization_server() {
    for name in ["token_endpoint", "registration_endpoint"] {
        let (url, _serving) = with_metadata(json!({name: format!("{CLOUD}/x")})).await;
        let oauth = OAuth::builder(&url, MemoryStore::new())
            .login_ui(User::new())
            .build()
            .unwrap();
        let start = Instant::now();
        let error = failing_call(Wire::Modern, &url, &oauth).await;
        assert!(start.elapsed() < AT_ONCE, "{name}");
        assert_eq!(
            auth_error_kind(&error),
            AuthErrorKind::UrlRefused,
            "{name} {error:?}"
        );
        assert!(!format!("{error:?}").contains("secret-code"));
    }
    for endpoint in [
        "http://public.example/authorize",
        "javascript:alert(1)",
        "file:///etc/passwd",
    ] {
        let (url, _serving) = with_metadata(json!({"authorization_endpoint": endpoint})).await;
        let user = User::new();
        let oauth = OAuth::builder(&url, MemoryStore::new())
            .login_ui(user.clone())
            .build()
            .unwrap();
        let error = failing_call(Wire::Modern, &url, &oauth).await;
        let kind = auth_error_kind(&error);
        let expected = [AuthErrorKind::UrlRefused, AuthErrorKind::Discovery];
        assert!(expected.contains(&kind), "{endpoint} {error:?}");
        assert_eq!(user.logins(), 0, "no browser is sent to {endpoint}");
    }
}

#[tokio::test]
async fn attack_ssrf_by_redirect_of_a_metadata_document() {
    let redirect = || async { axum::response::Redirect::temporary(&format!("{CLOUD}/latest")) };
    let unauthorized = || async {
        (
            http::StatusCode::UNAUTHORIZED,
            [("www-authenticate", "Bearer")],
        )
    };
    let router = axum::Router::new()
        .route("/mcp", axum::routing::any(unauthorized))
        .fallback(redirect);
    let (origin, _serving) = serve(router).await;
    let url = format!("{origin}/mcp");
    let oauth = OAuth::builder(&url, MemoryStore::new())
        .login_ui(User::new())
        .build()
        .unwrap();
    let start = Instant::now();
    let error = auth_error(&failing_call(Wire::Modern, &url, &oauth).await);
    assert!(start.elapsed() < AT_ONCE);
    let expected = [AuthErrorKind::UrlRefused, AuthErrorKind::Discovery];
    assert!(expected.contains(&error.kind()), "{error:?}");
}

#[tokio::test]
async fn attack_a_code_or_refresh_token_does_not_follow_a_redirect_of_the_token_endpoint() {
    let stolen = Arc::new(AtomicUsize::new(0));
    let count = stolen.clone();
    let elsewhere = axum::Router::new().fallback(move || {
        count.fetch_add(1, Ordering::SeqCst);
        async { http::StatusCode::OK }
    });
    let (elsewhere, _elsewhere) = serve(elsewhere).await;
    let target = format!("{elsewhere}/token");
    let redirect = move || async move { axum::response::Redirect::temporary(&target) };
    let (redirecting, _redirecting) = serve(axum::Router::new().fallback(redirect)).await;
    let endpoint = json!({"token_endpoint": format!("{redirecting}/token")});
    let (url, _serving) = with_metadata(endpoint).await;
    let oauth = OAuth::builder(&url, MemoryStore::new())
        .login_ui(User::new())
        .build()
        .unwrap();
    let error = failing_call(Wire::Modern, &url, &oauth).await;
    assert_eq!(auth_error_kind(&error), AuthErrorKind::Token, "{error:?}");
    assert_eq!(stolen.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn attack_huge_documents_end_the_login_and_not_the_process() {
    let world = World::start(Wire::Modern).await;
    world
        .authorization_server
        .set_faults(|it| it.metadata_bytes = 32 << 20);
    let user = User::new();
    let oauth = world.oauth(&user, &MemoryStore::new());
    let error = auth_error(&failing_call(world.wire, &world.url, &oauth).await);
    assert_ne!(error.kind(), AuthErrorKind::LoginRequired, "{error:?}");
    assert_eq!(user.logins(), 0);
    assert!(error.transcript().to_string().len() < 64 << 10);
    // The protected server reads them no more than the client does.
    let token = world.token("alice", &[]);
    let params = json!({"name": "whoami", "arguments": {}});
    let reply = send(modern(&world.url, Some(&token), "tools/call", &params)).await;
    assert_eq!(reply.status, 503, "{reply:?}");
    world.authorization_server.reset_faults();
    oauth.log_in().await.unwrap();
    assert_eq!(user.logins(), 1);
}

#[tokio::test]
async fn attack_metadata_of_another_issuer_is_refused_and_a_stored_login_goes_on() {
    let world = World::start(Wire::Modern).await;
    let store = logged_in(&world).await;
    world
        .authorization_server
        .set_faults(|it| it.metadata_issuer = Some("https://evil.example".to_owned()));
    let user = User::new();
    let fresh = world.oauth(&user, &MemoryStore::new());
    let error = failing_call(world.wire, &world.url, &fresh).await;
    assert_eq!(
        auth_error_kind(&error),
        AuthErrorKind::Discovery,
        "{error:?}"
    );
    assert_eq!(user.logins(), 0);
    let client = world.connect(&world.oauth(&user, &store)).await.unwrap();
    assert_eq!(call(&client, "whoami").await.unwrap(), "alice");
}
