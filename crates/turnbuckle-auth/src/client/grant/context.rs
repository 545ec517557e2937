//! The context of a token request without a browser: the parts of the client that every grant uses,
//! the request at the authorization server, and its record in the transcript.

use crate::client::discovery::Discovery;
use crate::client::registration::ClientRegistration;
use crate::client::token_endpoint::{
    ClientAuthentication, TokenEndpoint, TokenError, TokenResponse, describe_form,
};
use crate::clock::Clock;
use crate::dpop::DpopSession;
use crate::error::{AuthError, AuthErrorKind};
use crate::metadata::AuthorizationServerMetadata;
use crate::outbound::{Outbound, OutboundSettings};
use crate::transcript::{Recorder, StepKind};

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

impl GrantContext<'_> {
    /// Obtains an access token at the discovered authorization server and records the step.
    pub(super) async fn request(
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
    pub(super) fn add_targets<'f>(&'f self, form: &mut Vec<(&'f str, &'f str)>) {
        if let Some(scope) = self.scope.filter(|scope| !scope.is_empty()) {
            form.push(("scope", scope));
        }
        if let Some(resource) = self.resource {
            form.push(("resource", resource));
        }
    }

    /// Records the answer to a token request, and what to do about a refusal.
    pub(super) fn record(
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
                Err(to_auth_error(&error, &advice))
            }
        }
    }
}

/// Describes a token request for the transcript, without its secrets.
pub(super) fn describe_request(url: &str, form: &[(&str, &str)]) -> String {
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
fn to_auth_error(error: &TokenError, advice: &str) -> AuthError {
    let kind = match error {
        TokenError::Outbound(error) => return AuthError::from(error.clone()),
        TokenError::Refused { error, .. } if error == "access_denied" => AuthErrorKind::Denied,
        error if error.is_transient() => AuthErrorKind::Network,
        _ => AuthErrorKind::Token,
    };
    AuthError::new(kind, format!("{error}; {advice}"))
}
