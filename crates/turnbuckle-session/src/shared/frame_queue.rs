//! The bounded queue of frames that wait for a reader.
//!
//! A duplex connection has one for everything that its requests send, a client's link has one for
//! what its callers send, and a request in an HTTP exchange of its own has one for its messages and
//! its response.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{self, Poll, Waker};
use turnbuckle_types::base::debug_fields;

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::shared::memory_budget::{MemoryAccount, MemoryPermit};
use crate::shared::reply_sink::{EncodedResponse, QueueFull, ReplySink};
use crate::shared::trace::{Level, change_level};
use crate::shared::transport::Transport;

/// Limits of a [`FrameQueue`]. Senders wait while one of them is reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameQueueLimits {
    /// The most frames that wait to be written.
    pub(crate) max_frames: usize,
    /// Bytes. A single frame always fits an empty queue, whatever its size.
    pub(crate) max_bytes: usize,
}

/// A frame that waits in a queue.
#[derive(Debug)]
pub enum QueuedFrame {
    /// A notification or a request, sent while a request ran.
    Message(Vec<u8>),
    /// The response to a request. Responses are queued even when the queue is full.
    Response(EncodedResponse),
}

impl QueuedFrame {
    fn len(&self) -> usize {
        match self {
            Self::Message(frame) => frame.len(),
            Self::Response(response) => response.byte_count(),
        }
    }

    fn queue_on<T: Transport>(&self, transport: &mut T) {
        match self {
            Self::Message(frame) => transport.queue(frame),
            Self::Response(response) => transport.queue_parts(&response.frame, &response.tail),
        }
    }
}

/// A bounded queue of frames with any number of senders and one reader. An empty queue owns no
/// memory.
pub(crate) struct FrameQueue {
    limits: FrameQueueLimits,
    /// The account of the messages. Responses bring their own permit.
    account: Option<MemoryAccount>,
    state: Mutex<State>,
    space: Notify,
}

#[derive(Default)]
struct State {
    frames: VecDeque<QueuedFrame>,
    bytes: usize,
    /// The memory of the messages.
    memory: MemoryPermit,
    /// Requests that have finished. What they sent is among the frames, or was read.
    finished: u64,
    closed: bool,
    reader: Option<Waker>,
}

impl FrameQueue {
    /// Returns an empty queue.
    #[must_use]
    pub(crate) fn new(limits: FrameQueueLimits) -> Self {
        Self {
            limits,
            account: None,
            state: Mutex::default(),
            space: Notify::new(),
        }
    }

    /// Returns an empty queue that is bounded by bytes alone.
    #[must_use]
    pub(crate) fn with_max_bytes(max_bytes: usize) -> Self {
        Self::new(FrameQueueLimits {
            max_frames: usize::MAX,
            max_bytes,
        })
    }

    /// Counts the memory of the messages on an account.
    #[must_use]
    pub(crate) fn with_account(mut self, account: MemoryAccount) -> Self {
        self.account = Some(account);
        self
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many bytes the queue holds before its senders wait.
    pub(crate) fn max_bytes(&self) -> usize {
        self.limits.max_bytes
    }

    /// Returns whether no frame waits for the reader.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.state().frames.is_empty()
    }

    /// Returns whether [`close`](Self::close) was called.
    #[must_use]
    pub(crate) fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Returns whether that many requests have finished and everything that they sent was read.
    #[must_use]
    pub(crate) fn is_drained(&self, finished: u64) -> bool {
        let state = self.state();
        state.finished == finished && state.frames.is_empty()
    }

    /// Drops the queued frames.
    pub(crate) fn clear(&self) {
        self.drop_frames(false);
    }

    /// Drops the queued frames and every frame that is sent from now on.
    pub(crate) fn close(&self) {
        self.drop_frames(true);
    }

    fn drop_frames(&self, close: bool) {
        let mut state = self.state();
        state.closed |= close;
        state.bytes = 0;
        state.memory = MemoryPermit::default();
        let frames = state.take_frames();
        drop(state);
        drop(frames);
        self.space.notify_waiters();
    }

