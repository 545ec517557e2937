//! The layers around a handler: each request passes them from the outermost to the innermost.

use std::pin::Pin;
use std::sync::Arc;

use turnbuckle_session::internal::HandlerOutcome;
use turnbuckle_wire::era::Reply;

use super::{CallRequest, Middleware};
use crate::handler::{CallKind, ErasedHandler, FailureMapping, HandlerRequest};

impl CallRequest {
    /// Passes the request on to the next layer, or to the handler.
    pub(super) fn pass_on(mut self) -> HandlerOutcome {
        let next = self.target.layers.get(self.passed).cloned();
        match next {
            Some(layer) => {
                self.passed += 1;
                HandlerOutcome::Pending(layer(self))
            }
            None => self.request.call(self.target.inner.clone()),
        }
    }
}

/// A layer's service, type-erased.
pub(crate) type DynMiddleware =
    Arc<dyn Fn(CallRequest) -> Pin<Box<dyn Future<Output = Reply> + Send>> + Send + Sync>;

/// Erases the type of a layer's service.
pub(crate) fn boxed_middleware(service: impl Middleware) -> DynMiddleware {
    Arc::new(move |call: CallRequest| {
        let mapping = call.target.about.mapping;
        let context = call.request.context.clone();
        let response = service.clone().respond(call);
        Box::pin(async move { response.await.into_reply(mapping, &context) })
    })
}

/// The properties of a handler that the layers around it see.
#[derive(Debug)]
pub(crate) struct LayerTarget {
    pub(crate) kind: CallKind,
    /// The name of a tool or a prompt, a URI or its template; empty for list requests.
    pub(crate) name: Box<str>,
    /// True if the item declares that it changes nothing.
    pub(crate) read_only: bool,
    pub(crate) mapping: FailureMapping,
}

/// A handler with layers around it.
pub(crate) struct LayeredHandler {
    pub(super) inner: Arc<dyn ErasedHandler>,
    pub(super) about: LayerTarget,
    pub(super) layers: Vec<DynMiddleware>,
}

impl ErasedHandler for LayeredHandler {
    fn call(self: Arc<Self>, request: HandlerRequest<'_>) -> HandlerOutcome {
        let call = CallRequest {
            target: self,
            passed: 0,
            request: request.detach(),
        };
        call.pass_on()
    }
}
