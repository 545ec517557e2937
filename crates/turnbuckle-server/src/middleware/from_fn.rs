//! Layers made of async functions.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};

use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;
use turnbuckle_types::base::debug_fields;

use crate::error::into_failure::IntoFailure;
use crate::service::{CallFuture, CallRequest, CallResponse, CallService};

/// Makes a layer of an async function that gets a [`CallRequest`] and the [`Next`] step, and returns
/// a [`CallResponse`] or a `Result` of one.
///
/// An async closure that captures variables is no `Fn`; write `move |call, next| async move { … }`
/// and clone what it captures before the `async`.
pub fn from_fn<F, Fut>(function: F) -> FromFnLayer<F>
where
    F: Fn(CallRequest, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoCallResponse> + Send + 'static,
{
    FromFnLayer(Arc::new(function))
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

/// A layer made by [`from_fn`].
pub struct FromFnLayer<F>(Arc<F>);

impl<F> Clone for FromFnLayer<F> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

debug_fields!([F] FromFnLayer<F> {});

impl<F> Layer<CallService> for FromFnLayer<F> {
    type Service = FromFn<F>;

    fn layer(&self, inner: CallService) -> FromFn<F> {
        FromFn {
            function: self.0.clone(),
            next: Next::new(inner),
        }
    }
}

/// The service of a [`FromFnLayer`].
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

impl<F, Fut> Service<CallRequest> for FromFn<F>
where
    F: Fn(CallRequest, Next) -> Fut,
    Fut: Future<Output: IntoCallResponse>,
{
    type Response = CallResponse;
    type Error = Infallible;
    type Future = ResponseFuture<Fut>;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: CallRequest) -> ResponseFuture<Fut> {
        ResponseFuture {
            running: (self.function)(call, self.next.clone()),
        }
    }
}

pin_project! {
    /// The future of a middleware function.
    pub struct ResponseFuture<Fut> {
        #[pin]
        running: Fut,
    }
}

impl<Fut: Future<Output: IntoCallResponse>> Future for ResponseFuture<Fut> {
    type Output = Result<CallResponse, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let running = self.project().running;
        running
            .poll(cx)
            .map(|output| Ok(output.into_call_response()))
    }
}

debug_fields!([Fut] ResponseFuture<Fut> {});