    /// Wakes the reader.
    pub(crate) fn wake_reader(&self) {
        wake_reader(self.state());
    }

    /// Polls for the next frame of a queue that serves a single request. `None` is the end: the
    /// request has finished, or the queue was closed.
    pub(crate) fn poll_next(&self, cx: &mut task::Context<'_>) -> Poll<Option<QueuedFrame>> {
        let mut state = self.state();
        if let Some(frame) = state.pop() {
            drop(state);
            self.space.notify_waiters();
            return Poll::Ready(Some(frame));
        }
        if state.finished > 0 || state.closed {
            return Poll::Ready(None);
        }
        state.register(cx);
        Poll::Pending
    }

    /// Moves frames to a transport until it holds as many bytes as this queue may, and registers
    /// `cx` to be woken for the next frame.
    pub(crate) fn drain_into<T: Transport>(&self, transport: &mut T, cx: &mut task::Context<'_>) {
        let mut moved = false;
        let mut state = self.state();
        while transport.queued_bytes() <= self.limits.max_bytes {
            let Some(frame) = state.pop() else {
                break;
            };
            frame.queue_on(transport);
            moved = true;
        }
        state.register(cx);
        drop(state);
        if moved {
            self.space.notify_waiters();
        }
    }

    /// Moves all frames to a transport, whatever it holds already.
    pub(crate) fn move_all_to<T: Transport>(&self, transport: &mut T) {
        let mut state = self.state();
        if state.frames.is_empty() {
            return;
        }
        while let Some(frame) = state.pop() {
            frame.queue_on(transport);
        }
        drop(state);
        self.space.notify_waiters();
    }
}

impl State {
    fn pop(&mut self) -> Option<QueuedFrame> {
        let frame = self.frames.pop_front()?;
        change_level(Level::QueuedMessages, -1);
        self.bytes -= frame.len();
        if matches!(frame, QueuedFrame::Message(_)) {
            let left = self.memory.bytes().saturating_sub(frame.len());
            self.memory.resize_beyond_limits(left);
        }
        Some(frame)
    }

    fn push(&mut self, frame: QueuedFrame) {
        self.bytes += frame.len();
        self.frames.push_back(frame);
        change_level(Level::QueuedMessages, 1);
    }

    fn take_frames(&mut self) -> VecDeque<QueuedFrame> {
        let frames = std::mem::take(&mut self.frames);
        if !frames.is_empty() {
            let count = i64::try_from(frames.len()).unwrap_or(i64::MAX);
            change_level(Level::QueuedMessages, -count);
        }
        frames
    }

    fn register(&mut self, cx: &task::Context<'_>) {
        let registered = self.reader.as_ref();
        if !registered.is_some_and(|reader| reader.will_wake(cx.waker())) {
            self.reader = Some(cx.waker().clone());
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.take_frames();
    }
}

/// Wakes the reader after the lock was released: the woken task may be polled at once.
fn wake_reader(mut state: MutexGuard<'_, State>) {
    let reader = state.reader.take();
    drop(state);
    if let Some(reader) = reader {
        reader.wake();
    }
}

impl ReplySink for FrameQueue {
    fn send(&self, frame: Vec<u8>) -> Result<(), QueueFull> {
        let mut state = self.state();
        if state.closed {
            return Ok(());
        }
        let fits = state.frames.len() < self.limits.max_frames
            && state.bytes + frame.len() <= self.limits.max_bytes;
        let memory = self.account.as_ref().map(|account| match frame.len() {
            bytes if state.frames.is_empty() => Ok(account.reserve_beyond_limits(bytes)),
            bytes => account.reserve_free(bytes),
        });
        let memory = memory.transpose();
        if (!fits || memory.is_err()) && !state.frames.is_empty() {
            return Err(QueueFull(frame));
        }
        if let Ok(Some(memory)) = memory {
            state.memory.absorb(memory);
        }
        state.push(QueuedFrame::Message(frame));
        wake_reader(state);
        Ok(())
    }

