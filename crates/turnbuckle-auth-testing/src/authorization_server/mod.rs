//! The authorization server: its endpoints, its state and its handle.

mod answer;
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
mod state;
#[cfg(test)]
mod tests;
mod token;

pub use auto_login::AutoLogin;
pub use builder::TestAuthorizationServerBuilder;
pub use error::TestServerError;
pub use events::{Endpoint, Event};
pub use faults::{FailedRequests, Faults};

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use turnbuckle_types::RawObject;
use turnbuckle_types::base::random;

use server::Server;
use state::Grant;

/// A running authorization server on 127.0.0.1, **for tests and development only**.
///
/// It stops when the value is dropped.
#[derive(Debug)]
#[must_use = "the server stops when this value is dropped"]
pub struct TestAuthorizationServer {
    server: Arc<Server>,
    task: JoinHandle<Infallible>,
}

impl TestAuthorizationServer {
    /// Returns the default settings.
    pub fn builder() -> TestAuthorizationServerBuilder {
        TestAuthorizationServerBuilder::default()
    }

    async fn from_settings(
        settings: TestAuthorizationServerBuilder,
    ) -> Result<Self, TestServerError> {
        let port = settings.port;
        let cannot_listen = |error: std::io::Error| {
            TestServerError::new(format!("cannot listen on 127.0.0.1:{port}: {error}"))
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listener.map_err(cannot_listen)?;
        let port = listener.local_addr().map_err(cannot_listen)?.port();
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

    /// Sets the faults of the server, which `change` edits.
    pub fn set_faults(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.server.faults());
    }

    /// Switches all faults off.
    pub fn reset_faults(&self) {
        *self.server.faults() = Faults::default();
    }

    /// Signs tokens with a new key from now on. Up to three former keys stay published.
    ///
    /// # Errors
    /// Fails when the operating system has no randomness.
    pub fn rotate_keys(&self) -> Result<(), TestServerError> {
        Ok(self.server.keys.rotate()?)
    }

    /// Signs tokens with a new key from now on and withdraws all former ones.
    ///
    /// # Errors
    /// Fails when the operating system has no randomness.
    pub fn replace_keys(&self) -> Result<(), TestServerError> {
        Ok(self.server.keys.replace()?)
    }

    /// Chooses a new DPoP nonce. Proofs with the former one are refused with `use_dpop_nonce`.
    ///
    /// # Errors
    /// Fails when the operating system has no randomness.
    pub fn replace_dpop_nonce(&self) -> Result<(), TestServerError> {
        Ok(self.server.replace_dpop_nonce()?)
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
    pub fn issue_token<S: Into<String>>(
        &self,
        subject: &str,
        client_id: &str,
        audience: &str,
        scopes: impl IntoIterator<Item = S>,
        ttl: Duration,
    ) -> Result<String, TestServerError> {
        let grant = Grant {
            subject: subject.to_owned(),
            client_id: client_id.to_owned(),
            audience: audience.to_owned(),
            scopes: scopes.into_iter().map(Into::into).collect(),
            key_thumbprint: None,
            family: random::secret()?,
        };
        let server = &self.server;
        let issued = server.issue_access_token(&grant, &grant.scopes, Some(ttl))?;
        Ok(issued.token)
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
        let server = &self.server;
        Ok(server.issue_id_token(subject, client_id, None, Some(ttl))?)
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
        Ok(self.server.keys.sign(token_type, &claims)?)
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

impl TestAuthorizationServerBuilder {
    /// Starts the server on 127.0.0.1. It stops when the returned value is dropped.
    ///
    /// # Errors
    /// Fails when a setting is wrong, when the port is taken, or when the operating system has no
    /// randomness.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with I/O and time enabled.
    pub async fn start(mut self) -> Result<TestAuthorizationServer, TestServerError> {
        if self.users.is_empty() {
            self.users.push("alice".to_owned());
        }
        self.check()?;
        TestAuthorizationServer::from_settings(self).await
    }
}

impl Drop for TestAuthorizationServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}
