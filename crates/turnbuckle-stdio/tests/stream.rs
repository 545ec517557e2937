//! A server at one end of a byte stream in memory.

// A test fails by panicking, and so do the functions that it calls.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

#[path = "support/message.rs"]
mod message;
mod support;

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use message::{initialize, initialized, legacy, modern, text_of};
use serde_json::Value;
use support::TestServer;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader, BufWriter, DuplexStream,
    ReadBuf, ReadHalf, WriteHalf, duplex, split,
};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use turnbuckle_session::handler::Signal;
use turnbuckle_session::transport::CloseReason;
use turnbuckle_stdio::{StdioOptions, serve_stream};

struct Client {
    writer: WriteHalf<DuplexStream>,
    reader: BufReader<ReadHalf<DuplexStream>>,
    server: JoinHandle<CloseReason>,
}

impl Client {
    fn start(options: StdioOptions) -> Self {
        // Too small for a message, so that every one comes and goes in pieces.
        let (ours, theirs) = duplex(50);
        let (reader, writer) = split(theirs);
        let server = serve_stream(
            TestServer::dispatch(),
            reader,
            BufWriter::new(writer),
            options,
        );
        let server = tokio::spawn(server);
        let (reader, writer) = split(ours);
        Self {
            writer,
            reader: BufReader::new(reader),
            server,
        }
    }

