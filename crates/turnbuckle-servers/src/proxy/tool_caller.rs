//! Calls of tools of the servers, for handlers of the proxy's own.

use turnbuckle_server::{Ask, HandlerContext, Result};
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{CallToolResult, Json};

use crate::error::Error;
use crate::proxy::call_error::OrFailure as _;
use crate::proxy::forward::forward;
use crate::proxy::forwarded_meta::forwarded_meta;
use crate::proxy::route::Route;
use crate::view::item_kind::ItemKind;

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

    /// Calls the tool of this name that the client of `context` has, on its behalf and with the `_meta` of its
    /// request. A handler makes one such call for each request.
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
        let found = self.0.servers()?.tool_for(tool, context).await;
        let Some(found) = found.or_failure(context)? else {
            let name = tool.to_owned();
            let kind = ItemKind::Tool;
            return Err(Error::UnknownItem { kind, name }).or_failure(context);
        };
        let request = self.0.request(&found.server, context, |client| {
            let mut request = client.call_tool(&*found.own_name, arguments);
            request.params_mut().meta = forwarded_meta(context);
            self.0.capabilities.declare(request, client, context)
        });
        let request = request.await?;
        forward(&self.0, request, context, ask).await
    }
}
