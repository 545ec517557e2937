//! Clients behind proxies, whose addresses the proxies tell.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tower_service::Service;
use turnbuckle_http::{
    ClientAddress, HttpServer, HttpServerOptions, HttpShares, RequestBody, StreamableHttp,
};
use turnbuckle_session::handler::Rate;

use super::server::server;
use super::*;

fn initialize_message() -> String {
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        },
    });
    message.to_string()
}

/// Returns the status of `initialize` with more lines in the head.
async fn initialize(address: SocketAddr, head: &str) -> String {
    let body = initialize_message();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n{head}\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response.split(' ').nth(1).unwrap_or_default().to_owned()
}

/// Serves clients of which each address may open one session.
async fn start(proxies: &[&str]) -> SocketAddr {
    let once = Rate::per_second(0).burst(1);
    let options = HttpServerOptions::new()
        .shares(HttpShares::new().address_handshake_rate(once))
        .trusted_proxies(proxies.iter().copied());
    let server = HttpServer::bind(server(), "127.0.0.1:0", options);
    let server = server.await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.serve());
    address
}

#[tokio::test]
async fn a_client_behind_a_trusted_proxy_has_its_own_address() {
    let address = start(&["127.0.0.0/8"]).await;
    for (head, status) in [
        ("X-Forwarded-For: 198.51.100.1\r\n", "200"),
        ("X-Forwarded-For: 198.51.100.1\r\n", "429"),
        // The same client pretends to be others.
        ("X-Forwarded-For: 203.0.113.5, 198.51.100.1\r\n", "429"),
        (
            "X-Forwarded-For: 203.0.113.6\r\nX-Forwarded-For: 198.51.100.1\r\n",
            "429",
        ),
        ("X-Forwarded-For: 198.51.100.1, 127.0.0.9\r\n", "429"),
        ("Forwarded: for=198.51.100.1\r\n", "429"),
        ("Forwarded: for=198.51.100.2\r\n", "200"),
        // The address of the proxy stands for clients that it does not name.
        ("X-Forwarded-For: 203.0.113.5, unknown\r\n", "200"),
        (
            "X-Forwarded-For: 203.0.113.7\r\nForwarded: for=203.0.113.8\r\n",
            "429",
        ),
        ("", "429"),
    ] {
        assert_eq!(initialize(address, head).await, status, "{head}");
    }
}

#[tokio::test]
async fn without_trusted_proxies_headers_name_nobody() {
    let address = start(&[]).await;
    let head = |number| format!("X-Forwarded-For: 198.51.100.{number}\r\n");
    assert_eq!(initialize(address, &head(1)).await, "200");
    assert_eq!(initialize(address, &head(2)).await, "429");
}

#[tokio::test]
async fn a_mounted_endpoint_believes_a_proxy_whose_address_a_layer_shows() {
    let once = Rate::per_second(0).burst(1);
    let options = HttpServerOptions::new()
        .shares(HttpShares::new().address_handshake_rate(once))
        .trusted_proxies(["10.0.0.1"]);
    let endpoint = StreamableHttp::new(server(), options);
    let initialize = async |peer: Option<[u8; 4]>, client: &str| {
        let request = Request::post("http://localhost/mcp")
            .header("content-type", "application/json")
            .header("x-forwarded-for", client)
            .body(Full::<Bytes>::from(initialize_message()));
        let mut request = request.unwrap();
        if let Some(peer) = peer {
            request.extensions_mut().insert(ClientAddress(peer.into()));
        }
        endpoint.answer(request).await.status().as_u16()
    };
    let (proxy, other) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    for (peer, client, status) in [
        (Some(proxy), "198.51.100.1", 200),
        (Some(proxy), "198.51.100.1", 429),
        (Some(proxy), "198.51.100.2", 200),
        (Some(other), "198.51.100.3", 200),
        (Some(other), "198.51.100.4", 429),
        // No address, and no share of one.
        (None, "198.51.100.1", 200),
        (None, "198.51.100.1", 200),
    ] {
        assert_eq!(initialize(peer, client).await, status, "{peer:?} {client}");
    }
}

/// A route that answers with the address of the client.
#[derive(Clone)]
struct WhoAmI;

impl Service<Request<RequestBody>> for WhoAmI {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let client = request.extensions().get::<ClientAddress>();
        let client = client.map_or("nobody".into(), |client| client.0.to_string());
        ready(Ok(Response::new(client.into())))
    }
}

#[tokio::test]
async fn routes_see_the_address_that_a_trusted_proxy_names() {
    for (proxies, expected) in [(&["127.0.0.1"][..], "198.51.100.1"), (&[], "127.0.0.1")] {
        let options = HttpServerOptions::new().trusted_proxies(proxies.iter().copied());
        let server = HttpServer::bind(server(), "127.0.0.1:0", options);
        let server = server.await.unwrap().route("/who", WhoAmI);
        let mut stream = TcpStream::connect(server.local_addr().unwrap())
            .await
            .unwrap();
        tokio::spawn(server.serve());
        let request = "GET /who HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
                       X-Forwarded-For: 203.0.113.1, 198.51.100.1\r\n\r\n";
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        assert!(response.ends_with(expected), "{response}");
    }
}
