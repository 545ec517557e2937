//! Lines on a byte stream: the framing alone. What needs a process is tested where that is.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, split};
use turnbuckle_it::harness::{Bind, Case, Client};
use turnbuckle_server::{Failure, HandlerContext, Prompt, ReadRequest, Resource, Server, Tool};
use turnbuckle_session::transport::CloseReason;
use turnbuckle_stdio::{StdioOptions, serve_stream};
use turnbuckle_wire::revision::Revision;

use crate::servers::{echo, echo_builder};
use crate::support::{code, text};

/// Every line end that somebody could put into a string.
const BREAKS: &str = "a\nb\rc\r\nd\u{2028}e\u{85}f\n";

fn lines() -> Vec<Case> {
    let mut cases = Case::all();
    cases.retain(|case| case.binding == Bind::Stream);
    cases
}

// The harness takes what comes apart at line ends: half a message would be no JSON.
// requirement: 126d7348daa8
#[tokio::test(start_paused = true)]
async fn no_message_contains_a_newline() {
    let server: Server = echo_builder()
        .tool(
            Tool::builder("log").handler(async |(): (), context: HandlerContext| {
                let level = turnbuckle_types::LoggingLevel::Error;
                context.log(level, Some(BREAKS), BREAKS).await;
                context.progress_message(1, None, BREAKS).await;
                Err::<&str, _>(Failure::from(
                    turnbuckle_types::ProtocolError::invalid_params(BREAKS),
                ))
            }),
        )
        .prompt(Prompt::builder("p").handler(async |(): (), _: HandlerContext| BREAKS.to_owned()))
        .resource(
            Resource::builder("r:1", "r")
                .handler(async |_: ReadRequest, _: HandlerContext| BREAKS)
                .description(BREAKS),
        )
        .instructions(BREAKS)
        .logging()
        .build()
        .unwrap();
    for case in lines() {
        let options = turnbuckle_it::harness::ClientOptions::new()
            .progress_tokens()
            .log_level("debug");
        let mut client = Client::connect_with(case, &server, options).await;
        let call = json!({"name": "echo", "arguments": {"text": BREAKS}});
        assert_eq!(
            text(&client.request("tools/call", call).await),
            BREAKS,
            "{case}"
        );
        for (method, params) in [
            ("prompts/get", json!({"name": "p"})),
            ("resources/read", json!({"uri": "r:1"})),
            ("resources/list", json!({})),
        ] {
            let answer = client.request(method, params).await;
            assert!(answer.to_string().contains("\\n"), "{case} {answer}");
        }
        let answer = client.request("tools/call", json!({"name": "log"})).await;
        assert!(answer.get("error").is_some(), "{case} {answer}");
        let messages = client.messages().await;
        assert!(
            messages.iter().any(|it| it["params"]["data"] == BREAKS),
            "{case}"
        );
        // White space between the parts of a message is the sender's to choose; not here.
        for id in ["\"a\\nb\"", "\"\\r\""] {
            let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            client.raw(&frame).await;
            client.settle().await;
        }
        assert!(client.received_messages().len() >= 6);
    }
}

// requirement: 41e2a7e9626a
#[tokio::test(start_paused = true)]
async fn invalid_utf8_is_a_parse_error() {
    for case in lines() {
        let mut client = Client::connect(case, &echo()).await;
        for bad in [
            &b"\xff"[..],
            b"{\"a\":\"\xc3\"}",
            b"{\"jsonrpc\":\"2.0\",\xe4}",
        ] {
            client.bytes(bad).await;
            let answer = client.next().await;
            assert_eq!(code(&answer), -32700, "{case}");
        }
        let call = json!({"name": "echo", "arguments": {"text": "next"}});
        assert_eq!(
            text(&client.request("tools/call", call).await),
            "next",
            "{case}"
        );
    }
}

/// Runs a conversation over any pair of byte streams.
async fn converse(
    server: impl AsyncRead + AsyncWrite + Send + 'static,
    ours: impl AsyncRead + AsyncWrite + Unpin,
) {
    let (reading, writing) = split(server);
    let serving = tokio::spawn(serve_stream(echo(), reading, writing, StdioOptions::new()));
    let (reading, mut writing) = split(ours);
    let mut lines = BufReader::new(reading).lines();
    let params = json!({"protocolVersion": Revision::NEWEST_LEGACY.as_str(),
        "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}});
    for (id, method, params) in [
        (1, "initialize", params),
        (2, "tools/list", json!({})),
        (3, "ping", json!({})),
    ] {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writing
            .write_all(format!("{request}\n").as_bytes())
            .await
            .unwrap();
        let line = lines.next_line().await.unwrap().expect("an answer");
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id);
        assert!(answer.get("result").is_some(), "{answer}");
    }
    writing.shutdown().await.unwrap();
    assert!(matches!(serving.await.unwrap(), CloseReason::ByPeer));
    assert_eq!(lines.next_line().await.unwrap(), None);
}

// requirement: a7fa1f357ca5 c2495cb7115e
#[tokio::test]
async fn the_framing_serves_a_socket() {
    let (theirs, ours) = tokio::net::UnixStream::pair().unwrap();
    converse(theirs, ours).await;
    let (theirs, ours) = tokio::io::duplex(64);
    converse(theirs, ours).await;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap();
    let address = listener.local_addr().unwrap();
    let (ours, theirs) = tokio::join!(tokio::net::TcpStream::connect(address), listener.accept());
    converse(theirs.unwrap().0, ours.unwrap()).await;
}

// requirement: 7d145cdf0ad1
#[tokio::test(start_paused = true)]
async fn end_of_input_ends_the_server() {
    for case in lines() {
        let mut client = Client::connect(case, &echo()).await;
        let nap = json!({"name": "sleep", "arguments": {"seconds": 3600}});
        client.start("tools/call", nap).await;
        let call = json!({"name": "echo", "arguments": {"text": "read"}});
        let read = client.start("tools/call", call).await;
        let begin = tokio::time::Instant::now();
        client.close();
        assert_eq!(text(&client.response(read).await), "read", "{case}");
        assert!(
            matches!(client.closed().await, CloseReason::ByPeer),
            "{case}"
        );
        assert!(begin.elapsed() <= Duration::from_secs(4), "{case}");
    }
}
