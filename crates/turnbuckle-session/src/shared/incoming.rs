//! Incoming requests and notifications on their way to a handler, and what a handler returns.

use std::borrow::Cow;
use std::fmt;
use std::pin::Pin;
use turnbuckle_types::base::debug_fields;

use turnbuckle_types::{ErrorKind, ProtocolError};
use turnbuckle_wire::era::headers::HeaderSource;
use turnbuckle_wire::era::{Params, Reply};
use turnbuckle_wire::revision::{Features, Method, Party};

/// A decoded request, borrowed from its frame.
#[derive(Clone, Copy)]
pub struct IncomingRequest<'a> {
    /// The method, if the specification defines it.
    pub method: Option<Method>,
    /// The method name as it was received.
    pub name: &'a str,
    /// The parameters that were captured while the frame was decoded.
    pub params: &'a Params<'a>,
    /// The whole message, for a handler that needs more than the captured parameters.
    pub text: &'a str,
    /// The headers of the HTTP request, if they have to mirror the arguments of a tool.
    pub headers: Option<&'a dyn HeaderSource>,
}

/// A decoded notification, borrowed from its frame.
#[derive(Clone, Copy)]
pub struct IncomingNotification<'a> {
    /// The method, if the specification defines it.
    pub method: Option<Method>,
    /// The method name as it was received.
    pub name: &'a str,
    /// The whole message.
    pub text: &'a str,
}

debug_fields!(IncomingRequest<'a> { name, bytes = |it| it.text.len() });

debug_fields!(IncomingNotification<'a> { name, bytes = |it| it.text.len() });

/// The future of a handler that was not ready at once.
pub type HandlerFuture = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// The outcome of calling a handler: a reply, or the future of one.
pub enum HandlerOutcome {
    /// The handler is done.
    Ready(Reply),
    /// The handler has to be polled. A session polls it once in place, and in a task from then on.
    Pending(HandlerFuture),
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

/// Returns the method of a request for `receiver`: `None` if the specification defines no such
/// method in any revision, or if the revision leaves its name to extensions of servers.
///
/// # Errors
/// Returns an error if the revision with these `features` has no such method for `receiver`.
pub(crate) fn received_method(
    name: &str,
    receiver: Party,
    features: &Features,
) -> Result<Option<Method>, ProtocolError> {
    match Method::parse(name) {
        Some(method) if !method.is_received_by(receiver, features.revision) => {
            let may_be_extension = features.extensions && receiver == Party::Server;
            match may_be_extension && method.is_free_for_extensions() {
                true => Ok(None),
                false => Err(method_not_found(name)),
            }
        }
        method => Ok(method),
    }
}

/// Returns the error for a method that does not exist.
pub(crate) fn method_not_found(name: &str) -> ProtocolError {
    let shown: Cow<'_, str> = match name.char_indices().nth(64) {
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
        None => Cow::Borrowed(name),
    };
    ProtocolError::new(
        ErrorKind::MethodNotFound,
        format!("there is no method {shown:?} here"),
    )
}
