//! Faults that only a real socket has: bodies shorter than their length says, and connections that
//! end.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout};
use turnbuckle_client::{Client, EraPreference, Error};
use turnbuckle_http::HttpConnector;
use turnbuckle_it::peer::open_files;
use turnbuckle_wire::revision::Revision;

use super::{Clock, alone, is_broken, text_of};

/// Reads a request, or what there is of it at the end.
async fn request(socket: &mut TcpStream) -> String {
    let mut heard = vec![0; 64 << 10];
    let mut length = 0;
    loop {
        let read = socket.read(&mut heard[length..]).await.unwrap_or_default();
        length += read;
        let text = String::from_utf8_lossy(&heard[..length]).into_owned();
        let whole = text.contains("\r\n\r\n{") && text.ends_with("}}}");
        if read == 0 || whole {
            return text;
        }
    }
}

/// Returns the answer to a discovery.
fn discover_response(asked: &str) -> String {
    let id = asked.split("\"id\":").nth(1).unwrap_or_default();
    let id: String = id.chars().take_while(char::is_ascii_digit).collect();
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","supportedVersions":["{}"],"capabilities":{{"tools":{{}}}},"ttlMs":0,"cacheScope":"private"}}}}"#,
        Revision::NEWEST
    );
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    format!("{head}content-length: {}\r\n\r\n{body}", body.len())
}

/// Answers discovery on every connection, and calls with these bytes; then closes.
async fn serve(listener: TcpListener, answer: &'static str) {
    while let Ok((mut socket, _)) = listener.accept().await {
        let asked = request(&mut socket).await;
        let answer = match asked.contains("server/discover") {
            true => discover_response(&asked),
            false => answer.to_owned(),
        };
        let _ = socket.write_all(answer.as_bytes()).await;
        let _ = socket.shutdown().await;
    }
}

/// Answers discovery, and reads nothing of what begins to come after that.
async fn deaf(listener: TcpListener) -> TcpStream {
    let (mut first, _) = listener.accept().await.unwrap();
    let asked = request(&mut first).await;
    first
        .write_all(discover_response(&asked).as_bytes())
        .await
        .unwrap();
    drop(first);
    let (second, _) = listener.accept().await.unwrap();
    assert_eq!(second.peek(&mut [0]).await.unwrap(), 1);
    second
}

/// Answers that are cut off, or no HTTP at all.
const ANSWERS: [&str; 6] = [
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4711\r\n\r\n{\"jsonrpc\"",
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nff\r\ndata: {",
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nnonsense",
    "HTTP/1.1 200 OK\r\ncontent-ty",
    "220 mail.example ESMTP\r\n",
    "",
];

#[test]
fn a_connection_that_ends_early_is_named_and_leaves_no_socket() {
    alone(Clock::Real, async {
        let before = open_files();
        for answer in ANSWERS.iter().cycle().take(20 * ANSWERS.len()) {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/mcp", listener.local_addr().unwrap());
            let server = tokio::spawn(serve(listener, answer));
            let client = Client::builder("c", "1")
                .era(EraPreference::Modern)
                .connect(HttpConnector::new(&url).unwrap())
                .await
                .unwrap();
            let call = timeout(Duration::from_secs(5), text_of(&client, "t")).await;
            let error = call.expect("an end at once").unwrap_err();
            assert!(
                is_broken(&error, "connection broke"),
                "{answer:?} {error:?}"
            );
            server.abort();
            assert!(server.await.is_err());
            let error = text_of(&client, "t").await.unwrap_err();
            assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
            assert!(error.to_string().contains("cannot be reached"), "{error}");
            client.close().await;
        }
        for _ in 0..100 {
            if open_files() <= before + 1 {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
        // The runtime's own stay open.
        panic!("{before} before, {} after", open_files());
    });
}

/// More than the system takes of what is not read.
const MUCH: usize = 32 << 20;

#[test]
fn a_call_that_is_given_up_while_it_is_sent_leaves_no_connection() {
    alone(Clock::Real, async {
        let soon = Duration::from_secs(10);
        let tasks = || Handle::current().metrics().num_alive_tasks();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let mut server = tokio::spawn(deaf(listener));
        let connector = HttpConnector::new(&url).unwrap();
        let builder = Client::builder("c", "1").era(EraPreference::Modern);
        let client = builder.connect(connector).await.unwrap();
        // The server's own is over before the end.
        let before = tasks() - 1;
        let arguments = json!({"text": "x".repeat(MUCH)});
        let mut call = Box::pin(client.call_tool("t", &arguments).into_future());
        let mut socket = tokio::select! {
            socket = &mut server => socket.unwrap(),
            ended = &mut call => panic!("{ended:?}"),
        };
        drop(call);
        let deadline = Instant::now() + soon;
        while tasks() > before {
            assert!(
                Instant::now() < deadline,
                "{} tasks, {before} before",
                tasks()
            );
            sleep(Duration::from_millis(5)).await;
        }
        // What the system had taken comes, and then the end.
        let (mut piece, mut heard) = (vec![0; 64 << 10], 0);
        while let Ok(read @ 1..) = timeout(soon, socket.read(&mut piece)).await.unwrap() {
            heard += read;
        }
        assert!(heard < MUCH, "all of it was sent");
        client.close().await;
    });
}
