//! The user's part of a login: how the authorization page is shown and how the redirect comes back.
//!
//! [`Browser`] opens the page in the user's browser, [`PrintUrl`] hands its URL to a function, and
//! [`NoLogin`] refuses. Hosts with a user interface of their own implement [`LoginUi`].

mod browser;
mod print_url;

pub use browser::Browser;
pub use print_url::PrintUrl;

use super::store::BoxFuture;
use crate::error::{AuthError, AuthErrorKind};

/// A way to show the authorization page to the user and to get the redirect back.
///
/// The OAuth client calls `prepare` first, because it needs the redirect URI to register itself and
/// to build the authorization URL, and then [`PendingLogin::open`].
pub trait LoginUi: Send + Sync + 'static {
    /// Prepares a login and fixes its redirect URI.
    ///
    /// `preferred_redirect` is the redirect URI of an earlier registration. If the login can use
    /// another one only, the client registers again.
    ///
    /// # Errors
    /// Fails with [`AuthErrorKind::LoginRequired`] if there is nobody to log in, and when the
    /// redirect cannot be received.
    fn prepare<'a>(
        &'a self,
        preferred_redirect: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>>;

    /// Tells the user that this login waits, for 6 minutes at most, for another login at the same
    /// server by a task or process that shares the credential store. It then uses the credentials of
    /// that login. The default does nothing.
    ///
    /// # Errors
    /// An error ends the wait. Without a user, it is [`AuthErrorKind::LoginRequired`].
    fn announce_wait(&self) -> Result<(), AuthError> {
        Ok(())
    }
}

/// A login that is ready to begin. Dropping the value, or the future of `open`, ends the login.
pub trait PendingLogin: Send + 'static {
    /// Returns the redirect URI for the authorization request.
    fn redirect_uri(&self) -> &str;

    /// Shows the authorization page and waits for the redirect.
    ///
    /// Returns the URL that the authorization server redirected the browser to, or its query alone.
    /// The text is not checked: the caller compares `state` and `iss`.
    ///
    /// # Errors
    /// Fails when the page cannot be shown, the user gives up, or the time is over.
    fn open<'a>(
        self: Box<Self>,
        authorization_url: &'a str,
    ) -> BoxFuture<'a, Result<String, AuthError>>;
}

/// A [`LoginUi`] without a user: each login fails with [`AuthErrorKind::LoginRequired`].
///
/// For programs without a person at hand, such as jobs of continuous integration. They work with
/// credentials of an earlier login only.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct NoLogin;

impl NoLogin {
    /// Creates the value.
    #[must_use]
    pub fn new() -> Self {
        Self
    }

    fn refusal(self) -> AuthError {
        AuthError::new(
            AuthErrorKind::LoginRequired,
            "a login is required, but this program was told not to log in (NoLogin); \
             log in with a program that can, into the same credential store",
        )
    }
}

impl LoginUi for NoLogin {
    fn prepare<'a>(
        &'a self,
        _preferred_redirect: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>> {
        Box::pin(async { Err(self.refusal()) })
    }

    fn announce_wait(&self) -> Result<(), AuthError> {
        Err(self.refusal())
    }
}

#[cfg(test)]
mod tests;
