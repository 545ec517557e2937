//! The handle of one connection of a stream.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::readers::NextEvent;
use super::{SessionStream, wake};

/// A place that is kept for the reader of a stream: until it is dropped, the stream keeps for that
/// reader what is sent.
#[derive(Debug)]
pub(crate) struct ReaderReservation(pub(super) Arc<SessionStream>);

impl ReaderReservation {
    /// Attaches a reader that begins with the first event that nobody has read.
    pub(crate) fn reader(self) -> Option<StreamReader> {
        self.0.attach(None)
    }
}

impl Drop for ReaderReservation {
    fn drop(&mut self) {
        self.0.state().readers.set_reserved(false);
        self.0.space.notify_waiters();
    }
}

/// One connection of a stream. Dropping it removes the connection and ends nothing else.
#[derive(Debug)]
pub(crate) struct StreamReader {
    number: u64,
    after: u64,
    stream: Arc<SessionStream>,
}

impl StreamReader {
    pub(super) fn new(number: u64, after: u64, stream: Arc<SessionStream>) -> Self {
        Self {
            number,
            after,
            stream,
        }
    }

    pub(crate) fn stream(&self) -> &Arc<SessionStream> {
        &self.stream
    }

    /// Returns the number of the connection, which no other connection of the stream has.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the sequence number of the event after which the connection begins.
    pub(crate) fn began_after(&self) -> u64 {
        self.after
    }

    /// Returns whether this is the connection that is sent new events.
    pub(crate) fn is_active(&self) -> bool {
        self.stream.state().readers.is_active(self.number)
    }

    /// Returns the next event; `None` when the connection has read its last one.
    pub(crate) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut guard = self.stream.state();
        let state = &mut *guard;
        let was_replaying = state.readers.is_replaying(self.number);
        let next = state.readers.take_next(self.number, &mut state.log);
        let has_event = matches!(next, NextEvent::Event(_));
        if has_event && state.log.exceeds_total() {
            state.trim();
        }
        let is_closed = state.log.is_closed();
        if matches!(next, NextEvent::Pending) && !is_closed {
            state.readers.set_waker(self.number, cx.waker());
        }
        drop(guard);
        // Events of other lines that were skipped make room as well.
        if was_replaying || has_event {
            self.stream.space.notify_waiters();
        }
        match next {
            NextEvent::Event(event) => Poll::Ready(Some(event)),
            NextEvent::Pending if !is_closed => Poll::Pending,
            NextEvent::Pending | NextEvent::Lost => Poll::Ready(None),
        }
    }

    /// Appends all events that are ready to `out`. Returns whether no more will come.
    pub(crate) fn read_available(&self, out: &mut Vec<u8>) -> bool {
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

impl Drop for StreamReader {
    fn drop(&mut self) {
        let mut state = self.stream.state();
        state.readers.remove(self.number);
        // The connection before this one is the active one now.
        wake(state);
        // A sender no longer has to wait for this reader.
        self.stream.space.notify_waiters();
    }
}
