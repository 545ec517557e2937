//! The client's way to a server: what a transport is to the end that connects.
//!
//! A [`Connector`] opens a [`Link`]; a link carries messages to the server and hands what comes
//! back to an [`Inbox`].

use std::borrow::Cow;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use turnbuckle_types::RequestId;
use turnbuckle_wire::revision::Features;

use crate::Frame;

/// What a [`Connector`] does to open a link.
pub type Opening<'a> = Pin<Box<dyn Future<Output = Result<Arc<dyn Link>, LinkError>> + Send + 'a>>;

/// What a [`Link`] does with one message.
pub type Carrying = Pin<Box<dyn Future<Output = Result<(), LinkError>> + Send>>;

/// What a [`Link`] does to get ready or to end.
pub type Settling = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Opens links to one server, again after one has died.
pub trait Connector: Send + Sync + 'static {
    /// Opens a link that hands what comes to `inbox`. Dropping the future gives up, and leaves
    /// nothing behind.
    ///
    /// # Errors
    /// When the server cannot be reached at all. A link that is opened without asking the server
    /// may find that out later.
    fn open(&self, inbox: Arc<dyn Inbox>) -> Opening<'_>;

    /// How its links deliver.
    fn binding(&self) -> LinkKind;

    /// Whether a link can be opened more than once.
    fn reopens(&self) -> bool {
        true
    }

    /// An older way to the same server, worth trying when this one turns out not to be spoken
    /// there.
    fn older(&self) -> Option<Arc<dyn Connector>> {
        None
    }

    /// The server's address for messages to people: a command or a URL, without secrets.
    fn describe(&self) -> String;
}

impl Connector for Arc<dyn Connector> {
    fn open(&self, inbox: Arc<dyn Inbox>) -> Opening<'_> {
        (**self).open(inbox)
    }

    fn binding(&self) -> LinkKind {
        (**self).binding()
    }

    fn reopens(&self) -> bool {
        (**self).reopens()
    }

    fn older(&self) -> Option<Arc<dyn Connector>> {
        (**self).older()
    }

    fn describe(&self) -> String {
        (**self).describe()
    }
}

/// How a link delivers what it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// One channel for everything: a request is carried when it is sent, and is cancelled by a
    /// message.
    Duplex,
    /// Every request has an exchange of its own: it is carried when its exchange has ended, and
    /// dropping that closes it.
    Exchange,
}

/// A connection to a server.
///
/// Dropping the last handle of a link ends it without ceremony; [`Link::close`] is the polite way.
pub trait Link: Send + Sync + 'static {
    /// How it delivers.
    fn kind(&self) -> LinkKind;

    /// Carries a message. What comes back on its way is handed to the inbox before the future
    /// resolves.
    ///
    /// The future resolves, for a duplex link, once the message has been taken to be sent; for
    /// exchanges, once the exchange has ended, resumed as often as its binding allows. Dropping it
    /// before gives the exchange up.
    fn carry(&self, parcel: Parcel) -> Carrying;

    /// Takes a message that is carried at once, without waiting for anything.
    ///
    /// # Errors
    /// Gives it back to be [carried](Self::carry): always, unless a link says otherwise.
    fn take(&self, parcel: Parcel) -> Result<(), Parcel> {
        Err(parcel)
    }

    /// Whether the server may have a message whose carrying was given up: a pipe never sends what it
    /// has not taken, a request of HTTP may be on its way.
    fn may_have_sent(&self) -> bool {
        self.kind() == LinkKind::Exchange
    }

    /// The handshake of a legacy session is over and `features` were negotiated: from now on the
    /// link may fetch what the server says of itself. Resolves once it does, or once it is clear
    /// that the server offers no such thing.
    fn established(&self, features: &'static Features) -> Settling {
        let _ = features;
        Box::pin(std::future::ready(()))
    }

    /// Says goodbye and ends the connection; resolves when nothing of it is left. Everything that
    /// is still being carried fails.
    fn close(&self) -> Settling;
}

/// A header: a name in lower case, and a value that is ready to be sent.
pub(crate) type Header = (Cow<'static, str>, Cow<'static, str>);

