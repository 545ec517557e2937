//! Requests to the token endpoint of an authorization server.
//!
//! The grants and the login call [`TokenEndpoint::request`] with the parameters of their grant. The
//! client's authentication, the DPoP proof and the retries are added here: one for a DPoP nonce, and
//! one with the other of Basic and Post after `invalid_client`.
//!
//! Specification: RFC 6749 sections 2.3.1, 3.2 and 5; RFC 7523 section 2.2; RFC 9449 section 5.

use http::{HeaderMap, HeaderValue, header};
use url::Url;

mod authentication;
mod response;
mod signing_key;
#[cfg(test)]
mod tests;

pub(crate) use authentication::ClientAuthentication;
pub(crate) use response::{TokenError, TokenResponse};
pub(crate) use signing_key::SigningKey;

use crate::clock::Clock;
use crate::dpop::DpopSession;
use crate::metadata::AuthorizationServerMetadata;
use crate::outbound::{Outbound, display_url_text};
use crate::secret::Secret;
use response::TokenKind;

/// The token endpoint of an authorization server, as one client sees it.
pub(crate) struct TokenEndpoint<'a> {
    pub outbound: &'a Outbound,
    pub server: &'a AuthorizationServerMetadata,
    pub client: &'a ClientAuthentication,
    /// The key to which tokens shall be bound. If present, a Bearer token is refused.
    pub dpop: Option<&'a DpopSession>,
    pub clock: &'a Clock,
}

impl TokenEndpoint<'_> {
    /// Obtains an access token.
    ///
    /// `form` holds the parameters of the grant, with `resource` as the server wrote it, but nothing
    /// that identifies the client.
    ///
    /// # Errors
    /// Fails when the server refuses, cannot be reached or answers something else than a token.
    pub(crate) async fn request(&self, form: &[(&str, &str)]) -> Result<TokenResponse, TokenError> {
        let kind = match self.dpop {
            Some(_) => TokenKind::Dpop,
            None => TokenKind::Bearer,
        };
        self.send(form, kind).await
    }

    /// Obtains a token that is no access token, by token exchange. Its `token_type` is not checked.
    ///
    /// # Errors
    /// Fails as [`request`](Self::request) does.
    pub(crate) async fn exchange(
        &self,
        form: &[(&str, &str)],
    ) -> Result<TokenResponse, TokenError> {
        self.send(form, TokenKind::Other).await
    }

    /// Revokes a refresh token, if the server has an endpoint for that.
    ///
    /// Specification: RFC 7009.
    pub(crate) async fn revoke(&self, refresh_token: &Secret) -> Result<(), TokenError> {
        let Some(endpoint) = self.server.revocation_endpoint.as_deref() else {
            return Ok(());
        };
        let mut headers = HeaderMap::new();
        let mut parameters = vec![
            ("token", refresh_token.expose()),
            ("token_type_hint", "refresh_token"),
        ];
        let credentials = self.client.credentials(self.server, self.clock.now())?;
        credentials.add_to(&mut parameters, &mut headers);
        let response = self
            .outbound
            .post_form(endpoint, &parameters, headers)
            .await;
        let status = response?.status;
        match status {
            200..=299 => Ok(()),
            _ => Err(TokenError::Unexpected {
                status,
                body: String::new(),
            }),
        }
    }

    /// Returns the URL of the endpoint for a transcript, without its query.
    pub(crate) fn url(&self) -> String {
        display_url_text(self.server.token_endpoint.as_deref().unwrap_or_default())
    }

    async fn send(
        &self,
        form: &[(&str, &str)],
        kind: TokenKind,
    ) -> Result<TokenResponse, TokenError> {
        let endpoint = self.server.token_endpoint.as_deref().ok_or_else(|| {
            TokenError::Invalid("the authorization server has no token endpoint".to_owned())
        })?;
        let url = Url::parse(endpoint).map_err(|_| {
            TokenError::Invalid("the token endpoint in the server's metadata is no URL".to_owned())
        })?;
        let mut may_retry = self.dpop.is_some();
        // Some servers take a secret in one form only, and list both or the other.
        let mut refusal: Option<TokenError> = None;
        loop {
            let now = self.clock.now();
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
            let mut parameters = form.to_vec();
            // Made anew for the retry: a server takes each `jti` of an assertion once.
            let mut credentials = self.client.credentials(self.server, now)?;
            if refusal.is_some() {
                credentials = credentials.by_other_method()?;
            }
            credentials.add_to(&mut parameters, &mut headers);
            if let Some(dpop) = self.dpop {
                let proof = dpop.proof("POST", &url, None, now);
                let proof = proof.map_err(|error| TokenError::Invalid(error.to_string()))?;
                headers.insert("dpop", proof);
            }
            let response = self
                .outbound
                .post_form(endpoint, &parameters, headers)
                .await?;
            let has_nonce = self
                .dpop
                .is_some_and(|dpop| dpop.store_nonce(&url, &response.headers));
            if let Some(secret) = credentials.header_secret() {
                parameters.push(("client_secret", secret));
            }
            let result = response::parse(&response, kind, &parameters);
            let needs_nonce =
                matches!(&result, Err(error) if error.code() == Some("use_dpop_nonce"));
            if needs_nonce && has_nonce && may_retry {
                may_retry = false;
                continue;
            }
            let is_refused =
                matches!(&result, Err(error) if error.code() == Some("invalid_client"));
            return match (result, refusal) {
                (Err(error), None) if is_refused && credentials.secret_method().is_some() => {
                    refusal = Some(error);
                    continue;
                }
                (Err(_), Some(first)) if is_refused => Err(first),
                (Ok(mut response), Some(_)) => {
                    response.auth_method = credentials.secret_method();
                    Ok(response)
                }
                (result, _) => result,
            };
        }
    }
}

/// Describes a form for a transcript: the values of public parameters, the names of the others.
pub(crate) fn describe_form(form: &[(&str, &str)]) -> String {
    let parts = form.iter().map(|(name, value)| {
        if *name == "resource" {
            format!("{name}={}", display_url_text(value))
        } else if response::is_public_parameter(name) {
            format!("{name}={value}")
        } else {
            format!("{name}=…")
        }
    });
    parts.collect::<Vec<_>>().join(" ")
}
