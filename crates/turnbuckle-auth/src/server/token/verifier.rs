//! The interface of a token verifier, for tokens that neither a JWT issuer nor introspection explains.

use std::pin::Pin;
use std::time::Duration;

use turnbuckle_types::Principal;

/// The future of [`TokenVerifier::verify`].
pub type VerifyFuture<'a> =
    Pin<Box<dyn Future<Output = Result<VerifiedToken, TokenRejection>> + Send + 'a>>;

/// A verifier of access tokens.
///
/// The resource server checks the audience, the expiry, the scopes and the key binding of the result
/// itself.
pub trait TokenVerifier: Send + Sync + 'static {
    /// Verifies a token: its origin and that it was not revoked.
    ///
    /// A panic is logged, and the response is 503.
    fn verify<'a>(&'a self, token: &'a str) -> VerifyFuture<'a>;
}

/// The meaning of a token, as its issuer vouches for it.
#[derive(Debug, Clone)]
pub struct VerifiedToken {
    pub(crate) principal: Principal,
    pub(crate) audience: Vec<String>,
    pub(crate) expires_at: Option<u64>,
    pub(crate) key_thumbprint: Option<String>,
    pub(crate) max_cache_seconds: u64,
}

impl VerifiedToken {
    /// Creates the meaning of a token for these audiences. A token that is not for the resource is
    /// refused, so the audience must come from the token or its issuer.
    #[must_use]
    pub fn new<A: Into<String>>(
        principal: Principal,
        audience: impl IntoIterator<Item = A>,
    ) -> Self {
        Self {
            principal,
            audience: audience.into_iter().map(Into::into).collect(),
            expires_at: None,
            key_thumbprint: None,
            max_cache_seconds: 0,
        }
    }

    /// Sets the time at which the token expires, in seconds since 1970.
    #[must_use]
    pub fn expires_at(mut self, seconds: u64) -> Self {
        self.expires_at = Some(seconds);
        self
    }

    /// Sets the SHA-256 thumbprint of the key that the token is bound to (`cnf.jkt` of RFC 9449). The
    /// token is then accepted with a DPoP proof of that key only.
    #[must_use]
    pub fn key_thumbprint(mut self, thumbprint: impl Into<String>) -> Self {
        self.key_thumbprint = Some(thumbprint.into());
        self
    }

    /// Lets the resource server keep the result for a while, at most until the token expires. By
    /// default the verifier is asked for every request.
    #[must_use]
    pub fn cache_for(mut self, duration: Duration) -> Self {
        self.max_cache_seconds = duration.as_secs();
        self
    }
}

/// The reason why a token is not accepted. It is logged, never sent, and must not hold the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenRejection {
    /// The token has expired. The response is 401.
    #[error("the token has expired")]
    Expired,
    /// The token is malformed, revoked or not genuine. The response is 401.
    #[error("the token is invalid: {0}")]
    Invalid(String),
    /// The token could not be checked, because its issuer cannot be reached. The response is 503.
    #[error("the token cannot be checked: {0}")]
    Unavailable(String),
}
