//! Limits on the resources of one client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Method as Verb;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};
use turnbuckle_http::{HttpLimits, HttpServerOptions, HttpTimeouts};
use turnbuckle_it::web::Web;
use turnbuckle_server::{HandlerContext, Tool};
use turnbuckle_session::handler::{Limits, Rate};

use super::SseConnection;
use crate::refusals::Refusals;
use crate::servers::{echo, echo_builder};

const PING: &str = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;

#[tokio::test(start_paused = true)]
async fn the_connections_are_limited() {
    let web = Web::sse(
        &echo(),
        HttpServerOptions::new().http_limits(HttpLimits::new().max_sse_connections(2)),
    );
    let open = || async { web.ask(Verb::GET).to("/sse").send().await };
    let (first, _second) = (open().await, open().await);
    let refused = open().await;
    assert_eq!(refused.status, 503);
    let error = refused.json().await["error"]["message"].to_string();
    assert!(error.contains("HttpLimits::max_sse_connections"), "{error}");
    drop(first);
    assert_eq!(open().await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn the_bytes_of_a_message_are_limited() {
    let connection = SseConnection::open_with(
        &echo(),
        HttpServerOptions::new().max_message_bytes(1000),
        json!({}),
    )
    .await;
    let padded = |size: usize| format!("{PING:size$}");
    assert_eq!(connection.post(padded(1000)).send().await.status, 202);
    let (status, error) = connection.post(padded(1001)).json().await;
    assert_eq!(status, 413);
    let error = error["error"]["message"].to_string();
    assert!(
        error.contains("HttpServerOptions::max_message_bytes"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_client_that_says_nothing_is_let_go() {
    let refusals = Refusals::start();
    let options = HttpServerOptions::new()
        .timeouts(HttpTimeouts::new().handshake_timeout(Duration::from_secs(5)));
    let begin = Instant::now();
    let connection = SseConnection::connect(Web::sse(&echo(), options)).await;
    assert!(connection.stream.messages().await.is_empty());
    assert_eq!(begin.elapsed(), Duration::from_secs(5));
    assert_eq!(
        connection
            .web
            .post(PING)
            .to(&connection.messages)
            .send()
            .await
            .status,
        404
    );
    assert_eq!(refusals.count("HttpTimeouts::handshake_timeout"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_says_that_it_is_there() {
    let options = HttpServerOptions::new()
        .timeouts(HttpTimeouts::new().keep_alive_interval(Duration::from_secs(5)));
    let mut connection = SseConnection::open_with(&echo(), options, json!({})).await;
    connection.call(1, "sleep", json!({"seconds": 13})).await;
    let begin = Instant::now();
    for seconds in [5, 10] {
        let event = connection.stream.next().await.unwrap();
        assert_eq!((event.kind, event.data), (None, None));
        assert_eq!(begin.elapsed(), Duration::from_secs(seconds));
    }
    assert_eq!(connection.stream.message().await["id"], 1);
}

/// Checks that a client that does not read blocks those that write to it, and that its messages are
/// not read.
#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_waited_for() {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let flood = move |(): (), context: HandlerContext| {
        let count = counter.clone();
        async move {
            for step in 1..=1000 {
                context.progress(step, None).await;
                count.fetch_add(1, Ordering::Relaxed);
            }
            "done"
        }
    };
    let server = echo_builder()
        .tool(Tool::builder("flood").handler(flood))
        .build()
        .unwrap();
    let limits = Limits::new()
        .max_queue_bytes(4096)
        .progress_rate(Rate::UNLIMITED);
    let body_timeout = Duration::from_secs(10);
    let options = HttpServerOptions::new()
        .limits(limits)
        .timeouts(HttpTimeouts::new().body_timeout(body_timeout));
    let mut connection = SseConnection::open_with(&server, options, json!({})).await;
    connection.call(1, "flood", json!({})).await;
    // It reads once, and then no more.
    connection.stream.next().await.unwrap();
    sleep(Duration::from_secs(60)).await;
    let so_far = count.load(Ordering::Relaxed);
    assert!((1..200).contains(&so_far), "{so_far}");
    // There is room for a few messages; then a POST waits, and not for ever.
    let mut accepted = 0;
    let begin = loop {
        let begin = Instant::now();
        let got = connection.post(PING).send().await;
        if got.status != 202 {
            assert_eq!(got.status, 503);
            break begin;
        }
        accepted += 1;
    };
    assert_eq!(accepted, 4);
    assert_eq!(begin.elapsed(), body_timeout);
    // It reads again: nothing was lost.
    let mut steps = 1;
    let mut pings = 0;
    loop {
        let message = connection.stream.message().await;
        match message["id"].as_u64() {
            Some(9) => pings += 1,
            Some(_) => break,
            None => steps += 1,
        }
    }
    assert_eq!(steps, 1000);
    while pings < 4 {
        assert_eq!(connection.stream.message().await["id"], 9);
        pings += 1;
    }
}

/// The text of a body, which is shared to see whether it is still held.
struct Shared(Arc<String>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

#[tokio::test(start_paused = true)]
async fn a_waiting_message_does_not_hold_the_body_of_its_request() {
    let mut connection = SseConnection::connect(Web::sse(&echo(), HttpServerOptions::new())).await;
    // Nobody polls the stream: they wait.
    for text in [PING.to_owned(), format!("{PING:60000}")] {
        let text = Arc::new(text);
        let body = Bytes::from_owner(Shared(text.clone()));
        assert_eq!(connection.post(body).send().await.status, 202);
        assert_eq!(Arc::strong_count(&text), 1);
    }
    for _ in 0..2 {
        assert_eq!(connection.stream.message().await["id"], 9);
    }
}

#[tokio::test(start_paused = true)]
async fn a_post_that_waits_goes_on_when_there_is_room() {
    let mut limits = Limits::default();
    limits.max_queue_bytes = 1024;
    let mut connection =
        SseConnection::connect(Web::sse(&echo(), HttpServerOptions::new().limits(limits))).await;
    // Nobody polls the stream: the first fills the inbox, the second waits.
    assert_eq!(connection.post(PING).send().await.status, 202);
    let waiting = connection.post(PING.replace('9', "10")).send();
    let mut waiting = std::pin::pin!(waiting);
    assert!(timeout(Duration::from_secs(1), &mut waiting).await.is_err());
    assert_eq!(connection.stream.message().await["id"], 9);
    assert_eq!(waiting.await.status, 202);
    assert_eq!(connection.stream.message().await["id"], 10);
}
