//! Our own server in this process.

use std::time::Duration;

use turnbuckle_http::{HttpConnector, HttpServerOptions, HttpTimeouts, StreamableHttp};
use turnbuckle_server::{HandlerContext, Server, Tool};

use super::*;

/// Creates a server whose tools answer at once, after some progress, and over several connections.
pub(super) fn server() -> Server {
    let steps = async |(): (), context: HandlerContext| {
        for step in 1..=3_u32 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            context.progress(step, None).await;
        }
        "walked"
    };
    let naps = async |(): (), context: HandlerContext| {
        context.progress(1_u32, None).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        context.close_sse_stream();
        tokio::time::sleep(Duration::from_millis(50)).await;
        context.progress(2_u32, None).await;
        "slept"
    };
    Server::new("small", "1")
        .tool(Tool::builder("echo").handler(async |(): (), _: HandlerContext| "hello"))
        .tool(Tool::builder("steps").handler(steps))
        .tool(Tool::builder("naps").handler(naps))
        .build()
        .unwrap()
}

fn connector() -> HttpConnector {
    let service = StreamableHttp::new(server(), HttpServerOptions::new());
    let connector = HttpConnector::new("http://localhost/mcp").unwrap();
    connector.http_client(service)
}

#[tokio::test(start_paused = true)]
async fn every_legacy_revision_of_this_transport_is_served() {
    for revision in [
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
    ] {
        let client = Client::legacy(&connector(), revision).await;
        let answer = client
            .request(1, "tools/call", json!({"name": "echo"}))
            .await
            .unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "hello");
        let answer = client
            .request(2, "tools/call", params_with_progress("steps"))
            .await
            .unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "walked");
        assert_eq!(client.count("notifications/progress"), 3);
        let answer = client.request(3, "nothing/here", json!({})).await.unwrap();
        assert_eq!(answer["error"]["code"], -32601);
        client.link.close().await;
        let late = client.request(4, "ping", json!({})).await;
        assert!(matches!(late, Err(LinkError::Closed)));
    }
}

#[tokio::test(start_paused = true)]
async fn the_modern_revision_is_served() {
    let client = Client::open(&connector(), Revision::NEWEST).await.unwrap();
    client
        .link
        .complete_handshake(Revision::NEWEST.features())
        .await;
    let answer = client
        .request(1, "server/discover", modern(json!({})))
        .await
        .unwrap();
    assert_eq!(answer["result"]["resultType"], "complete");
    let steps = modern(json!({"name": "steps"}));
    let answer = client.request(2, "tools/call", steps).await.unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "walked");
    assert_eq!(client.count("notifications/progress"), 3);
    let answer = client.request(3, "ping", modern(json!({}))).await.unwrap();
    assert_eq!(answer["error"]["code"], -32601);
    client.link.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_the_server_closes_is_polled() {
    let client = Client::legacy(&connector(), Revision::V2025_11_25).await;
    let answer = client
        .request(1, "tools/call", params_with_progress("naps"))
        .await
        .unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "slept");
    assert_eq!(client.count("notifications/progress"), 2);
}

#[tokio::test(start_paused = true)]
async fn an_ended_session_is_not_found() {
    let connector = connector();
    let client = Client::legacy(&connector, Revision::V2025_11_25).await;
    tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
    // The server's own stream keeps it open.
    client.request(1, "ping", json!({})).await.unwrap();
    let options = HttpServerOptions::new()
        .timeouts(HttpTimeouts::new().session_idle_timeout(Duration::from_secs(60)));
    let service = StreamableHttp::new(server(), options);
    let connector = HttpConnector::new("http://localhost/mcp")
        .unwrap()
        .http_client(service);
    let client = Client::open(&connector, Revision::V2025_11_25)
        .await
        .unwrap();
    let params = json!({
        "protocolVersion": client.revision.as_str(),
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let kind = OutboundKind::Initialize(RequestId::from(0));
    client.ask(kind, 0, "initialize", params).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let late = client.request(1, "ping", json!({})).await;
    assert!(matches!(late, Err(LinkError::SessionNotFound)), "{late:?}");
}
