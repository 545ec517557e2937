//! What is below a connector: any service, and layers around it.

use std::io;

use tower_layer::Layer;

use super::super::{AnswerBody, HttpClient};
use super::*;

/// Puts a header on every request.
#[derive(Clone)]
struct Marking<S> {
    inner: S,
    mark: &'static str,
}

impl<S> Service<Request<RequestBody>> for Marking<S>
where
    S: Service<Request<RequestBody>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<RequestBody>) -> S::Future {
        let mark = self.mark.parse().unwrap();
        request.headers_mut().append("x-mark", mark);
        self.inner.call(request)
    }
}

struct Mark(&'static str);

impl<S> Layer<S> for Mark {
    type Service = Marking<S>;

    fn layer(&self, inner: S) -> Marking<S> {
        let mark = self.0;
        Marking { inner, mark }
    }
}

#[tokio::test(start_paused = true)]
async fn layers_see_every_request_the_last_one_first() {
    let moved = Reply::new(307).header("location", "/other");
    let opened = Reply::json(200, answer(0)).header("mcp-session-id", "s1");
    let script = Script::new([moved, opened, Reply::new(405), Reply::new(200)]);
    let connector = script.connector().layer(Mark("inner")).layer(Mark("outer"));
    let joined = Joined::to(&connector).await;
    joined.initialize().await.unwrap();
    joined.established().await;
    joined.link.close().await;
    let seen = script.seen();
    assert_eq!(seen.len(), 4);
    for request in seen {
        let marks: Vec<_> = request.headers.get_all("x-mark").iter().collect();
        assert_eq!(marks, ["outer", "inner"]);
        assert_eq!(request.header("host"), Some("server.example"));
    }
}

/// Fails in words of its own.
#[derive(Clone)]
struct Failing;

impl Service<Request<RequestBody>> for Failing {
    type Response = Response<AnswerBody>;
    type Error = io::Error;
    type Future = std::future::Ready<Result<Self::Response, io::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<RequestBody>) -> Self::Future {
        std::future::ready(Err(io::Error::other("it rains")))
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_does_not_say_may_have_come_late() {
    let connector = HttpConnector::new(URL).unwrap().http(Failing);
    let error = Joined::to(&connector).await.notify().await.unwrap_err();
    assert!(matches!(error, LinkError::Broken { .. }), "{error}");
    assert!(error.to_string().contains("it rains"), "{error}");
    // One client around another says what the inner one said.
    let below = HttpClient::new(Script::new([Reply::fails(HttpFailure::unreachable("far"))]));
    let connector = HttpConnector::new(URL)
        .unwrap()
        .http(HttpClient::new(below));
    let error = Joined::to(&connector).await.notify().await.unwrap_err();
    assert!(matches!(error, LinkError::Unreachable { .. }), "{error}");
}

#[test]
fn headers_that_cannot_be_sent_are_refused() {
    let connector = HttpConnector::new(URL).unwrap();
    for (name, value) in [
        ("", "a"),
        ("a b", "a"),
        ("authorization", "s3cret\r\nx: y"),
        ("Content-Length", "5"),
        ("transfer-encoding", "chunked"),
    ] {
        let error = connector.clone().header(name, value).unwrap_err();
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
    let secret = RequestBody::from(Bytes::from_static(b"s3cret"));
    assert_eq!(format!("{secret:?}"), "RequestBody(6 bytes)");
}
