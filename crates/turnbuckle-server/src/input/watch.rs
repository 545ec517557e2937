//! Watching a run of a handler that asks: ends the run when it waits for nothing but answers of the
//! client.

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{self, Poll, Wake, Waker};
use std::time::Duration;

use tokio::time::Sleep;
use turnbuckle_wire::era::Reply;

use super::answer_log::{AnswerLog, NOT_ASKED_AGAIN, RunState};
use super::{InputRound, NeedsInput};
use crate::error::failure::Result;

/// The time in which a run that asks a new question has to repeat its earlier questions.
const REASK_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs a handler to its result, or to the questions that it waits for.
pub(crate) async fn run_until_input_required(
    round: &InputRound,
    run: impl Future<Output = Result<Reply>>,
) -> Result<Reply> {
    let answer_log = round.answer_log();
    let mut run = pin!(run);
    let run_waker = Arc::new(RunWaker {
        task: Mutex::new(Waker::noop().clone()),
        woke: AtomicBool::new(false),
    });
    let waker = Waker::from(run_waker.clone());
    answer_log.watch(&waker);
    // Dropped before the run, so that dropping the run does not withdraw its questions.
    let _close = CloseOnDrop(answer_log);
    let mut timeout: Option<Pin<Box<Sleep>>> = None;
    std::future::poll_fn(move |cx| {
        run_waker.set_task(cx.waker());
        loop {
            run_waker.woke.store(false, Ordering::Relaxed);
            let polled = run.as_mut().poll(&mut task::Context::from_waker(&waker));
            if polled.is_ready() {
                return polled;
            }
            match answer_log.run_state(&waker) {
                RunState::InputRequired(requests) => {
                    return Poll::Ready(Err(needs_input(round, requests).into()));
                }
                RunState::Running => {
                    timeout = None;
                    return Poll::Pending;
                }
                RunState::MissingQuestions(held) => {
                    let idle = run_waker.is_idle(held);
                    let sleep =
                        timeout.get_or_insert_with(|| Box::pin(tokio::time::sleep(REASK_TIMEOUT)));
                    if !idle && sleep.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    drop(answer_log.refuse(NOT_ASKED_AGAIN));
                }
            }
        }
    })
    .await
}

/// Returns the questions of a round as a failure of the run.
fn needs_input(round: &InputRound, requests: turnbuckle_types::InputRequests) -> NeedsInput {
    NeedsInput {
        requests,
        state: round.state().cloned(),
        ..NeedsInput::default()
    }
}

/// Closes the answer log when dropped.
struct CloseOnDrop<'a>(&'a AnswerLog);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Wakes the task that polls the run. The number of its holders matters: a run that nothing else
/// can wake will never repeat its earlier questions.
struct RunWaker {
    task: Mutex<Waker>,
    /// True if the task was woken since the run was last polled.
    woke: AtomicBool,
}

impl RunWaker {
    fn set_task(&self, task: &Waker) {
        self.task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone_from(task);
    }

    /// Returns whether only the `waiting` wakers of unanswered questions can wake the run.
    fn is_idle(self: &Arc<Self>, waiting: usize) -> bool {
        // The answer log holds one, and this watcher two.
        let alone = Arc::strong_count(self) <= waiting + 3;
        // A holder that was dropped woke the task before; make that visible.
        fence(Ordering::Acquire);
        alone && !self.woke.load(Ordering::Relaxed)
    }
}

impl Wake for RunWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woke.store(true, Ordering::Relaxed);
        // Wake outside the lock: waking may poll the task at once.
        let task = self
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        task.wake();
    }
}
