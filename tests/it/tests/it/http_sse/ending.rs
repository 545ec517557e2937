//! Tests of the end of a connection, after which nothing is left.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Method as Verb, Request};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use tower_layer::layer_fn;
use tower_service::Service;
use turnbuckle_client::Client;
use turnbuckle_client::service::from_fn;
use turnbuckle_http::{
    ClientRequestBody, HttpConnector, HttpLimits, HttpServerOptions, HttpSse, HttpTimeouts,
    SseConnector,
};
use turnbuckle_it::coupled::Tap;
use turnbuckle_it::web::Web;
use turnbuckle_server::{HandlerContext, Server, Tool};
use turnbuckle_session::handler::Signal;
use turnbuckle_wire::revision::Revision;

use super::SseConnection;
use crate::servers::{echo, echo_builder};

const PING: &str = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;

/// A layer around an HTTP client that withholds the responses to POSTs while the switch is on.
#[derive(Clone)]
struct WithheldResponses<S>(S, Arc<AtomicBool>);

impl<S> Service<Request<ClientRequestBody>> for WithheldResponses<S>
where
    S: Service<Request<ClientRequestBody>, Response: Send, Error: Send, Future: Send + 'static>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ClientRequestBody>) -> Self::Future {
        let (response, is_withheld) = (self.0.call(request), self.1.clone());
        Box::pin(async move {
            let response = response.await;
            if is_withheld.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            response
        })
    }
}

#[tokio::test(start_paused = true)]
async fn an_observed_client_cancels_a_request_whose_post_is_under_way() {
    let (server, changed, _alive) = holding();
    let (is_withheld, tap) = (
        Arc::new(AtomicBool::new(false)),
        Tap::new("sse", Revision::ALL[0]),
    );
    let switch = is_withheld.clone();
    let connector = HttpConnector::new("http://localhost/sse").unwrap();
    let connector = connector
        .http_client(HttpSse::new(server, HttpServerOptions::new()))
        .layer(layer_fn(move |client| {
            WithheldResponses(client, switch.clone())
        }));
    let client = Client::builder("c", "1")
        .message_observer(tap.clone())
        .layer(from_fn(async |request, next| next.run(request).await))
        .connect(SseConnector::new(connector))
        .await
        .unwrap();
    is_withheld.store(true, Ordering::Relaxed);
    let call = client.call_tool("hold", &());
    tokio::select! {
        result = call.send() => panic!("{result:?}"),
        () = changed.notified() => {}
    }
    let cancelled = timeout(Duration::from_secs(1), changed.notified()).await;
    cancelled.expect("the server is sent a cancellation");
    assert_eq!(tap.sent_of("notifications/cancelled").len(), 1);
}

/// Creates a server whose tool `hold` signals when it begins and when it is cancelled; the last
/// value lives as long as the server.
fn holding() -> (Server, Arc<Notify>, Arc<()>) {
    let (changed, alive) = (Arc::new(Notify::new()), Arc::new(()));
    let shared = (changed.clone(), alive.clone());
    let hold = move |(): (), context: HandlerContext| {
        let (changed, alive) = shared.clone();
        async move {
            changed.notify_one();
            context.cancelled().await;
            changed.notify_one();
            drop(alive);
        }
    };
    let server = echo_builder()
        .tool(Tool::builder("hold").handler(hold))
        .build()
        .unwrap();
    (server, changed, alive)
}

#[tokio::test(start_paused = true)]
async fn a_closed_http_sse_stream_cancels_its_requests() {
    let (server, changed, alive) = holding();
    let web = Web::sse(
        &server,
        HttpServerOptions::new().http_limits(HttpLimits::new().max_sse_connections(1)),
    );
    for _ in 0..100 {
        let mut connection = SseConnection::connect(web.clone()).await;
        connection.initialize(Revision::ALL[0], json!({})).await;
        connection.call(1, "hold", json!({})).await;
        assert!(
            timeout(Duration::from_secs(1), connection.stream.next())
                .await
                .is_err()
        );
        changed.notified().await;
        let idle = Arc::strong_count(&alive) - 1;
        let (web, messages) = (connection.web.clone(), connection.messages.clone());
        drop(connection);
        // The id is nobody's any more, and the place is free.
        assert_eq!(web.post(PING).to(&messages).send().await.status, 404);
        changed.notified().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(Arc::strong_count(&alive), idle, "the handler is gone");
    }
}

#[tokio::test(start_paused = true)]
async fn a_post_that_waits_hears_of_the_end() {
    let mut limits = turnbuckle_session::handler::Limits::default();
    limits.max_queue_bytes = 1024;
    let connection =
        SseConnection::connect(Web::sse(&echo(), HttpServerOptions::new().limits(limits))).await;
    assert_eq!(connection.post(PING).send().await.status, 202);
    let waiting = connection.post(PING).send();
    let leaving = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(connection.stream);
    };
    assert_eq!(tokio::join!(waiting, leaving).0.status, 404);
}

#[tokio::test(start_paused = true)]
async fn shutdown_answers_running_requests() {
    let shutdown = Signal::new();
    let options = HttpServerOptions::new()
        .timeouts(HttpTimeouts::new().shutdown_timeout(Duration::from_secs(8)));
    let web = Web::sse_until(&echo(), options, shutdown.clone());
    let mut connection = SseConnection::connect(web.clone()).await;
    connection.initialize(Revision::ALL[0], json!({})).await;
    let mut idle = SseConnection::connect(web.clone()).await;
    idle.initialize(Revision::ALL[0], json!({})).await;
    connection.call(1, "sleep", json!({"seconds": 5})).await;
    connection.call(2, "sleep", json!({"seconds": 500})).await;
    assert!(
        timeout(Duration::from_secs(1), connection.stream.next())
            .await
            .is_err()
    );
    let begin = Instant::now();
    shutdown.close();
    assert!(idle.stream.messages().await.is_empty());
    assert_eq!(begin.elapsed(), Duration::ZERO);
    let refused = web.ask(Verb::GET).to("/sse").send().await;
    assert_eq!(refused.status, 503);
    let messages = connection.messages.clone();
    let answers = connection.stream.messages().await;
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers[0]["id"], 1);
    assert_eq!(begin.elapsed(), Duration::from_secs(8));
    assert_eq!(web.post(PING).to(&messages).send().await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_it_at_once() {
    let shutdown = Signal::new();
    let (server, changed, _alive) = holding();
    let web = Web::sse_until(&server, HttpServerOptions::new(), shutdown.clone());
    let mut connection = SseConnection::connect(web).await;
    connection.initialize(Revision::ALL[0], json!({})).await;
    connection.call(1, "hold", json!({})).await;
    assert!(
        timeout(Duration::from_secs(1), connection.stream.next())
            .await
            .is_err()
    );
    changed.notified().await;
    shutdown.cancel();
    let begin = Instant::now();
    assert!(connection.stream.messages().await.is_empty());
    assert_eq!(begin.elapsed(), Duration::ZERO);
    changed.notified().await;
}
