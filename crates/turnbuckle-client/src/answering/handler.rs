//! A handler of any kind of question, behind one type.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use turnbuckle_types::Error;

use super::Question;

type Answering<A> = Pin<Box<dyn Future<Output = A> + Send>>;

/// What a user installed for questions `Q`.
pub(super) struct Handler<Q, A>(Arc<dyn Fn(Q, Question) -> Answering<A> + Send + Sync>);

impl<Q, A> Clone for Handler<Q, A> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<Q, A> Handler<Q, A> {
    pub(super) fn new<F, Fut>(handler: F) -> Self
    where
        F: Fn(Q, Question) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = A> + Send + 'static,
    {
        Self(Arc::new(move |what, question| {
            Box::pin(handler(what, question))
        }))
    }

    /// Runs it. A panic is an error to who asks, and ends nothing else.
    pub(super) async fn run(&self, what: Q, question: Question) -> Result<A, Error> {
        // Whoever kept a clone of the question hears of its end, also when this is dropped.
        let _over = Over(question.signal().clone());
        let handler = AssertUnwindSafe(|| (self.0)(what, question));
        let mut answering = catch_unwind(handler).map_err(|panic| panicked(&*panic))?;
        std::future::poll_fn(move |cx| {
            match catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(cx))) {
                Ok(poll) => poll.map(Ok),
                Err(panic) => Poll::Ready(Err(panicked(&*panic))),
            }
        })
        .await
    }
}

struct Over(turnbuckle_session::Signal);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cold]
fn panicked(panic: &(dyn Any + Send)) -> Error {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    tracing::error!(message, "a handler of the server's questions panicked");
    Error::internal("the handler failed unexpectedly")
}
