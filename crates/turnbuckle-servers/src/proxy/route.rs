//! The way from a handler of a proxy to its servers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use turnbuckle_client::{Client, RequestBuilder, ServerMethod};
use turnbuckle_server::{Failure, HandlerContext};
use turnbuckle_session::transport::TimeoutKind;

use crate::connections::lease::Lease;
use crate::error::Error;
use crate::proxy::active_calls::{ActiveCall, ActiveCalls};
use crate::proxy::call_error::OrFailure as _;
use crate::proxy::capabilities::Declared;
use crate::proxy::capability_cache::CapabilityCache;
use crate::request::ServerRequest;
use crate::servers::{Servers, WeakServers};

/// The shortest wait that counts for the timeout of a request: errors name the whole timeout otherwise.
const COUNTED_WAIT: Duration = Duration::from_millis(10);

/// The way from a handler to the servers, which the handler does not keep open.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) servers: WeakServers,
    pub(super) calls: Arc<ActiveCalls>,
    pub(super) capabilities: Arc<CapabilityCache>,
    pub(super) declared: Declared,
}

impl Route {
    pub(super) fn servers(&self) -> Result<Servers, Failure> {
        let closed = || Failure::new("the servers of the proxy are closed");
        self.servers.upgrade().ok_or_else(closed)
    }

    /// Creates a request to a server for the client of `context`. A connection that only the client has is opened.
    pub(super) async fn request<M: ServerMethod>(
        &self,
        server: &str,
        context: &HandlerContext,
        request: impl FnOnce(&Client) -> RequestBuilder<M>,
    ) -> Result<ServerRequest<M>, Failure> {
        let request = self.servers()?.request_for(server, context, request).await;
        request.or_failure(context)
    }

    /// Waits until the client of a request may send it, over a connection which is opened if there is none. The time
    /// counts for the timeout of the request.
    pub(super) async fn begin<M: ServerMethod>(
        &self,
        request: ServerRequest<M>,
        context: &HandlerContext,
    ) -> Result<(ServerRequest<M>, ActiveCall, Option<Lease>), Failure> {
        let server = request.server_name().or_failure(context)?;
        let total_timeout = request.upstream_timeout();
        let waiting = async {
            let max_in_flight = request.max_in_flight();
            let active = self.calls.begin(server, max_in_flight, context).await?;
            let lease = self.connect(&request, context).await?;
            Ok::<_, Failure>((active, lease))
        };
        let Some(total_timeout) = total_timeout else {
            let (active, lease) = waiting.await?;
            return Ok((request, active, lease));
        };
        let begun = Instant::now();
        let server = server.clone();
        let waited = Box::pin(timeout(total_timeout, waiting)).await;
        let remaining = total_timeout.saturating_sub(begun.elapsed());
        match waited {
            Ok(waited) if !remaining.is_zero() => {
                let (active, lease) = waited?;
                let request = match begun.elapsed() >= COUNTED_WAIT {
                    true => request.total_timeout(remaining),
                    false => request,
                };
                Ok((request, active, lease))
            }
            Ok(Err(failure)) => Err(failure),
            _ => {
                let error = turnbuckle_client::Error::TimedOut(TimeoutKind::Total(total_timeout));
                Err(Error::Request { server, error }).or_failure(context)
            }
        }
    }

    /// Returns the connection for the client of a request, which is opened if there is none; nothing for a request
    /// that has its connection, or fails when it is sent.
    pub(super) async fn connect<M: ServerMethod>(
        &self,
        request: &ServerRequest<M>,
        context: &HandlerContext,
    ) -> Result<Option<Lease>, Failure> {
        let Some(server) = request.server().filter(|_| !request.has_lease()) else {
            return Ok(None);
        };
        let lease = self.servers()?.acquire(server, context).await;
        Ok(Some(lease.or_failure(context)?))
    }
}
