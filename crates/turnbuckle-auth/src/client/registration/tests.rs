use std::time::Duration;

use serde_json::json;

use super::*;
use crate::metadata::AuthorizationServerMetadata;
use crate::outbound::OutboundSettings;
use crate::test_http::{Reply, ScriptedServer};

const REDIRECT: &str = "http://127.0.0.1:3000/callback";

fn outbound(server: &ScriptedServer) -> Outbound {
    let settings = OutboundSettings {
        timeout: Duration::from_secs(2),
        use_env_proxy: false,
        ..OutboundSettings::default()
    };
    Outbound::new(&Url::parse(&server.origin()).unwrap(), settings).unwrap()
}

fn discovery(server: &ScriptedServer) -> Discovery {
    Discovery {
        resource: Some(server.url("/mcp")),
        resource_scopes: None,
        issuer: server.origin(),
        server: AuthorizationServerMetadata {
            issuer: server.origin(),
            registration_endpoint: Some(server.url("/register")),
            token_endpoint_auth_methods_supported: Some(vec!["none".to_owned()]),
            ..AuthorizationServerMetadata::default()
        },
        is_legacy: false,
    }
}

fn request() -> RegistrationRequest<'static> {
    RegistrationRequest {
        client_name: "Test",
        redirect_uri: REDIRECT,
        application_type: "native",
        scope: Some("a b"),
        grant_types: &["authorization_code", "refresh_token"],
        ..RegistrationRequest::default()
    }
}

/// Registers a client of the standard kind at a server.
async fn register_at(server: &ScriptedServer) -> Result<ClientRegistration, AuthError> {
    register_with(server, &discovery(server), &request()).await
}

/// Registers a client. An error has the steps.
async fn register_with(
    server: &ScriptedServer,
    discovery: &Discovery,
    request: &RegistrationRequest<'_>,
) -> Result<ClientRegistration, AuthError> {
    let recorder = Recorder::new();
    let registered = register(&outbound(server), discovery, request, &recorder).await;
    registered.map_err(|error| error.with_steps(&recorder))
}

// requirement: 4874013d90db 72a504056094 74ffc37d3e6a bfe169d59932 c9c46982aad7 e00a57be3d69
// requirement: f1b06ae6f99b
#[tokio::test]
async fn dynamic_registration_sends_the_clients_metadata() {
    let server = ScriptedServer::start(|_| {
        Reply::status(201).with_json(json!({"client_id": "c1", "client_secret_expires_at": 0}))
    })
    .await;
    let client = register_at(&server).await;
    let client = client.unwrap();
    assert_eq!(client.client_id, "c1");
    assert_eq!(client.issuer, server.origin());
    assert_eq!(client.auth_method.as_deref(), Some("none"));
    assert_eq!(client.redirect_uri.as_deref(), Some(REDIRECT));
    assert_eq!(client.secret_expires_at, None);
    assert_eq!(client.source, RegistrationSource::Dynamic);
    assert_eq!(
        server.requests()[0].json(),
        json!({
            "client_name": "Test",
            "application_type": "native",
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "redirect_uris": [REDIRECT],
            "token_endpoint_auth_method": "none",
            "scope": "a b",
        })
    );
}

// requirement: 103d8152db75 153ad3c8684d 25fcdec93f0f 47f5d44c5028 9ccd72e9a1eb b6692ec06902
// requirement: c0308c3300ed c05540734524 ddabcfd81fb6 e2964f2f90b3 e66bade0ebe4 f96a310f75d8
#[tokio::test]
async fn a_metadata_document_precedes_a_dynamic_registration() {
    let server =
        ScriptedServer::start(|_| Reply::status(201).with_json(json!({"client_id": "dynamic"})))
            .await;
    let mut discovery = discovery(&server);
    let document = "https://app.example.com/client.json";
    let mut request = request();
    request.metadata_document = Some(document);
    let outbound = outbound(&server);
    let recorder = Recorder::new();
    discovery.server.client_id_metadata_document_supported = true;
    let client = register(&outbound, &discovery, &request, &recorder)
        .await
        .unwrap();
    assert_eq!(client.client_id, document);
    assert_eq!(client.source, RegistrationSource::MetadataDocument);
    assert_eq!(server.requests().len(), 0);
    discovery.server.client_id_metadata_document_supported = false;
    let client = register(&outbound, &discovery, &request, &recorder)
        .await
        .unwrap();
    assert_eq!(client.client_id, "dynamic");
}

