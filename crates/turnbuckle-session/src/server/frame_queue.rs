//! A bounded queue of frames between those who send and the one who reads.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::shared::reply_sink::{EncodedResponse, QueueFull, ReplySink};

/// How much an [`FrameQueue`] holds before senders have to wait.
#[derive(Debug, Clone, Copy)]
pub struct FrameQueueLimits {
    /// Frames.
    pub frames: usize,
    /// Bytes. One frame always fits an empty outbox, whatever its size.
    pub bytes: usize,
}

impl Default for FrameQueueLimits {
    fn default() -> Self {
        Self {
            frames: 256,
            bytes: 1 << 20,
        }
    }
}

/// A bounded queue of frames, closed by an answer, with one reader.
pub struct FrameQueue {
    limits: FrameQueueLimits,
    state: Mutex<State>,
    space: Notify,
}

#[derive(Default)]
struct State {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    /// The request has ended; the answer is there until it is taken.
    done: Option<Option<EncodedResponse>>,
    reader_gone: bool,
    reader: Option<Waker>,
}

impl FrameQueue {
    /// An empty outbox.
    #[must_use]
    pub fn new(limits: FrameQueueLimits) -> Self {
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
    pub fn send(&self, frame: Vec<u8>) -> Result<(), QueueFull> {
        let mut state = self.state();
        if state.reader_gone || state.done.is_some() {
            return Ok(());
        }
        let fits = state.frames.len() < self.limits.frames
            && state.bytes + frame.len() <= self.limits.bytes;
        if !fits && !state.frames.is_empty() {
            return Err(QueueFull(frame));
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
    pub fn done(&self, answer: Option<EncodedResponse>) {
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
    pub fn poll_next(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Vec<u8>, EncodedResponse>>> {
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

impl std::fmt::Debug for FrameQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbox")
            .field("limits", &self.limits)
            .field("bytes", &self.state().bytes)
            .finish_non_exhaustive()
    }
}

impl ReplySink for FrameQueue {
    fn send(&self, frame: Vec<u8>) -> Result<(), QueueFull> {
        Self::send(self, frame)
    }

    fn wait_for_space(&self) -> Notified<'_> {
        Self::space(self)
    }

    fn finish(&self, answer: Option<EncodedResponse>) {
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
