//! Dynamic client registration.
//!
//! Specification: basic/authorization/client-registration, "Dynamic Client Registration"
//! (2026-07-28); RFC 7591; OpenID Connect Dynamic Client Registration 1.0.

use http::HeaderMap;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ClientRegistration, RegistrationRequest, RegistrationSource};
use crate::client::discovery::Discovery;
use crate::error::{AuthError, AuthErrorKind};
use crate::metadata::AuthorizationServerMetadata;
use crate::outbound::{Outbound, OutboundResponse, display_url_text};
use crate::secret::Secret;
use crate::transcript::{Recorder, StepKind, clean};

/// The answer of a registration endpoint.
#[derive(Deserialize)]
struct RegistrationResponse {
    client_id: String,
    client_secret: Option<Secret>,
    client_secret_expires_at: Option<Value>,
    token_endpoint_auth_method: Option<String>,
}

/// The error of a registration endpoint.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RegistrationRefusal {
    error: Option<String>,
    error_description: Option<String>,
}

/// The part of a registration that a server refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RefusedPart {
    RedirectUri,
    Scope,
    Other,
}

/// Registers the client at `endpoint`. A refusal of the redirect URI is tried once more with the
/// other `application_type`, and a refusal of the scopes without them: some servers know those of
/// resources only when a token is asked for.
///
/// # Errors
/// Fails with the answers of the endpoint and with what to configure.
pub(super) async fn register(
    outbound: &Outbound,
    endpoint: &str,
    discovery: &Discovery,
    request: &RegistrationRequest<'_>,
    recorder: &Recorder,
) -> Result<ClientRegistration, AuthError> {
    let step = StepKind::Registration;
    let shown = format!("POST {}", display_url_text(endpoint));
    let server = &discovery.server;
    let Some(auth_method) = auth_method(server) else {
        let listed = server.token_endpoint_auth_methods_supported.as_deref();
        let listed = listed.unwrap_or_default().join(", ");
        let advice = "register a client by hand and configure its credentials";
        let answer = format!("the token endpoint supports only {listed}");
        recorder.fail(step, shown, &answer, "stop", advice);
        let message = format!("a client cannot be registered: {answer}; {advice}");
        return Err(AuthError::new(AuthErrorKind::Registration, message));
    };
    let first_type = request.application_type;
    let other_type = if first_type == "web" { "native" } else { "web" };
    let mut request = *request;
    let mut former_answers = String::new();
    loop {
        let application_type = request.application_type;
        let body = registration_body(&request, auth_method);
        let mut request_text = format!("{shown} with application_type {application_type}");
        if request.scope.is_some() {
            request_text += " and scopes";
        }
        let response = match outbound.post_json(endpoint, &body, HeaderMap::new()).await {
            Ok(response) => response,
            Err(error) => {
                recorder.fail(step, request_text, error.to_string(), "stop", "");
                return Err(AuthError::from(error));
            }
        };
        if matches!(response.status, 200 | 201) {
            return read_registration(
                &response,
                request_text,
                discovery,
                &request,
                auth_method,
                recorder,
            );
        }
        let (answer, refused) = describe_refusal(&response);
        // Each of them is tried once.
        match refused {
            RefusedPart::RedirectUri if application_type == first_type => {
                let decision = format!("try again with application_type {other_type}");
                recorder.fail(step, request_text, &answer, decision, "");
                former_answers += &format!("{answer} with application_type {first_type}; then ");
                request.application_type = other_type;
                continue;
            }
            RefusedPart::Scope if request.scope.is_some() => {
                recorder.fail(step, request_text, &answer, "try again without scopes", "");
                former_answers += &format!("{answer} with scopes; then ");
                request.scope = None;
                continue;
            }
            _ => {}
        }
        let advice = advice(response.status, refused);
        recorder.fail(step, request_text, &answer, "stop", advice);
        let message = format!(
            "the registration of a client at {} failed: {former_answers}{answer} with \
             application_type {application_type}, redirect URI {}; {advice}",
            display_url_text(endpoint),
            display_url_text(request.redirect_uri),
        );
        let kind = match response.status {
            429 | 500.. => AuthErrorKind::Network,
            _ => AuthErrorKind::Registration,
        };
        return Err(AuthError::new(kind, message));
    }
}

fn advice(status: u16, refused: RefusedPart) -> &'static str {
    match status {
        _ if refused == RefusedPart::RedirectUri => {
            "configure a redirect URI that the server accepts, or register a client by hand and \
             configure its client id"
        }
        401 | 403 => {
            "the server registers only clients it knows: register one by hand and configure its client id"
        }
        429 | 500.. => "try again later",
        _ => "register a client by hand and configure its client id",
    }
}

