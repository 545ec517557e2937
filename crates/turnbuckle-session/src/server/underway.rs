//! A handler that was not ready at once, still in the hands of whoever took its request up.

use std::sync::Arc;
use std::task::{Context as Task, Poll, ready};
use std::time::{Duration, Instant};

use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Features;

use crate::server::admission::DispatchHandle;
use crate::shared::driver::{self, HandlerFuture};
use crate::shared::rate::Run;
use crate::{EncodedResponse, RequestContext, Session};

/// How often a handler is polled before it gets a task of its own: one that waits for a single
/// thing is done by then, and one that is woken all the time does not wake a connection with it.
const POLLS: u8 = 4;

/// A handler that is polled in place while its answer may come soon. When it is dropped, the
/// handler goes on in a task of its own.
#[derive(Debug)]
pub struct Underway(Option<Handler>);

pub(crate) struct Handler {
    pub(crate) running: HandlerFuture,
    pub(crate) context: RequestContext,
    /// How long it may take, from when it first waited.
    pub(crate) deadline: Option<Duration>,
    /// When that was, where it is known: it is now otherwise.
    pub(crate) since: Option<Instant>,
    pub(crate) grace: Duration,
    pub(crate) end: End,
    polls: u8,
}

/// What becomes of a handler's reply.
pub(crate) enum End {
    /// It answers an exchange.
    Exchange { home: Arc<DispatchHandle>, run: Run },
    /// It answers a request of a session, if that still wants it.
    Session(Arc<Session>),
}

impl Underway {
    /// Takes over a handler that has just been started.
    #[inline]
    pub(crate) fn new(
        running: HandlerFuture,
        context: RequestContext,
        deadline: Option<Duration>,
        grace: Duration,
        end: End,
    ) -> Self {
        let has_deadline = context.has_deadline();
        let mut underway = Self(Some(Handler {
            running,
            context,
            deadline,
            since: None,
            grace,
            end,
            polls: 1,
        }));
        if has_deadline {
            underway.detach();
        }
        underway
    }

    /// Polls the handler, if it is still here. Ready when it has ended: with its answer, or with
    /// none, because that is not wanted any more. One that ends in a task answers by its route.
    #[inline]
    pub fn poll(&mut self, cx: &mut Task<'_>) -> Poll<Option<EncodedResponse>> {
        let Some(handler) = &mut self.0 else {
            return Poll::Pending;
        };
        if handler.polls == POLLS || handler.context.is_cancelled() {
            self.detach();
            return Poll::Pending;
        }
        handler.polls += 1;
        let reply = ready!(driver::poll_guarded(&mut handler.running, cx));
        let Some(Handler { context, end, .. }) = self.0.take() else {
            return Poll::Pending;
        };
        let is_wanted = context.end();
        Poll::Ready(end.answer(&context, is_wanted.then_some(reply)))
    }

    /// Says since when it waits: its deadline counts from there, and else from when it moves to a
    /// task.
    pub fn waits_since(&mut self, since: Instant) {
        if let Some(handler) = &mut self.0 {
            handler.since = Some(since);
        }
    }

    /// Moves the handler to a task of its own.
    #[inline]
    pub fn detach(&mut self) {
        if let Some(handler) = self.0.take() {
            driver::detach(handler);
        }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.detach();
    }
}

impl End {
    /// What the request is answered with when its handler has ended: with a reply, or given up.
    pub(crate) fn answer(
        self,
        context: &RequestContext,
        reply: Option<Reply>,
    ) -> Option<EncodedResponse> {
        let features: &'static Features = context.features();
        match self {
            Self::Exchange { home, run } => {
                drop(run);
                reply.map(|reply| home.answer(context.id(), &reply, features))
            }
            Self::Session(session) => session.finish(context, reply, features),
        }
    }
}

impl std::fmt::Debug for Handler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handler")
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

/// An exchange that goes on: its handler, what it says, and its answer. Dropping it gives the
/// request up.
#[derive(Debug)]
pub struct ResponseStream {
    underway: Underway,
    context: RequestContext,
    /// Nothing more is said, and all was heard.
    is_over: bool,
}

impl ResponseStream {
    pub(crate) fn running(underway: Underway, context: RequestContext) -> Self {
        Self {
            underway,
            context,
            is_over: false,
        }
    }

    /// One whose handler was ready at once, but said something before.
    pub(crate) fn said(context: RequestContext, answer: EncodedResponse) -> Self {
        context.route().finish(Some(answer));
        Self {
            underway: Underway(None),
            context,
            is_over: false,
        }
    }

    /// The next message. The answer comes last; `None` is the end without one, or after it.
    pub fn poll_next(
        &mut self,
        cx: &mut Task<'_>,
    ) -> Poll<Option<Result<Vec<u8>, EncodedResponse>>> {
        let Some(outbox) = self.context.outbox().filter(|_| !self.is_over) else {
            return Poll::Ready(None);
        };
        if let Poll::Ready(answer) = self.underway.poll(cx) {
            // Nobody has to be woken for an answer that has nothing before it.
            if outbox.is_empty() {
                self.is_over = true;
                return Poll::Ready(answer.map(Err));
            }
            outbox.done(answer);
        }
        outbox.poll_next(cx)
    }

    /// The next message that is there already. The handler is left alone: it was polled when the
    /// request was opened, and who does that with a waker and comes here with the same is woken by it.
    pub fn poll_sent(
        &mut self,
        cx: &mut Task<'_>,
    ) -> Poll<Option<Result<Vec<u8>, EncodedResponse>>> {
        match self.context.outbox().filter(|_| !self.is_over) {
            Some(outbox) => outbox.poll_next(cx),
            None => Poll::Ready(None),
        }
    }

    /// Says since when its handler waits; see [`Underway::waits_since`].
    pub fn waits_since(&mut self, since: Instant) {
        self.underway.waits_since(since);
    }

    /// Moves the handler to a task of its own.
    pub fn detach(&mut self) {
        self.underway.detach();
    }
}

impl Drop for ResponseStream {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        self.context.cancel();
        if let Some(outbox) = self.context.outbox() {
            outbox.close();
        }
    }
}

#[cfg(test)]
mod tests;
