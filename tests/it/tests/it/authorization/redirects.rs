//! Attacks on the redirect that ends a login.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sha2::Digest as _;
use turnbuckle::auth::AuthErrorKind;
use turnbuckle::auth::OAuth;
use turnbuckle::auth::client::store::MemoryStore;
use turnbuckle_auth_testing::TestAuthorizationServer;

use super::harness::{
    REDIRECT_URI, User, Wire, World, auth_error, auth_error_kind, call, failing_call, get,
    query_parameter, refusing, serve, with_parameter,
};

/// Checks that a login with such a redirect fails, without any request for a token.
async fn assert_refused(what: &str, edit: impl Fn(String) -> String + Send + Sync + 'static) {
    let world = World::start(Wire::Modern).await;
    let (user, store) = (User::new(), MemoryStore::new());
    user.edit_redirects(edit);
    let oauth = world.oauth(&user, &store);
    let error = auth_error(&failing_call(world.wire, &world.url, &oauth).await);
    assert_eq!(error.kind(), AuthErrorKind::Protocol, "{what}: {error:?}");
    let exchanged = world.token_requests("authorization_code");
    assert!(exchanged.is_empty(), "{what}: the code was sent");
    assert_eq!(oauth.access_token().await.map(|_| ()), None, "{what}");
    // The user is not asked again and again for one request.
    assert_eq!(user.logins(), 1, "{what}");
}

fn without_parameter(url: &str, name: &str) -> String {
    let with = with_parameter(url, name, "x");
    with.replace(&format!("&{name}=x"), "")
        .replace(&format!("{name}=x"), "")
}

#[tokio::test]
async fn attack_state_mismatch() {
    assert_refused("another", |it| with_parameter(&it, "state", "other")).await;
    assert_refused("empty", |it| with_parameter(&it, "state", "")).await;
    assert_refused("none", |it| without_parameter(&it, "state")).await;
    assert_refused("two", |it| format!("{it}&state=other")).await;
    let longer = |it: String| {
        let state = query_parameter(&it, "state").unwrap();
        with_parameter(&it, "state", &format!("{state}x"))
    };
    assert_refused("longer", longer).await;
}

#[tokio::test]
async fn attack_iss_variants() {
    assert_refused("none", |it| without_parameter(&it, "iss")).await;
    assert_refused("empty", |it| with_parameter(&it, "iss", "")).await;
    assert_refused("two", |it| format!("{it}&iss=https%3A%2F%2Fevil.example")).await;
    for edit in [
        |iss: &str| format!("{iss}/"),
        |iss: &str| iss.replace("http:", "HTTP:"),
        |iss: &str| iss.replace("127.0.0.1", "localhost"),
        |iss: &str| format!("{iss}/tenant"),
        |iss: &str| format!(" {iss}"),
        |_: &str| "https://evil.example".to_owned(),
    ] {
        assert_refused("another", move |it| {
            let iss = query_parameter(&it, "iss").unwrap();
            with_parameter(&it, "iss", &edit(&iss))
        })
        .await;
    }
}

#[tokio::test]
async fn attack_an_error_of_another_issuer_is_not_shown() {
    let world = World::start(Wire::Modern).await;
    let user = User::new();
    user.edit_redirects(|it| {
        let state = query_parameter(&it, "state").unwrap();
        format!(
            "{REDIRECT_URI}?error=access_denied&error_description=visit+evil.example&state={state}\
             &iss=https://evil.example"
        )
    });
    let oauth = world.oauth(&user, &MemoryStore::new());
    let error = failing_call(world.wire, &world.url, &oauth).await;
    assert!(!format!("{error:?} {error}").contains("visit"), "{error:?}");
}

