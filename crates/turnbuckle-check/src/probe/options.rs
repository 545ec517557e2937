//! Options of a probe.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_wire::revision::Revision;

/// Settings of a [`Probe`](super::Probe).
#[derive(Debug, Clone)]
#[must_use]
pub struct ProbeOptions {
    /// Capabilities that the client declares: in its handshake, or in every envelope.
    pub capabilities: Value,
    /// Name and version of the client; `null` leaves them out of envelopes.
    pub client_info: Value,
    /// Lowest level of log messages that the client wants.
    pub log_level: Option<String>,
    /// Puts a progress token into every request, equal to the request's id.
    pub progress_tokens: bool,
    /// Part of the legacy handshake that connecting does.
    pub handshake: Handshake,
    /// Time limit of every wait.
    pub timeout: Duration,
    /// Keeps every message of the server for [`Probe::received_messages`](super::Probe::received_messages).
    pub keeps_messages: bool,
}

/// Part of the legacy handshake that connecting does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handshake {
    /// All of it.
    Whole,
    /// The request `initialize` alone.
    WithoutInitialized,
    /// No part: the caller does it.
    None,
}

impl Default for ProbeOptions {
    fn default() -> Self {
        Self {
            capabilities: json!({}),
            client_info: json!({"name": "turnbuckle-check", "version": env!("CARGO_PKG_VERSION")}),
            log_level: None,
            progress_tokens: false,
            handshake: Handshake::Whole,
            timeout: Duration::from_secs(5),
            keeps_messages: false,
        }
    }
}

impl ProbeOptions {
    /// Creates options for a client without capabilities that does the whole handshake.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the parameters of the request that opens a legacy session.
    pub(crate) fn handshake_params(&self, revision: Revision) -> Value {
        json!({
            "protocolVersion": revision.as_str(),
            "capabilities": self.capabilities,
            "clientInfo": self.client_info,
        })
    }

    /// Sets the capabilities that the client declares.
    pub fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Sets the lowest level of log messages that the client wants.
    pub fn log_level(mut self, level: &str) -> Self {
        self.log_level = Some(level.to_owned());
        self
    }

    /// Puts a progress token into every request.
    pub fn progress_tokens(mut self) -> Self {
        self.progress_tokens = true;
        self
    }

    /// Sets which part of the handshake connecting does.
    pub fn handshake(mut self, handshake: Handshake) -> Self {
        self.handshake = handshake;
        self
    }

    /// Sets the time limit of every wait.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}
