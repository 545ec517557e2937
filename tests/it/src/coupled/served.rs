//! The way to a server of our own, in this process.

use std::sync::Arc;

use tokio::io::duplex;
use turnbuckle_http::{Config, HttpConnector, HttpSse, SseConnector, StreamableHttp};
use turnbuckle_server::Server;
use turnbuckle_session::{
    Connector, Dispatch, Inbox, Limits, Link, LinkError, LinkKind, Opening, Pump, Signal,
    TransportContext, pair, serve,
};
use turnbuckle_stdio::{StdioOptions, StreamTransport, serve_stream};

use super::Posts;
use crate::harness::{Bind, Case};

/// Bytes that a stream holds in one direction.
const STREAM_BYTES: usize = 64 << 10;

/// Bytes that a line may have.
const MAX_LINE: usize = 1 << 20;

/// Connects to `server` as the case says; what goes over HTTP is kept in `posts`.
pub(super) fn connector(case: Case, server: &Server, posts: &Posts) -> Arc<dyn Connector> {
    let server = server.clone();
    let at = |url| HttpConnector::new(url).expect("a URL");
    match case.binding {
        Bind::Pipe | Bind::Stream => Arc::new(Lines {
            server: server.into(),
            streams: case.binding == Bind::Stream,
        }),
        Bind::Http => {
            let service = StreamableHttp::new(server, Config::new());
            Arc::new(
                at("http://localhost/mcp")
                    .http(service)
                    .layer(posts.clone()),
            )
        }
        Bind::Sse => {
            let service = HttpSse::new(server, Config::new());
            let connector = at("http://localhost/sse").http(service);
            Arc::new(SseConnector::new(connector.layer(posts.clone())))
        }
    }
}

/// One server behind a new connection each time.
struct Lines {
    server: Arc<dyn Dispatch>,
    /// Whether bytes travel, and not whole frames.
    streams: bool,
}

impl Connector for Lines {
    fn open(&self, inbox: Arc<dyn Inbox>) -> Opening<'_> {
        let server = self.server.clone();
        let link: Arc<dyn Link> = if self.streams {
            let (writer, reading) = duplex(STREAM_BYTES);
            let (writing, reader) = duplex(STREAM_BYTES);
            let options = StdioOptions::new().max_line(MAX_LINE);
            tokio::spawn(serve_stream(server, reading, writing, options));
            let transport = StreamTransport::new(reader, writer, MAX_LINE);
            Pump::start(transport, inbox, STREAM_BYTES)
        } else {
            let (ours, theirs) = pair();
            let (limits, context) = (Limits::default(), TransportContext::default());
            tokio::spawn(serve(server, theirs, limits, context, Signal::new()));
            Pump::start(ours, inbox, STREAM_BYTES)
        };
        Box::pin(std::future::ready(Ok::<_, LinkError>(link)))
    }

    fn binding(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn describe(&self) -> String {
        "a server in this process".into()
    }
}
