//! A handler that was not ready at once, still in the hands of whoever took its request up.

use std::sync::Arc;
use std::task::{Context as Task, Poll};
use std::time::Duration;

use tokio::time::Instant;
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Features;

use crate::driver::{self, Running};
use crate::rate::Run;
use crate::request::Home;
use crate::{Answer, Context, Session};

/// How often a handler is polled before it gets a task of its own: one that waits for a single
/// thing is done by then, and one that is woken all the time does not wake a connection with it.
const POLLS: u8 = 4;

/// A handler that is polled in place while its answer may come soon. When it is dropped, the
/// handler goes on in a task of its own.
#[derive(Debug)]
pub struct Underway(Option<Handler>);

pub(crate) struct Handler {
    pub(crate) running: Running,
    pub(crate) context: Context,
    /// How long it may take, from when it first waited.
    pub(crate) deadline: Option<Duration>,
    pub(crate) since: Instant,
    pub(crate) grace: Duration,
    pub(crate) end: End,
    polls: u8,
}

/// What becomes of a handler's reply.
pub(crate) enum End {
    /// It answers an exchange.
    Exchange { home: Arc<Home>, run: Run },
    /// It answers a request of a session, if that still wants it.
    Session(Arc<Session>),
}

impl Underway {
    /// Takes over a handler that has just been polled for the first time.
    pub(crate) fn new(
        running: Running,
        context: Context,
        deadline: Option<Duration>,
        grace: Duration,
        end: End,
    ) -> Self {
        let has_deadline = context.has_deadline();
        let mut underway = Self(Some(Handler {
            running,
            context,
            deadline,
            since: Instant::now(),
            grace,
            end,
            polls: 0,
        }));
        if has_deadline {
            underway.detach();
        }
        underway
    }

    /// Polls the handler, if it is still here. Its reply goes where it belongs. The first time has
    /// to be in the task that took the request up, which the handler knows already.
    pub fn poll(&mut self, cx: &mut Task<'_>) {
        let Some(handler) = &mut self.0 else { return };
        if handler.polls == POLLS || handler.context.is_cancelled() {
            return self.detach();
        }
        handler.polls += 1;
        // Whoever took the request up has just polled it.
        if handler.polls == 1 {
            return;
        }
        if let Poll::Ready(reply) = driver::poll_guarded(&mut handler.running, cx)
            && let Some(handler) = self.0.take()
        {
            let context = handler.context;
            context.catch_up();
            let wanted = !context.is_cancelled();
            context.cancel();
            handler.end.reached(&context, wanted.then_some(reply));
        }
    }

    /// Moves the handler to a task of its own.
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
    /// The handler has ended: with a reply, or given up.
    pub(crate) fn reached(self, context: &Context, reply: Option<Reply>) {
        let features: &'static Features = context.features();
        match self {
            Self::Exchange { home, run } => {
                drop(run);
                let answer = reply.map(|reply| home.answer(context.id(), &reply, features));
                context.route().done(answer);
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
pub struct Exchanged {
    underway: Underway,
    context: Context,
}

impl Exchanged {
    pub(crate) fn running(underway: Underway, context: Context) -> Self {
        Self { underway, context }
    }

    /// One whose handler was ready at once, but said something before.
    pub(crate) fn said(context: Context, answer: Answer) -> Self {
        context.route().done(Some(answer));
        Self {
            underway: Underway(None),
            context,
        }
    }

    /// The next message. The answer comes last; `None` is the end without one, or after it.
    pub fn poll_next(&mut self, cx: &mut Task<'_>) -> Poll<Option<Result<Vec<u8>, Answer>>> {
        self.underway.poll(cx);
        match self.context.outbox() {
            Some(outbox) => outbox.poll_next(cx),
            None => Poll::Ready(None),
        }
    }

    /// Moves the handler to a task of its own.
    pub fn detach(&mut self) {
        self.underway.detach();
    }
}

impl Drop for Exchanged {
    fn drop(&mut self) {
        self.context.cancel();
        if let Some(outbox) = self.context.outbox() {
            outbox.close();
        }
    }
}
