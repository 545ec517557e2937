//! A server of our own, on a real socket. Nothing here depends on how fast anything is.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use turnbuckle_http::{HttpServer, HttpServerOptions, HttpTimeouts};
use turnbuckle_it::harness::modern_meta;
use turnbuckle_server::{HandlerContext, Server, Tool};
use turnbuckle_session::handler::Signal;
use turnbuckle_wire::revision::Revision;

use crate::refusals::Refusals;
use crate::servers::{echo, echo_builder};

/// Long enough for anything that happens at all.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

struct Running {
    address: SocketAddr,
    shutdown: Signal,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Running {
    async fn start(server: Server, options: HttpServerOptions) -> Self {
        let server = HttpServer::bind(server, "127.0.0.1:0", options).await;
        let server = server.unwrap().path("mcp");
        assert!(server.url().ends_with("/mcp"));
        Self {
            address: server.local_addr().unwrap(),
            shutdown: server.shutdown(),
            serving: tokio::spawn(server.serve()),
        }
    }

    async fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    /// Sends a text, and everything that comes back until the connection ends.
    async fn exchange(&self, text: &str) -> String {
        read_all(self.send(text).await).await
    }

    async fn wait_for_end(self) {
        let serving = timeout(PATIENCE, self.serving).await;
        serving.expect("it ends").unwrap().unwrap();
    }
}

pub(crate) async fn read_all(mut stream: TcpStream) -> String {
    let mut text = String::new();
    let read = timeout(PATIENCE, stream.read_to_string(&mut text)).await;
    read.expect("the end").unwrap();
    text
}

/// Reads until that has come.
pub(crate) async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    let mut piece = [0; 1024];
    while !text.contains(end) {
        let read = timeout(PATIENCE, stream.read(&mut piece)).await;
        let size = read
            .unwrap_or_else(|_| panic!("no {end:?}: {text}"))
            .unwrap();
        assert!(size > 0, "the end instead of {end:?}: {text}");
        text.push_str(std::str::from_utf8(&piece[..size]).unwrap());
    }
    text
}

fn call(tool: &str) -> Value {
    let meta = Value::from(modern_meta(Revision::NEWEST, &json!({})));
    let arguments = if tool == "echo" {
        json!({"text": "said"})
    } else {
        json!({})
    };
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

pub(crate) fn post(body: &Value, head: &str) -> String {
    let body = body.to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n{head}\r\n{body}",
        body.len()
    )
}

fn modern(tool: &str) -> String {
    let head = format!(
        "MCP-Protocol-Version: {}\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n",
        Revision::NEWEST
    );
    post(&call(tool), &head)
}

/// Returns a modern request that listens for changes.
pub(crate) fn listen() -> String {
    let meta = Value::from(modern_meta(Revision::NEWEST, &json!({})));
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    let listen = json!({"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen",
        "params": params});
    let head = format!(
        "MCP-Protocol-Version: {}\r\nMcp-Method: subscriptions/listen\r\n",
        Revision::NEWEST
    );
    post(&listen, &head)
}

