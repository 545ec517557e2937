//! Other ways in which a host reaches the server: on a Unix socket, and as one of many servers.

use turnbuckle::Client;
use turnbuckle::client::EraPreference;
use turnbuckle::http::SseConnector;
use turnbuckle::servers::{InProcess, Proxy, Servers, ServersBuilder};

use crate::cells::{Cell, Transport};
use crate::connections::{builder, process, serve_http};
use crate::readers::Web;
use crate::server::server;
use crate::user::User;

/// Connects the server as `shop`, beside another one, with the transport and revision of a cell.
/// Returns `None` for simulated connections.
pub(crate) async fn connect_among_others(cell: &Cell) -> Option<Servers> {
    Some(among_others(cell).await?.connect().await.unwrap())
}

/// Connects a client, whose user answers, to a proxy in front of these servers. Both sides have the
/// revision of the cell.
pub(crate) async fn connect_through_proxy(cell: &Cell) -> Option<(Client, Proxy)> {
    let proxy = among_others(cell)
        .await?
        .proxy(turnbuckle::Server::new("proxy", "1.0.0"));
    let proxy = proxy.await.unwrap();
    let front = InProcess::new(proxy.server().clone());
    let client = builder(cell, User::Answers).connect(front).await;
    Some((client.unwrap(), proxy))
}

async fn among_others(cell: &Cell) -> Option<ServersBuilder> {
    if cell.wires.is_some() {
        return None;
    }
    let revision = cell.reader.revision;
    let builder = Servers::builder("host", "1.0.0")
        .clients(move |client| client.era(EraPreference::Only(revision)))
        .server("other", InProcess::new(server()));
    Some(match (cell.transport, cell.reader.http) {
        (Transport::Memory, _) => builder.server("shop", InProcess::new(server())),
        (Transport::Stdio, _) => builder.server("shop", process()),
        (Transport::Http, Web::Sse) => {
            builder.server("shop", SseConnector::new(serve_http().await.0))
        }
        (Transport::Http, Web::Streamable) => builder.server("shop", serve_http().await.1),
    })
}

#[cfg(unix)]
pub(crate) mod socket {
    use std::io;

    use tokio::task::JoinHandle;
    use turnbuckle::http::{HttpConnector, HttpServer, HttpServerOptions};
    use turnbuckle::session::handler::Signal;

    use super::*;

    /// A client of a server on a Unix socket.
    pub(crate) struct SocketClient {
        pub(crate) client: Client,
        shutdown: Signal,
        serving: JoinHandle<io::Result<()>>,
    }

    impl SocketClient {
        /// Connects to a new server with the revision of a cell. Returns `None` unless the cell's
        /// transport is HTTP over real connections.
        pub(crate) async fn connect(cell: &Cell) -> Option<Self> {
            if cell.transport != Transport::Http || cell.wires.is_some() {
                return None;
            }
            let name = format!("tb-{}-{}", cell.reader.revision, std::process::id());
            let address = format!("unix:{}", std::env::temp_dir().join(name).display());
            let options = HttpServerOptions::new().http_sse(true);
            let bound = HttpServer::bind(server(), address, options).await.unwrap();
            let (url, sse_url) = (bound.url(), bound.sse_url().unwrap());
            let shutdown = bound.shutdown();
            let serving = tokio::spawn(bound.serve());
            let to = |url: &str| HttpConnector::new(url).unwrap();
            let builder = builder(cell, User::Answers);
            let client = match cell.reader.http {
                Web::Sse => builder.connect(SseConnector::new(to(&sse_url))).await,
                Web::Streamable => builder.connect(to(&url)).await,
            };
            Some(Self {
                client: client.unwrap(),
                shutdown,
                serving,
            })
        }

        /// Shuts the server down, which removes the socket.
        pub(crate) async fn close(self) {
            self.client.close().await;
            self.shutdown.close();
            self.serving.await.unwrap().unwrap();
        }
    }
}
