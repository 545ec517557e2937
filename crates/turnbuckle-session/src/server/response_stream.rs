//! The messages and the response of one request in an HTTP exchange of its own.

use std::task::{Context, Poll};

use crate::server::context::RequestContext;
use crate::shared::frame_queue::QueuedFrame;

/// The messages of a running request and its response, in the order in which they are sent.
/// Dropping the stream cancels the request.
#[derive(Debug)]
pub struct ResponseStream {
    context: RequestContext,
}

impl ResponseStream {
    /// Returns the stream of a request that has a queue of its own.
    pub(crate) fn new(context: RequestContext) -> Self {
        Self { context }
    }

    /// Polls for the next frame. The response comes last; `None` follows it, or comes instead of it
    /// when the request was cancelled.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<QueuedFrame>> {
        match self.context.own_queue() {
            Some(queue) => queue.poll_next(cx),
            None => Poll::Ready(None),
        }
    }
}

impl Drop for ResponseStream {
    fn drop(&mut self) {
        self.context.cancel();
        if let Some(queue) = self.context.own_queue() {
            queue.close();
        }
    }
}
