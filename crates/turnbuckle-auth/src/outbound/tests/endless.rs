//! Servers that never end their answers.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::*;

/// A server that begins each answer with a text and repeats another until the client leaves.
struct EndlessServer {
    url: String,
    /// The bytes that were sent, and the connections that are open.
    counts: Arc<(AtomicUsize, AtomicUsize)>,
    _tasks: JoinSet<()>,
}

impl EndlessServer {
    async fn start(begin: &'static str, repeated: String, interval: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let counts = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let shared = counts.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let (counts, repeated) = (shared.clone(), repeated.clone());
                counts.1.fetch_add(1, Ordering::SeqCst);
                connections.spawn(async move {
                    let mut request = [0; 4096];
                    _ = stream.read(&mut request).await;
                    _ = stream.write_all(begin.as_bytes()).await;
                    while stream.write_all(repeated.as_bytes()).await.is_ok() {
                        counts.0.fetch_add(repeated.len(), Ordering::SeqCst);
                        if !interval.is_zero() {
                            sleep(interval).await;
                        }
                    }
                    counts.1.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self {
            url,
            counts,
            _tasks: tasks,
        }
    }
}

/// A timeout that no answer reaches here, however busy the machine is.
const LONG: Duration = Duration::from_secs(120);
const SHORT: Duration = Duration::from_secs(2);

const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
const EXTENSION: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;";
const TRAILERS: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n";

/// Sends a request to an endless server and returns the error and the bytes that the server sent.
async fn ask(
    begin: &'static str,
    repeated: String,
    interval: Duration,
    timeout: Duration,
) -> (String, usize) {
    let server = EndlessServer::start(begin, repeated, interval).await;
    let outbound = outbound_with_timeout(&server.url, None, timeout);
    let result = outbound.get(&server.url).await;
    // The connection is closed at once.
    while server.counts.1.load(Ordering::SeqCst) > 0 {
        sleep(Duration::from_millis(1)).await;
    }
    let error = result.unwrap_err().to_string();
    (error, server.counts.0.load(Ordering::SeqCst))
}

#[tokio::test]
async fn an_answer_that_never_ends_is_given_up_after_so_many_bytes() {
    let (header, kilobyte) = ("x-a: b\r\n".to_owned(), "x".repeat(1024));
    let chunk = format!("400\r\n{kilobyte}\r\n");
    for (begin, repeated, reason) in [
        ("HTTP/1.1 200 OK\r\n", &header, "message head is too large"),
        (
            "HTTP/1.1 200 OK\r\nx-a: ",
            &kilobyte,
            "message head is too large",
        ),
        (CHUNKED, &chunk, "is longer than 262144 bytes"),
        (EXTENSION, &kilobyte, "chunk extensions over limit"),
        (TRAILERS, &header, "chunk trailers count overflow"),
        (
            "HTTP/1.1 200 OK\r\n\r\n",
            &kilobyte,
            "is longer than 262144 bytes",
        ),
    ] {
        let (error, sent) = ask(begin, repeated.clone(), Duration::ZERO, LONG).await;
        assert!(error.contains(reason), "{begin}: {error}");
        // What the sockets hold counts as sent.
        assert!(sent < 32 << 20, "{begin}: {sent} bytes");
    }
}

#[tokio::test]
async fn an_answer_that_drips_is_given_up_in_time() {
    let hints = "HTTP/1.1 103 Early Hints\r\n\r\n";
    let pause = Duration::from_millis(20);
    let mut requests = JoinSet::new();
    for (begin, repeated, interval) in [
        ("HTTP/1.1 200 OK\r\n", "x-a: b\r\n", pause),
        (CHUNKED, "1\r\nx\r\n", pause),
        (TRAILERS, "x", pause),
        ("", hints, pause),
        ("", hints, Duration::ZERO),
    ] {
        requests.spawn(ask(begin, repeated.to_owned(), interval, SHORT));
    }
    while let Some(answer) = requests.join_next().await {
        let (error, _) = answer.unwrap();
        assert!(error.ends_with("did not answer within 2 s"), "{error}");
    }
}

#[tokio::test]
async fn a_compressed_document_is_not_unpacked() {
    let server = ScriptedServer::start(|_| {
        let reply = Reply::status(200).with_body(vec![0x1f, 0x8b, 8, 0]);
        reply.header("content-encoding", "gzip")
    })
    .await;
    let response = outbound(&server.origin(), None).get(&server.origin()).await;
    assert_eq!(response.unwrap().body.as_ref(), [0x1f, 0x8b, 8, 0]);
    assert_eq!(server.requests()[0].header("accept-encoding"), None);
}
