//! Functions as handlers: of extractors in any order, sync or async.

mod request;
mod rounds;
mod typed;

use std::future::Ready;

use turnbuckle_types::{CallToolResult, Error};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Method;

use crate::extract::{Extract, Incoming, Needs};
use crate::failure::{self, Failure, Result};
use crate::resource::Reading;

pub(crate) use request::{Kept, Request};
pub(crate) use rounds::{Terms, failed};
pub(crate) use typed::{Callable, Maker, blocking_maker, maker};

/// What a handler belongs to: a tool, a prompt, a resource or a completer.
pub trait Kind: Sized + 'static {
    /// What its replies need beside what its handler returned.
    type Frame: Send + Sync + 'static;

    /// The method that runs it: its rounds are bound to that, and to what the request names.
    const METHOD: Method;

    /// Whether its failures are told to a model, inside a result.
    const TELLS: bool;

    /// The attribute that makes one of a function, if there is one.
    const ATTRIBUTE: Option<&'static str>;

    /// What is read, when a request is looked at again.
    fn reading(_: &Self::Frame, _uri: &str) -> Option<Reading> {
        None
    }
}

/// What a failure outside of a handler comes to that is about no request in particular.
pub(crate) fn told(failure: Failure, tells: bool) -> Reply {
    match failure.into_kind() {
        failure::Kind::Told(message) if tells => Reply::complete(CallToolResult::error(message)),
        failure::Kind::Told(message) => Error::internal(message).into(),
        failure::Kind::Protocol(error) => error.into(),
        _ => Error::internal("only a handler can ask its client").into(),
    }
}

/// What a handler of that kind may return.
pub trait Returns<K: Kind>: Send + 'static {
    /// The reply; `reading` is what is read, if something is.
    ///
    /// # Errors
    /// When it is a failure, or cannot be told.
    fn reply(self, frame: &K::Frame, uri: Option<&str>) -> Result<Reply>;
}

/// A function of up to eight extractors, sync or async. How one is run is the server's business.
///
/// An async function is polled in place for as long as it is ready, and moves to a task of its own
/// the first time that it waits. A sync one runs in place, whatever it does: one that takes long
/// belongs on the blocking pool ([`ToolBuilder::blocking`](crate::ToolBuilder::blocking)).
///
/// A handler that captures something and awaits is a closure that returns a future,
/// `move |…| async move { … }`: an async closure that captures is not `Fn`.
#[diagnostic::on_unimplemented(
    message = "this function cannot be the handler of a {K}",
    label = "not a handler",
    note = "each of its parameters must be an extractor: `Args<T>` for the arguments, `State<T>`, `Progress`, `Ask`, `Context`, … or a type of yours that implements `Extract`; at most eight",
    note = "what it returns, or what the future does that it returns, must be something that a {K} can return (see `ToolOutput`, `PromptOutput`, `ResourceOutput`); other data is wrapped in `Structured`",
    note = "it must be `Fn + Send + Sync + 'static`, and its future `Send`"
)]
pub trait Handler<K: Kind, M>: Send + Sync + 'static {
    /// What it returns.
    type Output: Returns<K>;

    /// One run of it.
    #[doc(hidden)]
    type Run: Future<Output = Self::Output> + Send + 'static;

    /// Whether a run is ready at once.
    #[doc(hidden)]
    const IN_PLACE: bool;

    /// What has to be there when the server is built.
    #[doc(hidden)]
    fn needs(needs: &mut Needs);

    /// Takes what it needs, and begins.
    ///
    /// # Errors
    /// When the request has not what a parameter needs.
    #[doc(hidden)]
    fn start(&self, incoming: &Incoming<'_>) -> Result<Self::Run>;
}

/// Marks a handler that returns a future.
#[derive(Debug)]
pub struct Awaited<E>(std::marker::PhantomData<E>);

/// Marks a handler that returns its result.
#[derive(Debug)]
pub struct InPlace<E>(std::marker::PhantomData<E>);

macro_rules! functions_of {
    ($($E:ident)*) => {
        impl<K, F, Fut, $($E),*> Handler<K, Awaited<($($E,)*)>> for F
        where
            K: Kind,
            F: Fn($($E),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output: Returns<K>> + Send + 'static,
            $($E: Extract,)*
        {
            type Output = Fut::Output;
            type Run = Fut;
            const IN_PLACE: bool = false;

            fn needs(_needs: &mut Needs) {
                $($E::needs(_needs);)*
            }

            fn start(&self, _incoming: &Incoming<'_>) -> Result<Fut> {
                Ok(self($($E::extract(_incoming)?),*))
            }
        }

        impl<K, F, O, $($E),*> Handler<K, InPlace<($($E,)*)>> for F
        where
            K: Kind,
            F: Fn($($E),*) -> O + Send + Sync + 'static,
            O: Returns<K>,
            $($E: Extract,)*
        {
            type Output = O;
            type Run = Ready<O>;
            const IN_PLACE: bool = true;

            fn needs(_needs: &mut Needs) {
                $($E::needs(_needs);)*
            }

            fn start(&self, _incoming: &Incoming<'_>) -> Result<Ready<O>> {
                Ok(std::future::ready(self($($E::extract(_incoming)?),*)))
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
