//! Watches over a run of a handler that asks: ends it when all that it waits for are answers of the
//! client.

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{self, Poll, Wake, Waker};
use std::time::Duration;

use tokio::time::Sleep;
use turnbuckle_wire::era::Reply;

use super::journal::{Journal, NOT_ASKED_AGAIN, Standing};
use super::{NeedsInput, Round};
use crate::failure::Result;

/// How long a run that asks something new may take to come back to what it asked before.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a run gives, or the questions that it waits for.
pub(crate) async fn attend(
    round: &Round,
    run: impl Future<Output = Result<Reply>>,
) -> Result<Reply> {
    let journal = round.journal();
    let mut run = pin!(run);
    let alarm = Arc::new(Alarm {
        task: Mutex::new(Waker::noop().clone()),
        rang: AtomicBool::new(false),
    });
    let waker = Waker::from(alarm.clone());
    journal.watch(&waker);
    // Dropped before the run: its questions stay what they were.
    let _closing = Closing(journal);
    let mut patience: Option<Pin<Box<Sleep>>> = None;
    std::future::poll_fn(move |cx| {
        alarm.wakes(cx.waker());
        loop {
            alarm.rang.store(false, Ordering::Relaxed);
            let polled = run.as_mut().poll(&mut task::Context::from_waker(&waker));
            if polled.is_ready() {
                return polled;
            }
            match journal.standing(&waker) {
                Standing::Due(requests) => return Poll::Ready(Err(due(round, requests).into())),
                Standing::Going => {
                    patience = None;
                    return Poll::Pending;
                }
                Standing::Stuck(held) => {
                    let idle = alarm.is_idle(held);
                    let sleep =
                        patience.get_or_insert_with(|| Box::pin(tokio::time::sleep(PATIENCE)));
                    if !idle && sleep.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    drop(journal.refuse(NOT_ASKED_AGAIN));
                }
            }
        }
    })
    .await
}

/// The round that these questions make.
fn due(round: &Round, requests: turnbuckle_types::InputRequests) -> NeedsInput {
    NeedsInput {
        requests,
        state: round.state().cloned(),
        ..NeedsInput::default()
    }
}

struct Closing<'a>(&'a Journal);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Wakes the task that the run is polled by. Who holds it is counted: a run that nobody else can
/// wake will never ask again what it has not.
struct Alarm {
    task: Mutex<Waker>,
    /// Whether it woke the task since the run was last polled.
    rang: AtomicBool,
}

impl Alarm {
    fn wakes(&self, task: &Waker) {
        self.task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone_from(task);
    }

    /// Whether nobody can wake the run, who does not wait for an answer; so many do.
    fn is_idle(self: &Arc<Self>, waiting: usize) -> bool {
        // The journal, and whoever watches twice, hold one each.
        let alone = Arc::strong_count(self) <= waiting + 3;
        // Who let go of it rang before, and that is seen now.
        fence(Ordering::Acquire);
        alone && !self.rang.load(Ordering::Relaxed)
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rang.store(true, Ordering::Relaxed);
        // Not under the lock: a task may be polled by what wakes it.
        let task = self
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        task.wake();
    }
}
