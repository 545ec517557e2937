//! The seam to the client's role: what the server asks, and what it tells.

use turnbuckle_types::RequestId;

use crate::{Call, Handling, Notice, Signal};

/// Who answers a server's requests, and hears its notifications: the client behind a conversation.
pub trait Host: Send + Sync + 'static {
    /// Answers a request that the server's revision has (or that is no core method at all). Ping is
    /// answered before it comes here.
    fn call(&self, call: Call<'_>, request: ServerRequest) -> Handling;

    /// Hears of a notification that the conversation itself has no use for. It must not take long:
    /// nothing else is read meanwhile.
    fn notified(&self, notice: Notice<'_>);

    /// Something on the wire was no message of the protocol and was skipped; `count` so far.
    fn noise(&self, count: u64, beginning: &str) {
        let _ = (count, beginning);
    }
}

/// A request of the server under way.
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

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Tells when no answer is wanted any more.
    #[must_use]
    pub fn signal(&self) -> &Signal {
        &self.signal
    }
}
