//! The authorization server: its endpoints, its state and its handle.

mod answer;
mod authorization_response;
mod authorize;
mod auto_login;
mod builder;
mod client;
mod client_authentication;
mod client_lookup;
mod client_metadata;
mod consent;
mod error;
mod events;
mod faults;
mod grant_types;
mod grants;
mod introspection;
mod issue;
mod jwt;
mod keys;
mod listener;
mod metadata;
mod page;
mod parameters;
mod redirect_uri;
mod registration;
mod routes;
mod server;
mod settings;
mod state;
#[cfg(test)]
mod tests;
mod token;
mod token_request;

pub use auto_login::AutoLogin;
pub use builder::TestAuthorizationServerBuilder;
pub use error::TestServerError;
pub use events::{Endpoint, Event};
pub use faults::Faults;

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use turnbuckle_types::RawObject;

use crate::random::random_token;
use server::Server;
use settings::Settings;
use state::Grant;

/// A running authorization server on 127.0.0.1, **for tests and development only**.
///
/// It stops when the value is dropped.
#[must_use = "the server stops when this value is dropped"]
pub struct TestAuthorizationServer {
    server: Arc<Server>,
    task: JoinHandle<std::convert::Infallible>,
}

impl TestAuthorizationServer {
    /// Returns the default settings.
    #[must_use]
    pub fn builder() -> TestAuthorizationServerBuilder {
        TestAuthorizationServerBuilder::default()
    }

    async fn from_settings(settings: Settings) -> Result<Self, TestServerError> {
        let address = (Ipv4Addr::LOCALHOST, settings.port);
        let listener = TcpListener::bind(address).await.map_err(|error| {
            TestServerError::new(format!(
                "cannot listen on 127.0.0.1:{}: {error}",
                settings.port
            ))
        })?;
        let port = listener
            .local_addr()
            .map_err(|error| TestServerError::new(format!("the listener has no address: {error}")))?
            .port();
        let server = Arc::new(Server::new(settings, port)?);
        let task = tokio::spawn(listener::serve(listener, Arc::clone(&server)));
        tracing::warn!(
            issuer = server.issuer(),
            "a test authorization server runs: it protects nothing, never use it in production"
        );
        Ok(Self { server, task })
    }

    /// Returns the issuer, such as `http://127.0.0.1:4711` or `http://127.0.0.1:4711/tenant1`.
    #[must_use]
    pub fn issuer(&self) -> &str {
        self.server.issuer()
    }

    /// Returns the URL of the public keys.
    #[must_use]
    pub fn jwks_uri(&self) -> String {
        self.server.url("/jwks")
    }

    /// Returns the public keys as a JSON Web Key Set.
    #[must_use]
    pub fn jwks(&self) -> RawObject {
        RawObject::encode(&self.server.keys.jwks()).unwrap_or_else(|_| RawObject::empty())
    }

    /// Returns the fault switches.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.server.faults.clone()
    }

    /// Signs tokens with a new key from now on. Up to three former keys stay published.
    ///
    /// # Errors
    /// Fails when the operating system has no randomness.
    pub fn rotate_keys(&self) -> Result<(), TestServerError> {
        self.server
            .keys
            .rotate()
            .map_err(|_| TestServerError::no_randomness())
    }

    /// Signs tokens with a new key from now on and withdraws all former ones.
    ///
    /// # Errors
    /// Fails when the operating system has no randomness.
    pub fn replace_keys(&self) -> Result<(), TestServerError> {
        self.server
            .keys
            .replace()
            .map_err(|_| TestServerError::no_randomness())
    }

    /// Chooses a new DPoP nonce. Proofs with the former one are refused with `use_dpop_nonce`.
    ///
    /// # Errors
    /// Fails when the operating system has no randomness.
    pub fn replace_dpop_nonce(&self) -> Result<(), TestServerError> {
        self.server
            .replace_dpop_nonce()
            .map_err(|_| TestServerError::no_randomness())
    }

    /// Returns the requests so far, oldest first: the last 10,000, without secrets.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.server.events.all()
    }

    /// Forgets the requests so far.
    pub fn clear_events(&self) {
        self.server.events.clear();
    }

    /// Issues an access token without any request, for tests of resource servers.
    ///
    /// It is a JWT, or an opaque text if the settings say so, and introspection knows it.
    ///
    /// # Errors
    /// Fails when the operating system has no randomness.
    pub fn issue_token<I, S>(
        &self,
        subject: &str,
        client_id: &str,
        audience: &str,
        scopes: I,
        ttl: Duration,
    ) -> Result<String, TestServerError>
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        let grant = Grant {
            subject: subject.to_owned(),
            client_id: client_id.to_owned(),
            audience: audience.to_owned(),
            scopes: scopes.into_iter().map(Into::into).collect(),
            key_thumbprint: None,
            family: random_token()
                .map_err(|_| TestServerError::no_randomness())?
                .expose()
                .to_owned(),
        };
        let issued = self
            .server
            .issue_access_token(&grant, &grant.scopes, Some(ttl));
        issued
            .map(|issued| issued.token)
            .map_err(|_| TestServerError::no_randomness())
    }

    /// Issues an ID token for a client without any request, for tests of token exchange.
    ///
    /// # Errors
    /// Fails when the key cannot sign.
    pub fn issue_id_token(
        &self,
        subject: &str,
        client_id: &str,
        ttl: Duration,
    ) -> Result<String, TestServerError> {
        let issued = self
            .server
            .issue_id_token(subject, client_id, None, Some(ttl));
        issued.map_err(|_| TestServerError::no_randomness())
    }

    /// Signs any claims with the current key, for tests of tokens that no server issues.
    ///
    /// `token_type` becomes the `typ` of the header, such as `at+jwt`.
    ///
    /// # Errors
    /// Fails when the key cannot sign.
    pub fn sign_claims(
        &self,
        token_type: &str,
        claims: &impl Serialize,
    ) -> Result<String, TestServerError> {
        let claims = serde_json::to_value(claims).unwrap_or_default();
        self.server
            .keys
            .sign(token_type, &claims)
            .map_err(|_| TestServerError::no_randomness())
    }

    /// Returns a user who approves every login of a client at once, also without
    /// [`auto_approve`](TestAuthorizationServerBuilder::auto_approve). `user` is the subject of the
    /// tokens.
    #[must_use]
    pub fn auto_login(&self, user: impl Into<String>) -> AutoLogin {
        AutoLogin::new(Arc::clone(&self.server), user.into())
    }

    /// Stops the server and waits until its port is free.
    pub async fn shutdown(mut self) {
        self.task.abort();
        _ = (&mut self.task).await;
    }
}

impl Drop for TestAuthorizationServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for TestAuthorizationServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestAuthorizationServer")
            .field("issuer", &self.issuer())
            .finish_non_exhaustive()
    }
}
