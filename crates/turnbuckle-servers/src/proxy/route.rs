//! The way from a handler of a proxy to its servers.

use std::sync::Arc;

use turnbuckle_client::{Client, RequestBuilder, ServerMethod};
use turnbuckle_server::{Failure, HandlerContext};

use crate::connections::lease::Lease;
use crate::proxy::active_calls::ActiveCalls;
use crate::proxy::call_error::CallError;
use crate::proxy::capabilities::Declared;
use crate::request::ServerRequest;
use crate::servers::{Servers, WeakServers};

/// The way from a handler to the servers, which the handler does not keep open.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) servers: WeakServers,
    pub(super) calls: Arc<ActiveCalls>,
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
        Ok(request.map_err(CallError::from)?)
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
        Ok(Some(lease.map_err(CallError::from)?))
    }
}
