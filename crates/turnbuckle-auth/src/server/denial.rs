//! The responses to requests that are not admitted.
//!
//! Specification: RFC 6750 section 3, RFC 9449 section 7.1, RFC 9728 section 5.1; basic/authorization
//! (2026-07-28), "Error Handling".

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_TYPE,
    RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use serde::Serialize;

use super::authorization_header::Scheme;
use super::dpop::DpopMode;
use crate::challenge::Challenge;
use crate::dpop;

/// The header with a nonce for DPoP proofs.
pub(super) const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
const RETRY_AFTER_SECONDS: &str = "5";

/// The reason why a request is not admitted, as far as the client is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Denial {
    /// The request has no token, or an unknown scheme.
    NoCredentials,
    /// The request is malformed in a way that this text names.
    Malformed(&'static str),
    /// The token is invalid, of others or for others.
    InvalidToken,
    /// The token has expired.
    ExpiredToken,
    /// The DPoP proof is missing or invalid.
    InvalidProof,
    /// The DPoP proof has no nonce of this server, or an old one.
    StaleNonce,
    /// The token lacks scopes that every request needs.
    InsufficientScope,
    /// The token cannot be checked now.
    Unavailable,
    /// The store of used proofs cannot be asked now.
    StoreUnavailable,
}

/// The parts of a challenge that are the same for all requests.
#[derive(Debug, Clone)]
pub(super) struct ChallengeTemplate {
    /// The URL of the resource's metadata, if there is any.
    pub(super) resource_metadata: Option<String>,
    /// The scopes that every request needs.
    pub(super) required_scopes: Vec<String>,
    /// The use of DPoP, which decides the scheme.
    pub(super) dpop: DpopMode,
}

#[derive(Serialize)]
struct ErrorDocument<'a> {
    error: &'a str,
    error_description: &'a str,
}

impl Denial {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::NoCredentials
            | Self::InvalidToken
            | Self::ExpiredToken
            | Self::InvalidProof
            | Self::StaleNonce => StatusCode::UNAUTHORIZED,
            Self::InsufficientScope => StatusCode::FORBIDDEN,
            Self::Unavailable | Self::StoreUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Returns the error code for the challenge. A request without credentials gets none.
    pub(super) fn error(self) -> Option<&'static str> {
        match self {
            Self::NoCredentials | Self::Unavailable | Self::StoreUnavailable => None,
            Self::Malformed(_) => Some("invalid_request"),
            Self::InvalidToken | Self::ExpiredToken => Some("invalid_token"),
            Self::InvalidProof => Some("invalid_dpop_proof"),
            Self::StaleNonce => Some("use_dpop_nonce"),
            Self::InsufficientScope => Some("insufficient_scope"),
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::NoCredentials => "An access token is needed",
            Self::Malformed(description) => description,
            Self::InvalidToken => "The access token is invalid",
            Self::ExpiredToken => "The access token expired",
            Self::InvalidProof => "The DPoP proof is missing or invalid",
            Self::StaleNonce => "The DPoP proof needs the nonce of this response",
            Self::InsufficientScope => "The access token lacks scopes",
            Self::Unavailable => "The access token cannot be checked now",
            Self::StoreUnavailable => {
                "The store of used DPoP proofs cannot be asked now (ResourceServerBuilder::store)"
            }
        }
    }

    /// Creates the response. `nonce` is the current nonce for DPoP proofs, if there are nonces.
    pub(super) fn to_response(
        self,
        template: &ChallengeTemplate,
        scheme: Option<Scheme>,
        nonce: Option<HeaderValue>,
    ) -> Response<Bytes> {
        let document = ErrorDocument {
            error: self.error().unwrap_or(match self.status() {
                StatusCode::SERVICE_UNAVAILABLE => "temporarily_unavailable",
                _ => "unauthorized",
            }),
            error_description: self.description(),
        };
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let mut response = Response::new(Bytes::from(body));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        // The response says nothing that the public metadata does not say, and pages need it for
        // their login.
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        if self.status() == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_SECONDS));
            return response;
        }
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("WWW-Authenticate, DPoP-Nonce"),
        );
        let challenge = template.challenge(self, scheme);
        headers.insert(WWW_AUTHENTICATE, challenge.to_header_value());
        if let Some(nonce) = nonce {
            headers.insert(DPOP_NONCE, nonce);
        }
        response
    }
}

impl ChallengeTemplate {
    /// Creates the challenge of a denial in the scheme that the client used, if it is in use here.
    fn challenge(&self, denial: Denial, scheme: Option<Scheme>) -> Challenge {
        let mut challenge = self.begin(scheme);
        let needs_scopes = !matches!(denial, Denial::Malformed(_));
        if needs_scopes && !self.required_scopes.is_empty() {
            challenge = challenge.with("scope", self.required_scopes.join(" "));
        }
        match denial.error() {
            Some(error) => challenge
                .with("error", error)
                .with("error_description", denial.description()),
            None => challenge,
        }
    }

    /// Creates the challenge of a response of the inner service that needs more scopes.
    pub(super) fn scope_challenge(&self, scopes: &[String], scheme: Option<Scheme>) -> Challenge {
        let mut all = self.required_scopes.clone();
        for scope in scopes {
            if !all.contains(scope) && scope != "offline_access" {
                all.push(scope.clone());
            }
        }
        let denial = Denial::InsufficientScope;
        self.begin(scheme)
            .with("scope", all.join(" "))
            .with("error", "insufficient_scope")
            .with("error_description", denial.description())
    }

    fn begin(&self, scheme: Option<Scheme>) -> Challenge {
        let is_dpop = match self.dpop {
            DpopMode::Off => false,
            DpopMode::Optional => scheme == Some(Scheme::Dpop),
            DpopMode::Required => true,
        };
        let mut challenge = Challenge::new(if is_dpop { "DPoP" } else { "Bearer" });
        if let Some(url) = &self.resource_metadata {
            challenge = challenge.with("resource_metadata", url);
        }
        if is_dpop {
            challenge = challenge.with("algs", dpop::ALGORITHMS.join(" "));
        }
        challenge
    }
}
