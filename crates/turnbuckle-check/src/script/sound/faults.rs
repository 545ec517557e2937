//! Faults of a correct server: functions that change one thing of what goes through it.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, request, response};
use serde_json::Value;
use turnbuckle_wire::revision::Revision;

type RequestFault = dyn Fn(&mut Request<Bytes>) + Send + Sync;
type HeadFault = dyn Fn(&request::Parts, &mut response::Parts) + Send + Sync;
type MessageFault = dyn Fn(&mut Value) -> Option<Vec<Value>> + Send + Sync;
type ReplyFault = dyn Fn(&Cause, &mut Vec<Value>) + Send + Sync;
type LineFault = dyn Fn(&mut Vec<u8>) + Send + Sync;
type EventFault = dyn Fn(&mut String) + Send + Sync;

/// The message of a client for which a server sends something.
#[derive(Debug, Clone, Default)]
pub struct Cause {
    /// The message; null if the server sends of its own accord, or the message is no JSON.
    pub message: Value,
    /// The revision that the handshake of the session agreed on.
    pub revision: Option<Revision>,
    /// True if the client has sent `notifications/initialized` before.
    pub is_initialized: bool,
}

/// The functions that change what goes through a server; each is called for everything of its kind.
#[derive(Clone, Default)]
pub(super) struct Faults {
    pub(super) request: Option<Arc<RequestFault>>,
    pub(super) head: Option<Arc<HeadFault>>,
    pub(super) message: Option<Arc<MessageFault>>,
    pub(super) reply: Option<Arc<ReplyFault>>,
    pub(super) read_line: Option<Arc<LineFault>>,
    pub(super) line: Option<Arc<LineFault>>,
    pub(super) event: Option<Arc<EventFault>>,
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").finish_non_exhaustive()
    }
}

impl Faults {
    /// Applies the fault of requests.
    pub(super) fn apply_to_request(&self, request: &mut Request<Bytes>) {
        if let Some(fault) = &self.request {
            fault(request);
        }
    }

    /// Applies the fault of heads.
    pub(super) fn apply_to_head(&self, request: &request::Parts, head: &mut response::Parts) {
        if let Some(fault) = &self.head {
            fault(request, head);
        }
    }

    /// Applies the fault of messages. Returns the reaction, if it is not the server's own.
    pub(super) fn apply_to_message(&self, message: &mut Value) -> Option<Vec<Value>> {
        let fault = self.message.as_ref().filter(|_| message.is_object());
        fault.and_then(|fault| fault(message))
    }

    /// Returns what is sent instead of a message of the server.
    pub(super) fn apply_to_reply(&self, cause: &Cause, message: Value) -> Vec<Value> {
        let mut messages = vec![message];
        if let Some(fault) = &self.reply {
            fault(cause, &mut messages);
        }
        messages
    }

    /// Applies the fault of lines that are read.
    pub(super) fn apply_to_read_line(&self, line: &mut Vec<u8>) {
        if let Some(fault) = &self.read_line {
            fault(line);
        }
    }

    /// Returns the line of a message, with its end.
    pub(super) fn line_of(&self, message: &Value) -> Vec<u8> {
        let mut line = format!("{message}\n").into_bytes();
        if let Some(fault) = &self.line {
            fault(&mut line);
        }
        line
    }

    /// Returns an event as it is sent.
    pub(super) fn event_of(&self, mut event: String) -> Bytes {
        if let Some(fault) = &self.event {
            fault(&mut event);
        }
        event.into()
    }
}
