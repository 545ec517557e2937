//! One attempt to obtain an authorization code: its URL, and the check of the redirect that answers.
//!
//! Specification: basic/authorization, "Authorization Response Validation" (2026-07-28); RFC 9207.

use turnbuckle_types::base::text::one_line;
use url::{Url, form_urlencoded};

use super::discovery::Discovery;
use crate::outbound::is_https_or_loopback;
use crate::pkce;
use crate::secret::Secret;

/// The longest redirect that is read, in bytes.
const MAX_REDIRECT_BYTES: usize = 16 << 10;

/// The longest text of the authorization server that an error shows, in characters.
const MAX_DESCRIPTION_CHARS: usize = 300;

/// The values of an authorization request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AuthorizationRequest<'a> {
    pub(crate) client_id: &'a str,
    pub(crate) redirect_uri: &'a str,
    pub(crate) scopes: &'a [String],
    pub(crate) resource: &'a str,
    /// The thumbprint of the key that the token will be bound to.
    pub(crate) dpop_thumbprint: Option<&'a str>,
}

/// An authorization request and what its answer must match. Each attempt has its own `state` and
/// verifier, and the issuer that it was made for.
pub(crate) struct AuthorizationAttempt {
    url: Url,
    state: Secret,
    verifier: Secret,
    issuer: String,
    /// True if the server said that its answers name their issuer.
    names_issuer: bool,
}

/// The reason why no authorization request can be made.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AttemptError {
    #[error("the authorization server names no authorization_endpoint")]
    NoEndpoint,
    #[error("the authorization_endpoint is no https URL, so no browser is sent there")]
    UnusableEndpoint,
    #[error(
        "the authorization server does not advertise PKCE with S256 \
         (code_challenge_methods_supported), so a code could be stolen"
    )]
    NoPkce,
    #[error("the operating system has no randomness")]
    NoRandomness,
}

/// The reason why the answer to an authorization request is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RedirectError {
    /// The answer cannot be read, or has a parameter twice.
    #[error("the redirect cannot be read")]
    Malformed,
    #[error("the redirect belongs to another login (state)")]
    WrongState,
    #[error("the redirect does not name its issuer, as the server promised (iss)")]
    MissingIssuer,
    #[error("the redirect comes from another issuer (iss)")]
    WrongIssuer,
    /// The server or the user refused.
    #[error("the authorization server refused: {error}{}", in_brackets(description.as_ref()))]
    Refused {
        error: String,
        description: Option<String>,
    },
    #[error("the redirect has neither a code nor an error")]
    NoCode,
}

impl RedirectError {
    /// Returns whether the authorization server refused the scopes.
    pub(crate) fn is_invalid_scope(&self) -> bool {
        matches!(self, Self::Refused { error, .. } if error == "invalid_scope")
    }
}

fn in_brackets(text: Option<&String>) -> String {
    text.map_or(String::new(), |text| format!(" ({text})"))
}

impl AuthorizationAttempt {
    /// Creates an attempt with a new `state` and verifier.
    pub(crate) fn new(
        discovery: &Discovery,
        request: AuthorizationRequest<'_>,
    ) -> Result<Self, AttemptError> {
        let server = &discovery.server;
        let methods = server.code_challenge_methods_supported.as_deref();
        let has_pkce = match methods {
            Some(methods) => methods.iter().any(|method| method == "S256"),
            // The first revision with authorization demanded PKCE without a way to advertise it.
            None => discovery.is_legacy,
        };
        if !has_pkce {
            return Err(AttemptError::NoPkce);
        }
        let endpoint = server.authorization_endpoint.as_deref();
        let mut url = Url::parse(endpoint.ok_or(AttemptError::NoEndpoint)?)
            .map_err(|_| AttemptError::UnusableEndpoint)?;
        if !can_be_opened(&url) {
            return Err(AttemptError::UnusableEndpoint);
        }
        let random = || pkce::random_token().map_err(|_| AttemptError::NoRandomness);
        let (state, verifier) = (random()?, random()?);
        url.set_fragment(None);
        {
            let mut query = url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", request.client_id)
                .append_pair("redirect_uri", request.redirect_uri)
                .append_pair("code_challenge", &pkce::sha256_base64url(verifier.expose()))
                .append_pair("code_challenge_method", "S256")
                .append_pair("state", state.expose())
                .append_pair("resource", request.resource);
            if !request.scopes.is_empty() {
                query.append_pair("scope", &request.scopes.join(" "));
            }
            // OpenID providers grant offline access only after an explicit consent.
            if request.scopes.iter().any(|scope| scope == "offline_access") {
                query.append_pair("prompt", "consent");
            }
            if let Some(thumbprint) = request.dpop_thumbprint {
                query.append_pair("dpop_jkt", thumbprint);
            }
        }
        Ok(Self {
            url,
            state,
            verifier,
            issuer: discovery.issuer.clone(),
            names_issuer: server.authorization_response_iss_parameter_supported,
        })
    }

    /// Returns the URL that the user's browser opens.
    pub(crate) fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Returns the verifier for the token request.
    pub(crate) fn verifier(&self) -> &Secret {
        &self.verifier
    }

    /// Checks the redirect that answers the attempt, given as a URL or as its query, and returns the
    /// code. The issuer is checked before anything else of the answer is used.
    pub(crate) fn read_redirect(&self, redirect: &str) -> Result<Secret, RedirectError> {
        let answer = RedirectParameters::parse(redirect)?;
        if answer.state.as_deref() != Some(self.state.expose()) {
            return Err(RedirectError::WrongState);
        }
        match answer.iss {
            Some(iss) if iss != self.issuer => return Err(RedirectError::WrongIssuer),
            None if self.names_issuer => return Err(RedirectError::MissingIssuer),
            _ => {}
        }
        if let Some(error) = answer.error {
            let clean = |text: String| one_line(&text, MAX_DESCRIPTION_CHARS);
            return Err(RedirectError::Refused {
                error: clean(error),
                description: answer.error_description.map(clean),
            });
        }
        let code = answer.code.filter(|code| !code.is_empty());
        code.map(Secret::new).ok_or(RedirectError::NoCode)
    }
}

/// The parameters with which the authorization server redirects the user back.
#[derive(Default)]
struct RedirectParameters {
    code: Option<String>,
    state: Option<String>,
    iss: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
}

impl RedirectParameters {
    fn parse(redirect: &str) -> Result<Self, RedirectError> {
        if redirect.len() > MAX_REDIRECT_BYTES {
            return Err(RedirectError::Malformed);
        }
        let query = match redirect.split_once('?') {
            Some((_, query)) => query,
            None => redirect,
        };
        let query = query.split('#').next().unwrap_or_default();
        let mut parameters = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let place = match &*name {
                "code" => &mut parameters.code,
                "state" => &mut parameters.state,
                "iss" => &mut parameters.iss,
                "error" => &mut parameters.error,
                "error_description" => &mut parameters.error_description,
                _ => continue,
            };
            // A second value could be the one that another party checks.
            if place.replace(value.into_owned()).is_some() {
                return Err(RedirectError::Malformed);
            }
        }
        Ok(parameters)
    }
}

/// Returns whether a browser may be sent to this URL.
fn can_be_opened(url: &Url) -> bool {
    let has_userinfo = !url.username().is_empty() || url.password().is_some();
    !has_userinfo && is_https_or_loopback(url)
}

#[cfg(test)]
mod tests;
