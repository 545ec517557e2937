//! The interface between a session and the client that uses it: requests and notifications of the
//! server.

use crate::shared::incoming::{HandlerOutcome, IncomingNotification, IncomingRequest};
use crate::shared::signal::Signal;
use turnbuckle_types::RequestId;

/// A handler for the server's requests and notifications: the client behind a session.
pub trait ClientHandler: Send + Sync + 'static {
    /// Answers a request whose method the server's revision defines, or that no revision defines.
    /// The session answers `ping` itself.
    fn handle_request(&self, call: IncomingRequest<'_>, request: ServerRequest) -> HandlerOutcome;

    /// Handles a notification that the session itself does not need. It must return soon: the
    /// session receives nothing meanwhile.
    fn handle_notification(&self, notice: IncomingNotification<'_>);

    /// Handles a frame that was no valid message and was skipped. `count` is the number of such
    /// frames so far, `beginning` the first characters of this one.
    fn handle_invalid_message(&self, count: u64, beginning: &str) {
        let _ = (count, beginning);
    }
}

/// A request of the server that is being answered.
#[derive(Debug, Clone)]
pub struct ServerRequest {
    id: RequestId,
    signal: Signal,
}

impl ServerRequest {
    pub(super) fn new(id: RequestId) -> Self {
        Self {
            id,
            signal: Signal::new(),
        }
    }

    /// Returns the request's id.
    #[must_use]
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Returns the signal that fires when the server no longer wants an answer.
    #[must_use]
    pub fn signal(&self) -> &Signal {
        &self.signal
    }
}