// requirement: 83ff62c73552
#[tokio::test]
async fn a_refused_redirect_uri_is_tried_once_with_the_other_application_type() {
    let server =
        ScriptedServer::start(
            |request| match request.json()["application_type"].as_str() {
                Some("web") => Reply::status(201).with_json(json!({"client_id": "c1"})),
                _ => Reply::status(400).with_json(json!({"error": "invalid_redirect_uri"})),
            },
        )
        .await;
    let client = register_at(&server).await;
    assert_eq!(client.unwrap().client_id, "c1");
    assert_eq!(server.requests().len(), 2);
}

// requirement: 823ee2d91e14 83ff62c73552
#[tokio::test]
async fn a_redirect_uri_that_stays_refused_shows_the_servers_error() {
    let server = ScriptedServer::start(|request| {
        let kind = request.json()["application_type"]
            .as_str()
            .unwrap()
            .to_owned();
        Reply::status(400).with_json(json!({
            "error": "invalid_client_metadata",
            "error_description": format!("redirect_uris must be https\u{1b}[31m for {kind}"),
        }))
    })
    .await;
    let client = register_at(&server).await;
    let error = client.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::Registration);
    let text = error.to_string();
    assert!(
        text.contains("redirect_uris must be https [31m for native"),
        "{text}"
    );
    assert!(
        text.contains("redirect_uris must be https [31m for web"),
        "{text}"
    );
    assert!(text.contains("configure a redirect URI"), "{text}");
    assert_eq!(server.requests().len(), 2);
    assert_eq!(error.transcript().steps.len(), 2);
}

#[tokio::test]
async fn refused_scopes_are_left_out_once() {
    let server = ScriptedServer::start(|request| match request.json().get("scope") {
        Some(_) => Reply::status(400).with_json(json!({
            "error": "invalid_client_metadata",
            "error_description": "scope must only contain Authorization Server supported scope values",
        })),
        None => Reply::status(201).with_json(json!({"client_id": "c1"})),
    })
    .await;
    let recorder = Recorder::new();
    let (outbound, discovery) = (outbound(&server), discovery(&server));
    let registered = register(&outbound, &discovery, &request(), &recorder).await;
    assert_eq!(registered.unwrap().client_id, "c1");
    assert_eq!(server.requests().len(), 2);
    assert!(
        recorder
            .transcript()
            .to_string()
            .contains("try again without scopes")
    );
}

#[tokio::test]
async fn scopes_and_redirect_uri_are_each_tried_again_once() {
    let server = ScriptedServer::start(|request| {
        let error = match request.json().get("scope") {
            Some(_) => "invalid_scope",
            None => "invalid_redirect_uri",
        };
        Reply::status(400).with_json(json!({ "error": error }))
    })
    .await;
    let refused = register_at(&server).await;
    assert_eq!(refused.unwrap_err().kind(), AuthErrorKind::Registration);
    assert_eq!(server.requests().len(), 3);
}