/// One message on its way to the server.
#[derive(Clone)]
pub struct Parcel {
    /// The message.
    pub frame: Vec<u8>,
    /// What it is.
    pub kind: ParcelKind,
    /// What a binding with headers shows of it: names in lower case, values ready to be sent.
    /// Empty for links that have none.
    pub headers: Vec<(Cow<'static, str>, Cow<'static, str>)>,
}

impl fmt::Debug for Parcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parcel")
            .field("kind", &self.kind)
            .field("bytes", &self.frame.len())
            .finish_non_exhaustive()
    }
}

/// What a parcel holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParcelKind {
    /// The request that opens a legacy session.
    Initialize(RequestId),
    /// A request of that id.
    Request(RequestId),
    /// A notification.
    Notification,
    /// The answer to a request of the server.
    Response,
}

impl ParcelKind {
    /// The id of the request, if it is one.
    #[must_use]
    pub fn request_id(&self) -> Option<&RequestId> {
        match self {
            Self::Initialize(id) | Self::Request(id) => Some(id),
            Self::Notification | Self::Response => None,
        }
    }
}

/// Who takes what comes from the server.
pub trait Inbox: Send + Sync + 'static {
    /// Takes a frame. `exchange` names the request on whose exchange it came, where it came on
    /// one; an error without an id there is that request's answer.
    fn receive(&self, frame: Frame, exchange: Option<&RequestId>);

    /// Whether the request of that id still waits for its answer.
    fn awaits(&self, id: &RequestId) -> bool;

    /// The link has died: nothing more will come.
    fn lost(&self, why: LinkError);
}

/// Why a link could not carry a message, or died.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum LinkError {
    /// The server could not be reached: nothing was sent.
    Unreachable {
        /// What went wrong.
        reason: String,
    },
    /// The connection ended under way: what was sent may have been acted upon.
    Broken {
        /// What went wrong.
        reason: String,
    },
    /// The server's process has ended.
    Exited {
        /// How, in words.
        status: String,
        /// The last that it said on its error output, cut short; empty where it is not kept.
        stderr: String,
    },
    /// The server answered with a status that carries no answer to the message.
    Status {
        /// The status.
        status: u16,
        /// The beginning of the body, cut short.
        body: String,
    },
    /// The server wants to know on whose behalf the message comes (401), or does not allow it
    /// (403).
    Unauthorized {
        /// The status.
        status: u16,
        /// The challenge, if there was one.
        challenge: Option<String>,
    },
    /// The session that the message belonged to is no longer known.
    SessionGone,
    /// What came was larger than is taken.
    TooLarge {
        /// The cap, in bytes.
        limit: usize,
    },
    /// What came is not what the transport's page says.
    Violation {
        /// What is wrong with it.
        reason: String,
    },
    /// The link was closed from this side.
    Closed,
}

impl LinkError {
    /// Whether the message cannot have been acted upon.
    #[must_use]
    pub(crate) fn is_unsent(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Unauthorized { .. } | Self::SessionGone => true,
            Self::Status { status, .. } => (400..500).contains(status),
            _ => false,
        }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { reason } => write!(f, "the server cannot be reached: {reason}"),
            Self::Broken { reason } => write!(f, "the connection broke: {reason}"),
            Self::Exited { status, stderr } if stderr.is_empty() => {
                write!(f, "the server's process ended ({status})")
            }
            Self::Exited { status, stderr } => {
                write!(
                    f,
                    "the server's process ended ({status}); it said: {stderr}"
                )
            }
            Self::Status { status, body } if body.is_empty() => {
                write!(f, "the server answered with HTTP {status} and no message")
            }
            Self::Status { status, body } => {
                write!(f, "the server answered with HTTP {status}: {body}")
            }
            Self::Unauthorized { status: 401, .. } => {
                f.write_str("the server asks for authorization (HTTP 401)")
            }
            Self::Unauthorized { status, .. } => {
                write!(f, "the server does not allow this (HTTP {status})")
            }
            Self::SessionGone => f.write_str("the server no longer knows the session"),
            Self::TooLarge { limit } => {
                write!(
                    f,
                    "the server sent a message of more than {limit} bytes (Command::max_line, \
                     HttpClientOptions::max_message)"
                )
            }
            Self::Violation { reason } => write!(f, "the server broke the protocol: {reason}"),
            Self::Closed => f.write_str("the connection was closed"),
        }
    }
}

impl std::error::Error for LinkError {}
