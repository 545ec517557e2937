//! The endpoints of the test server and their paths.

use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ALLOW, CONTENT_TYPE, HOST, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use url::Url;

use super::answer::{Answer, DropConnection, ErrorCode, Refusal, empty};
use super::authorize::ApprovingUser;
use super::client_authentication::named_client_id;
use super::events::{Endpoint, Event, bounded_text};
use super::parameters::Parameters;
use super::server::Server;
use super::{authorize, consent, introspection, metadata, redirect_uri, registration, token};

/// The longest query, in bytes. Authorization requests are kept for a while.
const MAX_QUERY_BYTES: usize = 16 * 1024;

/// The longest delay of an answer.
const MAX_DELAY: Duration = Duration::from_secs(60);

/// Answers a request and records it.
pub(super) async fn handle(server: &Server, request: Request<Bytes>) -> Answer {
    let (head, body) = request.into_parts();
    let host = head.headers.get(HOST).and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| server.is_own_host(host)) {
        return empty(StatusCode::MISDIRECTED_REQUEST);
    }
    let query = head.uri.query().unwrap_or_default();
    if query.len() > MAX_QUERY_BYTES {
        return empty(StatusCode::URI_TOO_LONG);
    }
    let endpoint = find_endpoint(server, head.uri.path());
    let is_form = is_media_type(&head.headers, "application/x-www-form-urlencoded");
    let parameters = match endpoint {
        Endpoint::Authorization => Parameters::parse(query.as_bytes()),
        _ if is_form => Parameters::parse(&body),
        _ => Parameters::default(),
    };
    // HEAD of the authorization endpoint would start a login and tell nobody.
    let allowed = match endpoint {
        Endpoint::Unknown => "",
        Endpoint::Authorization => "GET, OPTIONS",
        Endpoint::OAuthMetadata | Endpoint::OpenIdMetadata | Endpoint::Jwks => "GET, HEAD, OPTIONS",
        _ => "POST, OPTIONS",
    };
    let needs_form = allowed.starts_with("POST") && endpoint != Endpoint::Registration;
    let mut answer = if head.method == Method::OPTIONS {
        empty(StatusCode::NO_CONTENT)
    } else if !allowed.is_empty() && !allowed.split(", ").any(|it| it == head.method.as_str()) {
        let mut answer = empty(StatusCode::METHOD_NOT_ALLOWED);
        let allowed = HeaderValue::from_static(allowed);
        answer.headers_mut().insert(ALLOW, allowed);
        answer
    } else if needs_form && !is_form {
        let description = "the Content-Type must be application/x-www-form-urlencoded";
        Refusal::new("invalid_request", description).into_answer()
    } else {
        let answer = dispatch(server, endpoint, &head, &parameters, &body).await;
        answer.unwrap_or_else(Refusal::into_answer)
    };
    allow_local_pages(endpoint, &head.headers, &mut answer);
    record(server, endpoint, &head, &parameters, &answer);
    let delay = server.faults().delay.min(MAX_DELAY);
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    answer
}

fn find_endpoint(server: &Server, path: &str) -> Endpoint {
    let settings = &server.settings;
    let issuer_path = settings.path.as_str();
    let well_known = |name| path.strip_prefix(name) == Some(issuer_path);
    if settings.oauth_metadata && well_known("/.well-known/oauth-authorization-server") {
        return Endpoint::OAuthMetadata;
    }
    if settings.openid_metadata && well_known("/.well-known/openid-configuration") {
        return Endpoint::OpenIdMetadata;
    }
    match path.strip_prefix(issuer_path) {
        Some("/.well-known/openid-configuration") if settings.openid_metadata => {
            Endpoint::OpenIdMetadata
        }
        Some("/jwks") => Endpoint::Jwks,
        Some("/authorize") => Endpoint::Authorization,
        Some("/consent") => Endpoint::Consent,
        Some("/token") => Endpoint::Token,
        Some("/register") if settings.dynamic_registration => Endpoint::Registration,
        Some("/introspect") => Endpoint::Introspection,
        Some("/revoke") => Endpoint::Revocation,
        _ => Endpoint::Unknown,
    }
}

/// Returns true if the body of a request is of a media type.
pub(super) fn is_media_type(headers: &HeaderMap, media_type: &str) -> bool {
    let value = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = value.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(media_type))
}

async fn dispatch(
    server: &Server,
    endpoint: Endpoint,
    head: &http::request::Parts,
    parameters: &Parameters,
    body: &[u8],
) -> Result<Answer, Refusal> {
    let headers = &head.headers;
    Ok(match endpoint {
        Endpoint::OAuthMetadata => metadata::oauth_metadata(server),
        Endpoint::OpenIdMetadata => metadata::openid_metadata(server),
        Endpoint::Jwks => metadata::jwks(server),
        Endpoint::Authorization => {
            let approver = head.extensions.get::<ApprovingUser>();
            let approver = approver.map(|user| user.0.as_str());
            authorize::authorize(server, parameters, approver).await
        }
        Endpoint::Consent => consent::decide(server, parameters),
        Endpoint::Token => token::token(server, headers, parameters).await,
        Endpoint::Registration => registration::register(server, headers, body)?,
        Endpoint::Introspection => introspection::introspect(server, headers, parameters).await?,
        Endpoint::Revocation => introspection::revoke(server, headers, parameters).await?,
        Endpoint::Unknown => empty(StatusCode::NOT_FOUND),
    })
}

/// Lets pages of the own machine, such as the MCP Inspector, read the answer. Pages of other origins
/// cannot: they would get tokens of a developer's server.
fn allow_local_pages(endpoint: Endpoint, request: &HeaderMap, answer: &mut Answer) {
    if matches!(
        endpoint,
        Endpoint::Authorization | Endpoint::Consent | Endpoint::Unknown
    ) {
        return;
    }
    let headers = answer.headers_mut();
    headers.append(VARY, HeaderValue::from_static("origin"));
    let Some(origin) = request.get(ORIGIN) else {
        return;
    };
    let url = origin.to_str().ok().and_then(|text| Url::parse(text).ok());
    if !url.is_some_and(|url| redirect_uri::is_local(&url)) {
        return;
    }
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    for (name, value) in [
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (
            ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, dpop, mcp-protocol-version",
        ),
        (ACCESS_CONTROL_EXPOSE_HEADERS, "dpop-nonce"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

fn record(
    server: &Server,
    endpoint: Endpoint,
    head: &http::request::Parts,
    parameters: &Parameters,
    answer: &Answer,
) {
    let text = |name: &str| parameters.get(name).map(bounded_text);
    let names = parameters.names();
    let client_id = named_client_id(&head.headers, parameters);
    let error = answer.extensions().get::<ErrorCode>();
    server.events.record(Event {
        endpoint,
        method: head.method.as_str().to_owned(),
        path: bounded_text(head.uri.path()),
        parameter_names: names.iter().map(|name| bounded_text(name)).collect(),
        client_id: client_id.as_deref().map(bounded_text),
        grant_type: text("grant_type"),
        resource: text("resource"),
        scope: text("scope"),
        redirect_uri: text("redirect_uri"),
        has_dpop_proof: head.headers.contains_key("dpop"),
        status: answer.status().as_u16(),
        error: error.map(|error| error.0.clone()),
        is_dropped: answer.extensions().get::<DropConnection>().is_some(),
    });
}
