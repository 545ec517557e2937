//! A user of tests, who approves every login at once and needs no browser.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, header};
use url::Url;

use super::authorize::ApprovingUser;
use super::routes;
use super::server::Server;
use turnbuckle_auth::client::interaction::{LoginUi, PendingLogin};
use turnbuckle_auth::client::store::BoxFuture;
use turnbuckle_auth::{AuthError, AuthErrorKind};

/// The redirect URI of the logins. Nothing listens there: the redirect is read, not followed.
const REDIRECT_URI: &str = "http://127.0.0.1:9/callback";

/// A [`LoginUi`] for tests: a user of a
/// [`TestAuthorizationServer`](super::TestAuthorizationServer) who approves every login at once.
///
/// No browser, port or HTTP request is involved: the authorization request goes straight to the
/// server, which records it like others ([`events`](super::TestAuthorizationServer::events)). Its
/// [`Faults`](crate::Faults) apply.
#[derive(Debug, Clone)]
pub struct AutoLogin {
    server: Arc<Server>,
    user: String,
    redirect_uri: String,
}

impl AutoLogin {
    pub(super) fn new(server: Arc<Server>, user: String) -> Self {
        Self {
            server,
            user,
            redirect_uri: REDIRECT_URI.to_owned(),
        }
    }

    /// Sets the redirect URI, for a client that was registered with one of its own.
    #[must_use]
    pub fn redirect_uri(mut self, redirect_uri: impl Into<String>) -> Self {
        self.redirect_uri = redirect_uri.into();
        self
    }

    async fn approve(&self, authorization_url: &str) -> Result<String, String> {
        let url = Url::parse(authorization_url).map_err(|error| error.to_string())?;
        let authority = url.authority();
        let query = url.query().unwrap_or_default();
        let mut request = Request::builder()
            .uri(format!("{}?{query}", url.path()))
            .header(header::HOST, authority)
            .body(Bytes::new())
            .map_err(|error| error.to_string())?;
        let user = ApprovingUser(self.user.clone());
        request.extensions_mut().insert(user);
        let answer = routes::handle(&self.server, request).await;
        let location = answer.headers().get(header::LOCATION);
        let location = location.and_then(|location| location.to_str().ok());
        location.map(str::to_owned).ok_or_else(|| {
            format!(
                "the test authorization server {} answered the authorization request with {}",
                self.server.issuer(),
                answer.status()
            )
        })
    }
}

impl LoginUi for AutoLogin {
    fn prepare<'a>(
        &'a self,
        _preferred_redirect: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>> {
        let pending: Box<dyn PendingLogin> = Box::new(self.clone());
        Box::pin(async { Ok(pending) })
    }
}

impl PendingLogin for AutoLogin {
    fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    fn open<'a>(
        self: Box<Self>,
        authorization_url: &'a str,
    ) -> BoxFuture<'a, Result<String, AuthError>> {
        Box::pin(async move {
            let redirect = self.approve(authorization_url).await;
            redirect.map_err(|reason| AuthError::new(AuthErrorKind::Denied, reason))
        })
    }
}
