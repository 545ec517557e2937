//! Calls of tools of the servers, for handlers of the proxy's own.

use turnbuckle_server::{Ask, HandlerContext, Result};
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{CallToolResult, Json};

use crate::proxy::forward::forward;
use crate::proxy::items::forwarded_meta;
use crate::proxy::route::Route;

/// Calls tools of the servers of a proxy as the proxy itself does: with progress, cancellation, log messages
/// and questions to the client. For a handler of the server that the proxy was added to, such as a tool that
/// calls others.
///
/// Rules of the proxy hold: a tool that they drop does not exist. Visibility and scopes do not: the handler
/// decides who may call what. Does not keep the servers open.
#[derive(Clone)]
pub struct ToolCaller(Route);

debug_fields!(ToolCaller {});

impl ToolCaller {
    pub(super) fn new(route: Route) -> Self {
        Self(route)
    }

    /// Calls the tool of this name in the merged view on behalf of the client of `context`, with the `_meta` of
    /// its request. A handler makes one such call for each request.
    ///
    /// # Errors
    /// Returns the failure of the call. An error result of the tool is a result.
    pub async fn call(
        &self,
        tool: &str,
        arguments: &Json,
        context: &HandlerContext,
        ask: &Ask,
    ) -> Result<CallToolResult> {
        let meta = forwarded_meta(context);
        let request = self.0.servers()?.call_tool(tool, arguments);
        let request = request.configure(|mut request| {
            request.params_mut().meta = meta;
            request
        });
        forward(&self.0, request, context, ask).await
    }
}
