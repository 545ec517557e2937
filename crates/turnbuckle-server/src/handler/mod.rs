//! Handlers: sync or async functions whose parameters are extractors, in any order.

mod call_kind;
pub(crate) mod concurrency_limit;
mod erased;
pub(crate) mod failure_log;
mod first_run;
pub(crate) mod output;
mod request;
mod rounds;

use std::future::Ready;
use std::pin::pin;
use std::task::{self, Poll, Waker};

use turnbuckle_types::{CallToolResult, ProtocolError};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Method;

use crate::error::failure::{self, Failure, Result};
use crate::request::extract::{Extract, HandlerRequirements, Invocation};
use crate::request::read::ReadRequest;

pub use call_kind::CallKind;
pub(crate) use erased::{
    HandlerFactory, HandlerSettings, blocking_handler_factory, handler_factory,
};
pub(crate) use request::{DetachedRequest, ErasedHandler, HandlerRequest, OwnedPayload};
pub(crate) use rounds::{FailureMapping, failure_reply};

/// The kind of item that a handler belongs to: a tool, a prompt, a resource or a completer.
pub trait HandlerKind: Sized + 'static {
    /// The item's settings that its replies depend on.
    type ReplyOptions: Send + Sync + 'static;

    /// The type that an output of the handler is converted into: a [`Reply`] to the request, or what
    /// the server makes one of.
    type Reply: Send + 'static;

    /// The method that calls the handler.
    const METHOD: Method;

    /// True if failures become an error result for the model, instead of a protocol error.
    const ERRORS_IN_RESULT: bool;

    /// The kind of the requests that call the handler.
    const CALL_KIND: CallKind;

    /// Recreates the [`ReadRequest`] when a request is run again.
    fn read_request(_: &Self::ReplyOptions, _uri: &str) -> Option<ReadRequest> {
        None
    }
}

/// Returns the reply for a failure of a wrapper around a handler: a limit, a timeout or a layer.
pub(crate) fn wrapper_failure_reply(failure: Failure, errors_in_result: bool) -> Reply {
    match failure.into_kind() {
        failure::FailureKind::Message { text, .. } if errors_in_result => {
            Reply::complete(CallToolResult::error(text))
        }
        failure::FailureKind::Message { text, .. } => ProtocolError::internal(text).into(),
        failure::FailureKind::Protocol { error, .. } => error.into(),
        _ => ProtocolError::internal("only a handler can ask its client").into(),
    }
}

/// A type that a handler of kind `K` can return.
pub trait HandlerOutput<K: HandlerKind>: Send + 'static {
    /// Converts the output into a reply; `uri` is the URI that is read, if any.
    ///
    /// # Errors
    /// When the output is a failure, or cannot be encoded.
    fn into_handler_reply(
        self,
        reply_options: &K::ReplyOptions,
        uri: Option<&str>,
    ) -> Result<K::Reply>;
}

/// A function that handles calls: sync or async, with up to eight extractors as parameters.
///
/// An async function is polled in place while it is ready, and moves to a task of its own the first
/// time that it waits. A sync function runs in place; one that takes long belongs on the blocking
/// pool ([`Tool::blocking`](crate::Tool::blocking)).
///
/// A handler that captures variables and awaits is a closure that returns a future, `move |…| async
/// move { … }`: an async closure that captures is not `Fn`.
#[diagnostic::on_unimplemented(
    message = "this function cannot be the handler of a {K}",
    label = "not a handler",
    note = "each of its parameters must be an extractor: `Args<T>` for the arguments, `State<T>`, `Progress`, `Ask`, `HandlerContext`, … or a type of yours that implements `Extract`; at most eight",
    note = "what it returns, or what the future does that it returns, must be something that a {K} can return (see `ToolOutput`, `PromptOutput`, `ResourceOutput`); other data is wrapped in `Structured`",
    note = "it must be `Fn + Send + Sync + 'static`, and its future `Send`"
)]
pub trait Handler<K: HandlerKind, M>: Send + Sync + 'static {
    /// The type that the function returns, or that its future resolves to.
    type Output: HandlerOutput<K>;

    /// The future of one call.
    type Run: Future<Output = Self::Output> + Send + 'static;

    /// True if the future of a call is ready at once.
    const IS_SYNC: bool;

    /// True if all parameters are extracted at once.
    const EXTRACTS_AT_ONCE: bool;

    /// Adds the requirements of all parameters to `requirements`.
    fn add_requirements(requirements: &mut HandlerRequirements);

    /// Extracts the parameters and calls the function. Only for a handler that
    /// [extracts at once](Self::EXTRACTS_AT_ONCE).
    ///
    /// # Errors
    /// When a parameter cannot be extracted from the request.
    fn start(&self, invocation: &Invocation<'_>) -> Result<Self::Run>;

    /// Extracts the parameters, one after the other, and calls the function.
    ///
    /// # Errors
    /// When a parameter cannot be extracted from the request.
    fn start_waiting(
        &self,
        invocation: &Invocation<'_>,
    ) -> impl Future<Output = Result<Self::Run>> + Send;
}

