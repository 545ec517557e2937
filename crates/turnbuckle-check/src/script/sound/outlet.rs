//! Senders of a server's messages to its clients.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::faults::{Cause, Faults};

/// Takes the messages that a server sends because of one message, or of its own accord.
#[derive(Clone)]
pub(super) struct Outlet {
    to: UnboundedSender<Value>,
    faults: Arc<Faults>,
    cause: Arc<Cause>,
}

impl Outlet {
    pub(super) fn new(to: UnboundedSender<Value>, faults: Arc<Faults>) -> Self {
        Self {
            to,
            faults,
            cause: Arc::default(),
        }
    }

    /// Returns the outlet for what is sent because of that message.
    pub(super) fn because_of(&self, cause: Cause) -> Self {
        Self {
            cause: Arc::new(cause),
            ..self.clone()
        }
    }

    /// Returns an outlet with the same faults into another queue.
    pub(super) fn into_queue(self, to: UnboundedSender<Value>) -> Self {
        Self { to, ..self }
    }

    /// Sends a message, as the faults have it.
    pub(super) fn send(&self, message: Value) {
        for message in self.faults.apply_to_reply(&self.cause, message) {
            self.send_unchanged(message);
        }
    }

    /// Sends a message past the faults.
    pub(super) fn send_unchanged(&self, message: Value) {
        // A client that is gone needs no message.
        let _ = self.to.send(message);
    }

    /// Sends a notification.
    pub(super) fn notify(&self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Cuts the connection: null stands for that among the messages.
    pub(super) fn cut(&self) {
        self.send_unchanged(Value::Null);
    }

    /// Returns whether the messages of both go the same way.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.to.same_channel(&other.to)
    }

    /// Returns whether somebody takes the messages.
    pub(super) fn is_open(&self) -> bool {
        !self.to.is_closed()
    }
}
