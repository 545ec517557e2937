//! A bounded queue of frames between those who send and the one who reads.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::shared::route::{Answer, Full, Route};

/// How much an [`Outbox`] holds before senders have to wait.
#[derive(Debug, Clone, Copy)]
pub struct OutboxLimits {
    /// Frames.
    pub frames: usize,
    /// Bytes. One frame always fits an empty outbox, whatever its size.
    pub bytes: usize,
}

impl Default for OutboxLimits {
    fn default() -> Self {
        Self {
            frames: 256,
            bytes: 1 << 20,
        }
    }
}

/// A bounded queue of frames, closed by an answer, with one reader.
pub struct Outbox {
    limits: OutboxLimits,
    state: Mutex<State>,
    space: Notify,
}

#[derive(Default)]
struct State {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    /// The request has ended; the answer is there until it is taken.
    done: Option<Option<Answer>>,
    reader_gone: bool,
    reader: Option<Waker>,
}

impl Outbox {
    /// An empty outbox.
    #[must_use]
    pub fn new(limits: OutboxLimits) -> Self {
        Self {
            limits,
            state: Mutex::default(),
            space: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a frame, or gives it back when there is no room. Frames of a closed outbox vanish.
    ///
    /// # Errors
    /// When it is full.
    pub fn send(&self, frame: Vec<u8>) -> Result<(), Full> {
        let mut state = self.state();
        if state.reader_gone || state.done.is_some() {
            return Ok(());
        }
        let fits = state.frames.len() < self.limits.frames
            && state.bytes + frame.len() <= self.limits.bytes;
        if !fits && !state.frames.is_empty() {
            return Err(Full(frame));
        }
        state.bytes += frame.len();
        state.frames.push_back(frame);
        wake(state);
        Ok(())
    }

    /// Resolves when there may be room again.
    pub fn space(&self) -> Notified<'_> {
        self.space.notified()
    }

    /// Ends the queue: what is in it is still read, then the answer, then the end.
    pub fn done(&self, answer: Option<Answer>) {
        let mut state = self.state();
        if state.done.is_none() {
            state.done = Some(answer);
            wake(state);
        }
    }

    /// Drops what is queued and everything that is still sent.
    pub fn close(&self) {
        let mut state = self.state();
        state.reader_gone = true;
        state.frames.clear();
        state.bytes = 0;
        drop(state);
        self.space.notify_waiters();
    }

    /// Whether nothing was sent yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.state().frames.is_empty()
    }

    /// The next frame. The answer comes last; `None` is the end without one, or after it.
    pub fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>, Answer>>> {
        let mut state = self.state();
        if let Some(frame) = state.frames.pop_front() {
            state.bytes -= frame.len();
            drop(state);
            self.space.notify_waiters();
            return Poll::Ready(Some(Ok(frame)));
        }
        match state.done.as_mut() {
            Some(answer) => Poll::Ready(answer.take().map(Err)),
            None => {
                if !state
                    .reader
                    .as_ref()
                    .is_some_and(|reader| reader.will_wake(cx.waker()))
                {
                    state.reader = Some(cx.waker().clone());
                }
                Poll::Pending
            }
        }
    }
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbox")
            .field("limits", &self.limits)
            .field("bytes", &self.state().bytes)
            .finish_non_exhaustive()
    }
}

impl Route for Outbox {
    fn send(&self, frame: Vec<u8>) -> Result<(), Full> {
        Self::send(self, frame)
    }

    fn space(&self) -> Notified<'_> {
        Self::space(self)
    }

    fn done(&self, answer: Option<Answer>) {
        Self::done(self, answer);
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    let reader = state.reader.take();
    drop(state);
    if let Some(reader) = reader {
        reader.wake();
    }
}
