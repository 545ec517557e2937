//! The first run of a handler, as futures that store it once. An async block has room for it twice: for what it
//! captured, and for what it awaits.

use std::pin::Pin;
use std::task::{self, Poll, ready};

use pin_project_lite::pin_project;
use turnbuckle_session::internal::catch_panic;
use turnbuckle_types::ProtocolError;
use turnbuckle_wire::era::Reply;

use crate::error::failure::Result;

pin_project! {
    /// A run of a handler, whose output is converted into a reply.
    pub(super) struct FirstRun<F, C> {
        #[pin]
        run: F,
        // Taken when the run has ended.
        convert: Option<C>,
    }
}

impl<F, C> FirstRun<F, C> {
    pub(super) fn new(run: F, convert: C) -> Self {
        Self {
            run,
            convert: Some(convert),
        }
    }
}

impl<F, C> Future for FirstRun<F, C>
where
    F: Future,
    C: FnOnce(F::Output) -> Result<Reply>,
{
    type Output = Result<Reply>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let output = ready!(this.run.poll(cx));
        let convert = this.convert.take();
        convert.map_or(Poll::Pending, |convert| Poll::Ready(convert(output)))
    }
}

/// A future of the reply to a request whose first run has failed.
pub(super) type ReplyFuture = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// The consequence of the first run of a handler.
pub(super) enum AfterRun {
    Reply(Reply),
    Wait(ReplyFuture),
}

pin_project! {
    /// A request from the first run of its handler to its reply.
    pub(super) struct RunToReply<F, N> {
        #[pin]
        first: F,
        // Returns what follows the output of the run, or its panic. Taken when the run has ended.
        next: Option<N>,
        rest: Option<ReplyFuture>,
    }
}

impl<F, N> RunToReply<F, N> {
    pub(super) fn new(first: F, next: N) -> Self {
        Self {
            first,
            next: Some(next),
            rest: None,
        }
    }
}

impl<F, N> Future for RunToReply<F, N>
where
    F: Future,
    N: FnOnce(Result<F::Output, ProtocolError>) -> AfterRun,
{
    type Output = Reply;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Reply> {
        let this = self.project();
        if let Some(rest) = this.rest {
            return rest.as_mut().poll(cx);
        }
        let output = ready!(poll_catching_panic(this.first, cx));
        match this.next.take().map(|next| next(output)) {
            Some(AfterRun::Reply(reply)) => Poll::Ready(reply),
            Some(AfterRun::Wait(rest)) => this.rest.insert(rest).as_mut().poll(cx),
            None => Poll::Pending,
        }
    }
}

/// Polls a run and catches a panic.
pub(super) fn poll_catching_panic<F: Future + ?Sized>(
    run: Pin<&mut F>,
    cx: &mut task::Context<'_>,
) -> Poll<Result<F::Output, ProtocolError>> {
    match catch_panic(|| run.poll(cx)) {
        Ok(polled) => polled.map(Ok),
        Err(error) => Poll::Ready(Err(error)),
    }
}