    async fn send(&mut self, text: &str) {
        self.writer.write_all(text.as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let mut line = String::new();
        let read = timeout(Duration::from_secs(5), self.reader.read_line(&mut line));
        read.await.expect("an answer in time").unwrap();
        assert!(line.ends_with('\n'), "a whole line: {line:?}");
        serde_json::from_str(&line).unwrap()
    }

    async fn ask(&mut self, text: &str) -> Value {
        self.send(text).await;
        self.receive().await
    }

    /// Closes the input and returns the rest of the output.
    async fn finish(mut self) -> (String, CloseReason) {
        self.writer.shutdown().await.unwrap();
        let mut rest = String::new();
        self.reader.read_to_string(&mut rest).await.unwrap();
        (rest, self.server.await.unwrap())
    }
}

#[tokio::test]
async fn both_eras_share_one_stream_in_any_order() {
    let mut client = Client::start(StdioOptions::new());
    let answer = client.ask(&modern(1, "echo")).await;
    assert_eq!(text_of(&answer), r#"{"id":1}"#);
    assert_eq!(answer["result"]["resultType"], "complete");
    let opened = client.ask(&initialize(2, "2025-06-18")).await;
    assert_eq!(opened["result"]["protocolVersion"], "2025-06-18");
    client.send(&initialized()).await;
    let answer = client.ask(&legacy(3, "echo")).await;
    assert_eq!(text_of(&answer), r#"{"id":3}"#);
    assert!(answer["result"].get("resultType").is_none(), "{answer}");
    let answer = client.ask(&modern(4, "echo")).await;
    assert_eq!(answer["result"]["resultType"], "complete");
    let answer = client.ask(&legacy(5, "echo")).await;
    assert_eq!(answer["id"], 5);
}

#[tokio::test]
async fn a_line_that_is_too_long_is_answered_and_the_next_one_served() {
    let mut client = Client::start(StdioOptions::new().max_message_bytes(1000));
    let answer = client.ask(&format!("{}\n", "x".repeat(100_000))).await;
    assert_eq!(answer["error"]["code"], -32600);
    let text = answer["error"]["message"].as_str().unwrap();
    assert!(text.contains("1000"), "the error names the bound: {text}");
    let answer = client.ask(&modern(1, "echo")).await;
    assert_eq!(answer["id"], 1);
}

#[tokio::test]
async fn a_line_has_so_many_bytes() {
    let message = modern(1, "echo");
    let message = message.trim_end();
    for cap in [message.len(), message.len() + 100] {
        let mut client = Client::start(StdioOptions::new().max_message_bytes(cap));
        let line = format!("{message:cap$}");
        let answer = client.ask(&format!("{line}\n")).await;
        assert_eq!(answer["id"], 1);
        let answer = client.ask(&format!("{line} \n")).await;
        assert_eq!(
            answer["error"]["message"],
            format!(
                "a message may be at most {cap} bytes long (StdioOptions::max_message_bytes); this one was \
                 skipped"
            )
        );
    }
}

#[tokio::test]
async fn invalid_json_and_invalid_utf8_are_answered_and_the_next_line_served() {
    let mut client = Client::start(StdioOptions::new());
    assert_eq!(client.ask("{\"jsonrpc\":\n").await["error"]["code"], -32700);
    client.writer.write_all(b"\"\xff\xfe\"\n").await.unwrap();
    assert_eq!(client.receive().await["error"]["code"], -32700);
    assert_eq!(client.ask(&modern(1, "echo")).await["id"], 1);
}

#[tokio::test]
async fn a_batch_is_answered_on_one_line_where_the_revision_has_them() {
    let mut client = Client::start(StdioOptions::new());
    client.ask(&initialize(1, "2025-03-26")).await;
    client.send(&initialized()).await;
    let (first, second) = (legacy(2, "later"), legacy(3, "echo"));
    let answers = client
        .ask(&format!("[{},{}]\n", first.trim(), second.trim()))
        .await;
    let mut ids: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["id"])
        .collect();
    ids.sort_by_key(|id| id.as_u64());
    assert_eq!(ids, [2, 3]);
}

#[tokio::test]
async fn line_ends_within_a_message_do_not_reach_the_wire() {
    let mut client = Client::start(StdioOptions::new());
    let answer = client.ask(&modern(1, "lines")).await;
    assert_eq!(answer["result"]["content"], serde_json::json!([]));
    assert_eq!(client.ask(&modern(2, "echo")).await["id"], 2);
}

#[tokio::test(start_paused = true)]
async fn requests_before_the_end_of_the_input_are_answered() {
    let mut client = Client::start(StdioOptions::new());
    client.send(&modern(1, "later")).await;
    // The last line needs no end.
    client.send(modern(2, "echo").trim()).await;
    let (rest, closed) = client.finish().await;
    assert!(matches!(closed, CloseReason::ByPeer), "{closed:?}");
    let ids: Vec<_> = rest
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone())
        .collect();
    assert_eq!(ids, [2, 1], "in the order of their ends");
}

#[tokio::test(start_paused = true)]
async fn at_the_end_of_the_input_a_handler_is_not_waited_for_forever() {
    let mut client = Client::start(StdioOptions::new());
    client.send(&modern(1, "never")).await;
    let start = Instant::now();
    let (rest, closed) = client.finish().await;
    assert!(matches!(closed, CloseReason::ByPeer), "{closed:?}");
    assert_eq!(rest, "");
    let took = start.elapsed();
    assert!((900..1100).contains(&took.as_millis()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_does_not_keep_an_ended_server() {
    let mut client = Client::start(StdioOptions::new());
    client.send(&modern(1, "echo")).await;
    client.writer.shutdown().await.unwrap();
    let closed = timeout(Duration::from_secs(2), client.server)
        .await
        .unwrap()
        .unwrap();
    assert!(matches!(closed, CloseReason::ByPeer), "{closed:?}");
}

#[tokio::test]
async fn the_stop_signal_ends_it() {
    let stop = Signal::new();
    let mut client = Client::start(StdioOptions::new().stop(stop.clone()));
    client.send(&modern(1, "never")).await;
    assert_eq!(client.ask(&modern(2, "echo")).await["id"], 2);
    stop.cancel();
    let closed = timeout(Duration::from_secs(1), client.server)
        .await
        .unwrap()
        .unwrap();
    assert!(matches!(closed, CloseReason::ByServer), "{closed:?}");
}

/// A reader of empty lines that cancels the signal after some reads.
struct Empty {
    reads: usize,
    stop: Signal,
}

impl AsyncRead for Empty {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        self.reads += 1;
        if self.reads == 100 {
            self.stop.cancel();
        }
        assert!(self.reads < 1_000, "the signal is not checked");
        buffer.put_slice(b"\n\n\n");
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_flood_of_empty_lines_does_not_block_other_tasks() {
    let stop = Signal::new();
    let options = StdioOptions::new().stop(stop.clone());
    let reader = Empty { reads: 0, stop };
    serve_stream(TestServer::dispatch(), reader, tokio::io::sink(), options).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_is_cut_off() {
    let limit = Duration::from_secs(60);
    let mut client = Client::start(StdioOptions::new().write_timeout(limit));
    let begin = Instant::now();
    client.send(&modern(1, "echo")).await;
    let CloseReason::Broken(error) = client.server.await.unwrap() else {
        panic!("the connection does not break");
    };
    assert_eq!(begin.elapsed(), limit);
    assert!(
        error.to_string().contains("StdioOptions::write_timeout"),
        "{error}"
    );
}

#[tokio::test]
async fn a_broken_output_ends_it() {
    let mut client = Client::start(StdioOptions::new());
    client.send(&modern(1, "later")).await;
    drop((client.reader, client.writer));
    let closed = timeout(Duration::from_secs(5), client.server)
        .await
        .unwrap()
        .unwrap();
    assert!(matches!(closed, CloseReason::Broken(_)), "{closed:?}");
}
