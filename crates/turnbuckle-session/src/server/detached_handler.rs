//! Handlers that outlive their request, run by whoever keeps their result.

use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::Sleep;
use turnbuckle_types::base::debug_fields;
use turnbuckle_wire::era::Reply;

use crate::server::context::{RequestContext, TimeoutReply};
use crate::server::handler_task::wait_for_cancelled;
use crate::shared::incoming::{HandlerFuture, HandlerOutcome};
use crate::shared::panic_guard::poll_handler;

/// A handler with a context that was [detached](RequestContext::detach) from its request.
pub struct DetachedHandler {
    /// `None` once the handler is done.
    future: Option<HandlerFuture>,
    context: CancelOnDrop,
    /// The timeout that the handler's item set.
    timeout: Option<(Pin<Box<Sleep>>, TimeoutReply)>,
}

debug_fields!(DetachedHandler {
    context = |it| it.context.0.clone()
});

impl DetachedHandler {
    /// Creates a handler from its outcome so far.
    #[must_use]
    pub fn new(outcome: HandlerOutcome, context: RequestContext) -> Self {
        let future = match outcome {
            HandlerOutcome::Ready(reply) => Box::pin(std::future::ready(reply)),
            HandlerOutcome::Pending(future) => future,
        };
        Self {
            future: Some(future),
            context: CancelOnDrop(context),
            timeout: None,
        }
    }

    /// Runs the handler to its reply, or to the reply for its own timeout. Nothing is lost if the future is
    /// dropped before: the next call goes on. After the reply there is no other.
    pub async fn run(&mut self) -> Reply {
        std::future::poll_fn(|cx| {
            let Some(future) = &mut self.future else {
                return Poll::Pending;
            };
            if let Poll::Ready(reply) = poll_handler(future, cx) {
                self.future = None;
                return Poll::Ready(reply);
            }
            if let Some((timeout, reply)) = self.context.0.take_timeout() {
                self.timeout = Some((Box::pin(tokio::time::sleep(timeout)), reply));
            }
            match &mut self.timeout {
                None => Poll::Pending,
                Some((timer, reply)) => timer.as_mut().poll(cx).map(|()| reply()),
            }
        })
        .await
    }

    /// Cancels the handler, and waits until it has ended or `cancel_timeout` has passed. A handler that is done
    /// can send nothing any more.
    pub async fn cancel(self, cancel_timeout: Duration) {
        let context = &self.context.0;
        context.cancel();
        if let Some(future) = self.future {
            wait_for_cancelled(future, context, cancel_timeout).await;
        }
    }
}

/// The context of a handler, which is cancelled when the handler is dropped.
struct CancelOnDrop(RequestContext);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
