//! The user of a client, whose browser follows the authorization URL to the redirect.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;
use turnbuckle::auth::client::interaction::{LoginUi, PendingLogin};
use turnbuckle::auth::client::store::BoxFuture;
use turnbuckle::auth::{AuthError, AuthErrorKind};

use super::requests::get;

/// The redirect URI of the user's browser. Nothing listens there: the test reads the redirect.
pub(crate) const REDIRECT_URI: &str = "http://127.0.0.1:9/callback";

/// A person with a browser: follows the authorization URL to the redirect. Clones are one person.
#[derive(Clone)]
pub(crate) struct User(Arc<UserState>);

/// Changes a redirect.
type Edit = Box<dyn Fn(String) -> String + Send + Sync>;

struct UserState {
    opened: Mutex<Vec<String>>,
    redirects: Mutex<Vec<String>>,
    logins: AtomicUsize,
    /// The logins that may go on.
    permits: Semaphore,
    edit: Mutex<Option<Edit>>,
}

impl User {
    /// Creates a person who logs in at once.
    pub(crate) fn new() -> Self {
        let user = Self::waiting();
        user.go_on();
        user
    }

    /// Creates a person who waits with every login until [`go_on`](Self::go_on).
    pub(crate) fn waiting() -> Self {
        Self(Arc::new(UserState {
            opened: Mutex::default(),
            redirects: Mutex::default(),
            logins: AtomicUsize::new(0),
            permits: Semaphore::new(0),
            edit: Mutex::default(),
        }))
    }

    pub(crate) fn go_on(&self) {
        self.0.permits.add_permits(1000);
    }

    /// Sets a function that changes each redirect before the client sees it.
    pub(crate) fn edit_redirects(&self, edit: impl Fn(String) -> String + Send + Sync + 'static) {
        *self.0.edit.lock().unwrap() = Some(Box::new(edit));
    }

    /// Returns the number of logins that were begun.
    pub(crate) fn logins(&self) -> usize {
        self.0.logins.load(Ordering::SeqCst)
    }

    /// Returns the authorization URLs that were opened.
    pub(crate) fn opened_pages(&self) -> Vec<String> {
        self.0.opened.lock().unwrap().clone()
    }

    /// Returns the redirects that came back.
    pub(crate) fn redirects(&self) -> Vec<String> {
        self.0.redirects.lock().unwrap().clone()
    }

    /// Returns a parameter of the last authorization URL.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        query_parameter(self.opened_pages().last().unwrap(), name)
    }
}

/// Returns a parameter of a URL's query.
pub(crate) fn query_parameter(url: &str, name: &str) -> Option<String> {
    let url = url::Url::parse(url).unwrap();
    let mut pairs = url.query_pairs();
    Some(pairs.find(|(found, _)| found == name)?.1.into_owned())
}

/// Replaces or adds a parameter of a URL's query.
pub(crate) fn with_parameter(url: &str, name: &str, value: &str) -> String {
    let mut url = url::Url::parse(url).unwrap();
    let others: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(found, _)| found != name)
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    let mut pairs = url.query_pairs_mut();
    pairs.clear().extend_pairs(others).append_pair(name, value);
    drop(pairs);
    url.into()
}

impl LoginUi for User {
    fn prepare<'a>(
        &'a self,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>> {
        let user = self.clone();
        Box::pin(async { Ok(Box::new(user) as Box<dyn PendingLogin>) })
    }
}

impl PendingLogin for User {
    fn redirect_uri(&self) -> &str {
        REDIRECT_URI
    }

    fn open<'a>(
        self: Box<Self>,
        authorization_url: &'a str,
    ) -> BoxFuture<'a, Result<String, AuthError>> {
        Box::pin(async move {
            let state = &self.0;
            state.logins.fetch_add(1, Ordering::SeqCst);
            state
                .opened
                .lock()
                .unwrap()
                .push(authorization_url.to_owned());
            state.permits.acquire().await.unwrap().forget();
            let page = get(authorization_url).await;
            let Some(location) = page.header("location") else {
                let message = format!("the page has status {}", page.status);
                return Err(AuthError::new(AuthErrorKind::Denied, message));
            };
            let mut redirect = location.to_owned();
            state.redirects.lock().unwrap().push(redirect.clone());
            if let Some(edit) = &*state.edit.lock().unwrap() {
                redirect = edit(redirect);
            }
            Ok(redirect)
        })
    }
}
