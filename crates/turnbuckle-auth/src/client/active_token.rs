//! A token that is ready to be sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{HeaderValue, StatusCode};

use crate::client::credentials::{Credentials, TokenType};
use crate::dpop::{DpopKey, DpopSession};
use crate::error::{AuthError, AuthErrorKind};

/// The way by which this process came by a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenOrigin {
    Store,
    Refresh,
    Login,
}

/// A token that can be sent.
#[derive(Debug)]
pub(crate) struct ActiveToken {
    pub(crate) credentials: Credentials,
    /// The value of `Authorization`.
    pub(crate) header: HeaderValue,
    /// The key that the token is bound to.
    pub(crate) dpop: Option<Arc<DpopSession>>,
    pub(crate) origin: TokenOrigin,
    /// False if the store could not take the credentials: it has older ones then.
    pub(crate) is_stored: bool,
    was_accepted: AtomicBool,
}

impl ActiveToken {
    /// Prepares credentials for use. The key and the nonces of `previous` are kept if they belong to
    /// the same key.
    ///
    /// # Errors
    /// Fails when the token cannot be sent, or its key cannot be read.
    pub(crate) fn new(
        credentials: Credentials,
        previous: Option<&Self>,
        origin: TokenOrigin,
        is_stored: bool,
    ) -> Result<Self, AuthError> {
        let failed = |reason: String| AuthError::new(AuthErrorKind::Token, reason);
        let scheme = match credentials.token_type {
            TokenType::Bearer => "Bearer",
            TokenType::Dpop => "DPoP",
        };
        let text = format!("{scheme} {}", credentials.access_token.expose());
        let mut header = HeaderValue::try_from(text).map_err(|_| {
            failed("the access token has characters that cannot be sent".to_owned())
        })?;
        header.set_sensitive(true);
        let same_key = previous.filter(|previous| {
            previous.credentials.dpop_key.is_some()
                && previous.credentials.dpop_key == credentials.dpop_key
        });
        let dpop = match (&credentials.dpop_key, same_key) {
            (_, Some(previous)) => previous.dpop.clone(),
            (Some(key), None) => {
                let key = DpopKey::from_pem(key).map_err(|error| failed(error.to_string()))?;
                Some(Arc::new(DpopSession::new(key)))
            }
            (None, None) => None,
        };
        Ok(Self {
            credentials,
            header,
            dpop,
            origin,
            is_stored,
            was_accepted: AtomicBool::new(false),
        })
    }

    /// Returns whether the token can still be sent.
    pub(crate) fn is_valid(&self, now: u64) -> bool {
        self.credentials.is_valid(now)
    }

    /// Returns whether it is time to refresh the token.
    pub(crate) fn should_refresh(&self, now: u64) -> bool {
        self.credentials.should_refresh(now)
    }

    /// Returns whether the token can be refreshed without the user.
    pub(crate) fn can_refresh(&self) -> bool {
        self.credentials.refresh_token.is_some()
    }

    /// Returns whether this is another token than `used`.
    pub(crate) fn is_other_than(&self, used: Option<&Self>) -> bool {
        used.is_none_or(|used| used.credentials.access_token != self.credentials.access_token)
    }

    /// Remembers that the server took the token, unless `status` leaves that open.
    pub(crate) fn note_status(&self, status: StatusCode) {
        let is_taken = status != StatusCode::UNAUTHORIZED && !status.is_server_error();
        if is_taken && !self.was_accepted.load(Ordering::Relaxed) {
            self.was_accepted.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether the server took the token at least once.
    pub(crate) fn was_accepted(&self) -> bool {
        self.was_accepted.load(Ordering::Relaxed)
    }
}
