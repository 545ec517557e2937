//! Connects the client to a scripted server over a byte stream in memory.

use std::sync::Arc;

use turnbuckle_session::transport::{
    Connector, Inbox, Link, LinkError, LinkKind, OpenFuture, TransportLink,
};
use turnbuckle_stdio::StreamTransport;

use tokio::io::DuplexStream;

use crate::wires::InPieces;

/// Bytes of a message that the client accepts unless it is set.
const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// Bytes that each direction holds.
const PIPE: usize = 64 << 10;

/// Connects to a server in this process, over a new pipe each time.
pub struct Lines {
    serve: Box<dyn Fn(DuplexStream) + Send + Sync>,
    /// Says how the pipe's bytes come in pieces.
    place: String,
    max_message_bytes: usize,
}

impl Lines {
    pub(super) fn new(place: String, serve: impl Fn(DuplexStream) + Send + Sync + 'static) -> Self {
        Self {
            serve: Box::new(serve),
            place,
            max_message_bytes: MAX_MESSAGE_BYTES,
        }
    }

    /// Sets how large a message the client accepts.
    #[must_use]
    pub fn max_message_bytes(self, max_message_bytes: usize) -> Self {
        Self {
            max_message_bytes,
            ..self
        }
    }
}

impl Connector for Lines {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        (self.serve)(theirs);
        let ours = InPieces::new(ours, &self.place);
        let (reader, writer) = tokio::io::split(ours);
        let transport = StreamTransport::new(reader, writer, self.max_message_bytes);
        let link: Arc<dyn Link> = TransportLink::start(transport, inbox, PIPE);
        Box::pin(std::future::ready(Ok::<_, LinkError>(link)))
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        "a scripted server".into()
    }
}
