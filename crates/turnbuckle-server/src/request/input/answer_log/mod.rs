//! The answer log of a request: the questions that its handler asked, the answers, and the values
//! kept by `once`.
//!
//! The log is sealed into the request state between two runs, and shared between a run and the code
//! that watches over it. A run starts at the handler's beginning and repeats the questions of
//! earlier runs. Questions are identified by their content. A recorded answer is handed out once
//! all questions of earlier rounds were repeated, so the handler gets its answers in the order in
//! which it first got them, even if its branches run at another speed this time.

mod sealed;
mod state;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{self, Poll, Waker};
use std::thread::{self, ThreadId};

use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{InputRequest, InputRequests, Json};

use crate::error::AskError;
use state::{AnswerLogState, LoggedQuestion, MAX_QUESTIONS, internal_error};

pub(crate) use sealed::{NOT_ASKED_AGAIN, SealedAnswerLog};
pub(crate) use state::check_name;

/// The answer log of one run.
#[derive(Default)]
pub(crate) struct AnswerLog(Mutex<AnswerLogState>);

/// The state of a run that is not ready.
#[derive(Debug)]
pub(crate) enum RunState {
    /// The run waits for something other than answers.
    Running,
    /// The run is over: these questions have to be sent to the client.
    InputRequired(InputRequests),
    /// The run waits for an answer, but has not repeated all earlier questions. The log has no clone
    /// of the run's waker.
    MissingQuestions,
}

impl AnswerLog {
    /// Creates the log of a first run, for a legacy client or a modern one.
    pub(crate) fn new(legacy: bool) -> Self {
        Self(Mutex::new(AnswerLogState {
            legacy,
            ..AnswerLogState::default()
        }))
    }

    /// Returns the log for the next run for the same legacy client.
    pub(crate) fn for_next_run(&self) -> Self {
        self.copy_questions(true, |entry| entry.answer.is_some())
    }

    /// Returns the log for another run of the same round.
    pub(crate) fn for_repeat(&self, legacy: bool) -> Self {
        self.copy_questions(legacy, |_| true)
    }

    /// Returns a log with those questions for which `keep` returns true, none of them asked yet.
    fn copy_questions(&self, legacy: bool, keep: impl Fn(&&LoggedQuestion) -> bool) -> Self {
        let state = self.lock();
        let unasked = |entry: &LoggedQuestion| LoggedQuestion {
            asked: None,
            waiter: None,
            ..entry.clone()
        };
        Self(Mutex::new(AnswerLogState {
            round: state.round,
            legacy,
            secret: state.secret.clone(),
            entries: state.entries.iter().filter(keep).map(unasked).collect(),
            asked_total: state.asked_total,
            once_values: state.once_values.clone(),
            ..AnswerLogState::default()
        }))
    }

    /// Logs a question under this key, or under a generated one. Returns the key.
    pub(crate) fn ask(
        &self,
        key: Option<&str>,
        request: &InputRequest,
    ) -> Result<String, AskError> {
        let mut state = self.lock();
        state.check_active()?;
        if state.body_threads.contains(&thread::current().id()) {
            return Err(internal_error(
                "the body of a `once` asks a question: ask it before",
            ));
        }
        let tag = state.tag(key, request)?;
        let found = match key {
            None => state
                .entries
                .iter_mut()
                .find(|it| it.tag == tag && it.asked.is_none()),
            Some(key) => state.entries.iter_mut().find(|it| it.key == key),
        };
        if let Some(entry) = found {
            if entry.asked.is_some() {
                return Err(internal_error(format!(
                    "two questions have the key {:?}",
                    entry.key
                )));
            }
            if entry.tag != tag {
                let reason = format!("the question {:?} is another one than before", entry.key);
                return Err(state.refuse(reason));
            }
            entry.asked = Some(request.clone());
            let key = entry.key.clone();
            // This question may have been the last one missing: wake those that wait for answers.
            let early = state.entries.iter().filter(|it| it.answer.is_some());
            let early = early.filter_map(|it| it.waiter.clone());
            let waiting: Vec<_> = early.chain(state.watcher.clone()).collect();
            drop(state);
            waiting.into_iter().for_each(Waker::wake);
            return Ok(key);
        }
        state.check_size()?;
        let key = key.map_or_else(|| state.new_key(request), str::to_owned);
        let round = state.round;
        state.asked_total += 1;
        state.entries.push(LoggedQuestion {
            key: key.clone(),
            tag,
            round,
            answer: None,
            asked: Some(request.clone()),
            waiter: None,
        });
        let watcher = state.watcher.clone();
        drop(state);
        // Wake the watcher, since the question may come from another task.
        watcher.iter().for_each(Waker::wake_by_ref);
        Ok(key)
    }

