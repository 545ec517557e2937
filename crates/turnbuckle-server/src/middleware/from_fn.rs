//! Layers made of async functions.

use std::sync::Arc;

use tower_layer::{Layer, layer_fn};
use tower_service::Service as _;
use turnbuckle_types::base::debug_fields;

use crate::error::into_failure::IntoFailure;
use crate::service::{CallFuture, CallRequest, CallResponse, CallService, Middleware};

/// Makes a layer of an async function that gets a [`CallRequest`] and the [`Next`] step, and returns
/// a [`CallResponse`] or a `Result` of one.
///
/// An async closure that captures variables is no `Fn`; write `move |call, next| async move { … }`
/// and clone what it captures before the `async`.
pub fn from_fn<F, Fut>(function: F) -> impl Layer<CallService, Service = FromFn<F>> + Clone
where
    // The compiler prints this line when the closure captures variables and is async.
    F: Fn(CallRequest, Next) -> Fut + Send + Sync + 'static, // instead: move |call, next| { let x = x.clone(); async move { … } }
    Fut: Future<Output: IntoCallResponse> + Send + 'static,
{
    let function = Arc::new(function);
    layer_fn(move |inner| FromFn {
        function: function.clone(),
        next: Next::new(inner),
    })
}

/// A type that a middleware function can return: a [`CallResponse`], or a `Result` of one with an
/// error that implements [`IntoFailure`], which becomes a failure of the call.
pub trait IntoCallResponse {
    /// Converts into the response.
    fn into_call_response(self) -> CallResponse;
}

impl IntoCallResponse for CallResponse {
    fn into_call_response(self) -> CallResponse {
        self
    }
}

impl<E: IntoFailure> IntoCallResponse for Result<CallResponse, E> {
    fn into_call_response(self) -> CallResponse {
        self.unwrap_or_else(CallResponse::from_failure)
    }
}

/// The remaining steps of a request: further layers, and then the handler.
#[derive(Debug, Clone)]
pub struct Next(CallService);

impl Next {
    pub(super) fn new(service: CallService) -> Self {
        Self(service)
    }

    /// Passes a request on. It can be called more than once, to try again.
    pub fn run(&self, call: CallRequest) -> impl Future<Output = CallResponse> + Send + 'static {
        let answer: CallFuture = self.0.clone().call(call);
        async move {
            match answer.await {
                Ok(response) => response,
                Err(never) => match never {},
            }
        }
    }
}

/// The service around a request that [`from_fn`] makes of a function.
pub struct FromFn<F> {
    function: Arc<F>,
    next: Next,
}

impl<F> Clone for FromFn<F> {
    fn clone(&self) -> Self {
        Self {
            function: self.function.clone(),
            next: self.next.clone(),
        }
    }
}

debug_fields!([F] FromFn<F> {});

impl<F, Fut> Middleware for FromFn<F>
where
    F: Fn(CallRequest, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoCallResponse> + Send + 'static,
{
    fn respond(self, call: CallRequest) -> impl Future<Output = CallResponse> + Send + 'static {
        let response = (self.function)(call, self.next);
        async move { response.await.into_call_response() }
    }
}
