//! The token requests of a login, and the credentials that they grant.

use super::{LoginContext, TokenRequest};
use crate::client::credentials::{Credentials, TokenType};
use crate::client::token_endpoint::{
    ClientAuthentication, TokenEndpoint, TokenError, TokenResponse, describe_form,
};
use crate::error::{AuthError, AuthErrorKind};
use crate::outbound::OutboundError;
use crate::secret::Secret;
use crate::transcript::StepKind;

impl LoginContext<'_> {
    /// Sends a request to the token endpoint, and records it.
    pub(super) async fn request_token(
        &self,
        step: StepKind,
        asked: &TokenRequest<'_>,
        authentication: &ClientAuthentication,
        form: &[(&str, &str)],
    ) -> Result<TokenResponse, AuthError> {
        let endpoint = TokenEndpoint {
            outbound: self.outbound,
            server: asked.server,
            client: authentication,
            dpop: asked.dpop,
            clock: self.clock,
        };
        let request = format!("POST {} {}", endpoint.url(), describe_form(form));
        match endpoint.request(form).await {
            Ok(response) => {
                let mut life = match response.expires_in {
                    Some(life) => format!("a token for {life} s"),
                    None => "a token".to_owned(),
                };
                if let Some(method) = response.auth_method {
                    life += &format!(", by {method} after invalid_client");
                }
                self.recorder.record(step, request, life, "store it");
                Ok(response)
            }
            Err(error) => {
                // A registration that the server has forgotten must not be tried for ever.
                if matches!(error.code(), Some("invalid_client" | "unauthorized_client")) {
                    self.forget_registration(asked.client.as_ref()).await;
                }
                let (kind, decision, advice) = token_advice(step, &error);
                self.recorder
                    .fail(step, request, error.to_string(), decision, advice);
                Err(AuthError::new(kind, format!("no access token: {error}")))
            }
        }
    }

    /// Builds the credentials that a token response grants.
    pub(super) fn credentials(
        &self,
        mut asked: TokenRequest<'_>,
        response: TokenResponse,
        dpop_key: Option<Secret>,
    ) -> Credentials {
        // Later requests begin with the method that the server took.
        if let (Some(client), Some(method)) = (&mut asked.client, response.auth_method) {
            client.auth_method = Some(method.to_owned());
        }
        let now = self.clock.now();
        let granted = response.scope.as_deref();
        let granted = granted.map(|scope| scope.split_whitespace().map(str::to_owned).collect());
        Credentials {
            format: Credentials::format(),
            issuer: asked.issuer.to_owned(),
            resource: asked.resource,
            server: asked.server.clone(),
            client: asked.client,
            access_token: response.access_token,
            token_type: match asked.dpop {
                Some(_) => TokenType::Dpop,
                None => TokenType::Bearer,
            },
            obtained_at: now,
            expires_at: response.expires_in.map(|life| now.saturating_add(life)),
            refresh_token: response.refresh_token,
            requested_scopes: asked.scopes,
            granted_scopes: granted,
            dpop_key,
        }
    }
}

/// Returns the kind of a failed token request, what follows, and what to do about it.
fn token_advice(step: StepKind, error: &TokenError) -> (AuthErrorKind, &'static str, &'static str) {
    let is_refresh = step == StepKind::Refresh;
    match error {
        _ if error.is_transient() => (
            AuthErrorKind::Network,
            "stop; a refresh token is kept",
            "try again when the authorization server can be reached",
        ),
        TokenError::Outbound(OutboundError::Refused { .. }) => (
            AuthErrorKind::UrlRefused,
            "stop",
            "the authorization server has to name a public https URL",
        ),
        TokenError::Refused { error, .. } if is_refresh && error == "invalid_grant" => (
            AuthErrorKind::Token,
            "log in again",
            "the refresh token has ended, was revoked, or was used by a process that ended before \
             it could store the next one",
        ),
        _ if is_refresh => (
            AuthErrorKind::Token,
            "log in again",
            "the authorization server's log may say more",
        ),
        _ => (
            AuthErrorKind::Token,
            "stop",
            "look at the client id, its secret and the redirect URI at the authorization server",
        ),
    }
}
