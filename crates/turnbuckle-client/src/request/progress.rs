//! The progress of one request, as a stream of notifications beside its result.
//!
//! Specification: basic/patterns/progress (2026-07-28).

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use turnbuckle_session::internal::ProgressHandler;
use turnbuckle_types::ProgressNotificationParams;

/// The most notifications that wait for a slow reader. One more drops the oldest.
const MAX_QUEUED: usize = 64;

/// The progress notifications of one request.
///
/// The stream ends when the request has ended. It goes on if the same request is sent again.
#[derive(Debug)]
pub struct Progress(Arc<ProgressChannel>);

/// The queue between the connection and the reader of a [`Progress`].
#[derive(Debug, Default)]
struct ProgressChannel(Mutex<ProgressState>);

/// The state of the queue.
#[derive(Debug, Default)]
struct ProgressState {
    notifications: VecDeque<ProgressNotificationParams>,
    reader: Option<Waker>,
    /// The number of requests that report here: one until the request builder is dropped.
    listeners: usize,
    /// The number of sends that are under way; `None` before the first.
    active_sends: Option<usize>,
}

impl ProgressState {
    /// Returns whether no more notifications can come.
    fn is_ended(&self) -> bool {
        self.listeners == 0 || self.active_sends == Some(0)
    }
}

impl ProgressChannel {
    fn state(&self) -> MutexGuard<'_, ProgressState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    /// Returns the sending end, which a request holds.
    pub(crate) fn listener(&self) -> Arc<ProgressListener> {
        self.0.state().listeners += 1;
        Arc::new(ProgressListener(Arc::downgrade(&self.0)))
    }

    /// Returns the next notification, or `None` once the request has ended.
    pub async fn next(&mut self) -> Option<ProgressNotificationParams> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for Progress {
    type Item = ProgressNotificationParams;

    fn poll_next(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<ProgressNotificationParams>> {
        let mut state = self.0.state();
        if let Some(notification) = state.notifications.pop_front() {
            return Poll::Ready(Some(notification));
        }
        if state.is_ended() {
            return Poll::Ready(None);
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// The sending end of a [`Progress`].
pub(crate) struct ProgressListener(Weak<ProgressChannel>);

impl ProgressListener {
    /// Marks the request as being sent until the returned guard is dropped.
    pub(crate) fn begin_send(&self) -> SendGuard {
        if let Some(shared) = self.0.upgrade() {
            *shared.state().active_sends.get_or_insert_default() += 1;
        }
        SendGuard(self.0.clone())
    }
}

impl ProgressHandler for ProgressListener {
    fn handle_progress(&self, params: ProgressNotificationParams) {
        update(&self.0, |state| {
            if state.notifications.len() == MAX_QUEUED {
                state.notifications.pop_front();
            }
            state.notifications.push_back(params);
        });
    }
}

impl Drop for ProgressListener {
    fn drop(&mut self) {
        update(&self.0, |state| state.listeners -= 1);
    }
}

/// A send that is under way.
pub(crate) struct SendGuard(Weak<ProgressChannel>);

impl Drop for SendGuard {
    fn drop(&mut self) {
        update(&self.0, |state| {
            state.active_sends = state.active_sends.map(|sendings| sendings - 1);
        });
    }
}

/// Updates the state and wakes the reader, unless the reader was dropped.
fn update(shared: &Weak<ProgressChannel>, update: impl FnOnce(&mut ProgressState)) {
    let Some(shared) = shared.upgrade() else {
        return;
    };
    let mut state = shared.state();
    update(&mut state);
    let reader = state.reader.take();
    drop(state);
    if let Some(reader) = reader {
        reader.wake();
    }
}
