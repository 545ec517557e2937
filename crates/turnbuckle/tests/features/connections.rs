//! Connections of clients to new servers, over each transport.

use std::ops::Deref;
use std::task::{Context, Poll};

use http::Request;
use tower_service::Service;
use turnbuckle::client::EraPreference;
use turnbuckle::http::{
    HttpConnector, HttpServer, HttpServerOptions, HttpSse, SseConnector, StreamableHttp,
};
use turnbuckle::session::handler::{Limits, Signal};
use turnbuckle::session::transport::{TransportConnector, TransportContext, memory_pair, serve};
use turnbuckle::stdio::{Command, StdioOptions};
use turnbuckle::testing::{self, TestClient};
use turnbuckle::types::Principal;
use turnbuckle::{Client, ClientBuilder};
use turnbuckle_it::wires::Wires;

use crate::cells::{Cell, Transport};
use crate::readers::Web;
use crate::server::extractors::Tenant;
use crate::server::server;
use crate::telemetry;
use crate::user::User;

/// A client that is connected to a server.
pub(crate) enum Connection {
    /// Connected in memory to a server in this process.
    Tested(Box<TestClient>),
    Plain(Client),
}

impl Deref for Connection {
    type Target = Client;

    fn deref(&self) -> &Client {
        match self {
            Self::Tested(client) => client,
            Self::Plain(client) => client,
        }
    }
}

/// Connects a client to a new server with the transport and revision of a cell.
pub(crate) async fn connect(cell: &Cell, user: User) -> Connection {
    let notifications = cell.notifications.clone();
    let builder = builder(cell, user);
    if let Some(wires) = &cell.wires {
        return Connection::Plain(connect_over(cell, wires, builder).await);
    }
    let connected = match cell.transport {
        Transport::Memory => {
            let client = testing::client(server())
                .revision(cell.reader.revision)
                .without_answers()
                .configure(move |builder| user.configure_client(builder, &notifications));
            let client = client.connect().await.unwrap();
            return Connection::Tested(Box::new(client));
        }
        Transport::Stdio => builder.connect(process()).await,
        Transport::Http => match cell.reader.http {
            Web::Sse => {
                builder
                    .connect(SseConnector::new(serve_http().await.0))
                    .await
            }
            Web::Streamable => builder.connect(serve_http().await.1).await,
        },
    };
    Connection::Plain(connected.unwrap())
}

/// Connects a client to a new server over simulated connections.
async fn connect_over(cell: &Cell, wires: &Wires, builder: ClientBuilder) -> Client {
    let (server, options) = (server(), HttpServerOptions::new());
    let at = |url| with_test_header(HttpConnector::new(url).unwrap());
    let connected = match (cell.transport, cell.reader.http) {
        (Transport::Memory, _) => builder.connect(wires.memory(server)).await,
        (Transport::Stdio, _) => builder.connect(wires.lines(server)).await,
        (Transport::Http, Web::Sse) => {
            let connector =
                at("http://localhost/sse").http_client(wires.web(HttpSse::new(server, options)));
            builder.connect(SseConnector::new(connector)).await
        }
        (Transport::Http, Web::Streamable) => {
            let service = StreamableHttp::new(server, options);
            let connector = at("http://localhost/mcp").http_client(wires.web(service));
            builder.connect(connector).await
        }
    };
    connected.unwrap()
}

/// Adds the header that one of the features reads.
fn with_test_header(connector: HttpConnector) -> HttpConnector {
    connector.header("x-flavour", "sweet").unwrap()
}

pub(crate) fn builder(cell: &Cell, user: User) -> ClientBuilder {
    let builder = Client::builder("test", env!("CARGO_PKG_VERSION"))
        .era(EraPreference::Only(cell.reader.revision));
    user.configure_client(builder, &cell.notifications)
}

/// The environment variable that makes this executable the server.
const SERVES: &str = "TURNBUCKLE_FEATURES_SERVER";

/// Returns the command that starts this executable as a server: it runs only [`the_process`].
pub(crate) fn process() -> Command {
    Command::new(std::env::current_exe().unwrap())
        .args(["connections::the_process", "--exact", "--ignored"])
        .args(["--quiet", "--nocapture"])
        .env(SERVES, "1")
}

/// Serves on standard input and output. The test harness prints some lines before, which clients
/// ignore because they are no messages.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "it is the server's process that the other tests start"]
async fn the_process() {
    if std::env::var_os(SERVES).is_some() {
        telemetry::start();
        let options = StdioOptions::default();
        turnbuckle::stdio::run(server(), options).await.unwrap();
    }
}

/// Starts a new HTTP server and returns connectors for its HTTP+SSE and Streamable HTTP endpoints.
pub(crate) async fn serve_http() -> (HttpConnector, HttpConnector) {
    let options = HttpServerOptions::new().http_sse(true);
    let bound = HttpServer::bind(server(), "127.0.0.1:0", options).await;
    let bound = bound.unwrap();
    let to = |url: &str| with_test_header(HttpConnector::new(url).unwrap());
    let ways = (to(&bound.sse_url().unwrap()), to(&bound.url()));
    tokio::spawn(bound.serve());
    ways
}

/// Returns the principal of authenticated requests.
fn ada() -> Principal {
    Principal::new("https://issuer.example", "ada").scopes(["admin"])
}

/// Connects a client with the principal [`ada`] to a new server. Returns `None` for stdio, which
/// has no principals.
pub(crate) async fn connect_as(cell: &Cell) -> Option<Connection> {
    let builder = builder(cell, User::Mute);
    let (server, options) = (server(), HttpServerOptions::new());
    let at = |path| HttpConnector::new(path).unwrap();
    let connected = match cell.transport {
        Transport::Stdio => return None,
        Transport::Memory => {
            let (here, there) = memory_pair();
            let context = TransportContext {
                principal: Some(ada().into()),
                ..TransportContext::default()
            };
            tokio::spawn(serve(
                server,
                there,
                Limits::default(),
                context,
                Signal::new(),
            ));
            builder.connect(TransportConnector::new(here)).await
        }
        Transport::Http => match cell.reader.http {
            Web::Sse => {
                let service = SignedIn(HttpSse::new(server, options));
                let connector = at("http://localhost/sse").http_client(service);
                builder.connect(SseConnector::new(connector)).await
            }
            Web::Streamable => {
                let service = SignedIn(StreamableHttp::new(server, options));
                let connector = at("http://localhost/mcp").http_client(service);
                builder.connect(connector).await
            }
        },
    };
    Some(Connection::Plain(connected.unwrap()))
}

/// A service that sets the principal and the tenant of each request, like layers in front of an
/// endpoint.
#[derive(Clone)]
struct SignedIn<S>(S);

impl<S: Service<Request<B>>, B> Service<Request<B>> for SignedIn<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> S::Future {
        request.extensions_mut().insert(ada());
        request.extensions_mut().insert(Tenant("acme"));
        self.0.call(request)
    }
}
