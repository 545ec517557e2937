//! The client that comes with us, over sockets of this machine.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use turnbuckle_http::{HttpConnector, HttpServer, HttpServerOptions};

use super::server::server;
use super::*;

async fn start_server(options: HttpServerOptions) -> (String, JoinHandle<()>) {
    let server = HttpServer::bind(server(), "127.0.0.1:0", options)
        .await
        .unwrap();
    let url = server.url();
    let serving = tokio::spawn(async move { server.serve().await.unwrap() });
    (url, serving)
}

#[tokio::test]
async fn both_eras_are_served() {
    let (url, serving) = start_server(HttpServerOptions::new()).await;
    let connector = HttpConnector::new(&url).unwrap();
    let client = Client::legacy(&connector, Revision::V2025_11_25).await;
    let answer = client
        .request(1, "tools/call", params_with_progress("steps"))
        .await
        .unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "walked");
    assert_eq!(client.count("notifications/progress"), 3);
    client.link.close().await;
    let client = Client::open(&connector, Revision::NEWEST).await.unwrap();
    let echo = modern(json!({"name": "echo"}));
    let answer = client.request(2, "tools/call", echo).await.unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "hello");
    serving.abort();
}

#[tokio::test]
async fn the_older_transport_is_served() {
    let options = HttpServerOptions::new().http_sse(true);
    let (url, serving) = start_server(options).await;
    let connector = HttpConnector::new(&url.replace("/mcp", "/sse")).unwrap();
    let older = connector.fallback().unwrap();
    let client = Client::legacy(&*older, Revision::V2024_11_05).await;
    let answer = client
        .request(1, "tools/call", params_with_progress("steps"))
        .await
        .unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "walked");
    assert_eq!(client.count("notifications/progress"), 3);
    client.link.close().await;
    assert!(client.inbox.lost.lock().unwrap().is_empty());
    // The endpoint of the newer one is no such stream.
    let older = HttpConnector::new(&url).unwrap().fallback().unwrap();
    let error = Client::open(&*older, Revision::V2024_11_05)
        .await
        .err()
        .unwrap();
    assert!(matches!(error, LinkError::HttpStatus { .. }), "{error}");
    serving.abort();
}

#[tokio::test]
async fn a_refused_connection_has_sent_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    for scheme in ["http", "https"] {
        let url = format!("{scheme}://{address}/mcp?key=s3cret");
        let connector = HttpConnector::new(&url).unwrap();
        let client = Client::open(&connector, Revision::NEWEST).await.unwrap();
        let error = client
            .request(1, "server/discover", json!({}))
            .await
            .unwrap_err();
        assert!(matches!(error, LinkError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains("refused"), "{error}");
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
}

/// Starts a server with one answer for every request. Counts its connections.
async fn start_fixed_server(answer: &'static str) -> (String, Arc<AtomicUsize>, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    let serving = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let mut buffer = vec![0; 64 << 10];
                let mut read = String::new();
                while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                    read += &String::from_utf8_lossy(&buffer[..count]);
                    // A request of these tests ends with its body.
                    if read.ends_with('}') {
                        read.clear();
                        stream.write_all(answer.as_bytes()).await.unwrap();
                    }
                }
            });
        }
    });
    (url, connections, serving)
}

#[tokio::test]
async fn a_connection_is_used_again() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 36\r\n\r\n\
         {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n\
         2c\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n\r\n0\r\n\r\n",
    ] {
        let (url, connections, serving) = start_fixed_server(answer).await;
        let connector = HttpConnector::new(&url).unwrap();
        let client = Client::open(&connector, Revision::NEWEST).await.unwrap();
        for _ in 0..5 {
            client.request(1, "ping", json!({})).await.unwrap();
        }
        assert_eq!(connections.load(Ordering::SeqCst), 1, "{answer}");
        serving.abort();
    }
}

#[tokio::test]
async fn a_request_on_a_lost_connection_may_have_been_processed() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n{",
        "nonsense\r\n\r\n",
    ] {
        let (url, _, serving) = start_fixed_server(answer).await;
        let connector = HttpConnector::new(&url).unwrap();
        let client = Client::open(&connector, Revision::NEWEST).await.unwrap();
        let asked = client.request(1, "ping", json!({}));
        let (asked, ()) = tokio::join!(asked, async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            serving.abort();
            client.link.close().await;
        });
        let error = asked.unwrap_err();
        let unsent = matches!(
            error,
            LinkError::Unreachable { .. }
                | LinkError::Unauthorized { .. }
                | LinkError::SessionNotFound
                | LinkError::HttpStatus { .. }
        );
        assert!(!unsent, "{error:?}");
    }
}

#[tokio::test]
async fn dropping_a_send_closes_its_connection() {
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: hello\n\n";
    for head in [&b""[..], HEAD] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let connector = HttpConnector::new(&url).unwrap();
        let client = Client::open(&connector, Revision::NEWEST).await.unwrap();
        let mut asked = Box::pin(client.request(1, "ping", json!({})));
        let taken = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = vec![0; 64 << 10];
            assert_ne!(stream.read(&mut buffer).await.unwrap(), 0);
            stream.write_all(head).await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
            stream
        };
        let mut stream = tokio::select! {
            biased;
            stream = taken => stream,
            _ = asked.as_mut() => panic!("there is no answer"),
        };
        drop(asked);
        let mut rest = Vec::new();
        let end = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest));
        let _ = end.await.expect("the connection is closed");
    }
}
