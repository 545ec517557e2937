//! The bounded queue between those who send on a duplex connection and the one who drives it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{self, Waker};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::Transport;
use crate::shared::reply_sink::{EncodedResponse, QueueFull, ReplySink};

/// What is to be sent by those who are not the driver.
pub(crate) struct Outgoing {
    state: Mutex<Queue>,
    pub(crate) space: Notify,
    pub(crate) cap: usize,
}

#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) frames: VecDeque<Vec<u8>>,
    pub(crate) bytes: usize,
    pub(crate) closed: bool,
    /// How many requests have ended here: what they had to say is among the frames, or was.
    pub(crate) done: u64,
    pub(crate) driver: Option<Waker>,
}

impl Outgoing {
    pub(crate) fn new(cap: usize) -> Self {
        Self {
            state: Mutex::default(),
            space: Notify::new(),
            cap,
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, Queue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves what waits to a transport, up to the cap, and has `cx` woken for more.
    pub(crate) fn drain_into<T: Transport>(&self, transport: &mut T, cx: &mut task::Context<'_>) {
        let mut moved = false;
        let mut state = self.state();
        while transport.queued_bytes() <= self.cap {
            let Some(frame) = state.frames.pop_front() else {
                break;
            };
            state.bytes -= frame.len();
            transport.queue(&frame);
            moved = true;
        }
        if !state
            .driver
            .as_ref()
            .is_some_and(|driver| driver.will_wake(cx.waker()))
        {
            state.driver = Some(cx.waker().clone());
        }
        drop(state);
        if moved {
            self.space.notify_waiters();
        }
    }

    /// Drops what waits and everything that is still sent.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.frames.clear();
        state.bytes = 0;
        drop(state);
        self.space.notify_waiters();
    }

    /// Has the driver look around.
    pub(crate) fn wake_driver(&self) {
        wake(self.state());
    }
}

fn push(mut state: MutexGuard<'_, Queue>, frame: Vec<u8>) {
    if state.closed {
        return;
    }
    state.bytes += frame.len();
    state.frames.push_back(frame);
    wake(state);
}

fn wake(mut state: MutexGuard<'_, Queue>) {
    let driver = state.driver.take();
    drop(state);
    if let Some(driver) = driver {
        driver.wake();
    }
}

impl ReplySink for Outgoing {
    fn send(&self, frame: Vec<u8>) -> Result<(), QueueFull> {
        let state = self.state();
        if state.bytes > 0 && state.bytes + frame.len() > self.cap {
            return Err(QueueFull(frame));
        }
        push(state, frame);
        Ok(())
    }

    fn wait_for_space(&self) -> Notified<'_> {
        self.space.notified()
    }

    fn finish(&self, answer: Option<EncodedResponse>) {
        let frame = answer.map(EncodedResponse::into_bytes);
        let mut state = self.state();
        state.done += 1;
        match frame {
            Some(frame) => push(state, frame),
            // The driver may wait for nothing else.
            None => wake(state),
        }
    }
}
