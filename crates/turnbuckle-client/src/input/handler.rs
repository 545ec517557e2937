//! A user's handler of one kind of question.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use turnbuckle_session::internal::catch_panic;
use turnbuckle_types::ProtocolError;

use crate::input::question::QuestionContext;

type AnswerFuture<A> = Pin<Box<dyn Future<Output = A> + Send>>;

/// A handler of questions of type `Q` that returns an answer of type `A`.
pub(crate) struct InputHandler<Q, A>(
    Arc<dyn Fn(Q, QuestionContext) -> AnswerFuture<A> + Send + Sync>,
);

impl<Q, A> Clone for InputHandler<Q, A> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<Q, A> InputHandler<Q, A> {
    pub(crate) fn new<F, Fut>(handler: F) -> Self
    where
        F: Fn(Q, QuestionContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = A> + Send + 'static,
    {
        Self(Arc::new(move |request, question| {
            Box::pin(handler(request, question))
        }))
    }

    /// Runs the handler. A panic becomes an error for the server and ends nothing else.
    pub(crate) async fn run(
        &self,
        request: Q,
        question: QuestionContext,
    ) -> Result<A, ProtocolError> {
        // Clones of the context learn of the end, also when this future is dropped.
        let _guard = CancelOnDrop(question.signal().clone());
        let mut answer = catch_panic(|| (self.0)(request, question))?;
        std::future::poll_fn(move |cx| match catch_panic(|| answer.as_mut().poll(cx)) {
            Ok(poll) => poll.map(Ok),
            Err(error) => Poll::Ready(Err(error)),
        })
        .await
    }
}

/// Cancels a question when the handler is done or dropped.
struct CancelOnDrop(turnbuckle_session::handler::Signal);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
