//! What a server says of a request's progress, as a stream beside its result.
//!
//! Specification: basic/patterns/progress (2026-07-28).

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use turnbuckle_session::Progressing;
use turnbuckle_types::ProgressParams;

/// Notices that wait for a slow reader; then the oldest are dropped: later ones say more.
const KEPT: usize = 64;

/// The progress of one call. Ends when the call has ended.
#[derive(Debug)]
pub struct Progress(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    notices: VecDeque<ProgressParams>,
    reader: Option<Waker>,
    /// Whether the call that is told of still stands.
    listeners: usize,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn listener(&self) -> Arc<dyn Progressing> {
        self.0.state().listeners += 1;
        Arc::new(Listener(Arc::downgrade(&self.0)))
    }

    /// The next notice; `None` once the call has ended.
    pub async fn next(&mut self) -> Option<ProgressParams> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for Progress {
    type Item = ProgressParams;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ProgressParams>> {
        let mut state = self.0.state();
        if let Some(notice) = state.notices.pop_front() {
            return Poll::Ready(Some(notice));
        }
        if state.listeners == 0 {
            return Poll::Ready(None);
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }
}

struct Listener(Weak<Shared>);

impl Progressing for Listener {
    fn progress(&self, params: ProgressParams) {
        let Some(shared) = self.0.upgrade() else {
            return;
        };
        let mut state = shared.state();
        if state.notices.len() == KEPT {
            state.notices.pop_front();
        }
        state.notices.push_back(params);
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let Some(shared) = self.0.upgrade() else {
            return;
        };
        let mut state = shared.state();
        state.listeners -= 1;
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}
