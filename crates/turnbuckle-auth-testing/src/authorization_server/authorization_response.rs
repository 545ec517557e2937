//! The answers of the authorization endpoint: redirects to the client, with a code or an error.
//!
//! Specification: RFC 6749, section 4.1.2; RFC 9207.

use http::StatusCode;
use url::Url;

use super::answer::{Answer, ErrorCode, Refusal, redirect};
use super::page::error_page;
use super::server::Server;
use super::state::{AuthorizationRequest, CodeRecord, hash};
use crate::random::random_token;

/// The seconds for which a code is valid.
const CODE_TTL: u64 = 60;

/// The URI to which an answer goes, and the client's `state`.
pub(super) struct Target {
    pub(super) redirect_uri: String,
    pub(super) state: Option<String>,
}

/// Issues a code for an approved request and redirects to the client.
pub(super) fn approve(server: &Server, request: AuthorizationRequest, user: &str) -> Answer {
    let target = Target {
        redirect_uri: request.redirect_uri.clone(),
        state: request.state.clone(),
    };
    let (code, family) = match (random_token(), random_token()) {
        (Ok(code), Ok(family)) => (code, family.expose().to_owned()),
        _ => return error_redirect(server, &target, &Refusal::server_error()),
    };
    let record = CodeRecord {
        request,
        subject: user.to_owned(),
        family,
        expires_at: server.now().saturating_add(CODE_TTL),
        is_used: false,
    };
    server.tables().codes.insert(hash(code.expose()), record);
    redirect_to(server, &target, &[("code", code.expose())])
}

/// Redirects to the client of a request with `access_denied`.
pub(super) fn deny_request(server: &Server, request: AuthorizationRequest) -> Answer {
    deny(
        server,
        &Target {
            redirect_uri: request.redirect_uri,
            state: request.state,
        },
    )
}

/// Redirects to the client of `target` with `access_denied`.
pub(super) fn deny(server: &Server, target: &Target) -> Answer {
    error_redirect(
        server,
        target,
        &Refusal::new("access_denied", "the user denied the request"),
    )
}

/// Redirects to the client with the error of a refusal.
pub(super) fn error_redirect(server: &Server, target: &Target, refusal: &Refusal) -> Answer {
    let (error, description) = (refusal.error(), refusal.description());
    let mut answer = redirect_to(
        server,
        target,
        &[("error", error), ("error_description", description)],
    );
    answer.extensions_mut().insert(ErrorCode(error.to_owned()));
    answer
}

/// Redirects to the client with these parameters, its `state` and our `iss` (RFC 9207).
fn redirect_to(server: &Server, target: &Target, parameters: &[(&str, &str)]) -> Answer {
    let Ok(mut url) = Url::parse(&target.redirect_uri) else {
        let refusal = Refusal::new("invalid_request", "the redirect_uri is no URL");
        return error_page(StatusCode::BAD_REQUEST, &refusal);
    };
    {
        let mut query = url.query_pairs_mut();
        query.extend_pairs(parameters);
        if let Some(state) = server
            .faults
            .response_state()
            .or_else(|| target.state.clone())
        {
            query.append_pair("state", &state);
        }
        if let Some(issuer) = server.faults.response_issuer(server.issuer()) {
            query.append_pair("iss", &issuer);
        }
    }
    redirect(url.as_str())
}
