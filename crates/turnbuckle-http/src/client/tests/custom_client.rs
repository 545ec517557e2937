//! Custom HTTP clients below a connector, and layers around them.

use std::io;

use tower_layer::Layer;

use super::super::{ClientResponseBody, HttpClient};
use super::*;

/// Adds a header to every request.
#[derive(Clone)]
struct Marking<S> {
    inner: S,
    mark: &'static str,
}

impl<S> Service<Request<ClientRequestBody>> for Marking<S>
where
    S: Service<Request<ClientRequestBody>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<ClientRequestBody>) -> S::Future {
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
    let moved = ScriptedResponse::new(307).header("location", "/other");
    let opened = ScriptedResponse::json(200, answer(0)).header("mcp-session-id", "s1");
    let server = ScriptedServer::new([
        moved,
        opened,
        ScriptedResponse::new(405),
        ScriptedResponse::new(200),
    ]);
    let connector = server.connector().layer(Mark("inner")).layer(Mark("outer"));
    let opened = OpenedLink::to(&connector).await;
    opened.initialize().await.unwrap();
    opened.complete_handshake().await;
    opened.link.close().await;
    let received = server.received_requests();
    assert_eq!(received.len(), 4);
    for request in received {
        let marks: Vec<_> = request.headers.get_all("x-mark").iter().collect();
        assert_eq!(marks, ["outer", "inner"]);
        assert_eq!(request.header("host"), Some("server.example"));
    }
}

/// A client whose error is no `HttpClientError`.
#[derive(Clone)]
struct Failing;

impl Service<Request<ClientRequestBody>> for Failing {
    type Response = Response<ClientResponseBody>;
    type Error = io::Error;
    type Future = std::future::Ready<Result<Self::Response, io::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<ClientRequestBody>) -> Self::Future {
        std::future::ready(Err(io::Error::other("it rains")))
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_error_counts_as_a_lost_connection() {
    let connector = HttpConnector::new(URL).unwrap().http_client(Failing);
    let error = OpenedLink::to(&connector).await.notify().await.unwrap_err();
    assert!(matches!(error, LinkError::ConnectionLost { .. }), "{error}");
    assert!(error.to_string().contains("it rains"), "{error}");
    // A client around another keeps the error of the inner one.
    let below = HttpClient::new(ScriptedServer::new([ScriptedResponse::fails(
        HttpClientError::unreachable("far"),
    )]));
    let connector = HttpConnector::new(URL)
        .unwrap()
        .http_client(HttpClient::new(below));
    let error = OpenedLink::to(&connector).await.notify().await.unwrap_err();
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
    let secret = ClientRequestBody::from(Bytes::from_static(b"s3cret"));
    assert_eq!(format!("{secret:?}"), "ClientRequestBody(6 bytes)");
}

#[tokio::test(start_paused = true)]
async fn a_request_of_a_tool_is_sent_as_it_is_to_the_origin_alone() {
    let moved = ScriptedResponse::new(307).header("location", "/other");
    // The third answers nobody.
    let replies = [
        moved,
        ScriptedResponse::new(200),
        ScriptedResponse::new(200),
    ];
    let server = ScriptedServer::new(replies);
    let options = HttpClientOptions::new().allow_unencrypted_headers(true);
    let connector = server.connector().options(options).layer(Mark("outer"));
    let connector = connector.header("x-key", "ours").unwrap();
    let connector = connector.header("x-mark", "ours").unwrap();
    let request = |uri: &str| {
        let mut request = Request::new(Bytes::from_static(b"no JSON"));
        *request.method_mut() = Method::PUT;
        *request.uri_mut() = uri.parse().unwrap();
        let headers = request.headers_mut();
        headers.insert("host", "evil.example".parse().unwrap());
        headers.insert("x-key", "its own".parse().unwrap());
        request
    };
    let response = connector.send(request(URL)).await.unwrap();
    assert_eq!(response.status(), 307);
    connector
        .send(request(&connector.uri().to_string()))
        .await
        .unwrap();
    let error = connector
        .send(request("http://other.example/mcp"))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("another origin"), "{error}");
    let received = server.received_requests();
    assert_eq!(received.len(), 2);
    for request in received {
        assert_eq!(request.method, Method::PUT);
        assert_eq!(request.body, "no JSON");
        let values = |name| request.headers.get_all(name).iter().collect::<Vec<_>>();
        assert_eq!(values("host"), ["evil.example"]);
        assert_eq!(values("x-key"), ["its own"]);
        assert_eq!(values("x-mark"), ["ours", "outer"]);
    }
}
