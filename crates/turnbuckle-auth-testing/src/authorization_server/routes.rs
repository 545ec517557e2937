//! The endpoints of the test server and their paths.

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

/// Answers a request and records it.
pub(super) async fn handle(server: &Server, request: Request<Bytes>) -> Answer {
    let (head, body) = request.into_parts();
    let host = head
        .headers
        .get(HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    if !server.is_own_host(host) {
        return empty(StatusCode::MISDIRECTED_REQUEST);
    }
    if head
        .uri
        .query()
        .is_some_and(|query| query.len() > MAX_QUERY_BYTES)
    {
        return empty(StatusCode::URI_TOO_LONG);
    }
    let endpoint = find_endpoint(server, head.uri.path());
    let parameters = match endpoint {
        Endpoint::Authorization => {
            Parameters::parse(head.uri.query().unwrap_or_default().as_bytes())
        }
        _ if is_form(&head.headers) => Parameters::parse(&body),
        _ => Parameters::default(),
    };
    let mut answer = if head.method == Method::OPTIONS {
        empty(StatusCode::NO_CONTENT)
    } else if is_allowed_method(endpoint, &head.method) {
        dispatch(server, endpoint, &head, &parameters, &body).await
    } else {
        let mut answer = empty(StatusCode::METHOD_NOT_ALLOWED);
        let allowed = if is_posted(endpoint) {
            "POST, OPTIONS"
        } else {
            "GET, HEAD, OPTIONS"
        };
        answer
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static(allowed));
        answer
    };
    allow_local_pages(endpoint, &head.headers, &mut answer);
    record(server, endpoint, &head, &parameters, &answer);
    let delay = server.faults.delay();
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    answer
}

fn find_endpoint(server: &Server, path: &str) -> Endpoint {
    let settings = &server.settings;
    let issuer_path = settings.path.as_str();
    if let Some(rest) = path.strip_prefix("/.well-known/oauth-authorization-server")
        && rest == issuer_path
        && settings.has_oauth_metadata
    {
        return Endpoint::OAuthMetadata;
    }
    if let Some(rest) = path.strip_prefix("/.well-known/openid-configuration")
        && rest == issuer_path
        && settings.has_openid_metadata
    {
        return Endpoint::OpenIdMetadata;
    }
    match path.strip_prefix(issuer_path) {
        Some("/.well-known/openid-configuration") if settings.has_openid_metadata => {
            Endpoint::OpenIdMetadata
        }
        Some("/jwks") => Endpoint::Jwks,
        Some("/authorize") => Endpoint::Authorization,
        Some("/consent") => Endpoint::Consent,
        Some("/token") => Endpoint::Token,
        Some("/register") if settings.has_registration => Endpoint::Registration,
        Some("/introspect") => Endpoint::Introspection,
        Some("/revoke") => Endpoint::Revocation,
        _ => Endpoint::Unknown,
    }
}

fn is_posted(endpoint: Endpoint) -> bool {
    matches!(
        endpoint,
        Endpoint::Consent
            | Endpoint::Token
            | Endpoint::Registration
            | Endpoint::Introspection
            | Endpoint::Revocation
    )
}

fn is_allowed_method(endpoint: Endpoint, method: &Method) -> bool {
    match endpoint {
        Endpoint::Unknown => true,
        _ if is_posted(endpoint) => method == Method::POST,
        // HEAD would start a login and tell nobody.
        Endpoint::Authorization => method == Method::GET,
        _ => method == Method::GET || method == Method::HEAD,
    }
}

fn is_form(headers: &HeaderMap) -> bool {
    let media_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let media_type = media_type
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    media_type
        .trim()
        .eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

async fn dispatch(
    server: &Server,
    endpoint: Endpoint,
    head: &http::request::Parts,
    parameters: &Parameters,
    body: &[u8],
) -> Answer {
    let headers = &head.headers;
    let needs_form = is_posted(endpoint) && endpoint != Endpoint::Registration;
    if needs_form && !is_form(headers) {
        let description = "the Content-Type must be application/x-www-form-urlencoded";
        return Refusal::new("invalid_request", description).into_answer();
    }
    match endpoint {
        Endpoint::OAuthMetadata => metadata::oauth_metadata(server),
        Endpoint::OpenIdMetadata => metadata::openid_metadata(server),
        Endpoint::Jwks => metadata::jwks(server),
        Endpoint::Authorization => {
            let approver = head.extensions.get::<ApprovingUser>();
            let approver = approver.map(|user| user.0.as_str());
            authorize::authorize(server, headers, parameters, approver).await
        }
        Endpoint::Consent => consent::decide(server, headers, parameters),
        Endpoint::Token => token::token(server, headers, parameters).await,
        Endpoint::Registration => registration::register(server, headers, body),
        Endpoint::Introspection => introspection::introspect(server, headers, parameters).await,
        Endpoint::Revocation => introspection::revoke(server, headers, parameters).await,
        Endpoint::Unknown => empty(StatusCode::NOT_FOUND),
    }
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
    let is_local = origin
        .to_str()
        .ok()
        .and_then(|origin| Url::parse(origin).ok())
        .is_some_and(|origin| redirect_uri::is_local(&origin));
    if is_local {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(
            ACCESS_CONTROL_ALLOW_METHODS,
            HeaderValue::from_static("GET, POST"),
        );
        let allowed = "authorization, content-type, dpop, mcp-protocol-version";
        headers.insert(
            ACCESS_CONTROL_ALLOW_HEADERS,
            HeaderValue::from_static(allowed),
        );
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("dpop-nonce"),
        );
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
    let error = answer.extensions().get::<ErrorCode>();
    server.events.record(Event {
        endpoint,
        method: head.method.as_str().to_owned(),
        path: bounded_text(head.uri.path()),
        parameter_names: parameters
            .names()
            .iter()
            .map(|name| bounded_text(name))
            .collect(),
        client_id: named_client_id(&head.headers, parameters)
            .as_deref()
            .map(bounded_text),
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