#[tokio::test]
async fn attack_code_injection_a_code_of_another_login_gives_no_token() {
    let app = |it: turnbuckle_auth_testing::TestAuthorizationServerBuilder| {
        it.public_client("app", [REDIRECT_URI])
    };
    let world = World::with(Wire::Modern, app).await;
    let issuer = world.authorization_server.issuer().to_owned();
    // The attacker logs in with the same client, and keeps the code.
    let challenge = URL_SAFE_NO_PAD.encode(sha2::Sha256::digest("v".repeat(43)));
    let mut attack = url::Url::parse(&format!("{issuer}/authorize")).unwrap();
    attack.query_pairs_mut().extend_pairs([
        ("response_type", "code"),
        ("client_id", "app"),
        ("redirect_uri", REDIRECT_URI),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("state", "attack"),
        ("resource", &world.resource),
    ]);
    let stolen = get(attack.as_str()).await;
    let code = query_parameter(stolen.header("location").unwrap(), "code").unwrap();
    let user = User::new();
    user.edit_redirects(move |it| with_parameter(&it, "code", &code));
    let oauth = world.oauth_builder(&user, &MemoryStore::new());
    let oauth = oauth.registered_client(&issuer, "app", None);
    let oauth = oauth.build().unwrap();
    let error = failing_call(world.wire, &world.url, &oauth).await;
    assert_eq!(auth_error_kind(&error), AuthErrorKind::Token, "{error:?}");
    let exchanged = world.token_requests("authorization_code");
    assert_eq!(exchanged.len(), 1);
    assert_eq!(exchanged[0].error.as_deref(), Some("invalid_grant"));
    assert!(oauth.access_token().await.is_none());
}

/// The MCP server names an authorization server of the attacker, whose metadata sends the user to an
/// honest one. The code of the honest one must not reach the attacker.
#[tokio::test]
async fn attack_mix_up_of_two_authorization_servers() {
    for names_issuer in [true, false] {
        let honest = TestAuthorizationServer::builder()
            .auto_approve(true)
            .public_client("app", [REDIRECT_URI])
            .start()
            .await
            .unwrap();
        let stolen = Arc::new(Mutex::new(Vec::new()));
        let (noted, endpoint) = (stolen.clone(), format!("{}/authorize", honest.issuer()));
        let metadata = move |headers: http::HeaderMap| async move {
            let issuer = format!("http://{}", headers["host"].to_str().unwrap());
            json!({
                "issuer": issuer,
                "authorization_endpoint": endpoint,
                "token_endpoint": format!("{issuer}/token"),
                "registration_endpoint": format!("{issuer}/register"),
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": names_issuer,
            })
            .to_string()
        };
        let token = move |body: String| async move {
            noted.lock().unwrap().push(body);
            http::StatusCode::BAD_REQUEST
        };
        let registered = json!({"client_id": "app", "redirect_uris": [REDIRECT_URI],
            "token_endpoint_auth_method": "none"});
        let register = move || async move { (http::StatusCode::CREATED, registered.to_string()) };
        let router = axum::Router::new()
            .route(
                "/.well-known/oauth-authorization-server",
                axum::routing::get(metadata),
            )
            .route("/token", axum::routing::post(token))
            .route("/register", axum::routing::post(register));
        let (evil, _serving) = serve(router).await;
        let (url, _, _resource) = refusing(&evil, |_| (401, "Bearer".to_owned())).await;
        let user = User::new();
        let oauth = OAuth::builder(&url, MemoryStore::new())
            .login_ui(user.clone())
            .build()
            .unwrap();
        let error = failing_call(Wire::Modern, &url, &oauth).await;
        assert_eq!(
            auth_error_kind(&error),
            AuthErrorKind::Protocol,
            "{error:?}"
        );
        assert_eq!(user.logins(), 1);
        assert!(
            query_parameter(&user.redirects()[0], "code").is_some(),
            "there was a code"
        );
        assert!(
            stolen.lock().unwrap().is_empty(),
            "the code went to the attacker"
        );
    }
}

#[tokio::test]
async fn a_denied_login_is_told_with_the_reason() {
    let world = World::start(Wire::Modern).await;
    world
        .authorization_server
        .set_faults(|it| it.denied_authorizations = 1);
    let oauth = world.oauth(&User::new(), &MemoryStore::new());
    let error = failing_call(world.wire, &world.url, &oauth).await;
    assert_eq!(auth_error_kind(&error), AuthErrorKind::Denied);
    assert!(error.to_string().contains("access_denied"), "{error}");
    let client = world.connect(&oauth).await.unwrap();
    assert_eq!(call(&client, "whoami").await.unwrap(), "alice");
}
