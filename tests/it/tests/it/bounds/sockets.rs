//! Limits of our own HTTP server on its sockets. No test here depends on the speed of the machine.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use turnbuckle_http::{
    HttpLimits, HttpServer, HttpServerOptions, HttpShares, HttpTimeouts, ReplayLimits,
};
use turnbuckle_session::handler::{Limits, Rate, Signal};

use crate::refusals::Refusals;
use crate::servers::echo;

/// Long enough for anything that happens at all.
const PATIENCE: Duration = Duration::from_secs(60);

async fn start(options: HttpServerOptions) -> (String, Signal) {
    let server = HttpServer::bind(echo(), "127.0.0.1:0", options);
    let server = server.await.expect("a free port");
    let (address, shutdown) = (server.local_addr().unwrap(), server.shutdown());
    tokio::spawn(server.serve());
    (address.to_string(), shutdown)
}

/// Returns a request whose head has additional padding bytes and headers.
fn request(padding: usize, headers: usize) -> String {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#;
    let more: String = (0..headers).map(|n| format!("x-{n}: 1\r\n")).collect();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nx-padding: {}\r\n{more}\r\n{body}",
        body.len(),
        "x".repeat(padding),
    )
}

/// Reads the next response on a connection to the end of its body and returns its status.
async fn status(stream: &mut TcpStream) -> u16 {
    let mut text = String::new();
    let mut piece = [0; 1024];
    loop {
        let read = timeout(PATIENCE, stream.read(&mut piece)).await;
        let size = read.expect("a response").expect("no error");
        text.push_str(&String::from_utf8_lossy(&piece[..size]));
        if size == 0 || text.ends_with('}') || text.contains("content-length: 0") {
            break;
        }
    }
    let status = text.split(' ').nth(1).unwrap_or_else(|| panic!("{text:?}"));
    status.parse().expect("a status")
}

async fn ask(address: &str, request: &str) -> (TcpStream, u16) {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(request.as_bytes()).await.expect("room");
    let status = status(&mut stream).await;
    (stream, status)
}

/// Sends a request, and returns its refusal.
async fn refusal(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(request.as_bytes()).await.expect("room");
    let mut text = String::new();
    let mut piece = [0; 1024];
    while !text.ends_with('}') {
        let read = timeout(PATIENCE, stream.read(&mut piece)).await;
        let size = read.expect("a response").expect("no error");
        assert!(size > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&piece[..size]));
    }
    text
}

/// Asserts that a head is refused by 431, with a body that names the setting.
async fn assert_refused(address: &str, request: &str, setting: &str) {
    let text = refusal(address, request).await;
    assert!(text.starts_with("HTTP/1.1 431 "), "{text}");
    assert!(text.contains(setting), "{text}");
}

#[tokio::test]
async fn the_head_of_a_request_has_so_many_bytes() {
    for most in [1000, 16 << 10, 20_000] {
        let (address, shutdown) =
            start(HttpServerOptions::new().http_limits(HttpLimits::new().max_header_bytes(most)))
                .await;
        let head = |request: &str| request.find("\r\n\r\n").expect("a head") + 4;
        let padding = most - head(&request(0, 0));
        // It is no request of the protocol, but it was read.
        let at = request(padding, 0);
        assert_eq!((head(&at), ask(&address, &at).await.1), (most, 400));
        let over = request(padding + 1, 0);
        assert_eq!(head(&over), most + 1);
        assert_refused(&address, &over, "HttpLimits::max_header_bytes").await;
        // So much came that does not fit the buffer, and the head is not over.
        let over = &request(2 * padding + (8 << 10), 0)[..most.max(8 << 10)];
        assert_refused(&address, over, "HttpLimits::max_header_bytes").await;
        shutdown.close();
    }
}

#[tokio::test]
async fn heads_that_are_half_sent_count_for_the_memory_of_all_clients() {
    let limits = Limits::new().max_total_bytes(200_000);
    let options = HttpServerOptions::new().limits(limits);
    let (address, shutdown) =
        start(options.shares(HttpShares::new().max_address_percent(100))).await;
    let half = request(60_000, 0)[..50_000].to_owned();
    let mut connections = JoinSet::new();
    for _ in 0..8 {
        let (address, half) = (address.clone(), half.clone());
        connections.spawn(async move { refusal(&address, &half).await });
    }
    // Those for which there is room wait for the rest of their head.
    let refused = connections.join_next().await.expect("one of them").unwrap();
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(refused.contains("Limits::max_total_bytes"), "{refused}");
    // A short head needs no room.
    assert_eq!(ask(&address, &request(0, 0)).await.1, 400);
    shutdown.close();
}

