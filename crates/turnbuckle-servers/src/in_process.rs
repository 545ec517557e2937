//! A server in the same process, as one of many.

use std::sync::Arc;

use turnbuckle_server::Server;
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    Connector, Inbox, Link, LinkKind, OpenFuture, TransportContext, TransportLink, memory_pair,
    serve,
};

/// The bytes that may be queued for a server in the same process before senders wait.
const MAX_QUEUE_BYTES: usize = 1 << 20;

/// A connector to a [`Server`] in the same process, over memory.
#[derive(Debug, Clone)]
pub struct InProcess {
    server: Server,
    limits: Limits,
}

impl InProcess {
    /// Creates a connector to `server`.
    #[must_use]
    pub fn new(server: Server) -> Self {
        Self {
            server,
            limits: Limits::default(),
        }
    }

    /// Sets the limits of the server.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl Connector for InProcess {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        let (here, there) = memory_pair();
        let context = TransportContext::default();
        let (server, limits) = (self.server.clone(), self.limits.clone());
        // Ends when the link is dropped.
        tokio::spawn(serve(server, there, limits, context, Signal::new()));
        let link: Arc<dyn Link> = TransportLink::start(here, inbox, MAX_QUEUE_BYTES);
        Box::pin(std::future::ready(Ok(link)))
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        "a server in this process".into()
    }
}