// requirement: 823ee2d91e14
#[tokio::test]
async fn other_refusals_are_not_tried_again() {
    for (status, kind, word) in [
        (400, AuthErrorKind::Registration, "by hand"),
        (401, AuthErrorKind::Registration, "clients it knows"),
        (404, AuthErrorKind::Registration, "by hand"),
        (503, AuthErrorKind::Network, "try again later"),
    ] {
        let server = ScriptedServer::start(move |_| {
            Reply::status(status).with_json(json!({"error": "invalid_client_metadata"}))
        })
        .await;
        let client = register_at(&server).await;
        let error = client.unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains(word), "{error}");
        assert!(
            error.to_string().contains("invalid_client_metadata"),
            "{error}"
        );
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn registration_uses_only_the_endpoint_of_the_discovered_issuer() {
    let server = ScriptedServer::start(|request| match request.path.as_str() {
        "/own/register" => Reply::status(307).header("location", "/other/register"),
        _ => Reply::status(201).with_json(json!({"client_id": "c1"})),
    })
    .await;
    let mut discovery = discovery(&server);
    discovery.server.registration_endpoint = Some(server.url("/own/register"));
    let result = register_with(&server, &discovery, &request()).await;
    assert_eq!(result.unwrap_err().kind(), AuthErrorKind::Registration);
    assert_eq!(server.paths(), ["/own/register"]);
    // Without an endpoint in the metadata, none is guessed.
    discovery.server.registration_endpoint = None;
    let result = register_with(&server, &discovery, &request()).await;
    let error = result.unwrap_err();
    assert!(
        error.to_string().contains("configure its client id"),
        "{error}"
    );
    assert_eq!(server.requests().len(), 1);
    discovery.server.registration_endpoint = Some("http://169.254.169.254/register".to_owned());
    let result = register_with(&server, &discovery, &request()).await;
    assert_eq!(result.unwrap_err().kind(), AuthErrorKind::UrlRefused);
}

#[tokio::test]
async fn secrets_of_the_answer_are_kept_and_never_shown() {
    let server = ScriptedServer::start(|_| {
        Reply::status(200).with_json(json!({
            "client_id": "c1",
            "client_secret": "hidden",
            "client_secret_expires_at": "1700000000",
        }))
    })
    .await;
    for (supported, asked, used) in [
        (
            Some(vec!["none", "client_secret_post"]),
            "none",
            "client_secret_post",
        ),
        (
            Some(vec!["client_secret_post"]),
            "client_secret_post",
            "client_secret_post",
        ),
        (
            Some(vec!["client_secret_post", "client_secret_basic"]),
            "client_secret_post",
            "client_secret_post",
        ),
        (None, "client_secret_basic", "client_secret_basic"),
    ] {
        let mut discovery = discovery(&server);
        discovery.server.token_endpoint_auth_methods_supported =
            supported.map(|methods| methods.into_iter().map(str::to_owned).collect());
        let recorder = Recorder::new();
        let client = register(&outbound(&server), &discovery, &request(), &recorder)
            .await
            .unwrap();
        let body = server.requests().last().unwrap().json();
        assert_eq!(body["token_endpoint_auth_method"], asked);
        assert_eq!(client.auth_method.as_deref(), Some(used));
        assert_eq!(client.client_secret.as_ref().unwrap().expose(), "hidden");
        assert!(client.is_expired(1_700_000_000) && !client.is_expired(1_699_999_999));
        let shown = format!(
            "{client:?} {:?} {}",
            recorder.transcript(),
            recorder.transcript()
        );
        assert!(!shown.contains("hidden"), "{shown}");
    }
}

#[tokio::test]
async fn answers_without_a_client_id_are_refused() {
    for body in [
        "",
        "<html>",
        "{}",
        "{\"client_id\":\"\"}",
        "{\"client_id\":5}",
    ] {
        let server = ScriptedServer::start(move |_| Reply::status(201).with_body(body)).await;
        let result = register_at(&server).await;
        assert_eq!(
            result.unwrap_err().kind(),
            AuthErrorKind::Protocol,
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_server_without_a_usable_authentication_is_named() {
    let server = ScriptedServer::start(|_| Reply::status(500)).await;
    let mut discovery = discovery(&server);
    let methods = vec!["private_key_jwt".to_owned()];
    discovery.server.token_endpoint_auth_methods_supported = Some(methods);
    let result = register_with(&server, &discovery, &request()).await;
    assert!(result.unwrap_err().to_string().contains("private_key_jwt"));
    assert_eq!(server.requests().len(), 0);
}

// requirement: 6350786bcd58 c0308c3300ed
#[test]
fn urls_of_metadata_documents_are_checked() {
    assert_eq!(
        check_metadata_document("https://app.example.com/client.json"),
        Ok(())
    );
    for url in [
        "http://app.example.com/client.json",
        "https://app.example.com",
        "https://app.example.com/",
        "https://app.example.com/a#b",
        "https://user@app.example.com/a",
        "https://app.example.com/a/../b",
        "https://APP.example.com/a",
        "client.json",
    ] {
        assert!(check_metadata_document(url).is_err(), "{url}");
    }
}