#[tokio::test]
async fn a_limit_of_the_largest_value_is_no_limit() {
    let long = Duration::MAX;
    let options = HttpServerOptions::new()
        .http_limits(
            HttpLimits::new()
                .max_connections(usize::MAX)
                .max_headers(usize::MAX)
                .max_header_bytes(usize::MAX)
                .max_sessions(usize::MAX),
        )
        .max_message_bytes(usize::MAX)
        .timeouts(
            HttpTimeouts::new()
                .header_timeout(long)
                .body_timeout(long)
                .json_wait(long)
                .keep_alive_interval(long)
                .session_idle_timeout(long)
                .handshake_timeout(long)
                .shutdown_timeout(long),
        )
        .replay(ReplayLimits::new().stream_ttl(long));
    let (address, shutdown) = start(options).await;
    assert_eq!(ask(&address, &request(1, 20_000)).await.1, 400);
    // More do not fit a map of headers.
    assert_eq!(ask(&address, &request(1, 30_000)).await.1, 431);
    shutdown.close();
}

#[tokio::test]
async fn a_request_has_so_many_headers() {
    // Four are its own.
    for most in [30, 100, 200] {
        let (address, shutdown) =
            start(HttpServerOptions::new().http_limits(HttpLimits::new().max_headers(most))).await;
        assert_eq!(ask(&address, &request(1, most - 4)).await.1, 400, "{most}");
        for over in [most - 3, most, 2 * most] {
            let over = request(1, over);
            assert_refused(&address, &over, "HttpLimits::max_headers").await;
        }
        shutdown.close();
    }
}

#[tokio::test]
async fn open_connections_are_limited_and_further_ones_wait() {
    let refusals = Refusals::start();
    let (address, shutdown) = start(
        HttpServerOptions::new()
            .http_limits(HttpLimits::new().max_connections(2))
            .shares(HttpShares::new().max_address_percent(100)),
    )
    .await;
    let (first, _) = ask(&address, &request(1, 0)).await;
    let _second = ask(&address, &request(1, 0)).await;
    let mut third = TcpStream::connect(&address)
        .await
        .expect("a place in the line");
    third
        .write_all(request(1, 0).as_bytes())
        .await
        .expect("room");
    let mut byte = [0];
    let silent = timeout(Duration::from_millis(200), third.read(&mut byte)).await;
    assert!(silent.is_err(), "there is no place for it");
    drop(first);
    assert_eq!(status(&mut third).await, 400);
    shutdown.close();
    assert!(refusals.count("HttpLimits::max_connections") > 0);
}

#[tokio::test]
async fn a_head_that_does_not_come_is_not_waited_for() {
    let options = HttpServerOptions::new()
        .timeouts(HttpTimeouts::new().header_timeout(Duration::from_millis(50)));
    let (address, shutdown) = start(options).await;
    let mut stream = TcpStream::connect(&address).await.expect("a connection");
    stream.write_all(b"POST /mcp HT").await.expect("room");
    let mut rest = Vec::new();
    let ended = timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
    assert!(ended.is_ok(), "the connection ends");
    shutdown.close();
}

#[tokio::test]
async fn a_head_may_take_so_long() {
    let refusals = Refusals::start();
    // Longer than a busy machine takes from the answer to where the clock stands still.
    let (limit, brief) = (Duration::from_hours(1), Duration::from_mins(1));
    for (wait, in_time) in [(limit - brief, true), (limit + brief, false)] {
        let (address, shutdown) =
            start(HttpServerOptions::new().timeouts(HttpTimeouts::new().header_timeout(limit)))
                .await;
        // The wait for the next head begins with the answer to this.
        let (mut stream, _) = ask(&address, &request(1, 0)).await;
        // The clock stands still until it is told to go on, whatever the sockets wait for.
        tokio::time::pause();
        let (go, gone) = std::sync::mpsc::channel::<()>();
        let holding = tokio::task::spawn_blocking(move || gone.recv());
        tokio::time::advance(wait).await;
        if in_time {
            stream
                .write_all(request(1, 0).as_bytes())
                .await
                .expect("room");
            assert_eq!(status(&mut stream).await, 400);
        } else {
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
        }
        drop(go);
        assert!(holding.await.is_ok());
        tokio::time::resume();
        shutdown.close();
    }
    assert_eq!(refusals.count("HttpTimeouts::header_timeout"), 1);
}

#[tokio::test]
async fn each_connection_has_a_rate_of_its_own() {
    let limits = Limits::new().call_rate(Rate::per_second(0).burst(2));
    let (address, shutdown) = start(HttpServerOptions::new().limits(limits)).await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: server/discover\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len(),
    );
    for _ in 0..2 {
        let mut stream = TcpStream::connect(&address).await.expect("a connection");
        for expected in [200, 200, 429] {
            stream.write_all(request.as_bytes()).await.expect("room");
            assert_eq!(status(&mut stream).await, expected);
        }
    }
    shutdown.close();
}
