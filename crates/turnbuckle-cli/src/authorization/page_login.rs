//! The login of a user whose page shows the address of the login page.

use std::sync::Arc;

use turnbuckle::auth::AuthError;
use turnbuckle::auth::client::interaction::{LoginUi, PendingLogin, PrintUrl};
use turnbuckle::auth::client::store::BoxFuture;

/// A function that is told of the address at which the user has to log in, and of the end of that.
type UrlFunction = Arc<dyn Fn(Option<&str>) + Send + Sync>;

/// The user interface of a login whose address a page shows. A listener on this machine gets the
/// redirect.
#[derive(Clone)]
pub(crate) struct PageLogin {
    show_url: UrlFunction,
    redirect_uri: Option<String>,
}

impl PageLogin {
    pub(crate) fn new(show_url: impl Fn(Option<&str>) + Send + Sync + 'static) -> Self {
        Self {
            show_url: Arc::new(show_url),
            redirect_uri: None,
        }
    }

    /// Sets the redirect URI of a client that was registered by hand.
    pub(crate) fn redirect_uri(mut self, redirect_uri: Option<String>) -> Self {
        self.redirect_uri = redirect_uri;
        self
    }
}

impl LoginUi for PageLogin {
    fn prepare<'a>(
        &'a self,
        preferred_redirect: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>> {
        let show_url = self.show_url.clone();
        let mut ui = PrintUrl::new(move |url| show_url(Some(url)));
        if let Some(redirect_uri) = &self.redirect_uri {
            ui = ui.redirect_uri(redirect_uri);
        }
        Box::pin(async move {
            let inner = ui.prepare(preferred_redirect).await?;
            let shown = ShownUrl(self.show_url.clone());
            Ok(Box::new(PendingPageLogin { inner, shown }) as Box<dyn PendingLogin>)
        })
    }
}

/// A login whose address the page shows.
struct PendingPageLogin {
    inner: Box<dyn PendingLogin>,
    shown: ShownUrl,
}

/// An address that is no longer shown when this is dropped.
struct ShownUrl(UrlFunction);

impl Drop for ShownUrl {
    fn drop(&mut self) {
        (self.0)(None);
    }
}

impl PendingLogin for PendingPageLogin {
    fn redirect_uri(&self) -> &str {
        self.inner.redirect_uri()
    }

    fn open<'a>(
        self: Box<Self>,
        authorization_url: &'a str,
    ) -> BoxFuture<'a, Result<String, AuthError>> {
        let Self { inner, shown } = *self;
        Box::pin(async move {
            let redirect = inner.open(authorization_url).await;
            drop(shown);
            redirect
        })
    }
}
