//! The transport of a client: a [`Connector`] opens a [`Link`], and a link delivers messages to the
//! server and hands what comes back to an [`Inbox`].

use std::pin::Pin;
use std::sync::Arc;

use turnbuckle_types::RequestId;
use turnbuckle_wire::revision::Features;

use crate::client::link_error::LinkError;
use crate::client::outbound_message::OutboundMessage;
use crate::client::user_waits::UserWaits;
use crate::shared::transport::Frame;

/// The future of [`Connector::open`].
pub type OpenFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Arc<dyn Link>, LinkError>> + Send + 'a>>;

/// The future of [`Link::send`].
pub type SendFuture = Pin<Box<dyn Future<Output = Result<(), LinkError>> + Send>>;

/// The future of [`Link::complete_handshake`] and [`Link::close`].
pub type LinkFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A factory of links to one server. The client opens another link after one has died.
pub trait Connector: Send + Sync + 'static {
    /// Opens a link that hands the server's messages to `inbox`.
    ///
    /// Dropping the future gives up, and leaves nothing behind.
    ///
    /// # Errors
    /// Fails when the server cannot be reached. A link that is opened without contacting the server
    /// may find that out later.
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_>;

    /// Returns the kind of its links.
    fn link_kind(&self) -> LinkKind;

    /// Returns whether a link can be opened more than once.
    fn can_reopen(&self) -> bool {
        true
    }

    /// Returns a connector to the same server over an older transport. The client tries it when the
    /// server does not support this one.
    fn fallback(&self) -> Option<Arc<dyn Connector>> {
        None
    }

    /// Returns the server's address for messages to people: a command or a URL, without secrets.
    fn description(&self) -> String;

    /// Returns the times in which requests wait for their user, which timeouts do not count. By
    /// default no request of this connector ever waits.
    fn user_waits(&self) -> UserWaits {
        UserWaits::default()
    }
}

impl Connector for Arc<dyn Connector> {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        (**self).open(inbox)
    }

    fn link_kind(&self) -> LinkKind {
        (**self).link_kind()
    }

    fn can_reopen(&self) -> bool {
        (**self).can_reopen()
    }

    fn fallback(&self) -> Option<Arc<dyn Connector>> {
        (**self).fallback()
    }

    fn description(&self) -> String {
        (**self).description()
    }

    fn user_waits(&self) -> UserWaits {
        (**self).user_waits()
    }
}

/// The two kinds of links, by how they deliver messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// One channel carries everything. A message is delivered when it is sent, and a request is
    /// cancelled by a notification.
    Duplex,
    /// Every message has an exchange of its own, such as an HTTP request. Sending ends when the
    /// exchange ends, and dropping the future of [`Link::send`] closes the exchange.
    Exchange,
}

/// A connection to a server.
///
/// Dropping the last handle ends the connection at once; [`Link::close`] ends it in an orderly way.
pub trait Link: Send + Sync + 'static {
    /// Returns the kind of this link.
    fn kind(&self) -> LinkKind;

    /// Returns the name of the transport in traces and metrics, as OpenTelemetry's semantic
    /// conventions write it: by default `pipe` for a duplex link, and `tcp` for exchanges.
    fn network_transport(&self) -> &'static str {
        match self.kind() {
            LinkKind::Duplex => "pipe",
            LinkKind::Exchange => "tcp",
        }
    }

    /// Sends a message. What comes back on its exchange is handed to the inbox before the future
    /// resolves.
    ///
    /// On a duplex link the future resolves once the message is queued; on an exchange link once the
    /// exchange has ended, including streams that were resumed. Dropping the future earlier abandons
    /// the exchange.
    fn send(&self, message: OutboundMessage) -> SendFuture;

    /// Sends a message if that needs no waiting.
    ///
    /// # Errors
    /// Returns the message when it has to go through [`send`](Self::send), as all messages of
    /// exchanges have to.
    fn try_send(&self, message: OutboundMessage) -> Result<(), OutboundMessage>;

    /// Returns whether the server may have received a message whose [`send`](Self::send) did not
    /// finish. An HTTP request may be on its way, while a pipe never sends what it has not queued.
    fn may_have_sent(&self) -> bool;

    /// Completes the handshake of a legacy session, in which `features` were negotiated: the link
    /// may now open a stream for messages that belong to no request.
    ///
    /// The future resolves once that stream is open, or once it is clear that the server offers
    /// none.
    fn complete_handshake(&self, features: &'static Features) -> LinkFuture {
        let _ = features;
        Box::pin(std::future::ready(()))
    }

    /// Closes the connection in an orderly way. The future resolves when nothing of it is left; every
    /// [`send`](Self::send) that is not finished fails.
    fn close(&self) -> LinkFuture;
}

/// The receiver of everything that comes from the server over a link.
pub trait Inbox: Send + Sync + 'static {
    /// Handles a frame. `exchange` is the id of the request on whose exchange the frame came, where
    /// it came on one: there an error without an id answers that request.
    fn receive(&self, frame: Frame, exchange: Option<&RequestId>);

    /// Returns whether the request of this id still waits for its response.
    fn is_pending(&self, id: &RequestId) -> bool;

    /// Reports that the link has died: no more frames will come.
    fn fail(&self, reason: LinkError);
}