/// Returns a legacy request that opens a session.
pub(crate) fn initialize() -> String {
    let params = json!({"protocolVersion": Revision::NEWEST_LEGACY.as_str(),
        "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}});
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    post(&initialize, "Connection: close\r\n")
}

/// Returns the request that opens the GET stream of a session that was opened by `opened`.
pub(crate) fn get_stream(opened: &str) -> String {
    let id = opened
        .lines()
        .find_map(|line| line.strip_prefix("mcp-session-id: "));
    format!(
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {}\r\n\r\n",
        id.unwrap()
    )
}

/// Creates a server whose tool `hold` signals when it begins and when it is cancelled, and runs
/// until then.
fn holding() -> (Server, Arc<Notify>, Arc<Notify>) {
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
    (server, begun, given_up)
}

// requirement: 92e567b64a2d bbd3e52f48cd
#[tokio::test]
async fn serving_binds_loopback_by_default() {
    let running = Running::start(echo(), HttpServerOptions::new()).await;
    assert!(running.address.ip().is_loopback());
    let refused = HttpServer::bind(echo(), "0.0.0.0:0", HttpServerOptions::new()).await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("HttpServerOptions::allowed_hosts"),
        "{refused}"
    );
    let named = HttpServerOptions::new().allowed_hosts(["mcp.example"]);
    HttpServer::bind(echo(), "0.0.0.0:0", named).await.unwrap();
    let foreign = "GET /mcp HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    let answer = running.exchange(foreign).await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

/// Every loopback address may be reached as itself, not only under the usual names.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_address_is_a_name_of_its_server() {
    let server = HttpServer::bind(echo(), "127.0.0.2:0", HttpServerOptions::new()).await;
    let server = server.unwrap();
    let running = Running {
        address: server.local_addr().unwrap(),
        shutdown: server.shutdown(),
        serving: tokio::spawn(server.serve()),
    };
    for (host, status) in [
        ("127.0.0.2", " 400 "),
        ("localhost", " 400 "),
        ("127.0.0.3", " 403 "),
    ] {
        let get = format!("GET /mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = running.exchange(&get).await;
        assert!(answer.contains(status), "{host}: {answer}");
    }
}

// requirement: 71317f251119
#[tokio::test]
async fn names_ignore_case() {
    let running = Running::start(echo(), HttpServerOptions::new()).await;
    let head = format!(
        "mcp-protocol-VERSION: {}\r\nMCP-METHOD: tools/call\r\nmcP-namE: echo\r\n\
         coNNection: close\r\n",
        Revision::NEWEST
    );
    let answer = running.exchange(&post(&call("echo"), &head)).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("said"), "{answer}");
}

#[tokio::test]
async fn a_request_without_a_host_is_refused() {
    let running = Running::start(echo(), HttpServerOptions::new()).await;
    for text in [
        "GET /mcp HTTP/1.0\r\n\r\n",
        "GET /mcp HTTP/1.1\r\nConnection: close\r\n\r\n",
    ] {
        let answer = running.exchange(text).await;
        assert!(answer.contains(" 403 "), "{answer}");
    }
    let old = "GET /mcp HTTP/1.0\r\nHost: localhost\r\n\r\n";
    let answer = running.exchange(old).await;
    assert!(answer.contains(" 400 "), "{answer}");
    let elsewhere = "GET /other HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let answer = running.exchange(elsewhere).await;
    assert!(answer.contains(" 404 "), "{answer}");
}

#[tokio::test]
async fn a_chunked_body_is_bounded_too() {
    let running = Running::start(echo(), HttpServerOptions::new().max_message_bytes(1000)).await;
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    let piece = format!("1f4\r\n{}\r\n", " ".repeat(500));
    let answer = running
        .exchange(&format!("{head}{piece}{piece}{piece}0\r\n\r\n"))
        .await;
    assert!(answer.contains(" 413 "), "{answer}");
    let answer = running.exchange(&format!("{head}{piece}0\r\n\r\n")).await;
    assert!(
        answer.contains(" 400 ") && answer.contains("-32700"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_client_that_closes_gives_its_request_up() {
    let (server, begun, given_up) = holding();
    // Closed while the answer is waited for, and closed while it is streamed.
    for wait in [Duration::from_secs(3600), Duration::ZERO] {
        let options = HttpServerOptions::new().timeouts(HttpTimeouts::new().json_wait(wait));
        let running = Running::start(server.clone(), options).await;
        let mut stream = running.send(&modern("hold")).await;
        timeout(PATIENCE, begun.notified())
            .await
            .expect("it begins");
        if wait.is_zero() {
            read_until(&mut stream, "text/event-stream").await;
        }
        drop(stream);
        timeout(PATIENCE, given_up.notified())
            .await
            .expect("it is given up");
    }
}

// requirement: 5f43537b76a9
#[tokio::test]
async fn shutdown_is_bounded() {
    let refusals = Refusals::start();
    let (server, begun, given_up) = holding();
    let options = HttpServerOptions::new().timeouts(
        HttpTimeouts::new()
            .json_wait(Duration::ZERO)
            .shutdown_timeout(Duration::from_millis(300)),
    );
    let running = Running::start(server, options).await;
    let mut held = running.send(&modern("hold")).await;
    timeout(PATIENCE, begun.notified())
        .await
        .expect("it begins");
    read_until(&mut held, "text/event-stream").await;
    let _idle = TcpStream::connect(running.address).await.unwrap();
    let begin = Instant::now();
    running.shutdown.close();
    running.wait_for_end().await;
    assert!(begin.elapsed() >= Duration::from_millis(300));
    read_all(held).await;
    timeout(PATIENCE, given_up.notified())
        .await
        .expect("it is given up");
    assert!(refusals.count("HttpTimeouts::shutdown_timeout") > 0);
}

#[tokio::test]
async fn shutdown_lets_streams_come_to_their_end() {
    let running = Running::start(
        echo(),
        HttpServerOptions::new().timeouts(HttpTimeouts::new().shutdown_timeout(PATIENCE)),
    )
    .await;
    let mut listening = running.send(&listen()).await;
    read_until(&mut listening, "acknowledged").await;
    let opened = running.exchange(&initialize()).await;
    let mut general = running.send(&get_stream(&opened)).await;
    read_until(&mut general, "retry").await;

    running.shutdown.close();
    let end = read_all(listening).await;
    assert!(end.contains(r#""id":7"#) && end.contains("result"), "{end}");
    read_all(general).await;
    running.wait_for_end().await;
}
