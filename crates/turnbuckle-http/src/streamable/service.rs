//! The endpoint of Streamable HTTP as a tower service.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Buf;
use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;
use turnbuckle_session::handler::Signal;
use turnbuckle_session::internal::{MemoryBudget, OwnerAccount, RefusedSender, ServerEndpoint};
use turnbuckle_session::transport::Dispatch;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{AuditOutcome, KeyRing};

use super::endpoint::StreamableEndpoint;
use crate::mounted;
use crate::options::HttpServerOptions;
use crate::reply::ResponseBody;
use crate::shares::ConnectionInfo;
#[cfg(feature = "store")]
use crate::streams::Courier;

/// An endpoint of Streamable HTTP in every revision: a `tower::Service` for any hyper or axum
/// server. Cheap to clone; clones share their sessions.
///
/// Of several GET streams of one session the newest carries the messages that belong to no request.
/// When it ends, the one before it takes over. A `Last-Event-ID` that is unknown, or no longer
/// known, is answered by 400 and not by 404, which would tell the client that its session is gone.
///
/// The request is made on behalf of the [`Principal`](turnbuckle_types::Principal) (or the `Arc` of
/// one) in its extensions. If a scope is missing, the response has
/// [`RequiredScopes`](turnbuckle_types::RequiredScopes) in its extensions.
///
/// Specification: basic/transports/streamable-http (2026-07-28), basic/transports (2025-11-25).
#[derive(Clone)]
pub struct StreamableHttp {
    endpoint: Arc<StreamableEndpoint>,
}

impl StreamableHttp {
    /// Creates an endpoint for the server that `dispatch` calls. The shutdown of the process
    /// ([`shutdown_after`](crate::shutdown_after)) ends the streams of listening clients.
    #[must_use]
    pub fn new(dispatch: impl Into<Arc<dyn Dispatch>>, options: HttpServerOptions) -> Self {
        let budget = MemoryBudget::new(&options.limits);
        Self::in_budget(dispatch.into(), options, mounted::register(), budget)
    }

    /// Creates an endpoint that ends the streams of listening clients when `shutdown` is closed.
    #[must_use]
    pub fn with_shutdown(
        dispatch: impl Into<Arc<dyn Dispatch>>,
        options: HttpServerOptions,
        shutdown: Signal,
    ) -> Self {
        let budget = MemoryBudget::new(&options.limits);
        Self::in_budget(dispatch.into(), options, Arc::new(shutdown), budget)
    }

    /// Creates an endpoint whose memory is a part of a budget that others share.
    pub(crate) fn in_budget(
        dispatch: Arc<dyn Dispatch>,
        options: HttpServerOptions,
        shutdown: Arc<Signal>,
        budget: Arc<MemoryBudget>,
    ) -> Self {
        let exchange = ServerEndpoint::in_budget(dispatch, options.limits.clone(), budget);
        Self {
            endpoint: Arc::new(StreamableEndpoint::new(exchange, options, shutdown)),
        }
    }

    /// Returns the account of another connection, at an address if that counts.
    pub(crate) fn new_account(&self, address: Option<IpAddr>) -> OwnerAccount {
        let server = &self.endpoint.server;
        let address = address.map(|address| server.memory_budget().address(address));
        server.new_account().with_address(address)
    }

    /// Passes the record of a client that is refused because of a limit, before it sent a request, to the
    /// audit log.
    pub(crate) fn audit_refusal(&self, limit: &'static str, address: Option<IpAddr>) {
        let principal = None;
        let (sender, outcome) = (
            RefusedSender { principal, address },
            AuditOutcome::Refused { limit },
        );
        let server = &self.endpoint.server;
        server.audit_refusal(sender, outcome, Instant::now());
    }

    /// Returns the signal that ends the streams of listening clients when it is closed. A server in
    /// which the endpoint is mounted closes it when its own shutdown begins: it would otherwise wait
    /// for these clients. [`Signal::close_after`] does both. Requests in flight go on.
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

    /// Returns the sizes of its tables.
    pub(crate) fn table_sizes(&self) -> impl Iterator<Item = (&'static str, usize)> {
        let listening = ("listening streams", self.endpoint.listening.count());
        self.endpoint
            .sessions
            .sizes()
            .into_iter()
            .chain([listening])
    }

    /// Returns the server behind the endpoint.
    pub(crate) fn endpoint(&self) -> ServerEndpoint {
        self.endpoint.server.clone()
    }

    /// Returns this instance among those that share a store, if it is one.
    #[cfg(feature = "store")]
    pub(crate) fn cluster(&self) -> Option<&Arc<turnbuckle_cluster::Cluster>> {
        self.endpoint.server.cluster()
    }

    /// Returns the courier of the streams, if other instances serve the sessions too.
    #[cfg(feature = "store")]
    pub(crate) fn courier(&self) -> Option<&Arc<Courier>> {
        self.endpoint.sessions.courier()
    }

    /// Answers one HTTP request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<ResponseBody>
    where
        B: Body<Data: Buf>,
    {
        let (mut parts, body) = request.into_parts();
        self.endpoint.answer(&mut parts, pin!(body), None).await
    }

    /// Answers one HTTP request of a connection.
    pub(crate) fn answer_on_connection<B>(
        &self,
        connection: &ConnectionInfo,
        parts: &mut Parts,
        body: Pin<&mut B>,
    ) -> impl Future<Output = Response<ResponseBody>>
    where
        B: Body<Data: Buf>,
    {
        self.endpoint.answer(parts, body, Some(connection))
    }
}

impl<B> Service<Request<B>> for StreamableHttp
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
        let endpoint = self.endpoint.clone();
        let (mut parts, body) = request.into_parts();
        Box::pin(async move { Ok(endpoint.answer(&mut parts, pin!(body), None).await) })
    }
}

debug_fields!(StreamableHttp {});

#[cfg(test)]
mod tests;
