//! Clients behind proxies, whose addresses the proxies tell.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use turnbuckle_http::{HttpServer, HttpServerOptions, HttpShares};
use turnbuckle_session::handler::Rate;

use super::server::server;
use super::*;

/// Returns the status of `initialize` with more lines in the head.
async fn initialize(address: SocketAddr, head: &str) -> String {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        },
    });
    let body = body.to_string();
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
