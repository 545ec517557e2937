//! The seam to a role: a request comes in as a call and goes out as a reply.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use turnbuckle_types::{Implementation, Principal, ServerCapabilities};
use turnbuckle_wire::era::{ParamHeader, Params, Reply};
use turnbuckle_wire::json;
use turnbuckle_wire::revision::Method;

use crate::{ChangeFeed, Peer, RequestContext};

/// A request on its way to a handler, borrowed from its frame.
#[derive(Clone, Copy)]
pub struct IncomingRequest<'a> {
    /// The core method, if it is one.
    pub method: Option<Method>,
    /// The method as it was spelled.
    pub name: &'a str,
    /// What was captured of its parameters.
    pub params: &'a Params<'a>,
    /// The whole message, for who needs more than was captured.
    pub text: &'a str,
}

/// A notification, borrowed from its frame.
#[derive(Clone, Copy)]
pub struct IncomingNotification<'a> {
    /// The core method, if it is one.
    pub method: Option<Method>,
    /// The method as it was spelled.
    pub name: &'a str,
    /// The whole message.
    pub text: &'a str,
}

impl fmt::Debug for IncomingRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("name", &self.name)
            .field("bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for IncomingNotification<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notice")
            .field("name", &self.name)
            .field("bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

/// A reply, now or later.
pub enum HandlerOutcome {
    /// It is there.
    Ready(Reply),
    /// It is what this resolves to.
    Pending(Pin<Box<dyn Future<Output = Reply> + Send>>),
}

impl fmt::Debug for HandlerOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(reply) => f.debug_tuple("Ready").field(reply).finish(),
            Self::Pending(_) => f.write_str("Pending(..)"),
        }
    }
}

impl From<Reply> for HandlerOutcome {
    fn from(reply: Reply) -> Self {
        Self::Ready(reply)
    }
}

/// What a notification sets off.
pub type NotificationFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a server says of itself, in every handshake and discovery.
#[derive(Debug, Clone)]
pub struct ServerIdentity {
    /// Who it is.
    pub info: Implementation,
    /// What it can do.
    pub capabilities: ServerCapabilities,
    /// How to use it, for a model.
    pub instructions: Option<String>,
    /// Whether every modern result says who it is; see [`ServerIdentity::stamp`].
    pub include_in_results: bool,
    /// For how long a client may keep what discovery told it, in milliseconds.
    pub ttl_ms: u64,
    /// Whether that may be shared between users.
    pub public: bool,
}

impl ServerIdentity {
    /// What every modern result says of who answers, as JSON: name and version. Discovery tells
    /// the rest. `None` when results are not to say it.
    #[must_use]
    pub fn to_server_info(&self) -> Option<Vec<u8>> {
        let short = Implementation::new(self.info.name.as_str(), self.info.version.as_str());
        self.include_in_results
            .then(|| json::to_vec(&short).ok())
            .flatten()
    }
}

/// Who answers requests: the role behind a session. A server is one; what it is asked is between
/// turnbuckle's own crates.
pub trait Dispatch: Send + Sync + 'static {
    /// What it says of itself. Fixed for its lifetime.
    #[doc(hidden)]
    fn identity(&self) -> &ServerIdentity;

    /// Answers a request that the sender's revision has (or that is no core method at all).
    #[doc(hidden)]
    fn call(&self, call: IncomingRequest<'_>, context: RequestContext) -> HandlerOutcome;

    /// Hears of a notification that the session itself has no use for. What it returns is run;
    /// while too much of that runs already, it is dropped.
    #[doc(hidden)]
    fn handle_notification(
        &self,
        notice: IncomingNotification<'_>,
        peer: &Peer,
    ) -> Option<NotificationFuture> {
        let _ = (notice, peer);
        None
    }

    /// A legacy session was opened; `peer` reaches it for as long as it lives.
    #[doc(hidden)]
    fn session_opened(&self, peer: &Peer) {
        let _ = peer;
    }

    /// What was opened has ended, and this feed of it hears of nothing any more.
    #[doc(hidden)]
    fn session_closed(&self, feed: &Arc<ChangeFeed>) {
        let _ = feed;
    }

    /// Whether a handler looks at the HTTP requests that messages come in. Where none does, they
    /// are not kept.
    #[doc(hidden)]
    fn needs_http_head(&self) -> bool {
        false
    }

    /// The arguments of a tool that a binding mirrors in headers: none where `principal` sees no
    /// such tool.
    #[doc(hidden)]
    fn param_headers(&self, tool: &str, principal: Option<&Principal>) -> Arc<[ParamHeader]>;
}
