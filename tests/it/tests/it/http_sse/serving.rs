//! A server of our own with it, on a real socket. Nothing here depends on how fast anything is.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::timeout;
use turnbuckle_http::{HttpLimits, HttpServer, HttpServerOptions};
use turnbuckle_it::harness::modern_meta;
use turnbuckle_server::{HandlerContext, Tool};
use turnbuckle_wire::revision::Revision;

use crate::servers::{echo, echo_builder};

/// Long enough for anything that happens at all.
const PATIENCE: Duration = Duration::from_secs(60);

async fn bind(options: HttpServerOptions) -> HttpServer {
    HttpServer::bind(echo(), "127.0.0.1:0", options)
        .await
        .unwrap()
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

fn post(path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Sends a request, and what has come back when that is in it.
async fn exchange(address: SocketAddr, request: &str, end: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let text = read_until(&mut stream, end).await;
    (stream, text)
}

async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    let mut piece = [0; 1024];
    while !text.contains(end) {
        let read = timeout(PATIENCE, stream.read(&mut piece)).await;
        let size = read.expect("something in time").unwrap();
        assert!(size > 0, "the end instead of {end:?}: {text}");
        text.push_str(std::str::from_utf8(&piece[..size]).unwrap());
    }
    text
}

#[tokio::test]
async fn http_sse_is_off_by_default() {
    let server = bind(HttpServerOptions::new())
        .await
        .sse_paths("events", "posts");
    assert_eq!(server.sse_url(), None);
    let (address, shutdown) = (server.local_addr().unwrap(), server.shutdown());
    let serving = tokio::spawn(server.serve());
    for path in ["/sse", "/messages", "/events", "/posts"] {
        for request in [get(path), post(path, "{}")] {
            let (_, text) = exchange(address, &request, "\r\n\r\n").await;
            assert!(text.starts_with("HTTP/1.1 404"), "{text}");
        }
    }
    shutdown.close();
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn http_sse_is_served_beside_streamable_http() {
    for paths in [None, Some(("events", "/deep/posts"))] {
        let mut server = bind(HttpServerOptions::new().http_sse(true)).await;
        if let Some((stream, messages)) = paths {
            server = server.sse_paths(stream, messages);
        }
        let url = server.sse_url().unwrap();
        let (address, shutdown) = (server.local_addr().unwrap(), server.shutdown());
        let path = url.strip_prefix(&format!("http://{address}")).unwrap();
        assert_eq!(path, if paths.is_none() { "/sse" } else { "/events" });
        let serving = tokio::spawn(server.serve());

        let (mut events, head) = exchange(address, &get(path), "\n\n").await;
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        let messages = head.split("data: ").nth(1).unwrap().lines().next().unwrap();
        let place = paths.map_or("/messages", |paths| paths.1);
        assert!(messages.starts_with(&format!("{place}?sessionId=")));

        let params = json!({"protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": {"name": "n", "version": "1"}});
        let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": params})
        .to_string();
        let (_, accepted) = exchange(address, &post(messages, &initialize), "\r\n\r\n").await;
        assert!(accepted.starts_with("HTTP/1.1 202"), "{accepted}");
        read_until(&mut events, r#""protocolVersion":"2024-11-05""#).await;

        // The way of a client that does not know what it talks to: not here, so there.
        let (_, refused) = exchange(address, &post(path, &initialize), "\r\n\r\n").await;
        assert!(refused.starts_with("HTTP/1.1 405"), "{refused}");
        let (_, today) = exchange(address, &post("/mcp", &initialize), "\r\n\r\n").await;
        assert!(today.starts_with("HTTP/1.1 200"), "{today}");

        // A connection that stands does not hold up the end.
        shutdown.close();
        let mut rest = String::new();
        let end = timeout(PATIENCE, events.read_to_string(&mut rest)).await;
        end.expect("the end of the stream").unwrap();
        serving.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_closed_http_sse_connection_cancels_its_requests() {
    let (begun, given_up) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let tell = (begun.clone(), given_up.clone());
    let hold = move |(): (), context: HandlerContext| {
        let (begun, given_up) = tell.clone();
        async move {
            begun.notify_one();
            context.cancelled().await;
            given_up.notify_one();
        }
    };
    let server = echo_builder()
        .tool(Tool::builder("hold").handler(hold))
        .build()
        .unwrap();
    let options = HttpServerOptions::new()
        .http_sse(true)
        .http_limits(HttpLimits::new().max_sse_connections(1));
    let server = HttpServer::bind(server, "127.0.0.1:0", options).await;
    let server = server.unwrap();
    let (address, shutdown) = (server.local_addr().unwrap(), server.shutdown());
    let serving = tokio::spawn(server.serve());

    let (events, head) = exchange(address, &get("/sse"), "\n\n").await;
    let messages = head.split("data: ").nth(1).unwrap().lines().next().unwrap();
    let meta = Value::from(modern_meta(Revision::NEWEST, &json!({})));
    let params = json!({"name": "hold", "arguments": {}, "_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let (_, accepted) = exchange(address, &post(messages, &call.to_string()), "\r\n\r\n").await;
    assert!(accepted.starts_with("HTTP/1.1 202"), "{accepted}");
    let begins = timeout(PATIENCE, begun.notified()).await;
    begins.expect("it begins");
    let (_, full) = exchange(address, &get("/sse"), "\r\n\r\n").await;
    assert!(full.starts_with("HTTP/1.1 503"), "{full}");
    drop(events);
    let ends = timeout(PATIENCE, given_up.notified()).await;
    ends.expect("it is given up");
    let (_, gone) = exchange(address, &post(messages, &call.to_string()), "\r\n\r\n").await;
    assert!(gone.starts_with("HTTP/1.1 404"), "{gone}");
    exchange(address, &get("/sse"), "endpoint").await;
    shutdown.close();
    serving.await.unwrap().unwrap();
}
