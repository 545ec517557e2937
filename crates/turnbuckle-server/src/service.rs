//! Calls as a tower service, for layers around a server, a group or an item.
//!
//! A layer is put around calls of tools, prompts and resources with `.layer(…)`. It gets every
//! [`Call`] that may be made at all (what does not exist, is hidden or needs a scope is refused
//! before), and passes it on, changes its [`Answer`], or answers itself. tower's own layers fit,
//! like `TimeoutLayer` and `ConcurrencyLimitLayer`; one that is put around a group or a server is
//! one for all that is in it.
//!
//! ```
//! use std::future::Future;
//! use std::pin::Pin;
//! use std::task::{Context, Poll};
//!
//! use tower_service::Service;
//! use turnbuckle_server::service::{Answer, Call, CallService};
//! use turnbuckle_server::{Server, Tool};
//!
//! /// Says who fails.
//! #[derive(Clone)]
//! struct Watch(CallService);
//!
//! impl Service<Call> for Watch {
//!     type Response = Answer;
//!     type Error = std::convert::Infallible;
//!     type Future = Pin<Box<dyn Future<Output = Result<Answer, Self::Error>> + Send>>;
//!
//!     fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
//!         self.0.poll_ready(cx)
//!     }
//!
//!     fn call(&mut self, call: Call) -> Self::Future {
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
use turnbuckle_wire::revision::Method;

use self::layered::Calling;
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::handler::{Kept, Kind, Terms, failed};
use crate::output::ToolOutput;

pub(crate) use layered::{Around, Layered, around};

/// What kind of item is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ItemKind {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource, or one of a template's.
    Resource,
}

impl ItemKind {
    pub(crate) fn of<K: Kind>() -> Option<Self> {
        match K::METHOD {
            Method::CallTool => Some(Self::Tool),
            Method::GetPrompt => Some(Self::Prompt),
            Method::ReadResource => Some(Self::Resource),
            _ => None,
        }
    }
}

/// A call of a tool, of a prompt, or of what reads a resource, on its way through the layers.
#[derive(Clone)]
pub struct Call {
    target: Arc<Layered>,
    /// The layers that it went through.
    passed: usize,
    kept: Kept,
}

impl Call {
    /// What kind of item is called.
    #[must_use]
    pub fn kind(&self) -> ItemKind {
        self.target.kind
    }

    /// The tool's or the prompt's name, or the URI that is read.
    #[must_use]
    pub fn name(&self) -> &str {
        self.kept.uri().unwrap_or(&self.target.name)
    }

    /// The request: who asks, and the way back.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.kept.context
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("kind", &self.kind())
            .field("name", &self.name())
            .field("context", self.context())
            .finish_non_exhaustive()
    }
}

/// What a call is answered with.
pub struct Answer(Said);

enum Said {
    Reply(Reply),
    Failed(Failure),
}

impl Answer {
    /// A tool's result.
    ///
    /// # Errors
    /// When it is a failure, or has no JSON form.
    pub fn of_tool(output: impl ToolOutput) -> Result<Self> {
        Ok(Self(Said::Reply(output.into_reply()?)))
    }

    /// A failure: told to the model by a tool, an error elsewhere.
    pub fn of_failure(failure: impl Into<Failure>) -> Self {
        Self(Said::Failed(failure.into()))
    }

    /// Whether it is an error, or an error result of a tool.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match &self.0 {
            Said::Reply(reply) => reply.is_error(),
            Said::Failed(_) => true,
        }
    }

    fn into_reply(self, terms: Terms, context: &Context) -> Reply {
        match self.0 {
            Said::Reply(reply) => reply,
            Said::Failed(failure) => failed(failure.into_kind(), terms, context),
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("is_error", &self.is_error())
            .finish_non_exhaustive()
    }
}

/// What layers are put around: it passes calls on to what is inside, further layers or handlers.
/// A handler that fails answers with an error; the service itself never fails.
#[derive(Debug, Clone)]
pub struct CallService(());

impl CallService {
    pub(crate) fn new() -> Self {
        Self(())
    }
}

impl tower_service::Service<Call> for CallService {
    type Response = Answer;
    type Error = Infallible;
    type Future = CallFuture;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> CallFuture {
        CallFuture(call.pass_on())
    }
}

/// A call under way.
pub struct CallFuture(Calling);

impl Future for CallFuture {
    type Output = Result<Answer, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let reply = match &mut self.0 {
            Calling::Pending(running) => std::task::ready!(running.as_mut().poll(cx)),
            Calling::Ready(reply) => match reply.take() {
                Some(reply) => reply,
                None => return Poll::Pending,
            },
        };
        Poll::Ready(Ok(Answer(Said::Reply(reply))))
    }
}

impl fmt::Debug for CallFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallFuture(..)")
    }
}

/// A service that can stand around calls: every `tower_service::Service<Call>` that answers with
/// an [`Answer`], whose error can be displayed, and that can be cloned and shared. What it fails
/// with is a failure of the call.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand around calls",
    note = "it must be a `tower_service::Service<Call, Response = Answer>` with an error that can be displayed and a `Send` future, and `Clone + Send + Sync + 'static`"
)]
pub trait AroundCalls: Clone + Send + Sync + 'static {
    #[doc(hidden)]
    fn answer(self, call: Call) -> impl Future<Output = Answer> + Send;
}

impl<S> AroundCalls for S
where
    S: tower_service::Service<Call, Response = Answer> + Clone + Send + Sync + 'static,
    S::Error: Into<Failure> + Send,
    S::Future: Send,
{
    async fn answer(mut self, call: Call) -> Answer {
        match std::future::poll_fn(|cx| self.poll_ready(cx)).await {
            Ok(()) => self.call(call).await.unwrap_or_else(Answer::of_failure),
            Err(error) => Answer::of_failure(error),
        }
    }
}
