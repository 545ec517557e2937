//! Messages on their way to a server.

use std::borrow::Cow;
use turnbuckle_types::base::debug_fields;

use turnbuckle_types::RequestId;

/// A header: a name in lower case, and a value that is ready to be sent.
pub(crate) type Header = (Cow<'static, str>, Cow<'static, str>);

/// A message for the server, encoded.
#[derive(Clone)]
pub struct OutboundMessage {
    /// The message as JSON.
    pub frame: Vec<u8>,
    /// The kind of the message.
    pub kind: OutboundKind,
    /// The HTTP headers that mirror the message: names in lower case, values ready to be sent.
    /// Empty for links without headers.
    pub headers: Vec<(Cow<'static, str>, Cow<'static, str>)>,
}

debug_fields!(OutboundMessage { kind, bytes = |it| it.frame.len() });

/// The kind of an [`OutboundMessage`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboundKind {
    /// The `initialize` request of this id, which opens a legacy session.
    Initialize(RequestId),
    /// A request of this id.
    Request(RequestId),
    /// A notification.
    Notification,
    /// The response to a request of the server.
    Response,
}

impl OutboundKind {
    /// Returns the request's id; `None` for notifications and responses.
    #[must_use]
    pub fn request_id(&self) -> Option<&RequestId> {
        match self {
            Self::Initialize(id) | Self::Request(id) => Some(id),
            Self::Notification | Self::Response => None,
        }
    }
}
