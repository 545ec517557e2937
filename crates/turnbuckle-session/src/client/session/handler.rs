//! The interface between a session and the client that uses it: requests and notifications of the
//! server.

use super::request_tag::RequestTag;
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
    ///
    /// `tag` is that of the request that a log message is about.
    fn handle_notification(&self, notice: IncomingNotification<'_>, tag: Option<&RequestTag>);

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
    tag: Option<RequestTag>,
}

impl ServerRequest {
    pub(super) fn new(id: RequestId, tag: Option<RequestTag>) -> Self {
        Self {
            id,
            signal: Signal::new(),
            tag,
        }
    }

    /// Returns the request's id.
    #[must_use]
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Returns the tag of the request of ours that this one is about, if that is known.
    #[must_use]
    pub fn tag(&self) -> Option<&RequestTag> {
        self.tag.as_ref()
    }

    /// Returns the signal that fires when the server no longer wants an answer.
    #[must_use]
    pub fn signal(&self) -> &Signal {
        &self.signal
    }
}
