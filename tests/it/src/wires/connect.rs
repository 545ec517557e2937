//! Clients and servers, joined by wires.

use std::fmt;
use std::sync::Arc;

use tokio::io::split;
use turnbuckle_session::{
    Connector, Dispatch, Inbox, Limits, Link, LinkError, LinkKind, OpenFuture, Signal,
    TransportContext, TransportLink, serve,
};
use turnbuckle_stdio::{StdioOptions, StreamTransport, serve_stream};

use super::Wires;
use super::stream::Carries;

/// Bytes that a line may have.
const MAX_LINE: usize = 1 << 20;

/// Bytes that wait for whoever is slow.
const QUEUE: usize = 64 << 10;

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Lines,
    Memory,
}

/// One server behind a new connection each time.
pub struct Joint {
    wires: Wires,
    kind: Kind,
    server: Arc<dyn Dispatch>,
}

impl Joint {
    pub(super) fn new(wires: &Wires, kind: Kind, server: Arc<dyn Dispatch>) -> Self {
        Self {
            wires: wires.clone(),
            kind,
            server,
        }
    }
}

impl Connector for Joint {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        let server = self.server.clone();
        let link: Arc<dyn Link> = match self.kind {
            Kind::Lines => {
                let (client, theirs, _) = self.wires.stream(Carries::Lines);
                let (reader, writer) = split(theirs);
                let options = StdioOptions::new().max_message_bytes(MAX_LINE);
                tokio::spawn(serve_stream(server, reader, writer, options));
                let (reader, writer) = split(client);
                TransportLink::start(StreamTransport::new(reader, writer, MAX_LINE), inbox, QUEUE)
            }
            Kind::Memory => {
                let (client, theirs) = self.wires.frames();
                let (limits, context) = (Limits::default(), TransportContext::default());
                tokio::spawn(serve(server, theirs, limits, context, Signal::new()));
                TransportLink::start(client, inbox, QUEUE)
            }
        };
        Box::pin(std::future::ready(Ok::<_, LinkError>(link)))
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        format!("a server behind {:?}", self.kind)
    }
}

impl fmt::Debug for Joint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joint")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