/// Returns the error of a refused registration, and the part that it is about.
fn describe_refusal(response: &OutboundResponse) -> (String, RefusedPart) {
    let refusal: RegistrationRefusal = serde_json::from_slice(&response.body).unwrap_or_default();
    let mut answer = response.status.to_string();
    let code = refusal.error.unwrap_or_default();
    let description = refusal.error_description.unwrap_or_default();
    for text in [&code, &description] {
        if !text.is_empty() {
            answer = answer + " " + &clean(text).chars().take(200).collect::<String>();
        }
    }
    let description = description.to_ascii_lowercase();
    let names = |words: &[&str]| words.iter().any(|word| description.contains(word));
    let part = match code.as_str() {
        _ if response.status >= 500 => RefusedPart::Other,
        "invalid_redirect_uri" => RefusedPart::RedirectUri,
        "invalid_scope" => RefusedPart::Scope,
        "invalid_client_metadata" | "invalid_request" => {
            if names(&["redirect", "application_type", "application type"]) {
                RefusedPart::RedirectUri
            } else if names(&["scope"]) {
                RefusedPart::Scope
            } else {
                RefusedPart::Other
            }
        }
        _ => RefusedPart::Other,
    };
    (answer, part)
}

fn read_registration(
    response: &OutboundResponse,
    request_text: String,
    discovery: &Discovery,
    request: &RegistrationRequest<'_>,
    auth_method: &str,
    recorder: &Recorder,
) -> Result<ClientRegistration, AuthError> {
    let step = StepKind::Registration;
    let answer = format!("{}, {} bytes", response.status, response.body.len());
    let read: Option<RegistrationResponse> = serde_json::from_slice(&response.body).ok();
    let Some(read) = read.filter(|read| !read.client_id.is_empty()) else {
        recorder.fail(
            step,
            request_text,
            &answer,
            "stop",
            "the answer must be JSON with a client_id",
        );
        let message = "the registration endpoint answered without a client_id";
        return Err(AuthError::new(AuthErrorKind::Protocol, message));
    };
    let client_secret = read
        .client_secret
        .filter(|secret| !secret.expose().is_empty());
    let secret_kind = if client_secret.is_some() {
        "with"
    } else {
        "without"
    };
    let decision = format!(
        "use the client id {}, {secret_kind} a secret",
        read.client_id
    );
    recorder.record(step, request_text, answer, decision);
    let auth_method = match (read.token_endpoint_auth_method, &client_secret) {
        (Some(method), _) if !method.is_empty() => method,
        (_, None) => "none".to_owned(),
        // The server issued a secret that was not asked for.
        (_, Some(_)) if auth_method == "none" => {
            let method = discovery.server.secret_method();
            method.unwrap_or("client_secret_basic").to_owned()
        }
        (_, Some(_)) => auth_method.to_owned(),
    };
    Ok(ClientRegistration {
        issuer: discovery.issuer.clone(),
        client_id: read.client_id,
        secret_expires_at: read
            .client_secret_expires_at
            .as_ref()
            .and_then(parse_seconds),
        client_secret,
        auth_method: Some(auth_method),
        redirect_uri: Some(request.redirect_uri.to_owned()),
        scopes: None,
        source: RegistrationSource::Dynamic,
    })
}

/// Reads a time that is a number or a text of a number. Zero means no end.
fn parse_seconds(value: &Value) -> Option<u64> {
    let seconds = match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_u64(),
    };
    seconds.filter(|seconds| *seconds != 0)
}

fn registration_body(request: &RegistrationRequest<'_>, auth_method: &str) -> Value {
    let mut body = Map::new();
    body.insert("client_name".to_owned(), json!(request.client_name));
    body.insert(
        "application_type".to_owned(),
        json!(request.application_type),
    );
    body.insert("grant_types".to_owned(), json!(request.grant_types));
    body.insert("token_endpoint_auth_method".to_owned(), json!(auth_method));
    if !request.redirect_uri.is_empty() {
        body.insert("redirect_uris".to_owned(), json!([request.redirect_uri]));
    }
    if request.grant_types.contains(&"authorization_code") {
        body.insert("response_types".to_owned(), json!(["code"]));
    }
    if let Some(scope) = request.scope {
        body.insert("scope".to_owned(), json!(scope));
    }
    Value::Object(body)
}

/// Returns the method that a client registers: none if the server lists it, else the first of the
/// server's list that sends a secret.
fn auth_method(server: &AuthorizationServerMetadata) -> Option<&'static str> {
    let listed = server.token_endpoint_auth_methods_supported.as_deref();
    let takes_none = listed.is_some_and(|listed| listed.iter().any(|method| method == "none"));
    if takes_none {
        Some("none")
    } else {
        server.secret_method()
    }
}
