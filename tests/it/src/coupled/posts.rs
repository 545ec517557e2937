//! A record of the HTTP requests that a client sends: a layer around its HTTP service.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderMap, Request, Response};
use serde_json::Value;
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;
use turnbuckle_http::{ClientRequestBody, ClientResponseBody, HttpClient, HttpClientError};

/// A request of HTTP.
#[derive(Debug, Clone)]
pub struct Post {
    /// HTTP method of the request.
    pub verb: String,
    /// Path of the request.
    pub path: String,
    /// Headers of the request.
    pub headers: HeaderMap,
    /// The message that it carries; null for none.
    pub message: Value,
    /// Time at which the request was sent, counted from the first.
    pub at: Duration,
}

impl Post {
    /// Returns the method of the message.
    #[must_use]
    pub fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or_default()
    }

    /// Returns a header, which must stand at most once; `None` if it is absent.
    ///
    /// # Panics
    /// When it stands twice, or is no text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next().map(|value| value.to_str().expect("text"));
        assert!(values.next().is_none(), "{name} stands twice: {self:?}");
        value
    }
}

/// Every request of a client. Clones are the same list.
#[derive(Debug, Clone, Default)]
pub struct Posts(Arc<Mutex<(Vec<Post>, Option<Instant>)>>);

impl Posts {
    /// Returns the requests so far.
    ///
    /// # Panics
    /// Never: nothing panics with them.
    #[must_use]
    pub fn all(&self) -> Vec<Post> {
        self.0.lock().expect("no panic while it is held").0.clone()
    }

    /// Returns the requests that carried a message with that method.
    #[must_use]
    pub fn with_method(&self, method: &str) -> Vec<Post> {
        let mut all = self.all();
        all.retain(|post| post.method() == method);
        all
    }

    /// Returns the requests with that HTTP method.
    #[must_use]
    pub fn with_verb(&self, verb: &str) -> Vec<Post> {
        let mut all = self.all();
        all.retain(|post| post.verb == verb);
        all
    }

    fn take(&self, request: &Request<ClientRequestBody>) {
        let mut kept = self.0.lock().expect("no panic while it is held");
        let first = *kept.1.get_or_insert_with(Instant::now);
        kept.0.push(Post {
            verb: request.method().as_str().to_owned(),
            path: request.uri().path().to_owned(),
            headers: request.headers().clone(),
            message: serde_json::from_slice(request.body().bytes()).unwrap_or(Value::Null),
            at: first.elapsed(),
        });
    }
}

impl Layer<HttpClient> for Posts {
    type Service = Posting;

    fn layer(&self, inner: HttpClient) -> Posting {
        Posting {
            inner,
            posts: self.clone(),
        }
    }
}

/// An HTTP client whose requests are kept.
#[derive(Clone)]
pub struct Posting {
    inner: HttpClient,
    posts: Posts,
}

impl Service<Request<ClientRequestBody>> for Posting {
    type Response = Response<ClientResponseBody>;
    type Error = HttpClientError;
    type Future =
        Pin<Box<dyn Future<Output = Result<Response<ClientResponseBody>, HttpClientError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), HttpClientError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ClientRequestBody>) -> Self::Future {
        self.posts.take(&request);
        self.inner.call(request)
    }
}
