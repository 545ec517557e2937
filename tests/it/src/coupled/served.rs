//! The way to a server of our own, in this process.

use std::sync::Arc;

use turnbuckle_http::{HttpConnector, HttpServerOptions, HttpSse, SseConnector, StreamableHttp};
use turnbuckle_server::Server;
use turnbuckle_session::transport::Connector;

use super::Posts;
use crate::harness::{Bind, Case};
use crate::wires::Wires;

/// Connects to `server` as the case says; what goes over HTTP is kept in `posts`.
pub(super) fn connector(case: Case, server: &Server, posts: &Posts) -> Arc<dyn Connector> {
    let (wires, server) = (Wires::in_pieces(&case.to_string()), server.clone());
    let at = |url| HttpConnector::new(url).expect("a URL");
    match case.binding {
        Bind::Pipe => Arc::new(wires.memory(server)),
        Bind::Stream => Arc::new(wires.lines(server)),
        Bind::Http => {
            let service = wires.web(StreamableHttp::new(server, HttpServerOptions::new()));
            let connector = at("http://localhost/mcp").http_client(service);
            Arc::new(connector.layer(posts.clone()))
        }
        Bind::Sse => {
            let service = wires.web(HttpSse::new(server, HttpServerOptions::new()));
            let connector = at("http://localhost/sse").http_client(service);
            Arc::new(SseConnector::new(connector.layer(posts.clone())))
        }
    }
}