    /// Waits for the recorded answer to a question that was asked.
    pub(crate) fn poll_answer(
        &self,
        key: &str,
        cx: &mut task::Context<'_>,
    ) -> Poll<Result<Json, AskError>> {
        let mut state = self.lock();
        let Some(index) = state.entries.iter().position(|it| it.key == key) else {
            return Poll::Ready(Err(AskError::Ended));
        };
        let waits = state.waits_for_earlier_round(state.entries[index].round);
        let entry = &mut state.entries[index];
        if !waits && let Some(answer) = &entry.answer {
            entry.waiter = None;
            return Poll::Ready(Ok(answer.clone()));
        }
        entry.waiter = Some(cx.waker().clone());
        match state.check_active() {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Returns the answer to a question of an earlier run, in a legacy session.
    pub(crate) fn answer(&self, key: &str) -> Option<Json> {
        let state = self.lock();
        let entry = state.entries.iter().find(|it| it.key == key);
        entry?.answer.clone()
    }

    /// Records the answer of a legacy client.
    pub(crate) fn record_answer(&self, key: &str, answer: Json) {
        let mut state = self.lock();
        let entry = state.entries.iter_mut().find(|it| it.key == key);
        if let Some(entry) = entry {
            entry.answer = Some(answer);
        }
    }

    /// Removes a question that nobody waits for any more.
    pub(crate) fn withdraw(&self, key: &str) {
        let mut state = self.lock();
        if !state.is_over {
            state
                .entries
                .retain(|it| it.key != key || it.answer.is_some());
        }
    }

    /// Returns the value that the `once` with this name gave in an earlier run.
    pub(crate) fn begin_once(&self, name: &str) -> Result<Option<Json>, AskError> {
        let mut state = self.lock();
        state.check_active()?;
        check_name(name)?;
        if state.used_names.iter().any(|used| used == name) {
            return Err(internal_error(format!("two `once` have the name {name:?}")));
        }
        if state.used_names.len() >= MAX_QUESTIONS {
            return Err(internal_error(format!(
                "a request has more than {MAX_QUESTIONS} `once`"
            )));
        }
        state.used_names.push(name.to_owned());
        Ok(state.once_values.get(name).cloned())
    }

    /// Returns the value that the `once` with this name has given.
    pub(crate) fn once_value(&self, name: &str) -> Option<Json> {
        self.lock().once_values.get(name).cloned()
    }

    /// Records the value of the `once` with this name.
    pub(crate) fn record_once(&self, name: &str, value: Json) {
        self.lock().once_values.insert(name, value);
    }

    /// Ends the run because the handler asks other questions than before.
    pub(crate) fn refuse(&self, reason: impl Into<String>) -> AskError {
        self.lock().refuse(reason.into())
    }

    /// Notes that the body of a `once` runs, until the guard is dropped.
    pub(crate) fn enter_once_body(&self) -> OnceBody<'_> {
        self.lock().running_bodies += 1;
        OnceBody(self)
    }

    /// Sets the waker of the code that watches over the run.
    pub(crate) fn watch(&self, watcher: &Waker) {
        self.lock().watcher = Some(watcher.clone());
    }

    /// Sets the waker of the code that watches over a run without questions. Returns false if there are
    /// questions, of this run or of an earlier one.
    pub(crate) fn watch_without_questions(&self, watcher: &Waker) -> bool {
        let mut state = self.lock();
        if !state.entries.is_empty() {
            return false;
        }
        match &mut state.watcher {
            Some(known) => known.clone_from(watcher),
            None => state.watcher = Some(watcher.clone()),
        }
        true
    }

    /// Returns whether there are questions, of this run or of an earlier one.
    pub(crate) fn has_questions(&self) -> bool {
        !self.lock().entries.is_empty()
    }

    /// Returns whether the run is watched, so that it ends when it waits for answers only.
    pub(crate) fn is_watched(&self) -> bool {
        self.lock().watcher.is_some()
    }

    /// Returns the state of a run that is not ready and was polled with `run_waker`.
    pub(crate) fn run_state(&self, run_waker: &Waker) -> RunState {
        let mut guard = self.lock();
        let state = &mut *guard;
        if state.legacy || state.running_bodies > 0 || state.is_over || state.mismatch.is_some() {
            return RunState::Running;
        }
        let waits = |it: &LoggedQuestion| it.waiter.is_some() || it.is_open();
        if !state.entries.iter().any(waits) {
            return RunState::Running;
        }
        if state.has_missing_questions() {
            // The watcher polls the run, so waking the watcher wakes its answers as well.
            if let Some(watcher) = &state.watcher {
                let waiters = state.entries.iter_mut().filter_map(|it| it.waiter.as_mut());
                waiters
                    .filter(|waiter| waiter.will_wake(run_waker))
                    .for_each(|waiter| waiter.clone_from(watcher));
            }
            return RunState::MissingQuestions;
        }
        let open = state.entries.iter().filter(|it| it.is_open());
        let due: InputRequests = open
            .filter_map(|it| Some((it.key.as_str(), it.asked.clone()?)))
            .collect();
        if due.is_empty() {
            return RunState::Running;
        }
        state.is_over = true;
        RunState::InputRequired(due)
    }

    /// Ends the run and wakes the tasks that wait for answers.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_over = true;
        state.watcher = None;
        let waiting: Vec<_> = state
            .entries
            .iter_mut()
            .filter_map(|it| it.waiter.take())
            .collect();
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, AnswerLogState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A guard for a running body of a `once`.
pub(crate) struct OnceBody<'a>(&'a AnswerLog);

impl OnceBody<'_> {
    /// Polls the body; questions are refused meanwhile.
    pub(crate) fn poll<T>(&self, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
        /// Removes the mark of the thread when dropped, also by a panic.
        struct Inside<'a>(&'a AnswerLog, ThreadId);
        impl Drop for Inside<'_> {
            fn drop(&mut self) {
                let mut state = self.0.lock();
                if let Some(at) = state.body_threads.iter().position(|id| *id == self.1) {
                    state.body_threads.swap_remove(at);
                }
            }
        }
        let thread = thread::current().id();
        self.0.lock().body_threads.push(thread);
        let _inside = Inside(self.0, thread);
        poll()
    }
}

impl Drop for OnceBody<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.running_bodies -= 1;
        let watcher = state.watcher.clone();
        drop(state);
        watcher.iter().for_each(Waker::wake_by_ref);
    }
}

// Questions and answers may be confidential.
debug_fields!(AnswerLog {
    round = |log| log.lock().round,
    questions = |log| log.lock().entries.len(),
    once_values = |log| log.lock().once_values.len(),
    is_over = |log| log.lock().is_over,
});
