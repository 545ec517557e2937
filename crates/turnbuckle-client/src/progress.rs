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

/// The progress of one call. Ends when the call has ended, however it was made; making it again
/// goes on with it.
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
    /// How often the call is being made right now; none before it was made at all.
    under_way: Option<usize>,
}

impl State {
    fn is_over(&self) -> bool {
        self.listeners == 0 || self.under_way == Some(0)
    }
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

    pub(crate) fn listener(&self) -> Arc<Listener> {
        self.0.state().listeners += 1;
        Arc::new(Listener(Arc::downgrade(&self.0)))
    }

    /// The next notice; `None` once the call has ended: it is not being made any more, after it was.
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
        if state.is_over() {
            return Poll::Ready(None);
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }
}

pub(crate) struct Listener(Weak<Shared>);

impl Listener {
    /// The call is being made, for as long as what is returned is kept.
    pub(crate) fn sending(&self) -> Sending {
        if let Some(shared) = self.0.upgrade() {
            *shared.state().under_way.get_or_insert_default() += 1;
        }
        Sending(self.0.clone())
    }
}

impl Progressing for Listener {
    fn progress(&self, params: ProgressParams) {
        change(&self.0, |state| {
            if state.notices.len() == KEPT {
                state.notices.pop_front();
            }
            state.notices.push_back(params);
        });
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        change(&self.0, |state| state.listeners -= 1);
    }
}

pub(crate) struct Sending(Weak<Shared>);

impl Drop for Sending {
    fn drop(&mut self) {
        change(&self.0, |state| {
            state.under_way = state.under_way.map(|sendings| sendings - 1);
        });
    }
}

/// Changes what a reader looks at, if there still is one.
fn change(shared: &Weak<Shared>, change: impl FnOnce(&mut State)) {
    let Some(shared) = shared.upgrade() else {
        return;
    };
    let mut state = shared.state();
    change(&mut state);
    let reader = state.reader.take();
    drop(state);
    if let Some(reader) = reader {
        reader.wake();
    }
}
