//! Tower layers around the requests of a server, a group or an item.
//!
//! A layer is added with `.layer(…)`. Most are functions, made by
//! [`middleware::from_fn`](crate::middleware::from_fn); this module has what those functions and
//! hand-written tower services share.
//!
//! Layers wrap calls of tools, prompts, resources and completers, and those of a server also its
//! list requests. A layer gets every [`CallRequest`] that is allowed (items that do not exist, are
//! hidden or need a scope are refused before), and passes it on, changes its arguments or its
//! [`CallResponse`], or answers itself. Layers of tower such as `TimeoutLayer` and
//! `ConcurrencyLimitLayer` work; a layer around a group or a server is shared by all requests in it.
//!
//! A tower service written by hand:
//!
//! ```
//! use std::future::Future;
//! use std::pin::Pin;
//! use std::task::{Context, Poll};
//!
//! use tower_service::Service;
//! use turnbuckle_server::service::{CallRequest, CallResponse, CallService};
//! use turnbuckle_server::{Server, Tool};
//!
//! /// Logs failing calls.
//! #[derive(Clone)]
//! struct Watch(CallService);
//!
//! impl Service<CallRequest> for Watch {
//!     type Response = CallResponse;
//!     type Error = std::convert::Infallible;
//!     type Future = Pin<Box<dyn Future<Output = Result<CallResponse, Self::Error>> + Send>>;
//!
//!     fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
//!         self.0.poll_ready(cx)
//!     }
//!
//!     fn call(&mut self, call: CallRequest) -> Self::Future {
//!         let name = call.name().to_owned();
//!         let answer = self.0.call(call);
//!         Box::pin(async move {
//!             let answer = answer.await?;
//!             if answer.is_error() {
//!                 eprintln!("{name} failed");
//!             }
//!             Ok(answer)
//!         })
//!     }
//! }
//!
//! let server = Server::new("watched", "1.0.0")
//!     .layer(tower_layer::layer_fn(Watch))
//!     .tool(Tool::builder("hello").handler(|| "hello"))
//!     .build()?;
//! # Ok::<(), turnbuckle_server::BuildError>(())
//! ```

mod layered;
pub(crate) mod policy;
mod request;
mod response;

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{self, Poll};

use turnbuckle_session::internal::HandlerOutcome;
use turnbuckle_types::base::debug_fields;

use crate::error::failure::Failure;

pub use crate::handler::CallKind;
pub(crate) use layered::{DynMiddleware, LayerTarget, LayeredHandler, boxed_middleware};
pub use request::CallRequest;
pub use response::{CallResponse, CallResult};

/// The service that layers wrap: passes calls on to further layers and to the handler.
///
/// A handler's failure is a response; the service itself never fails.
#[derive(Debug, Clone)]
pub struct CallService(());

impl CallService {
    pub(crate) fn new() -> Self {
        Self(())
    }
}

impl tower_service::Service<CallRequest> for CallService {
    type Response = CallResponse;
    type Error = Infallible;
    type Future = CallFuture;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: CallRequest) -> CallFuture {
        CallFuture(Some(call.pass_on()))
    }
}

/// The future of a response.
pub struct CallFuture(Option<HandlerOutcome>);

impl Future for CallFuture {
    type Output = Result<CallResponse, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let reply = match &mut self.0 {
            Some(HandlerOutcome::Pending(running)) => std::task::ready!(running.as_mut().poll(cx)),
            ready => match ready.take() {
                Some(HandlerOutcome::Ready(reply)) => reply,
                _ => return Poll::Pending,
            },
        };
        Poll::Ready(Ok(CallResponse::from_reply(reply)))
    }
}

debug_fields!(CallFuture {});

/// A tower service that can wrap calls.
///
/// Implemented for every `tower_service::Service<CallRequest>` that responds with a
/// [`CallResponse`], whose error can be displayed, and that is `Clone + Send + Sync`. Its errors
/// become failures of the call.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot wrap calls",
    note = "a function becomes a layer by `turnbuckle::middleware::from_fn`",
    note = "a service must be a `tower_service::Service<CallRequest, Response = CallResponse>` with an error that can be displayed and a `Send` future, and `Clone + Send + Sync + 'static`"
)]
pub trait Middleware: Clone + Send + Sync + 'static {
    /// Handles a call; an error of the service becomes a failure.
    fn respond(self, call: CallRequest) -> impl Future<Output = CallResponse> + Send + 'static;
}

impl<S> Middleware for S
where
    S: tower_service::Service<CallRequest, Response = CallResponse> + Clone + Send + Sync + 'static,
    S::Error: Into<Failure> + Send,
    S::Future: Send + 'static,
{
    async fn respond(mut self, call: CallRequest) -> CallResponse {
        match std::future::poll_fn(|cx| self.poll_ready(cx)).await {
            Ok(()) => self
                .call(call)
                .await
                .unwrap_or_else(|error| CallResponse::from_failure(error.into())),
            Err(error) => CallResponse::from_failure(error.into()),
        }
    }
}
