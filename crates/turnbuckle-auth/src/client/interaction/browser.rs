//! Login in the browser of the user.

use std::fmt;
use std::future::pending;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle_types::base::text::{Escaped, is_ambiguous_in_url};
use url::Url;

use super::{LoginUi, PendingLogin};
use crate::client::callback::{CallbackListener, CallbackSettings};
use crate::client::race::race;
use crate::client::store::BoxFuture;
use crate::error::{AuthError, AuthErrorKind};

/// The longest authorization URL that is opened. Systems limit the length of an argument.
const MAX_URL_BYTES: usize = 16 * 1024;

/// A function that is given a URL.
type UrlFunction = Arc<dyn Fn(&str) + Send + Sync>;

/// A function that starts a browser, or returns why it cannot. It can block.
type BrowserLauncher = Arc<dyn Fn(&str) -> std::io::Result<()> + Send + Sync>;

/// Login in the browser of the user: the standard for programs with a desktop.
///
/// The authorization page opens in the default browser, without a shell in between. A listener on
/// 127.0.0.1 receives the redirect. If no browser can be started, the URL is printed to standard
/// error, or given to the function of [`fallback`](Self::fallback).
#[derive(Clone)]
pub struct Browser {
    settings: CallbackSettings,
    fallback: UrlFunction,
    launcher: BrowserLauncher,
}

impl Browser {
    /// Creates the login with its standard settings.
    #[must_use]
    pub fn new() -> Self {
        Self {
            settings: CallbackSettings::default(),
            fallback: Arc::new(print_to_stderr),
            launcher: Arc::new(webbrowser::open),
        }
    }

    /// Sets the time that the user has for the login. The standard is 5 minutes.
    #[must_use]
    pub fn login_timeout(mut self, login_timeout: Duration) -> Self {
        self.settings.login_timeout = login_timeout;
        self
    }

    /// Sets the redirect URI, for clients that were registered with a fixed one.
    ///
    /// It must be an `http` URL of `127.0.0.1`, `[::1]` or `localhost` with a port, for instance
    /// `http://localhost:8976/oauth/callback`. Without it, any free port and the path `/callback` are
    /// used.
    #[must_use]
    pub fn redirect_uri(mut self, redirect_uri: impl Into<String>) -> Self {
        self.settings.redirect_uri = Some(redirect_uri.into());
        self
    }

    /// Sets the function that shows the URL when no browser can be started.
    #[must_use]
    pub fn fallback(mut self, fallback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.fallback = Arc::new(fallback);
        self
    }

    /// Sets the function that starts a browser.
    #[cfg(test)]
    pub(super) fn launcher(
        mut self,
        launcher: impl Fn(&str) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.launcher = Arc::new(launcher);
        self
    }
}

impl Default for Browser {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Browser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Browser")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl LoginUi for Browser {
    fn prepare<'a>(
        &'a self,
        preferred_redirect: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>> {
        Box::pin(async move {
            let listener =
                CallbackListener::bind(self.settings.clone(), preferred_redirect).await?;
            let fallback = Arc::clone(&self.fallback);
            let launcher = Arc::clone(&self.launcher);
            let pending = PendingBrowser {
                listener,
                fallback,
                launcher,
            };
            Ok(Box::new(pending) as Box<dyn PendingLogin>)
        })
    }
}

/// A login whose listener is open.
struct PendingBrowser {
    listener: CallbackListener,
    fallback: UrlFunction,
    launcher: BrowserLauncher,
}

impl PendingLogin for PendingBrowser {
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
            let open = self.start_browser(url);
            // A browser in a terminal blocks until the user leaves it; so both run side by side.
            let login = race(self.listener.wait(&state), async {
                open.await;
                pending().await
            });
            with_timeout(&self.listener, login).await
        })
    }
}

impl PendingBrowser {
    /// Starts a browser, or shows the URL if that fails.
    async fn start_browser(&self, url: Url) {
        let launcher = Arc::clone(&self.launcher);
        let text = url.to_string();
        let started = tokio::task::spawn_blocking(move || launcher(&text)).await;
        match started {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::debug!(error = %Escaped(&error), "cannot start a browser for the login");
                (self.fallback)(url.as_str());
            }
            Err(_) => (self.fallback)(url.as_str()),
        }
    }
}

/// Limits the time of a login.
pub(super) async fn with_timeout(
    listener: &CallbackListener,
    login: impl Future<Output = Result<String, AuthError>>,
) -> Result<String, AuthError> {
    let timeout = listener.login_timeout();
    match tokio::time::timeout(timeout, login).await {
        Ok(result) => result,
        Err(_) => {
            let message = format!(
                "the user did not finish the login within {timeout:?} (login_timeout); log in again"
            );
            Err(AuthError::new(AuthErrorKind::Denied, message))
        }
    }
}

/// Checks that a URL is one to open in a browser: `http` or `https`, without control characters.
pub(super) fn check_authorization_url(text: &str) -> Result<Url, AuthError> {
    let refuse = |reason: &str| {
        let message = format!("the authorization URL is not opened, because {reason}");
        Err(AuthError::new(AuthErrorKind::UrlRefused, message))
    };
    if text.len() > MAX_URL_BYTES {
        return refuse(&format!("it is longer than {MAX_URL_BYTES} bytes"));
    }
    // The parser would drop some of them.
    if text.contains(is_ambiguous_in_url) {
        return refuse("it contains control characters or spaces");
    }
    let Ok(url) = Url::parse(text) else {
        return refuse("it is not a URL");
    };
    if !matches!(url.scheme(), "http" | "https") {
        return refuse("its scheme is neither https nor http");
    }
    Ok(url)
}

/// Returns the `state` of an authorization URL, by which the redirect is recognized.
pub(super) fn state_of(url: &Url) -> Result<String, AuthError> {
    let mut pairs = url.query_pairs();
    let state = pairs.find(|(name, _)| name == "state");
    state.map(|(_, value)| value.into_owned()).ok_or_else(|| {
        let message = "the authorization URL is not opened, because it has no `state`";
        AuthError::new(AuthErrorKind::UrlRefused, message)
    })
}

/// Prints the URL to standard error, which stays usable when standard output carries a protocol.
fn print_to_stderr(url: &str) {
    let text = format!("Open this page in a browser to log in:\n\n  {url}\n\n");
    // Without standard error there is nobody to tell.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
