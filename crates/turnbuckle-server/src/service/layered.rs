//! The way of a request through the layers around it, from the outermost to the innermost.

use std::pin::Pin;
use std::sync::Arc;

use turnbuckle_session::internal::HandlerOutcome;
use turnbuckle_wire::era::Reply;

use super::{CallRequest, Middleware};
use crate::error::failure::Failure;
use crate::handler::{
    CallKind, ErasedHandler, FailureMapping, HandlerRequest, wrapper_failure_reply,
};

/// A request that was passed on to the next layer or to the handler.
pub(super) enum ForwardedCall {
    /// Answered; the reply is taken when it is returned.
    Ready(Option<Reply>),
    /// Still running.
    Pending(Pin<Box<dyn Future<Output = Reply> + Send>>),
}

impl CallRequest {
    /// Passes the request on to the next layer, or to the handler.
    pub(super) fn pass_on(mut self) -> ForwardedCall {
        let next = self.target.layers.get(self.passed).cloned();
        match next {
            Some(layer) => {
                self.passed += 1;
                ForwardedCall::Pending(layer.call(self))
            }
            None => match self.request.call(self.target.inner.clone()) {
                HandlerOutcome::Ready(reply) => ForwardedCall::Ready(Some(reply)),
                HandlerOutcome::Pending(running) => ForwardedCall::Pending(running),
            },
        }
    }
}

/// A layer's service, type-erased.
pub(crate) trait DynMiddleware: Send + Sync {
    fn call(&self, call: CallRequest) -> Pin<Box<dyn Future<Output = Reply> + Send>>;
}

/// Erases the type of a layer's service.
pub(crate) fn boxed_middleware(service: impl Middleware) -> Arc<dyn DynMiddleware> {
    struct Boxed<S>(S);
    impl<S: Middleware> DynMiddleware for Boxed<S> {
        fn call(&self, call: CallRequest) -> Pin<Box<dyn Future<Output = Reply> + Send>> {
            let mapping = call.target.about.mapping;
            let context = call.request.context.clone();
            let response = self.0.clone().respond(call);
            Box::pin(async move { response.await.into_reply(mapping, &context) })
        }
    }
    Arc::new(Boxed(service))
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
    inner: Arc<dyn ErasedHandler>,
    pub(super) about: LayerTarget,
    layers: Vec<Arc<dyn DynMiddleware>>,
}

impl LayeredHandler {
    pub(crate) fn new(
        inner: Arc<dyn ErasedHandler>,
        about: LayerTarget,
        layers: Vec<Arc<dyn DynMiddleware>>,
    ) -> Self {
        Self {
            inner,
            about,
            layers,
        }
    }
}

impl ErasedHandler for LayeredHandler {
    fn call(self: Arc<Self>, request: HandlerRequest<'_>) -> HandlerOutcome {
        let call = CallRequest {
            target: self,
            passed: 0,
            request: request.detach(),
        };
        match call.pass_on() {
            ForwardedCall::Pending(running) => HandlerOutcome::Pending(running),
            ForwardedCall::Ready(reply) => match reply {
                Some(reply) => reply.into(),
                None => wrapper_failure_reply(Failure::new("a layer returned no response"), false)
                    .into(),
            },
        }
    }
}
