//! A user's handler of one kind of question.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use turnbuckle_types::Error;

use crate::input::question::QuestionContext;

type AnswerFuture<A> = Pin<Box<dyn Future<Output = A> + Send>>;

/// A handler of questions of type `Q` that returns an answer of type `A`.
pub(super) struct InputHandler<Q, A>(
    Arc<dyn Fn(Q, QuestionContext) -> AnswerFuture<A> + Send + Sync>,
);

impl<Q, A> Clone for InputHandler<Q, A> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<Q, A> InputHandler<Q, A> {
    pub(super) fn new<F, Fut>(handler: F) -> Self
    where
        F: Fn(Q, QuestionContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = A> + Send + 'static,
    {
        Self(Arc::new(move |request, question| {
            Box::pin(handler(request, question))
        }))
    }

    /// Runs the handler. A panic becomes an error for the server and ends nothing else.
    pub(super) async fn run(&self, request: Q, question: QuestionContext) -> Result<A, Error> {
        // Clones of the context learn of the end, also when this future is dropped.
        let _guard = CancelOnDrop(question.signal().clone());
        let handler = AssertUnwindSafe(|| (self.0)(request, question));
        let mut answer = catch_unwind(handler).map_err(|panic| panic_error(&*panic))?;
        std::future::poll_fn(move |cx| {
            match catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(cx))) {
                Ok(poll) => poll.map(Ok),
                Err(panic) => Poll::Ready(Err(panic_error(&*panic))),
            }
        })
        .await
    }
}

/// Cancels a question when the handler is done or dropped.
struct CancelOnDrop(turnbuckle_session::Signal);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Logs a panic and returns the error for the server.
#[cold]
fn panic_error(panic: &(dyn Any + Send)) -> Error {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    tracing::error!(message, "a handler of the server's questions panicked");
    Error::internal("the handler failed unexpectedly")
}
