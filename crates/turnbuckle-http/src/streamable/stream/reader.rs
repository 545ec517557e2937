//! Who reads a stream: its connections.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::{Stream, wake};

/// Somebody who is about to read a stream.
#[derive(Debug)]
pub(crate) struct Awaited(pub(super) Arc<Stream>);

impl Awaited {
    /// Reads it, from its beginning.
    pub(crate) fn reader(self) -> Option<Reader> {
        self.0.attach(None)
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.state().awaited = false;
        self.0.space.notify_waiters();
    }
}

/// One connection of a stream. It leaves when it is dropped.
#[derive(Debug)]
pub(crate) struct Reader {
    number: u64,
    after: u64,
    stream: Arc<Stream>,
}

impl Reader {
    pub(super) fn new(number: u64, after: u64, stream: Arc<Stream>) -> Self {
        Self {
            number,
            after,
            stream,
        }
    }

    /// What it reads.
    pub(crate) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// A number that no other connection of the stream has.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The number of the event after which it began.
    pub(crate) fn began_after(&self) -> u64 {
        self.after
    }

    /// Whether it is this one that reads.
    pub(crate) fn has_turn(&self) -> bool {
        let state = self.stream.state();
        state
            .readers
            .last()
            .is_some_and(|it| it.number == self.number)
    }

    /// The next event; `None` when it has read its last.
    pub(crate) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.stream.state();
        let Some(place) = state.readers.iter().position(|it| it.number == self.number) else {
            return Poll::Ready(None);
        };
        let has_turn = place + 1 == state.readers.len();
        let behind = !state.readers[place].again.is_empty();
        let next = match state.say_again(place) {
            None if has_turn => state.say(place).map(Some),
            next => next,
        };
        if next.is_some() && self.stream.replay.is_over() {
            self.stream.trim(&mut state);
        }
        let is_over = state.ended.is_some();
        if next.is_none() && !is_over {
            state.readers[place].waker = Some(cx.waker().clone());
        }
        drop(state);
        // What was passed over makes room as well.
        if behind || next.is_some() {
            self.stream.space.notify_waiters();
        }
        match next {
            Some(event) => Poll::Ready(event),
            None if is_over => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    /// Takes all that is there. Whether there will be no more.
    pub(crate) fn take_all(&self, out: &mut Vec<u8>) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            match self.poll_next(&mut cx) {
                Poll::Ready(Some(event)) => out.extend_from_slice(&event),
                Poll::Ready(None) => return true,
                Poll::Pending => return false,
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.stream.state();
        state.readers.retain(|it| it.number != self.number);
        // Whoever waited for its turn may have it now.
        wake(state);
        // Nobody has to wait for a reader that is not there.
        self.stream.space.notify_waiters();
    }
}
