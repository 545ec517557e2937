//! The login of a user at a terminal: in the browser, or by a URL that is copied.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use turnbuckle::auth::client::interaction::{Browser, LoginUi, PendingLogin, PrintUrl};
use turnbuckle::auth::client::store::BoxFuture;
use turnbuckle::auth::{AuthError, AuthErrorKind};

use crate::ask::read_line;
use crate::output::{Console, Style, sanitize};

/// The user interface of a login.
///
/// The browser is opened if there is one to open. Else, or with `--no-browser`, the URL is printed,
/// and the user may paste the URL that the browser was redirected to.
pub(crate) struct TerminalLogin {
    console: Console,
    kind: LoginKind,
}

enum LoginKind {
    Browser(Browser),
    PrintUrl(PrintUrl),
}

impl TerminalLogin {
    /// Creates the interface. `redirect_uri` is that of a client that was registered by hand.
    pub(crate) fn new(console: Console, redirect_uri: Option<String>, no_browser: bool) -> Self {
        let kind = if no_browser || !has_browser() {
            let (shown, read) = (console.clone(), console.clone());
            // Several logins follow each other, each with a URL of its own.
            let is_new = Arc::new(AtomicBool::new(true));
            let is_asked = is_new.clone();
            let ui = PrintUrl::new(move |url| {
                is_new.store(true, Ordering::Relaxed);
                print_url(&shown, url);
            });
            let ui = ui.read_redirect(move || {
                let is_first = is_asked.swap(false, Ordering::Relaxed);
                read_redirect(read.clone(), is_first)
            });
            LoginKind::PrintUrl(match redirect_uri {
                Some(redirect_uri) => ui.redirect_uri(redirect_uri),
                None => ui,
            })
        } else {
            let warnings = console.clone();
            let ui = Browser::new().fallback(move |_| {
                warnings.print_message("No browser could be started: open the page yourself.");
            });
            LoginKind::Browser(match redirect_uri {
                Some(redirect_uri) => ui.redirect_uri(redirect_uri),
                None => ui,
            })
        };
        Self { console, kind }
    }
}

impl LoginUi for TerminalLogin {
    fn prepare<'a>(
        &'a self,
        preferred_redirect: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>> {
        match &self.kind {
            LoginKind::PrintUrl(ui) => ui.prepare(preferred_redirect),
            LoginKind::Browser(ui) => Box::pin(async move {
                let inner = ui.prepare(preferred_redirect).await?;
                let console = self.console.clone();
                let pending = AnnouncedLogin { inner, console };
                Ok(Box::new(pending) as Box<dyn PendingLogin>)
            }),
        }
    }

    fn announce_wait(&self) -> Result<(), AuthError> {
        self.console.print_message(
            "Another process logs in at this server: finish the login there. This one waits.",
        );
        Ok(())
    }
}

/// The user interface of a command that must not ask: each login fails.
///
/// Commands work with stored credentials, and ask the user between two attempts, not in one.
pub(crate) struct StoredLoginOnly;

impl LoginUi for StoredLoginOnly {
    fn prepare<'a>(
        &'a self,
        _preferred_redirect: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>> {
        Box::pin(async { Err(Self::refusal()) })
    }

    fn announce_wait(&self) -> Result<(), AuthError> {
        Err(Self::refusal())
    }
}

impl StoredLoginOnly {
    fn refusal() -> AuthError {
        let reason = "no stored login does, and this command does not ask for one";
        AuthError::new(AuthErrorKind::LoginRequired, reason)
    }
}

/// A login in the browser whose URL is printed before the browser opens.
struct AnnouncedLogin {
    inner: Box<dyn PendingLogin>,
    console: Console,
}

impl PendingLogin for AnnouncedLogin {
    fn redirect_uri(&self) -> &str {
        self.inner.redirect_uri()
    }

    fn open<'a>(
        self: Box<Self>,
        authorization_url: &'a str,
    ) -> BoxFuture<'a, Result<String, AuthError>> {
        let Self { inner, console } = *self;
        let url = console.style_stderr(Style::Dim, &sanitize(authorization_url));
        console.print_message(&format!(
            "Your browser opens the login page. If it does not, go to\n\n  {url}\n"
        ));
        inner.open(authorization_url)
    }
}

/// Prints the URL of the login page.
fn print_url(console: &Console, url: &str) {
    console.print_message(&format!(
        "Open this page in a browser to log in:\n\n  {}\n\n\
         If the browser runs on another machine, it ends at a page that it cannot load: paste the \
         address of that page here.",
        sanitize(url)
    ));
}

/// Asks for the URL that the browser was redirected to, again if the last text was none of this login.
async fn read_redirect(console: Console, is_first: bool) -> Option<String> {
    if !is_first {
        console.print_message("This is not the address that the login page led to.");
    }
    read_line(&console, "address: ").await
}

/// Returns whether a browser can be expected here. Over SSH it would open at the other machine.
pub(crate) fn has_browser() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let has_desktop = set("DISPLAY") || set("WAYLAND_DISPLAY") || set("WSL_DISTRO_NAME");
    let needs_desktop = cfg!(all(unix, not(target_os = "macos")));
    set("BROWSER")
        || if needs_desktop {
            has_desktop
        } else {
            !set("SSH_CONNECTION")
        }
}
