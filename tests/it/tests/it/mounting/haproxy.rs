//! Servers behind HAProxy, which tells them the addresses of their clients. `cargo xtask haproxy` runs it.

use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::{Next, from_fn};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket};
use turnbuckle_http::{ClientAddress, HttpServer, HttpServerOptions, HttpShares, StreamableHttp};
use turnbuckle_session::handler::Rate;

use crate::http_serve::{initialize, read_all};
use crate::servers::echo;

/// HAProxy in front of a server. Its socket is its standard input.
struct Proxy {
    process: Child,
    address: SocketAddr,
    configuration: PathBuf,
}

impl Proxy {
    fn start(server: SocketAddr) -> Self {
        let configuration = std::env::temp_dir().join(format!("haproxy-{}.cfg", server.port()));
        let text = format!(
            "defaults\n mode http\n option forwardfor\n timeout connect 5s\n timeout client 30s\n \
             timeout server 30s\nfrontend clients\n bind fd@0\n default_backend servers\n\
             backend servers\n http-reuse always\n server mcp {server}\n"
        );
        std::fs::write(&configuration, text).unwrap();
        let listener = StdListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let process = Command::new("haproxy")
            .args(["-db", "-f"])
            .arg(&configuration)
            .stdin(Stdio::from(OwnedFd::from(listener)))
            .spawn()
            .expect("haproxy is installed");
        Self {
            process,
            address,
            configuration,
        }
    }

    /// Opens a session from an address. Returns the status.
    async fn initialize(&self, source: Ipv4Addr, head: &str) -> String {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((source, 0).into()).unwrap();
        let mut stream = socket.connect(self.address).await.unwrap();
        let request = initialize().replacen("\r\n", &format!("\r\n{head}"), 1);
        stream.write_all(request.as_bytes()).await.unwrap();
        let response = read_all(stream).await;
        response.split(' ').nth(1).unwrap_or_default().to_owned()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_file(&self.configuration);
    }
}

/// Returns settings under which each address may open one session.
fn options() -> HttpServerOptions {
    let once = Rate::per_second(0).burst(1);
    HttpServerOptions::new()
        .shares(HttpShares::new().address_handshake_rate(once))
        .trusted_proxies(["127.0.0.1"])
}

/// Shows an endpoint the address of the peer, which axum knows.
async fn show_peer(
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> axum::response::Response {
    request.extensions_mut().insert(ClientAddress(peer.ip()));
    next.run(request).await
}

async fn start_mounted() -> SocketAddr {
    let endpoint = StreamableHttp::new(echo(), options());
    let router = Router::new()
        .route_service("/mcp", endpoint)
        .layer(from_fn(show_peer));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(axum::serve(listener, router).into_future());
    address
}

async fn start_own() -> SocketAddr {
    let server = HttpServer::bind(echo(), "127.0.0.1:0", options());
    let server = server.await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.serve());
    address
}

#[tokio::test]
#[ignore = "needs haproxy: cargo xtask haproxy"]
async fn clients_behind_haproxy_have_their_own_addresses_whatever_they_write() {
    let [one, two] = [Ipv4Addr::new(127, 0, 0, 5), Ipv4Addr::new(127, 0, 0, 6)];
    for server in [start_own().await, start_mounted().await] {
        let proxy = Proxy::start(server);
        for (source, head, status) in [
            (one, "", "200"),
            (one, "", "429"),
            (one, "X-Forwarded-For: 203.0.113.5\r\n", "429"),
            (one, "X-Forwarded-For: 203.0.113.6, 127.0.0.1\r\n", "429"),
            (
                one,
                "X-Forwarded-For: \"\r\nX-Forwarded-For: 203.0.113.7\r\n",
                "429",
            ),
            (two, "X-Forwarded-For: 127.0.0.5\r\n", "200"),
            // HAProxy passes this header on. The client then has the address of HAProxy, and no other.
            (two, "Forwarded: for=203.0.113.8\r\n", "200"),
            (two, "Forwarded: for=203.0.113.9\r\n", "429"),
            (two, "Forwarded: for=127.0.0.6\r\n", "429"),
        ] {
            let found = proxy.initialize(source, head).await;
            assert_eq!(found, status, "{server} {source} {head:?}");
        }
    }
}
