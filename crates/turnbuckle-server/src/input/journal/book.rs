//! What stands in a journal.

use std::task::Waker;
use std::thread::ThreadId;

use turnbuckle_types::{ElicitParams, Error, InputRequest, Json, Map};

use crate::input::AskError;
use crate::input::canonical::canonical;
use crate::input::state::{MAX_STATE, Secret};

/// The most questions, and the most values kept by `once`, that one request may have.
pub(super) const MAX_QUESTIONS: usize = 256;

/// The longest key of a question and name of a `once`, in bytes.
const MAX_KEY: usize = 128;

#[derive(Default)]
pub(super) struct Book {
    /// The number of the round that this run asks in.
    pub(super) round: u32,
    /// A legacy client is asked at once, and nothing changes between the runs of one process.
    pub(super) legacy: bool,
    pub(super) secret: Option<Secret>,
    /// In the order in which they were first asked.
    pub(super) entries: Vec<Entry>,
    /// How many there ever were, those that were withdrawn too.
    pub(super) put: usize,
    /// What the bodies of `once` gave, by their names.
    pub(super) kept: Map<Json>,
    /// The names that this run used.
    pub(super) named: Vec<String>,
    /// How many bodies run, and which threads are inside of one right now.
    pub(super) bodies: usize,
    pub(super) inside: Vec<ThreadId>,
    /// Why this run is not the one that the record is of.
    pub(super) changed: Option<String>,
    pub(super) over: bool,
    /// Wakes who watches over the run.
    pub(super) alarm: Option<Waker>,
}

/// A question.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) tag: String,
    pub(super) round: u32,
    pub(super) answer: Option<Json>,
    /// What this run asked, if it has asked it.
    pub(super) asked: Option<InputRequest>,
    /// Who waits for the answer.
    pub(super) waiter: Option<Waker>,
}

impl Entry {
    pub(super) fn is_open(&self) -> bool {
        self.asked.is_some() && self.answer.is_none()
    }

    /// Recorded, but not asked again.
    pub(super) fn is_missing(&self) -> bool {
        self.asked.is_none() && self.answer.is_some()
    }
}

impl Book {
    pub(super) fn may_go_on(&self) -> Result<(), AskError> {
        match &self.changed {
            Some(reason) => Err(AskError::Changed(reason.clone())),
            None if self.over => Err(AskError::Ended),
            None => Ok(()),
        }
    }

    pub(super) fn is_incomplete(&self) -> bool {
        self.entries.iter().any(Entry::is_missing)
    }

    /// Whether something that was asked in an earlier round has not been asked again.
    pub(super) fn is_early(&self, round: u32) -> bool {
        let mut earlier = self.entries.iter().filter(|it| it.round < round);
        !self.legacy && earlier.any(Entry::is_missing)
    }

    #[cold]
    pub(super) fn refuse(&mut self, reason: String) -> AskError {
        let reason = self.changed.get_or_insert(reason).clone();
        for entry in &mut self.entries {
            if let Some(waiter) = entry.waiter.take() {
                waiter.wake();
            }
        }
        AskError::Changed(reason)
    }

    pub(super) fn tag(
        &mut self,
        key: Option<&str>,
        request: &InputRequest,
    ) -> Result<String, AskError> {
        if let Some(key) = key {
            check_name(key)?;
        }
        let json = Json::of(&(key, request)).map_err(|error| fault(error.to_string()))?;
        let text =
            canonical(json.as_str()).map_err(|_| fault("the question is nested too deep"))?;
        if self.secret.is_none() {
            let secret = Secret::generate().map_err(|error| fault(error.to_string()))?;
            self.secret = Some(secret);
        }
        Ok(self
            .secret
            .as_ref()
            .map_or_else(String::new, |it| it.tag(&text)))
    }

    /// Whether another question can be asked, and what is recorded still be sealed with it.
    pub(super) fn has_room(&self) -> Result<(), AskError> {
        if self.put >= MAX_QUESTIONS {
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
            let kept = self.kept.iter();
            answers.chain(kept.map(|(name, value)| ("the value of", name, value.as_str().len())))
        };
        let size: usize = parts().map(|(_, name, size)| name.len() + size).sum();
        match parts().max_by_key(|(.., size)| *size) {
            Some((what, name, most)) if size > MAX_STATE => Err(AskError::TooLarge(format!(
                "what the request keeps between its rounds takes {size} bytes, and may take \
                 {MAX_STATE}; {what} {name:?} takes {most}"
            ))),
            _ => Ok(()),
        }
    }

    /// A key that no question has yet.
    pub(super) fn new_key(&self, request: &InputRequest) -> String {
        let kind = match request {
            InputRequest::Elicit(ElicitParams::Url(_)) => "url",
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

pub(super) fn check_name(name: &str) -> Result<(), AskError> {
    if name.is_empty() || name.len() > MAX_KEY {
        let beginning: String = name.chars().take(32).collect();
        return Err(fault(format!(
            "{beginning:?} is no name: one has from 1 to {MAX_KEY} bytes"
        )));
    }
    Ok(())
}

/// The handler's own fault.
#[cold]
pub(super) fn fault(message: impl Into<String>) -> AskError {
    AskError::Failed(Error::internal(message).into())
}