/// Marker of handlers that return a future; `E` are the extractors.
#[derive(Debug)]
pub struct AsyncMarker<E>(std::marker::PhantomData<E>);

/// Marker of handlers that return their result directly; `E` are the extractors.
#[derive(Debug)]
pub struct SyncMarker<E>(std::marker::PhantomData<E>);

/// Returns the parameter of an extractor that is ready at once.
fn extract_now<T>(extracted: impl Future<Output = Result<T>>) -> Result<T> {
    match pin!(extracted).poll(&mut task::Context::from_waker(Waker::noop())) {
        Poll::Ready(parameter) => parameter,
        Poll::Pending => Err(ProtocolError::internal(
            "an extractor with `IS_READY` waits (Extract::IS_READY)",
        )
        .into()),
    }
}

macro_rules! functions_of {
    ($($E:ident)*) => {
        impl<K, F, Fut, $($E),*> Handler<K, AsyncMarker<($($E,)*)>> for F
        where
            K: HandlerKind,
            F: Fn($($E),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output: HandlerOutput<K>> + Send + 'static,
            $($E: Extract,)*
        {
            type Output = Fut::Output;
            type Run = Fut;
            const IS_SYNC: bool = false;
            const EXTRACTS_AT_ONCE: bool = true $(&& $E::IS_READY)*;

            fn add_requirements(_requirements: &mut HandlerRequirements) {
                $($E::add_requirements(_requirements);)*
            }

            fn start(&self, _invocation: &Invocation<'_>) -> Result<Fut> {
                Ok(self($(extract_now($E::extract(_invocation))?),*))
            }

            async fn start_waiting(&self, _invocation: &Invocation<'_>) -> Result<Fut> {
                Ok(self($($E::extract(_invocation).await?),*))
            }
        }

        impl<K, F, O, $($E),*> Handler<K, SyncMarker<($($E,)*)>> for F
        where
            K: HandlerKind,
            F: Fn($($E),*) -> O + Send + Sync + 'static,
            O: HandlerOutput<K>,
            $($E: Extract,)*
        {
            type Output = O;
            type Run = Ready<O>;
            const IS_SYNC: bool = true;
            const EXTRACTS_AT_ONCE: bool = true $(&& $E::IS_READY)*;

            fn add_requirements(_requirements: &mut HandlerRequirements) {
                $($E::add_requirements(_requirements);)*
            }

            fn start(&self, _invocation: &Invocation<'_>) -> Result<Ready<O>> {
                Ok(std::future::ready(self($(extract_now($E::extract(_invocation))?),*)))
            }

            async fn start_waiting(&self, _invocation: &Invocation<'_>) -> Result<Ready<O>> {
                Ok(std::future::ready(self($($E::extract(_invocation).await?),*)))
            }
        }
    };
}

functions_of!();
functions_of!(A);
functions_of!(A B);
functions_of!(A B C);
functions_of!(A B C D);
functions_of!(A B C D E);
functions_of!(A B C D E G);
functions_of!(A B C D E G H);
functions_of!(A B C D E G H I);
