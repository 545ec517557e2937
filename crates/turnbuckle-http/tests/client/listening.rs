//! Our own server: its addresses, its routes, and what it says of its health.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tower_service::Service;
use turnbuckle_http::{
    HttpConnector, HttpRoutes, HttpServer, HttpServerOptions, HttpTimeouts, ListenAddress,
    RequestBody, ResponseBody,
};
use turnbuckle_session::handler::Signal;

use super::server::server;
use super::*;

/// Long enough for anything that happens at all.
const PATIENCE: Duration = Duration::from_secs(60);

async fn bind(address: impl Into<ListenAddress>, options: HttpServerOptions) -> HttpServer {
    HttpServer::bind(server(), address, options).await.unwrap()
}

/// Pings a server with a legacy client.
async fn ping(url: &str) {
    let connector = HttpConnector::new(url).unwrap();
    let client = Client::legacy(&connector, Revision::V2025_11_25).await;
    let answer = client.request(1, "ping", json!({})).await.unwrap();
    assert_eq!(answer["result"], json!({}), "{url}");
    client.link.close().await;
}

/// Serves, pings, and shuts down.
async fn reach(server: HttpServer) {
    let (url, shutdown) = (server.url(), server.shutdown());
    let serving = tokio::spawn(server.serve());
    ping(&url).await;
    shutdown.close();
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_server_listens_on_addresses_of_any_type() {
    let options = HttpServerOptions::new;
    let local = IpAddr::from(Ipv4Addr::LOCALHOST);
    reach(bind("127.0.0.1:0", options()).await).await;
    reach(bind(String::from("localhost:0"), options()).await).await;
    reach(bind(SocketAddr::from((local, 0)), options()).await).await;
    reach(bind((local, 0), options()).await).await;
    reach(bind(("localhost", 0), options()).await).await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    reach(bind(listener, options()).await).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    reach(bind(listener.into_std().unwrap(), options()).await).await;
}

/// A directory that is removed with its test.
#[cfg(unix)]
struct Directory(std::path::PathBuf);

#[cfg(unix)]
impl Directory {
    fn new(name: &str) -> Self {
        let name = format!("tb-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn address(&self) -> String {
        format!("unix:{}/mcp.sock", self.0.display())
    }

    fn is_empty(&self) -> bool {
        std::fs::read_dir(&self.0).unwrap().next().is_none()
    }
}

#[cfg(unix)]
impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_unix_socket_is_served_to_its_owner_and_removed_at_the_end() {
    use std::os::unix::fs::PermissionsExt;

    let directory = Directory::new("serve");
    let path = directory.0.join("mcp.sock");
    let mode = || path.metadata().unwrap().permissions().mode() & 0o777;
    let server = bind(directory.address(), HttpServerOptions::new()).await;
    assert_eq!(mode(), 0o600);
    assert_eq!(server.local_addr(), None);
    assert_eq!(server.url(), format!("{}:/mcp", directory.address()));
    reach(server).await;
    assert!(directory.is_empty());

    let address = ListenAddress::unix(&path, 0o660);
    let server = bind(address, HttpServerOptions::new())
        .await
        .path("deep/mcp");
    assert_eq!(mode(), 0o660);
    assert!(server.url().ends_with("/mcp.sock:/deep/mcp"));
    reach(server).await;

    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    reach(bind(listener, HttpServerOptions::new()).await).await;
    assert!(path.exists(), "who made the listener removes its file");
}

#[cfg(unix)]
#[tokio::test]
async fn only_a_socket_without_a_listener_is_replaced() {
    let directory = Directory::new("stale");
    let path = directory.0.join("mcp.sock");
    let refusal = async || {
        let refused = HttpServer::bind(server(), directory.address(), HttpServerOptions::new());
        refused.await.unwrap_err().to_string()
    };
    std::fs::write(&path, "a file").unwrap();
    let refused = refusal().await;
    assert!(
        refused.contains("no socket") && refused.contains("mcp.sock"),
        "{refused}"
    );
    assert!(path.exists());
    std::fs::remove_file(&path).unwrap();

    // A socket whose server has gone without removing it.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let first = bind(directory.address(), HttpServerOptions::new()).await;
    let refused = refusal().await;
    assert!(refused.contains("another server listens"), "{refused}");
    reach(first).await;
    assert!(directory.is_empty());
}

#[cfg(unix)]
#[tokio::test]
async fn an_unreachable_unix_socket_is_named() {
    let connector = HttpConnector::new("unix:/nowhere/mcp.sock").unwrap();
    let client = Client::open(&connector, Revision::NEWEST).await.unwrap();
    let error = client
        .request(1, "server/discover", modern(json!({})))
        .await;
    let error = error.unwrap_err();
    assert!(matches!(error, LinkError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("/nowhere/mcp.sock"), "{error}");
}

/// A service that answers with its name and the path.
#[derive(Clone)]
struct Named(&'static str);

impl Service<Request<RequestBody>> for Named {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Ready<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let text = format!("{} at {}", self.0, request.uri().path());
        ready(Ok(Response::new(text)))
    }
}

/// The service of a layer that refuses requests without a token.
#[derive(Clone)]
struct Guarded<S>(S);

type Guarding = Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, Infallible>> + Send>>;

impl Service<Request<RequestBody>> for Guarded<HttpRoutes> {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Guarding;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Guarding {
        let has_token = request.headers().contains_key("authorization");
        let response = self.0.call(request);
        Box::pin(async move {
            let mut response = response.await?;
            if !has_token {
                *response.status_mut() = StatusCode::UNAUTHORIZED;
            }
            Ok(response)
        })
    }
}

struct Guard;

impl tower_layer::Layer<HttpRoutes> for Guard {
    type Service = Guarded<HttpRoutes>;

    fn layer(&self, inner: HttpRoutes) -> Guarded<HttpRoutes> {
        Guarded(inner)
    }
}

/// A server that runs until the end of its test.
struct Running {
    address: SocketAddr,
    shutdown: Signal,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Running {
    fn start(server: HttpServer) -> Self {
        Self {
            address: server.local_addr().unwrap(),
            shutdown: server.shutdown(),
            serving: tokio::spawn(server.serve()),
        }
    }

    /// Sends a GET and returns the whole response.
    async fn get(&self, path: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let text = format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut response = String::new();
        let read = stream.read_to_string(&mut response);
        tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap();
        response
    }
}

#[tokio::test]
async fn routes_are_added_beside_those_of_the_transports() {
    let options = HttpServerOptions::new().http_sse(true);
    let server = bind("127.0.0.1:0", options).await;
    let server = server
        .route("metrics", Named("metrics"))
        .route("/mcp", Named("never"));
    let running = Running::start(server);
    let metrics = running.get("/metrics", "Host: anything\r\n").await;
    assert!(metrics.ends_with("metrics at /metrics"), "{metrics}");
    for (path, status) in [("/other", 404), ("/metrics/more", 404), ("/mcp", 400)] {
        let response = running.get(path, "Host: localhost\r\n").await;
        assert!(
            response.contains(&format!(" {status} ")),
            "{path}: {response}"
        );
    }
    let plain = "Host: localhost\r\nAccept: text/plain\r\n";
    let response = running.get("/sse", plain).await;
    assert!(response.contains(" 406 "), "{response}");
    running.shutdown.close();
    running.serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn layers_are_around_added_routes_and_the_fallback() {
    let server = bind("127.0.0.1:0", HttpServerOptions::new()).await;
    let server = server
        .route("/metrics", Named("metrics"))
        .fallback(Named("app"))
        .layer(Guard);
    let running = Running::start(server);
    for (path, expected) in [("/metrics", "metrics at /metrics"), ("/a/b", "app at /a/b")] {
        let refused = running.get(path, "").await;
        assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
        let passed = running.get(path, "Authorization: x\r\n").await;
        assert!(passed.ends_with(expected), "{passed}");
    }
}

#[tokio::test]
async fn a_server_tells_of_its_health_outside_of_layers_and_is_unready_once_it_shuts_down() {
    let options = HttpServerOptions::new()
        .health_routes(true)
        .timeouts(HttpTimeouts::new().shutdown_delay(Duration::from_secs(3600)));
    let running = Running::start(bind("127.0.0.1:0", options).await.layer(Guard));
    for path in ["/livez", "/readyz"] {
        let well = running.get(path, "Host: 10.1.2.3\r\n").await;
        assert!(well.starts_with("HTTP/1.1 200"), "{well}");
    }
    running.shutdown.close();
    let live = running.get("/livez", "").await;
    assert!(live.starts_with("HTTP/1.1 200"), "{live}");
    let ready = running.get("/readyz", "").await;
    assert!(ready.starts_with("HTTP/1.1 503"), "{ready}");
    running.serving.abort();
}

#[tokio::test]
async fn health_routes_are_off_by_default() {
    let running = Running::start(bind("127.0.0.1:0", HttpServerOptions::new()).await);
    let response = running.get("/livez", "Host: localhost\r\n").await;
    assert!(response.starts_with("HTTP/1.1 404"), "{response}");
}