    fn wait_for_space(&self) -> Notified<'_> {
        self.space.notified()
    }

    fn finish(&self, response: Option<EncodedResponse>) {
        let mut state = self.state();
        state.finished += 1;
        if let Some(response) = response.filter(|_| !state.closed) {
            state.push(QueuedFrame::Response(response));
        }
        // The reader may wait for the end of a request alone.
        wake_reader(state);
    }
}

debug_fields!(FrameQueue { limits, bytes = |it| it.state().bytes });

#[cfg(test)]
mod tests {
    use std::task::Context;

    use super::*;

    fn cx() -> Context<'static> {
        Context::from_waker(Waker::noop())
    }

    fn queue(max_frames: usize, max_bytes: usize) -> FrameQueue {
        FrameQueue::new(FrameQueueLimits {
            max_frames,
            max_bytes,
        })
    }

    fn response() -> EncodedResponse {
        EncodedResponse {
            frame: b"re".to_vec(),
            tail: "st".into(),
            failure: None,
            memory: MemoryPermit::default(),
        }
    }

    #[test]
    fn frames_come_out_in_the_order_in_which_they_were_sent_and_the_response_last() {
        let queue = queue(8, 1024);
        assert!(queue.poll_next(&mut cx()).is_pending());
        queue.send(b"1".to_vec()).unwrap();
        queue.send(b"2".to_vec()).unwrap();
        queue.finish(Some(response()));
        for sent in [b"1", b"2"] {
            let next = queue.poll_next(&mut cx());
            assert!(
                matches!(&next, Poll::Ready(Some(QueuedFrame::Message(frame))) if frame == sent),
                "{next:?}"
            );
        }
        let Poll::Ready(Some(QueuedFrame::Response(last))) = queue.poll_next(&mut cx()) else {
            panic!("the response comes last");
        };
        assert_eq!(last.into_bytes(), b"rest");
        assert!(matches!(queue.poll_next(&mut cx()), Poll::Ready(None)));
    }

    #[test]
    fn frames_and_bytes_are_bounded_and_a_response_always_fits() {
        let full = |queue: &FrameQueue, frame: &[u8]| queue.send(frame.to_vec()).is_err();
        let frames = queue(2, 1024);
        assert!(!full(&frames, b"1") && !full(&frames, b"2") && full(&frames, b"3"));
        let bytes = queue(8, 4);
        assert!(!full(&bytes, b"too large alone"), "one frame always fits");
        assert!(full(&bytes, b"1"));
        bytes.finish(Some(response()));
        assert!(bytes.poll_next(&mut cx()).is_ready());
        assert_eq!(bytes.state().bytes, b"rest".len());
        assert!(full(&bytes, b"1") && !bytes.is_drained(1));
        assert!(bytes.poll_next(&mut cx()).is_ready());
        assert!(bytes.is_drained(1) && !full(&bytes, b"1"));
    }

    #[test]
    fn a_closed_queue_drops_everything() {
        let queue = queue(1, 1);
        queue.send(b"1".to_vec()).unwrap();
        queue.close();
        assert!(queue.is_empty() && queue.is_closed());
        queue.send(b"dropped".to_vec()).unwrap();
        queue.finish(Some(response()));
        assert!(matches!(queue.poll_next(&mut cx()), Poll::Ready(None)));
    }

    #[tokio::test]
    async fn reading_a_frame_makes_space() {
        let queue = queue(1, 1024);
        queue.send(b"1".to_vec()).unwrap();
        let mut space = std::pin::pin!(queue.wait_for_space());
        space.as_mut().enable();
        assert!(queue.send(b"2".to_vec()).is_err());
        assert!(queue.poll_next(&mut cx()).is_ready());
        space.await;
        assert!(queue.send(b"2".to_vec()).is_ok());
    }
}
