//! Watching a run of a handler that asks: ends the run when it waits for nothing but answers of the
//! client.

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{self, Poll, Wake, Waker};
use std::time::Duration;

use tokio::time::Sleep;
use turnbuckle_wire::era::Reply;

use super::InputRound;
use super::answer_log::{AnswerLog, NOT_ASKED_AGAIN, RunState};
use crate::error::NeedsInput;
use crate::error::failure::{Failure, FailureKind, Result};

/// The time in which a run that asks a new question has to repeat its earlier questions.
const REASK_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs a handler to its result, or to the questions that it waits for.
pub(crate) async fn run_until_input_required(
    round: &InputRound,
    run: impl Future<Output = Result<Reply>>,
) -> Result<Reply> {
    let answer_log = &round.answer_log;
    let mut run = pin!(run);
    // Dropped before the run, so that dropping the run does not withdraw its questions.
    let _close = CloseOnDrop(answer_log);
    // A run that asks nothing needs no waker of its own.
    let without_questions = std::future::poll_fn(|cx| {
        if !answer_log.watch_without_questions(cx.waker()) {
            return Poll::Ready(None);
        }
        match run.as_mut().poll(cx) {
            Poll::Ready(reply) => Poll::Ready(Some(reply)),
            Poll::Pending if answer_log.has_questions() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    });
    match without_questions.await {
        Some(reply) => reply,
        None => Box::pin(run_with_questions(round, run)).await,
    }
}

/// Runs a handler that has asked something, or did so in an earlier round.
async fn run_with_questions(
    round: &InputRound,
    mut run: Pin<&mut impl Future<Output = Result<Reply>>>,
) -> Result<Reply> {
    let answer_log = &round.answer_log;
    let task = Arc::new(WatchedTask::default());
    answer_log.watch(&Waker::from(task.clone()));
    let mut run_waker: Option<Waker> = None;
    let mut timeout: Option<Pin<Box<Sleep>>> = None;
    std::future::poll_fn(move |cx| {
        task.set_waker(cx.waker());
        loop {
            task.woke.store(false, Ordering::Relaxed);
            let waker = run_waker.get_or_insert_with(|| RunWaker::create(&task));
            let polled = run.as_mut().poll(&mut task::Context::from_waker(waker));
            if polled.is_ready() {
                return polled;
            }
            match answer_log.run_state(waker) {
                RunState::InputRequired(requests) => {
                    let needs = NeedsInput::for_questions(requests, round.state.clone());
                    let failure = Failure::from_kind(FailureKind::NeedsInput(needs));
                    return Poll::Ready(Err(failure));
                }
                RunState::Running => {
                    timeout = None;
                    return Poll::Pending;
                }
                RunState::MissingQuestions => {
                    // The wakers that are left are those that the run gave to others.
                    run_waker = None;
                    let sleep =
                        timeout.get_or_insert_with(|| Box::pin(tokio::time::sleep(REASK_TIMEOUT)));
                    if task.can_be_woken() && sleep.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    drop(answer_log.refuse(NOT_ASKED_AGAIN));
                }
            }
        }
    })
    .await
}

/// Closes the answer log when dropped.
struct CloseOnDrop<'a>(&'a AnswerLog);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The task that polls a run. A run that nothing can wake will never repeat its earlier questions.
#[derive(Default)]
struct WatchedTask {
    waker: Mutex<Option<Waker>>,
    /// True if the task was woken since the run was last polled.
    woke: AtomicBool,
    /// The number of [`RunWaker`]s that exist.
    run_wakers: AtomicUsize,
}

impl WatchedTask {
    fn set_waker(&self, waker: &Waker) {
        let mut current = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *current {
            Some(current) => current.clone_from(waker),
            None => *current = Some(waker.clone()),
        }
    }

    /// Returns whether the run was woken, or something still has a waker of it.
    fn can_be_woken(&self) -> bool {
        // Pairs with the drop of a waker, which may have woken the task before.
        self.run_wakers.load(Ordering::Acquire) > 0 || self.woke.load(Ordering::Relaxed)
    }
}

impl Wake for WatchedTask {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woke.store(true, Ordering::Relaxed);
        // Wake outside the lock: waking may poll the task at once.
        let waker = self
            .waker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        waker.into_iter().for_each(Waker::wake);
    }
}

/// The waker with which a run is polled. It is dropped when nothing that the run waits for has a
/// clone of it.
struct RunWaker(Arc<WatchedTask>);

impl RunWaker {
    fn create(task: &Arc<WatchedTask>) -> Waker {
        task.run_wakers.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self(task.clone())).into()
    }
}

impl Wake for RunWaker {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.wake_by_ref();
    }
}

impl Drop for RunWaker {
    fn drop(&mut self) {
        self.0.run_wakers.fetch_sub(1, Ordering::Release);
    }
}
