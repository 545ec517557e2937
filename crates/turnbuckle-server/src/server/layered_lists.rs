//! List requests of a server that has layers.

use std::sync::Arc;

use turnbuckle_session::handler::RequestContext;
use turnbuckle_session::internal::{HandlerOutcome, IncomingRequest};
use turnbuckle_types::ProtocolError;
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Method;

use crate::Server;
use crate::handler::CallKind;
use crate::handler::{ErasedHandler, FailureMapping, HandlerRequest, OwnedPayload};
use crate::items::registration::Registration;
use crate::request::context::HandlerContext;
use crate::service::LayerTarget;
use crate::service::policy::CallPolicy;

/// The methods that list items.
const LISTS: [Method; 4] = [
    Method::ListTools,
    Method::ListPrompts,
    Method::ListResources,
    Method::ListResourceTemplates,
];

/// The list requests in the server's layers; empty if it has none.
pub(crate) struct LayeredLists(Vec<(Method, Arc<dyn ErasedHandler>)>);

impl LayeredLists {
    pub(crate) fn new(registration: &Registration) -> Self {
        if !registration.has_layers() {
            return Self(Vec::new());
        }
        let layered = LISTS.into_iter().map(|method| {
            let target = LayerTarget {
                kind: CallKind::List,
                name: Box::default(),
                read_only: true,
                mapping: FailureMapping::for_list(method),
            };
            let handler = Arc::new(ListHandler(method));
            let no_own = CallPolicy::default();
            (
                method,
                registration.wrap_in_layers(handler, target, &no_own),
            )
        });
        Self(layered.collect())
    }

    fn get(&self, method: Method) -> Option<&Arc<dyn ErasedHandler>> {
        let found = self.0.iter().find(|(of, _)| *of == method);
        found.map(|(_, handler)| handler)
    }
}

impl Server {
    /// Answers a list request, through the server's layers if it has any.
    pub(crate) fn list_in_layers(
        &self,
        method: Method,
        call: IncomingRequest<'_>,
        context: RequestContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        match self.0.layered_lists.get(method) {
            None => self.list_items(method, call, &context),
            Some(layered) => {
                let context = HandlerContext::new(context, self.0.settings.clone(), None);
                Ok(layered
                    .clone()
                    .call(HandlerRequest::with_payload(context, OwnedPayload::List)))
            }
        }
    }
}

/// Answers one list method, inside of the layers.
struct ListHandler(Method);

impl ErasedHandler for ListHandler {
    fn call(self: Arc<Self>, request: HandlerRequest<'_>) -> HandlerOutcome {
        let context = &request.context;
        let call = IncomingRequest {
            method: Some(self.0),
            name: self.0.as_str(),
            params: &context.params(),
            text: context.text(),
            headers: None,
        };
        let listed = match context.server() {
            Some(server) => server.list_items(self.0, call, context),
            None => Err(ProtocolError::internal("the server has been dropped")),
        };
        listed.unwrap_or_else(|error| Reply::Error(error).into())
    }
}
