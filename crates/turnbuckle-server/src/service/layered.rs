//! The way of a call through the layers around an item, from the outermost to the innermost.

use std::pin::Pin;
use std::sync::Arc;

use turnbuckle_session::HandlerOutcome;
use turnbuckle_wire::era::Reply;

use super::{CallRequest, CallResponse, ItemKind, Middleware};
use crate::error::failure::Failure;
use crate::handler::{ErasedHandler, FailureMapping, HandlerRequest, wrapper_failure_reply};

/// A call that was passed on to the next layer or to the handler.
pub(super) enum ForwardedCall {
    /// Answered; the reply is taken when it is returned.
    Ready(Option<Reply>),
    /// Still running.
    Pending(Pin<Box<dyn Future<Output = Reply> + Send>>),
}

impl CallRequest {
    /// Passes the call on to the next layer, or to the handler.
    pub(super) fn pass_on(mut self) -> ForwardedCall {
        let next = self.target.layers.get(self.passed).cloned();
        match next {
            Some(layer) => {
                self.passed += 1;
                let mapping = self.target.mapping;
                let context = self.kept.context.clone();
                let answer = layer.call(self);
                let reply = async move { answer.await.into_reply(mapping, &context) };
                ForwardedCall::Pending(Box::pin(reply))
            }
            None => match self.kept.call(self.target.inner.clone()) {
                HandlerOutcome::Ready(reply) => ForwardedCall::Ready(Some(reply)),
                HandlerOutcome::Pending(running) => ForwardedCall::Pending(running),
            },
        }
    }
}

/// A layer's service, type-erased.
pub(crate) trait DynMiddleware: Send + Sync {
    fn call(&self, call: CallRequest) -> Pin<Box<dyn Future<Output = CallResponse> + Send>>;
}

/// Erases the type of a layer's service.
pub(crate) fn boxed_middleware(service: impl Middleware) -> Arc<dyn DynMiddleware> {
    struct Boxed<S>(S);
    impl<S: Middleware> DynMiddleware for Boxed<S> {
        fn call(&self, call: CallRequest) -> Pin<Box<dyn Future<Output = CallResponse> + Send>> {
            Box::pin(self.0.clone().respond(call))
        }
    }
    Arc::new(Boxed(service))
}

/// A handler with layers around it.
pub(crate) struct LayeredHandler {
    inner: Arc<dyn ErasedHandler>,
    pub(super) kind: ItemKind,
    pub(super) name: Box<str>,
    layers: Vec<Arc<dyn DynMiddleware>>,
    mapping: FailureMapping,
}

impl LayeredHandler {
    pub(crate) fn new(
        inner: Arc<dyn ErasedHandler>,
        kind: ItemKind,
        name: &str,
        layers: Vec<Arc<dyn DynMiddleware>>,
        mapping: FailureMapping,
    ) -> Self {
        Self {
            inner,
            kind,
            name: name.into(),
            layers,
            mapping,
        }
    }
}

impl ErasedHandler for LayeredHandler {
    fn call(self: Arc<Self>, request: HandlerRequest<'_>) -> HandlerOutcome {
        let call = CallRequest {
            target: self,
            passed: 0,
            kept: request.detach(),
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
