//! The HTTP+SSE transport as a tower service.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Buf;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;
use turnbuckle_session::handler::Signal;
use turnbuckle_session::internal::MemoryBudget;
use turnbuckle_session::transport::Dispatch;
use turnbuckle_types::KeyRing;
use turnbuckle_types::base::debug_fields;

use super::endpoint::SseEndpoints;
use crate::mounted;
use crate::options::HttpServerOptions;
use crate::reply::ResponseBody;
use crate::shares::ConnectionInfo;

/// The HTTP+SSE transport for clients of the first revision: a `tower::Service` for both of its
/// endpoints. Cheap to clone; clones share their connections.
///
/// A GET opens a connection and is answered by a stream of events. The first event names the URI to
/// post messages to: that of [`messages_at`](Self::messages_at), with the connection's id as
/// `sessionId` in its query. A server mounts the service at two paths: one of its choice for the
/// stream, and `/messages` (or what `messages_at` says) for messages. Both may be the same path: a
/// request with a `sessionId` in its query is for messages, any other for the stream.
///
/// Clients may use any revision on it. A client that closes the stream ends the connection and all
/// of its requests; a connection cannot be resumed.
///
/// The whole connection is on behalf of the [`Principal`](turnbuckle_types::Principal) (or the `Arc`
/// of one) in the extensions of the GET. Messages are taken from the same principal with the same scopes
/// only: a client whose scopes change opens a new connection.
///
/// Specification: basic/transports, "HTTP with SSE" (2024-11-05).
#[derive(Clone)]
pub struct HttpSse {
    endpoint: Arc<SseEndpoints>,
    messages: Arc<str>,
}

impl HttpSse {
    /// Creates both endpoints for the server that `dispatch` calls, with `/messages` for messages.
    /// The shutdown of the process ([`shutdown_after`](crate::shutdown_after)) ends the connections.
    #[must_use]
    pub fn new(dispatch: impl Into<Arc<dyn Dispatch>>, config: HttpServerOptions) -> Self {
        let budget = MemoryBudget::new(&config.limits);
        Self::in_budget(dispatch.into(), config, mounted::register(), budget)
    }

    /// Creates both endpoints, which end when `shutdown` is closed: then no message is taken any
    /// more, and requests in flight have [`shutdown_timeout`](crate::HttpTimeouts::shutdown_timeout) to finish before
    /// the streams end.
    #[must_use]
    pub fn with_shutdown(
        dispatch: impl Into<Arc<dyn Dispatch>>,
        config: HttpServerOptions,
        shutdown: Signal,
    ) -> Self {
        let budget = MemoryBudget::new(&config.limits);
        Self::in_budget(dispatch.into(), config, Arc::new(shutdown), budget)
    }

    /// Creates both endpoints, whose memory is a part of a budget that others share.
    pub(crate) fn in_budget(
        dispatch: Arc<dyn Dispatch>,
        config: HttpServerOptions,
        shutdown: Arc<Signal>,
        budget: Arc<MemoryBudget>,
    ) -> Self {
        Self {
            endpoint: Arc::new(SseEndpoints::new(dispatch, config, shutdown, budget)),
            messages: "/messages".into(),
        }
    }

    /// Sets the reference that clients are told to post messages to: a path, or any other URI
    /// reference without a fragment, which clients resolve against the URI of the stream.
    #[must_use]
    pub fn messages_at(mut self, reference: impl AsRef<str>) -> Self {
        self.messages = reference.as_ref().into();
        self
    }

    /// Returns the signal that ends the connections when it is closed, as
    /// [`with_shutdown`](Self::with_shutdown) says. A server in which the service is mounted closes it
    /// when its own shutdown begins: it would otherwise wait for the open streams.
    /// [`Signal::close_after`] does both.
    #[must_use]
    pub fn shutdown(&self) -> Signal {
        Signal::clone(&self.endpoint.shutdown)
    }

    /// Returns the keys of what the server hands out and trusts when it comes back, if it has any.
    #[must_use]
    pub fn keys(&self) -> Option<&KeyRing> {
        self.endpoint.keys()
    }

    /// Returns the scopes that the items of the server require, in order and without repetition.
    #[must_use]
    pub fn scopes(&self) -> Vec<String> {
        self.endpoint.scopes()
    }

    /// Returns the number of open connections.
    pub(crate) fn connection_count(&self) -> usize {
        self.endpoint.connection_count()
    }

    /// Answers one HTTP request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<ResponseBody>
    where
        B: Body<Data: Buf>,
    {
        self.endpoint.answer(request, &self.messages, None).await
    }

    /// Answers one HTTP request of a connection.
    pub(crate) async fn answer_on_connection<B>(
        &self,
        connection: &ConnectionInfo,
        request: Request<B>,
    ) -> Response<ResponseBody>
    where
        B: Body<Data: Buf>,
    {
        let connection = Some(connection);
        self.endpoint
            .answer(request, &self.messages, connection)
            .await
    }
}

impl<B> Service<Request<B>> for HttpSse
where
    B: Body<Data: Buf + Send> + Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}

debug_fields!(HttpSse { messages });
