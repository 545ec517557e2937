//! Runs of handlers inside of tasks: questions end a run as in a multi round-trip request, but go to the
//! record of the task instead of a response.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;
use turnbuckle_types::InputRequests;
use turnbuckle_types::base::debug_fields;

/// One run of a handler that is inside of a task, or may become a task while it runs.
#[derive(Default)]
pub(crate) struct Leg {
    is_in_task: AtomicBool,
    /// Notified when the handler wants its call to become a task.
    wish: Notify,
    questions: Mutex<Option<LegQuestions>>,
}

/// The questions that ended a run, and what the next run needs.
#[cfg_attr(not(feature = "tasks"), expect(dead_code, reason = "only tasks do"))]
pub(crate) struct LegQuestions {
    pub(crate) requests: InputRequests,
    /// The answers and values so far, as JSON.
    pub(crate) state: String,
}

impl Leg {
    /// Records that the run belongs to a task from now on.
    #[cfg_attr(not(feature = "tasks"), expect(dead_code, reason = "only tasks do"))]
    pub(crate) fn enter_task(&self) {
        self.is_in_task.store(true, Ordering::Relaxed);
    }

    /// Returns whether the run belongs to a task, so that its questions go to the record of the task.
    pub(crate) fn is_in_task(&self) -> bool {
        self.is_in_task.load(Ordering::Relaxed)
    }

    /// Lets the call become a task now, if it can.
    pub(crate) fn wish_for_task(&self) {
        self.wish.notify_one();
    }

    /// Resolves when the handler wants its call to become a task.
    #[cfg_attr(not(feature = "tasks"), expect(dead_code, reason = "only tasks do"))]
    pub(crate) async fn wished_for_task(&self) {
        self.wish.notified().await;
    }

    /// Keeps the questions that ended the run.
    pub(crate) fn park(&self, questions: LegQuestions) {
        *self.questions() = Some(questions);
    }

    /// Takes the questions that ended the run.
    #[cfg_attr(not(feature = "tasks"), expect(dead_code, reason = "only tasks do"))]
    pub(crate) fn take_questions(&self) -> Option<LegQuestions> {
        self.questions().take()
    }

    fn questions(&self) -> std::sync::MutexGuard<'_, Option<LegQuestions>> {
        let questions = self.questions.lock();
        questions.unwrap_or_else(PoisonError::into_inner)
    }
}

// Questions and answers may be confidential.
debug_fields!(Leg { in_task = |leg| leg.is_in_task() });
