//! Login at a terminal without a browser: the URL is shown, and the redirect can be pasted.

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle_types::base::text::is_ambiguous_in_url;

use super::browser::{check_authorization_url, state_of, with_timeout};
use super::{LoginUi, PendingLogin};
use crate::client::callback::{CallbackListener, CallbackSettings, has_state};
use crate::client::race::race;
use crate::client::store::BoxFuture;
use crate::error::{AuthError, AuthErrorKind};

/// The number of times that the user is asked for the redirect URL.
const MAX_PASTES: usize = 5;

/// The longest text that the user can paste.
const MAX_PASTE_BYTES: usize = 16 * 1024;

type UrlFunction = Arc<dyn Fn(&str) + Send + Sync>;
type PasteFunction = Arc<dyn Fn() -> BoxFuture<'static, Option<String>> + Send + Sync>;

/// Login by a URL that is handed to a function, for terminals and hosts without a browser.
///
/// A listener on 127.0.0.1 receives the redirect, as with [`Browser`](super::Browser). That works
/// if the user's browser runs on the same computer, or if the port is forwarded. Otherwise the
/// browser ends at a page that it cannot load, whose URL the user copies: set
/// [`read_redirect`](Self::read_redirect) to ask for that URL.
#[derive(Clone)]
pub struct PrintUrl {
    settings: CallbackSettings,
    show_url: UrlFunction,
    read_redirect: Option<PasteFunction>,
}

impl PrintUrl {
    /// Creates the login with the function that shows the URL to the user.
    #[must_use]
    pub fn new(show_url: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            settings: CallbackSettings::default(),
            show_url: Arc::new(show_url),
            read_redirect: None,
        }
    }

    /// Sets the function that asks the user for the URL that the browser was redirected to.
    ///
    /// Whatever comes first counts, the pasted URL or a request to the listener. The function is
    /// called again, at most five times, if the text does not belong to this login. It returns `None` if no text
    /// will come, for instance at the end of standard input. Its future is dropped when the redirect
    /// comes to the listener.
    #[must_use]
    pub fn read_redirect<F>(mut self, read_redirect: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        self.read_redirect = Some(Arc::new(move || Box::pin(read_redirect())));
        self
    }

    /// Sets the time that the user has for the login. The standard is 5 minutes.
    #[must_use]
    pub fn login_timeout(mut self, login_timeout: Duration) -> Self {
        self.settings.login_timeout = login_timeout;
        self
    }

    /// Sets the redirect URI, as [`Browser::redirect_uri`](super::Browser::redirect_uri).
    #[must_use]
    pub fn redirect_uri(mut self, redirect_uri: impl Into<String>) -> Self {
        self.settings.redirect_uri = Some(redirect_uri.into());
        self
    }
}

impl fmt::Debug for PrintUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrintUrl")
            .field("settings", &self.settings)
            .field("reads_redirect", &self.read_redirect.is_some())
            .finish_non_exhaustive()
    }
}

impl LoginUi for PrintUrl {
    fn prepare<'a>(
        &'a self,
        preferred_redirect: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>> {
        Box::pin(async move {
            let listener =
                CallbackListener::bind(self.settings.clone(), preferred_redirect).await?;
            let show_url = Arc::clone(&self.show_url);
            let read_redirect = self.read_redirect.clone();
            let pending = PendingPrintUrl {
                listener,
                show_url,
                read_redirect,
            };
            Ok(Box::new(pending) as Box<dyn PendingLogin>)
        })
    }
}

/// A login whose listener is open.
struct PendingPrintUrl {
    listener: CallbackListener,
    show_url: UrlFunction,
    read_redirect: Option<PasteFunction>,
}

impl PendingLogin for PendingPrintUrl {
    fn redirect_uri(&self) -> &str {
        self.listener.redirect_uri()
    }

    fn open<'a>(
        self: Box<Self>,
        authorization_url: &'a str,
    ) -> BoxFuture<'a, Result<String, AuthError>> {
        Box::pin(async move {
            let url = check_authorization_url(authorization_url)?;
            let state = state_of(&url)?;
            (self.show_url)(url.as_str());
            let login = race(self.listener.wait(&state), self.wait_for_paste(&state));
            with_timeout(&self.listener, login).await
        })
    }
}

impl PendingPrintUrl {
    /// Asks the user for the redirect URL until it has this `state`.
    async fn wait_for_paste(&self, state: &str) -> Result<String, AuthError> {
        let Some(read_redirect) = &self.read_redirect else {
            return pending().await;
        };
        for _ in 0..MAX_PASTES {
            let Some(text) = read_redirect().await else {
                return pending().await;
            };
            if let Some(redirect) = parse_paste(&text, state) {
                return Ok(redirect);
            }
        }
        let message = format!(
            "{MAX_PASTES} texts were pasted, and none is the redirect URL of this login (`state`); log in \
             again and copy the whole address of the last page"
        );
        Err(AuthError::new(AuthErrorKind::Denied, message))
    }
}

/// Returns a pasted redirect URL or query without the spaces around, if it has this `state`.
fn parse_paste(text: &str, state: &str) -> Option<String> {
    let text = text.trim();
    if text.len() > MAX_PASTE_BYTES || text.contains(is_ambiguous_in_url) {
        return None;
    }
    let without_fragment = text.split_once('#').map_or(text, |(before, _)| before);
    let query = match without_fragment.split_once('?') {
        Some((_, query)) => query,
        None if without_fragment.contains("://") => return None,
        None => without_fragment,
    };
    has_state(query, state).then(|| without_fragment.to_owned())
}
