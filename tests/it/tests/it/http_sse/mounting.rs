//! Both endpoints in somebody else's server.

use axum::Router;
use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use tower_service::Service;
use turnbuckle_http::{HttpServerOptions, HttpSse, StreamableHttp};

use crate::servers::echo;

fn request(method: &str, path: &str, body: &'static str) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Body::from(body))
        .unwrap()
}

async fn next(body: &mut Body) -> String {
    let data = body.frame().await.unwrap().unwrap().into_data().unwrap();
    String::from_utf8(data.to_vec()).unwrap()
}

#[tokio::test]
async fn an_axum_router_serves_it_beside_the_endpoint_of_today() {
    let sse = HttpSse::new(echo(), HttpServerOptions::new()).messages_at("/old/posts?tenant=1");
    let mut router: Router = Router::new()
        .route_service("/old/events", sse.clone())
        .route_service("/old/posts", sse)
        .route_service(
            "/mcp",
            StreamableHttp::new(echo(), HttpServerOptions::new()),
        );
    let opened = router.call(request("GET", "/old/events", "")).await;
    let mut events = opened.unwrap().into_body();
    let first = next(&mut events).await;
    let messages = first.strip_prefix("event: endpoint\ndata: ").unwrap();
    assert!(messages.starts_with("/old/posts?tenant=1&sessionId="));
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let posted = router
        .call(request("POST", messages.trim_end(), ping))
        .await;
    assert_eq!(posted.unwrap().status(), StatusCode::ACCEPTED);
    let answer = next(&mut events).await;
    assert!(answer.starts_with("event: message\ndata: {"), "{answer}");
    assert!(answer.contains(r#""id":1"#), "{answer}");
}
