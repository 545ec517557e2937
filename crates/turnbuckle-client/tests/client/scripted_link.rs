//! Links that fail or deliver as a test says.

use std::sync::Arc;

use turnbuckle_session::transport::{
    Connector, Inbox, Link, LinkError, LinkFuture, LinkKind, OpenFuture, OutboundMessage,
    SendFuture,
};

type Opened = Result<Arc<dyn Link>, LinkError>;

/// A connector whose links come from a function.
pub(crate) struct ScriptedConnector {
    kind: LinkKind,
    open: Box<dyn Fn(Arc<dyn Inbox>) -> Opened + Send + Sync>,
    fallback: Option<Arc<dyn Connector>>,
    reopens: bool,
}

impl ScriptedConnector {
    pub(crate) fn new(
        kind: LinkKind,
        open: impl Fn(Arc<dyn Inbox>) -> Opened + Send + Sync + 'static,
    ) -> Self {
        Self {
            kind,
            open: Box::new(open),
            fallback: None,
            reopens: true,
        }
    }

    pub(crate) fn fallback(mut self, fallback: Option<Arc<dyn Connector>>) -> Self {
        self.fallback = fallback;
        self
    }

    /// Makes the first link the only one.
    pub(crate) fn opens_once(mut self) -> Self {
        self.reopens = false;
        self
    }
}

impl Connector for ScriptedConnector {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        Box::pin(std::future::ready((self.open)(inbox)))
    }

    fn link_kind(&self) -> LinkKind {
        self.kind
    }

    fn can_reopen(&self) -> bool {
        self.reopens
    }

    fn fallback(&self) -> Option<Arc<dyn Connector>> {
        self.fallback.clone()
    }

    fn description(&self) -> String {
        "a scripted link".into()
    }
}

/// Returns a link that gives its messages to `send`. Each may have reached the server before the
/// future that `send` returns ends.
pub(crate) fn scripted_link(
    kind: LinkKind,
    send: impl Fn(OutboundMessage) -> SendFuture + Send + Sync + 'static,
) -> Arc<dyn Link> {
    Arc::new(ScriptedLink(kind, send))
}

struct ScriptedLink<F>(LinkKind, F);

impl<F: Fn(OutboundMessage) -> SendFuture + Send + Sync + 'static> Link for ScriptedLink<F> {
    fn kind(&self) -> LinkKind {
        self.0
    }

    fn try_send(&self, message: OutboundMessage) -> Result<(), OutboundMessage> {
        Err(message)
    }

    fn send(&self, message: OutboundMessage) -> SendFuture {
        (self.1)(message)
    }

    fn may_have_sent(&self) -> bool {
        true
    }

    fn close(&self) -> LinkFuture {
        Box::pin(std::future::ready(()))
    }
}
