//! Clients and servers, joined by wires.

use std::fmt;
use std::sync::Arc;

use tokio::io::split;
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    Connector, Dispatch, Inbox, Link, LinkError, LinkKind, OpenFuture, TransportContext,
    TransportLink, serve,
};
use turnbuckle_stdio::{StdioOptions, StreamTransport, serve_stream};

use super::connections::Wires;
use super::stream::Carries;

/// Bytes that a line may have.
const MAX_LINE: usize = 1 << 20;

/// Bytes that wait for whoever is slow.
const QUEUE: usize = 64 << 10;

#[derive(Debug, Clone, Copy)]
enum Kind {
    Lines,
    Memory,
}

/// One server behind a new connection each time.
pub struct WireConnector {
    wires: Wires,
    kind: Kind,
    server: Arc<dyn Dispatch>,
}

impl WireConnector {
    fn new(wires: &Wires, kind: Kind, server: Arc<dyn Dispatch>) -> Self {
        Self {
            wires: wires.clone(),
            kind,
            server,
        }
    }
}

impl Wires {
    /// Returns a connector to a server over lines, as of standard input and output.
    #[must_use]
    pub fn lines(&self, server: impl Into<Arc<dyn Dispatch>>) -> WireConnector {
        WireConnector::new(self, Kind::Lines, server.into())
    }

    /// Returns a connector to a server over queues in memory.
    #[must_use]
    pub fn memory(&self, server: impl Into<Arc<dyn Dispatch>>) -> WireConnector {
        WireConnector::new(self, Kind::Memory, server.into())
    }
}

impl Connector for WireConnector {
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

impl fmt::Debug for WireConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireConnector")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
