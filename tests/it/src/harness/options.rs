//! Options of a test's client, and of the session that serves it.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_session::handler::Limits;
use turnbuckle_types::Principal;

/// Settings of a [`Client`](super::Client).
#[derive(Debug, Clone)]
#[must_use]
pub struct ClientOptions {
    pub(super) capabilities: Value,
    pub(super) client_info: Value,
    pub(super) log_level: Option<String>,
    pub(super) progress_tokens: bool,
    pub(super) principal: Option<Principal>,
    pub(super) limits: Limits,
    pub(super) handshake: Handshake,
    pub(super) patience: Duration,
}

/// Part of the legacy handshake that [`Client::connect_with`](super::Client::connect_with) does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handshake {
    Whole,
    WithoutInitialized,
    None,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            capabilities: json!({}),
            client_info: json!({"name": "tester", "version": "1.0.0"}),
            log_level: None,
            progress_tokens: false,
            principal: None,
            limits: Limits::default(),
            handshake: Handshake::Whole,
            patience: Duration::from_secs(120),
        }
    }
}

impl ClientOptions {
    /// Creates options for a client without capabilities that does the whole handshake.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the capabilities that the client declares: in its handshake, or in every envelope.
    pub fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Sets the client's name and version. `null` leaves them out of envelopes.
    pub fn client_info(mut self, info: Value) -> Self {
        self.client_info = info;
        self
    }

    /// Sets the lowest level of log messages that the client wants: requested after the handshake,
    /// or in every envelope.
    pub fn log_level(mut self, level: &str) -> Self {
        self.log_level = Some(level.to_owned());
        self
    }

    /// Puts a progress token into every request, equal to the request's id.
    pub fn progress_tokens(mut self) -> Self {
        self.progress_tokens = true;
        self
    }

    /// Sets the principal that the transport reports for the client.
    pub fn principal(mut self, principal: Principal) -> Self {
        self.principal = Some(principal);
        self
    }

    /// Sets the limits of the session that serves the client.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Leaves the handshake to the test.
    pub fn without_handshake(mut self) -> Self {
        self.handshake = Handshake::None;
        self
    }

    /// Leaves the end of the handshake, `notifications/initialized`, to the test.
    pub fn without_initialized(mut self) -> Self {
        self.handshake = Handshake::WithoutInitialized;
        self
    }

    /// Sets the time that the client waits before the test fails; it must be longer than the times
    /// under test. Default: two minutes, on the paused clock.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}
