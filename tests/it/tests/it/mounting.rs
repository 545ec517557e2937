//! The endpoint mounted in somebody else's server.

#[cfg(unix)]
mod haproxy;
mod shutdown;

use axum::Router;
use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower_service::Service;
use turnbuckle_http::{HttpServerOptions, StreamableHttp};
use turnbuckle_server::{HandlerContext, Server, Tool};

fn router() -> Router {
    let echo = Tool::builder("echo").handler(async |(): (), _: HandlerContext| "hello");
    let server = Server::new("mounted", "1.0.0").tool(echo).build().unwrap();
    let endpoint = StreamableHttp::new(server, HttpServerOptions::new());
    Router::new()
        .route("/health", axum::routing::get(async || "well"))
        .nest_service("/deep/mcp", endpoint)
}

async fn send(router: &mut Router, request: Request<Body>) -> (StatusCode, Vec<u8>) {
    let response = router.call(request).await.unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, body.to_vec())
}

fn call(host: &str) -> Request<Body> {
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "echo", "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }},
    });
    Request::post("/deep/mcp")
        .header("host", host)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "echo")
        .body(Body::from(message.to_string()))
        .unwrap()
}

#[tokio::test]
async fn an_axum_router_serves_it_beside_its_own_routes() {
    let mut router = router();
    let (status, body) = send(&mut router, call("localhost:8080")).await;
    assert_eq!(status, StatusCode::OK);
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "hello");

    let health = Request::get("/health").body(Body::empty()).unwrap();
    assert_eq!(
        send(&mut router, health).await,
        (StatusCode::OK, b"well".to_vec())
    );
}

#[tokio::test]
async fn mounted_it_answers_to_loopback_names_alone() {
    let (status, body) = send(&mut router(), call("evil.example")).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(String::from_utf8(body).unwrap().contains("allowed_hosts"));
}
