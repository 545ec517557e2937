//! What only a real socket does: bodies that are shorter than they say, and connections that end.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use turnbuckle_client::{Client, Era, Error};
use turnbuckle_http::HttpConnector;
use turnbuckle_it::peer::open_files;
use turnbuckle_session::Revision;

use super::{Clock, alone, is_broken, text_of};

/// Answers discovery on every connection, and calls with these bytes; then closes.
async fn serve(listener: TcpListener, answer: &'static str) {
    while let Ok((mut socket, _)) = listener.accept().await {
        let mut heard = vec![0; 64 << 10];
        let mut length = 0;
        loop {
            let read = socket.read(&mut heard[length..]).await.unwrap_or_default();
            length += read;
            let text = String::from_utf8_lossy(&heard[..length]).into_owned();
            let whole = text.contains("\r\n\r\n{") && text.ends_with("}}}");
            if read == 0 || whole {
                break;
            }
        }
        let text = String::from_utf8_lossy(&heard[..length]);
        if !text.contains("server/discover") {
            let _ = socket.write_all(answer.as_bytes()).await;
            let _ = socket.shutdown().await;
            continue;
        }
        let id = text.split("\"id\":").nth(1).unwrap_or_default();
        let id: String = id.chars().take_while(char::is_ascii_digit).collect();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","supportedVersions":["{}"],"capabilities":{{"tools":{{}}}},"ttlMs":0,"cacheScope":"private"}}}}"#,
            Revision::NEWEST
        );
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
        let text = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        let _ = socket.write_all(text.as_bytes()).await;
        let _ = socket.shutdown().await;
    }
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
                .era(Era::Modern)
                .connect(HttpConnector::new(&url).unwrap())
                .await
                .unwrap();
            let call = tokio::time::timeout(Duration::from_secs(5), text_of(&client, "t")).await;
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
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // The runtime's own stay open.
        panic!("{before} before, {} after", open_files());
    });
}
