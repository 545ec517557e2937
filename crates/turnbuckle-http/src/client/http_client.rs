//! The HTTP client below a connector: any `tower::Service` over HTTP requests.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;
use turnbuckle_types::UserWait;
use turnbuckle_types::base::debug_fields;

use super::error::{BoxError, HttpClientError};
use super::request_body::ClientRequestBody;
use super::response::is_challenge;
use super::response_body::ClientResponseBody;

/// The future of one request.
type ResponseFuture =
    Pin<Box<dyn Future<Output = Result<Response<ClientResponseBody>, HttpClientError>> + Send>>;

/// An HTTP client of any make. Cheap to clone; clones share their connections.
///
/// It follows no redirect and keeps no cookie: redirects are the connector's business. Layers around
/// it see every request of a connector.
#[derive(Clone)]
pub struct HttpClient(Arc<dyn Fn(Request<ClientRequestBody>) -> ResponseFuture + Send + Sync>);

impl HttpClient {
    /// Wraps any `tower::Service` over HTTP.
    ///
    /// An error that is an [`HttpClientError`] states whether the request was sent. After any other
    /// error, the server may have acted upon the request.
    pub fn new<S, B>(service: S) -> Self
    where
        S: Service<Request<ClientRequestBody>, Response = Response<B>>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self(Arc::new(move |request| {
            let mut service = service.clone();
            Box::pin(async move {
                let ready = poll_fn(|cx| service.poll_ready(cx)).await;
                ready.map_err(|error| HttpClientError::from_boxed(error.into()))?;
                let response = service.call(request).await;
                let response =
                    response.map_err(|error| HttpClientError::from_boxed(error.into()))?;
                Ok(response.map(ClientResponseBody::new))
            })
        }))
    }

    /// Wraps a function that sends a request.
    pub(crate) fn from_fn(
        send: impl Fn(Request<ClientRequestBody>) -> ResponseFuture + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(send))
    }

    /// Adds `reporter` to responses with 401 and 403, so that an authorization layer can report how
    /// long it waits for its user.
    pub(crate) fn with_user_wait(self, reporter: UserWait) -> Self {
        Self(Arc::new(move |request| {
            let (response, reporter) = (self.send(request), reporter.clone());
            Box::pin(async move {
                let mut response = response.await?;
                if is_challenge(response.status()) {
                    response.extensions_mut().insert(reporter);
                }
                Ok(response)
            })
        }))
    }

    /// Sends a request.
    pub(crate) fn send(&self, request: Request<ClientRequestBody>) -> ResponseFuture {
        (self.0)(request)
    }
}

impl Service<Request<ClientRequestBody>> for HttpClient {
    type Response = Response<ClientResponseBody>;
    type Error = HttpClientError;
    type Future =
        Pin<Box<dyn Future<Output = Result<Response<ClientResponseBody>, HttpClientError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpClientError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientRequestBody>) -> Self::Future {
        (self.0)(request)
    }
}

debug_fields!(HttpClient {});
