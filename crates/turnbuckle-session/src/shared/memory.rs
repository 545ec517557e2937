//! A pair of connected transports in memory, for tests and for two ends in one process.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use turnbuckle_types::base::debug_fields;

use bytes::Bytes;

use crate::shared::transport::{Frame, Transport};

/// Frames that one direction holds before its sender waits.
const MAX_QUEUED_FRAMES: usize = 64;

/// Creates two transports, each of which receives what the other sends.
#[must_use]
pub fn memory_pair() -> (MemoryTransport, MemoryTransport) {
    let (first, second) = (
        Arc::new(FrameChannel::default()),
        Arc::new(FrameChannel::default()),
    );
    (
        MemoryTransport {
            incoming: first.clone(),
            outgoing: second.clone(),
            unsent: VecDeque::new(),
        },
        MemoryTransport {
            incoming: second,
            outgoing: first,
            unsent: VecDeque::new(),
        },
    )
}

/// One end of a [`memory_pair`]. Dropping it closes both directions.
pub struct MemoryTransport {
    incoming: Arc<FrameChannel>,
    outgoing: Arc<FrameChannel>,
    /// The frames that wait for room in `outgoing`.
    unsent: VecDeque<Bytes>,
}

/// The frames of one direction.
#[derive(Default)]
struct FrameChannel(Mutex<State>);

#[derive(Default)]
struct State {
    frames: VecDeque<Bytes>,
    closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl FrameChannel {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        for waker in [state.reader.take(), state.writer.take()]
            .into_iter()
            .flatten()
        {
            waker.wake();
        }
    }
}

impl MemoryTransport {
    /// Closes the sending direction. The other direction stays open.
    pub fn close_sending(&mut self) {
        self.outgoing.close();
    }
}

impl Transport for MemoryTransport {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Frame>> {
        let mut state = self.incoming.state();
        if let Some(frame) = state.frames.pop_front() {
            if let Some(writer) = state.writer.take() {
                writer.wake();
            }
            return Poll::Ready(Some(Frame::Message(frame)));
        }
        if state.closed {
            return Poll::Ready(None);
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    fn queue(&mut self, frame: &[u8]) {
        self.unsent.push_back(Bytes::copy_from_slice(frame));
    }

    fn queued_bytes(&self) -> usize {
        self.unsent.iter().map(Bytes::len).sum()
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.outgoing.state();
        while !self.unsent.is_empty() {
            if state.closed {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            if state.frames.len() >= MAX_QUEUED_FRAMES {
                state.writer = Some(cx.waker().clone());
                return Poll::Pending;
            }
            state.frames.extend(self.unsent.pop_front());
            if let Some(reader) = state.reader.take() {
                reader.wake();
            }
        }
        Poll::Ready(Ok(()))
    }
}

debug_fields!(MemoryTransport { queued = |it| it.queued_bytes() });

impl Drop for MemoryTransport {
    fn drop(&mut self) {
        self.incoming.close();
        self.outgoing.close();
    }
}
