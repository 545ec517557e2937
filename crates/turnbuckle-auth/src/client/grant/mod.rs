//! The grants: the ways in which a client gets an access token.
//!
//! [`Grant::AuthorizationCode`] asks the user to log in and lives in the parent module. The grants
//! of this module work without a browser. `OAuth` calls [`Grant::request_token`] with what it
//! discovered.
//!
//! Specification: extensions/auth (2026-07-28): client credentials, enterprise-managed authorization.

mod assertion_source;
mod client_credentials;
mod enterprise;
mod jwt_bearer;
#[cfg(test)]
mod tests;

pub use assertion_source::{AssertionRequest, BoxError};
pub use client_credentials::ClientCredentials;
pub use enterprise::EnterpriseIdp;
pub use jwt_bearer::WorkloadIdentity;

pub use super::token_endpoint::SigningKeyError;

use super::discovery::Discovery;
use super::error::{AuthError, AuthErrorKind};
use super::registration::ClientRegistration;
use super::token_endpoint::{
    ClientAuthentication, TokenEndpoint, TokenError, TokenResponse, describe_form,
};
use super::transcript::{Recorder, StepKind};
use crate::clock::Clock;
use crate::dpop::DpopSession;
use crate::metadata::AuthorizationServerMetadata;
use crate::outbound::{Outbound, OutboundSettings};

/// The way in which a client gets an access token.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Grant {
    /// The user logs in in a browser. This is the default.
    #[default]
    AuthorizationCode,
    /// The client acts for itself, with credentials that an administrator gave it.
    ClientCredentials(ClientCredentials),
    /// The user's login at a company's identity provider is exchanged for a token.
    Enterprise(EnterpriseIdp),
    /// The platform on which the program runs vouches for it.
    WorkloadIdentity(WorkloadIdentity),
}

/// Everything that a grant needs beside its own settings.
pub(crate) struct GrantContext<'a> {
    pub outbound: &'a Outbound,
    /// The settings of `outbound`, for requests to an identity provider that the user configured.
    pub outbound_settings: &'a OutboundSettings,
    pub discovery: &'a Discovery,
    /// The value of `resource`, byte for byte. None: the parameter is left out.
    pub resource: Option<&'a str>,
    /// The scopes, separated by spaces. None: the parameter is left out.
    pub scope: Option<&'a str>,
    /// The registration at the authorization server, for a grant without credentials of its own.
    pub registration: Option<&'a ClientRegistration>,
    pub dpop: Option<&'a DpopSession>,
    pub clock: &'a Clock,
    pub recorder: &'a Recorder,
}

impl Grant {
    /// Returns whether the user must log in for this grant.
    pub(crate) fn is_interactive(&self) -> bool {
        matches!(self, Self::AuthorizationCode)
    }

    /// Returns whether [`GrantContext::registration`] must be there.
    pub(crate) fn needs_registration(&self) -> bool {
        match self {
            Self::AuthorizationCode => true,
            Self::Enterprise(idp) => !idp.has_client(),
            Self::ClientCredentials(_) | Self::WorkloadIdentity(_) => false,
        }
    }

    /// Obtains an access token without the user. A grant that fails is not followed by another.
    ///
    /// # Errors
    /// Fails when the server refuses or cannot be reached, and for an interactive grant.
    pub(crate) async fn request_token(
        &self,
        context: &GrantContext<'_>,
    ) -> Result<TokenResponse, AuthError> {
        match self {
            Self::AuthorizationCode => Err(AuthError::new(
                AuthErrorKind::LoginRequired,
                "the user must log in",
                context.recorder,
            )),
            Self::ClientCredentials(client) => client.request_token(context).await,
            Self::Enterprise(idp) => idp.request_token(context).await,
            Self::WorkloadIdentity(workload) => workload.request_token(context).await,
        }
    }
}

impl GrantContext<'_> {
    /// Obtains an access token at the discovered authorization server and records the step.
    async fn request(
        &self,
        client: &ClientAuthentication,
        form: &[(&str, &str)],
    ) -> Result<TokenResponse, AuthError> {
        let endpoint = TokenEndpoint {
            outbound: self.outbound,
            server: &self.discovery.server,
            client,
            dpop: self.dpop,
            clock: self.clock,
        };
        let result = endpoint.request(form).await;
        let request = describe_request(&endpoint.url(), form);
        self.record(request, result, &self.discovery.server)
    }

    /// Adds `scope` and `resource` to a form.
    fn add_targets<'f>(&'f self, form: &mut Vec<(&'f str, &'f str)>) {
        if let Some(scope) = self.scope.filter(|scope| !scope.is_empty()) {
            form.push(("scope", scope));
        }
        if let Some(resource) = self.resource {
            form.push(("resource", resource));
        }
    }

    fn record(
        &self,
        request: String,
        result: Result<TokenResponse, TokenError>,
        server: &AuthorizationServerMetadata,
    ) -> Result<TokenResponse, AuthError> {
        match result {
            Ok(token) => {
                let lifetime = match token.expires_in {
                    Some(seconds) => format!("{seconds} s"),
                    None => "unknown".to_owned(),
                };
                let answer = format!("a {} token, lifetime {lifetime}", token.token_type);
                self.recorder
                    .record(StepKind::Token, request, answer, "use the token");
                Ok(token)
            }
            Err(error) => {
                let advice = advice(&error, server);
                let decision = "give up; no other grant is tried";
                let answer = error.to_string();
                self.recorder
                    .fail(StepKind::Token, request, answer, decision, advice.clone());
                Err(to_auth_error(&error, &advice, self.recorder))
            }
        }
    }
}

fn describe_request(url: &str, form: &[(&str, &str)]) -> String {
    format!("POST {url} {}", describe_form(form))
}

/// Returns the fix for an error of a token endpoint.
fn advice(error: &TokenError, server: &AuthorizationServerMetadata) -> String {
    let advice = match error.code() {
        Some("invalid_client") => "check the client id and the secret or key at this server",
        Some("invalid_grant") => {
            "check that the assertion has not expired and that the server trusts its issuer, \
             subject and audience"
        }
        Some("unauthorized_client") => "allow this grant for the client at the server",
        Some("invalid_scope") => "allow these scopes for the client at the server",
        Some("invalid_target") => "register the resource at the server",
        Some("unsupported_grant_type") => {
            let grants = server.grant_types_supported.as_deref().unwrap_or_default();
            return format!(
                "use a grant that the server supports: {}",
                grants.join(", ")
            );
        }
        _ if error.is_transient() => "try again later",
        _ => "see the answer of the server",
    };
    advice.to_owned()
}

/// Converts the failure of a token request.
pub(crate) fn to_auth_error(error: &TokenError, advice: &str, recorder: &Recorder) -> AuthError {
    let kind = match error {
        TokenError::Outbound(error) => return AuthError::from_outbound(error, recorder),
        TokenError::Refused { error, .. } if error == "access_denied" => AuthErrorKind::Denied,
        error if error.is_transient() => AuthErrorKind::Network,
        _ => AuthErrorKind::Token,
    };
    AuthError::new(kind, format!("{error}; {advice}"), recorder)
}
