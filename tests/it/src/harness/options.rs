//! Options of a test's client, and of the session that serves it.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_check::probe::{Handshake, ProbeOptions};
use turnbuckle_session::handler::Limits;
use turnbuckle_types::Principal;

/// Settings of a [`Client`](super::Client).
#[derive(Debug, Clone)]
#[must_use]
pub struct ClientOptions {
    pub(super) probe: ProbeOptions,
    pub(super) principal: Option<Principal>,
    pub(super) limits: Limits,
}

impl Default for ClientOptions {
    fn default() -> Self {
        let mut probe = ProbeOptions::new().timeout(Duration::from_secs(120));
        probe.keeps_messages = true;
        probe.client_info = json!({"name": "tester", "version": "1.0.0"});
        Self {
            probe,
            principal: None,
            limits: Limits::default(),
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
        self.probe.capabilities = capabilities;
        self
    }

    /// Sets the client's name and version. `null` leaves them out of envelopes.
    pub fn client_info(mut self, info: Value) -> Self {
        self.probe.client_info = info;
        self
    }

    /// Sets the lowest level of log messages that the client wants: requested after the handshake,
    /// or in every envelope.
    pub fn log_level(mut self, level: &str) -> Self {
        self.probe.log_level = Some(level.to_owned());
        self
    }

    /// Puts a progress token into every request, equal to the request's id.
    pub fn progress_tokens(mut self) -> Self {
        self.probe.progress_tokens = true;
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
        self.probe.handshake = Handshake::None;
        self
    }

    /// Leaves the end of the handshake, `notifications/initialized`, to the test.
    pub fn without_initialized(mut self) -> Self {
        self.probe.handshake = Handshake::WithoutInitialized;
        self
    }

    /// Sets the time that the client waits before the test fails; it must be longer than the times
    /// under test. Default: two minutes, on the paused clock.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.probe.timeout = patience;
        self
    }
}
