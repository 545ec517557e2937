//! The content of an answer log.

use std::task::Waker;
use std::thread::ThreadId;

use turnbuckle_types::{ElicitRequestParams, InputRequest, Json, Map, ProtocolError};

use crate::error::AskError;
use crate::request::input::canonical::canonical;
use crate::request::input::request_state::{MAX_STATE_BYTES, MacKey};

/// The most questions, and the most values kept by `once`, of one request.
pub(super) const MAX_QUESTIONS: usize = 256;

/// The longest key of a question or name of a `once`, in bytes.
const MAX_KEY: usize = 128;

/// The content of an answer log.
#[derive(Default)]
pub(super) struct AnswerLogState {
    /// The number of the round in which this run asks.
    pub(super) round: u32,
    /// True for a legacy client, which is asked at once by a request.
    pub(super) legacy: bool,
    /// The secret that identifies questions by their content.
    pub(super) secret: Option<MacKey>,
    /// The questions, in the order in which they were first asked.
    pub(super) entries: Vec<LoggedQuestion>,
    /// The number of questions ever asked, including withdrawn ones.
    pub(super) asked_total: usize,
    /// The values of the bodies of `once`, by name.
    pub(super) once_values: Map<Json>,
    /// The names of `once` that this run has used.
    pub(super) used_names: Vec<String>,
    /// The number of running bodies of `once`.
    pub(super) running_bodies: usize,
    /// The threads that are polling a body of `once`.
    pub(super) body_threads: Vec<ThreadId>,
    /// The reason that this run does not match the recorded one.
    pub(super) mismatch: Option<String>,
    /// True once the run is over.
    pub(super) is_over: bool,
    /// The waker of the code that watches over the run.
    pub(super) watcher: Option<Waker>,
}

/// A question of this run or of an earlier one.
#[derive(Clone)]
pub(super) struct LoggedQuestion {
    pub(super) key: String,
    /// A keyed hash of the question's key and content.
    pub(super) tag: String,
    pub(super) round: u32,
    pub(super) answer: Option<Json>,
    /// The question, if this run has asked it.
    pub(super) asked: Option<InputRequest>,
    /// The waker of the task that waits for the answer.
    pub(super) waiter: Option<Waker>,
}

impl LoggedQuestion {
    /// Returns whether the question was asked in this run and has no answer.
    pub(super) fn is_open(&self) -> bool {
        self.asked.is_some() && self.answer.is_none()
    }

    /// Returns whether the question has an answer, but was not asked in this run.
    pub(super) fn is_missing(&self) -> bool {
        self.asked.is_none() && self.answer.is_some()
    }
}

impl AnswerLogState {
    /// Returns an error if the run is over or does not match the recorded one.
    pub(super) fn check_active(&self) -> Result<(), AskError> {
        match &self.mismatch {
            Some(reason) => Err(AskError::Changed(reason.clone())),
            None if self.is_over => Err(AskError::Ended),
            None => Ok(()),
        }
    }

    /// Returns whether a recorded question was not asked again.
    pub(super) fn has_missing_questions(&self) -> bool {
        self.entries.iter().any(LoggedQuestion::is_missing)
    }

    /// Returns whether a question of an earlier round was not asked again.
    pub(super) fn waits_for_earlier_round(&self, round: u32) -> bool {
        let mut earlier = self.entries.iter().filter(|it| it.round < round);
        !self.legacy && earlier.any(LoggedQuestion::is_missing)
    }

    /// Marks the run as not matching the recorded one, and wakes the tasks that wait for answers.
    #[cold]
    pub(super) fn refuse(&mut self, reason: String) -> AskError {
        let reason = self.mismatch.get_or_insert(reason).clone();
        for entry in &mut self.entries {
            if let Some(waiter) = entry.waiter.take() {
                waiter.wake();
            }
        }
        AskError::Changed(reason)
    }

    /// Returns the keyed hash of a question's key and content.
    pub(super) fn tag(
        &mut self,
        key: Option<&str>,
        request: &InputRequest,
    ) -> Result<String, AskError> {
        if let Some(key) = key {
            check_name(key)?;
        }
        let json =
            Json::encode(&(key, request)).map_err(|error| internal_error(error.to_string()))?;
        let text = canonical(json.as_str())
            .map_err(|_| internal_error("the question is nested too deep"))?;
        if self.secret.is_none() {
            let secret = MacKey::generate().map_err(|error| internal_error(error.to_string()))?;
            self.secret = Some(secret);
        }
        Ok(self
            .secret
            .as_ref()
            .map_or_else(String::new, |it| it.mac(&text)))
    }

    /// Returns an error if another question would exceed the bounds.
    pub(super) fn check_size(&self) -> Result<(), AskError> {
        if self.asked_total >= MAX_QUESTIONS {
            let reason = format!("the request asks more than {MAX_QUESTIONS} questions");
            return Err(AskError::TooLarge(reason));
        }
        if self.legacy {
            return Ok(());
        }
        let parts = || {
            let answers = self.entries.iter().map(|it| {
                let size = it.answer.as_ref().map_or(0, |answer| answer.as_str().len());
                ("the answer to", it.key.as_str(), size)
            });
            let once_values = self.once_values.iter();
            answers.chain(
                once_values.map(|(name, value)| ("the value of", name, value.as_str().len())),
            )
        };
        let size: usize = parts().map(|(_, name, size)| name.len() + size).sum();
        match parts().max_by_key(|(.., size)| *size) {
            Some((what, name, most)) if size > MAX_STATE_BYTES => Err(AskError::TooLarge(format!(
                "what the request keeps between its rounds takes {size} bytes, and may take \
                 {MAX_STATE_BYTES}; {what} {name:?} takes {most}"
            ))),
            _ => Ok(()),
        }
    }

    /// Returns a key that no question has.
    pub(super) fn new_key(&self, request: &InputRequest) -> String {
        let kind = match request {
            InputRequest::Elicit(ElicitRequestParams::Url(_)) => "url",
            InputRequest::Elicit(_) => "form",
            InputRequest::CreateMessage(_) => "sample",
            InputRequest::ListRoots(_) => "roots",
            _ => "question",
        };
        let taken = |key: &String| self.entries.iter().any(|it| it.key == *key);
        let mut number = 1;
        loop {
            let key = format!("{kind}-{number}");
            if !taken(&key) {
                return key;
            }
            number += 1;
        }
    }
}

/// Checks the length of a key or a name.
pub(crate) fn check_name(name: &str) -> Result<(), AskError> {
    if name.is_empty() || name.len() > MAX_KEY {
        let beginning: String = name.chars().take(32).collect();
        return Err(internal_error(format!(
            "{beginning:?} is no name: one has from 1 to {MAX_KEY} bytes"
        )));
    }
    Ok(())
}

/// Returns an error for a mistake in the handler.
#[cold]
pub(super) fn internal_error(message: impl Into<String>) -> AskError {
    AskError::Failed(ProtocolError::internal(message).into())
}
