//! Tower layers around the calls of a server, a group or an item.
//!
//! A layer is added with `.layer(…)` and wraps calls of tools, prompts and resources. It gets every
//! [`CallRequest`] that is allowed (items that do not exist, are hidden or need a scope are refused
//! before), and passes the call on, changes its [`CallResponse`], or answers itself. Layers of
//! tower such as `TimeoutLayer` and `ConcurrencyLimitLayer` work; a layer around a group or a
//! server is shared by all calls in it.
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

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};

use turnbuckle_wire::era::Reply;

use self::layered::ForwardedCall;
use crate::error::failure::{Failure, Result};
use crate::handler::context::HandlerContext;
use crate::handler::{DetachedRequest, FailureMapping, failure_reply};
use crate::tool::output::ToolOutput;

pub use crate::item::item_kind::ItemKind;
pub(crate) use layered::{DynMiddleware, LayeredHandler, boxed_middleware};

/// A call of a tool, a prompt or a resource on its way through the layers.
#[derive(Clone)]
pub struct CallRequest {
    target: Arc<LayeredHandler>,
    /// The number of layers that the call has passed.
    passed: usize,
    kept: DetachedRequest,
}

impl CallRequest {
    /// Returns the kind of the called item.
    #[must_use]
    pub fn kind(&self) -> ItemKind {
        self.target.kind
    }

    /// Returns the name of the tool or prompt, or the URI that is read.
    #[must_use]
    pub fn name(&self) -> &str {
        self.kept.uri().unwrap_or(&self.target.name)
    }

    /// Returns the context of the request.
    #[must_use]
    pub fn context(&self) -> &HandlerContext {
        &self.kept.context
    }
}

impl fmt::Debug for CallRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallRequest")
            .field("kind", &self.kind())
            .field("name", &self.name())
            .field("context", self.context())
            .finish_non_exhaustive()
    }
}

/// The response to a call.
pub struct CallResponse(ResponseContent);

enum ResponseContent {
    Reply(Reply),
    Failed(Failure),
}

impl CallResponse {
    /// Creates the response of a tool.
    ///
    /// # Errors
    /// When the output is a failure, or cannot be encoded.
    pub fn from_tool_output(output: impl ToolOutput) -> Result<Self> {
        Ok(Self(ResponseContent::Reply(output.into_reply()?)))
    }

    /// Creates a failure: an error result of a tool, an error elsewhere.
    pub fn from_failure(failure: impl Into<Failure>) -> Self {
        Self(ResponseContent::Failed(failure.into()))
    }

    /// Returns whether the response is an error, or an error result of a tool.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match &self.0 {
            ResponseContent::Reply(reply) => reply.is_error(),
            ResponseContent::Failed(_) => true,
        }
    }

    fn into_reply(self, mapping: FailureMapping, context: &HandlerContext) -> Reply {
        match self.0 {
            ResponseContent::Reply(reply) => reply,
            ResponseContent::Failed(failure) => {
                failure_reply(failure.into_kind(), mapping, context)
            }
        }
    }
}

impl fmt::Debug for CallResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallResponse")
            .field("is_error", &self.is_error())
            .finish_non_exhaustive()
    }
}

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
        CallFuture(call.pass_on())
    }
}

/// The future of a response.
pub struct CallFuture(ForwardedCall);

impl Future for CallFuture {
    type Output = Result<CallResponse, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let reply = match &mut self.0 {
            ForwardedCall::Pending(running) => std::task::ready!(running.as_mut().poll(cx)),
            ForwardedCall::Ready(reply) => match reply.take() {
                Some(reply) => reply,
                None => return Poll::Pending,
            },
        };
        Poll::Ready(Ok(CallResponse(ResponseContent::Reply(reply))))
    }
}

impl fmt::Debug for CallFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallFuture(..)")
    }
}

/// A tower service that can wrap calls.
///
/// Implemented for every `tower_service::Service<CallRequest>` that responds with a
/// [`CallResponse`], whose error can be displayed, and that is `Clone + Send + Sync`. Its errors
/// become failures of the call.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot wrap calls",
    note = "it must be a `tower_service::Service<Call, Response = Answer>` with an error that can be displayed and a `Send` future, and `Clone + Send + Sync + 'static`"
)]
pub trait Middleware: Clone + Send + Sync + 'static {
    /// Handles a call; an error of the service becomes a failure.
    fn respond(self, call: CallRequest) -> impl Future<Output = CallResponse> + Send;
}

impl<S> Middleware for S
where
    S: tower_service::Service<CallRequest, Response = CallResponse> + Clone + Send + Sync + 'static,
    S::Error: Into<Failure> + Send,
    S::Future: Send,
{
    async fn respond(mut self, call: CallRequest) -> CallResponse {
        match std::future::poll_fn(|cx| self.poll_ready(cx)).await {
            Ok(()) => self
                .call(call)
                .await
                .unwrap_or_else(CallResponse::from_failure),
            Err(error) => CallResponse::from_failure(error),
        }
    }
}
