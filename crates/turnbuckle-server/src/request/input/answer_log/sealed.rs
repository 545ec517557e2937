//! The part of an answer log that travels to the client and back, encrypted in `requestState`, between
//! two runs of a handler: a modern server keeps nothing while its client asks the user.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use turnbuckle_types::{InputRequests, Json, Map, ProtocolError};

use super::AnswerLog;
use super::state::{AnswerLogState, LoggedQuestion, MAX_QUESTIONS};
use crate::error::AskError;
use crate::request::input::request_state::MacKey;

/// The questions of all rounds so far, and the values kept by `once`.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SealedAnswerLog {
    /// The key that the tags of questions are made with.
    #[serde(rename = "k")]
    secret: String,
    /// The number of rounds so far.
    #[serde(rename = "r")]
    rounds: u32,
    #[serde(rename = "q")]
    questions: Vec<SealedQuestion>,
    #[serde(rename = "o")]
    once: Map<Json>,
}

/// A question with its answer, if it has one.
#[derive(Serialize, Deserialize)]
struct SealedQuestion {
    #[serde(rename = "k")]
    key: String,
    /// A code of the question's content, which tells whether a run asks the same again.
    #[serde(rename = "t")]
    tag: String,
    #[serde(rename = "r")]
    round: u32,
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    answer: Option<Json>,
}

impl SealedAnswerLog {
    /// Returns the answer log of the next run, with the answers of the client. Answers to unknown
    /// questions, and to those that have an answer, are ignored. `None` if there are too many
    /// questions, or the key of their tags is not one.
    pub(crate) fn resume(self, answers: &Map<Json>) -> Option<AnswerLog> {
        if self.questions.len() > MAX_QUESTIONS {
            return None;
        }
        let secret = MacKey::from_text(&self.secret);
        if secret.is_none() && !self.questions.is_empty() {
            return None;
        }
        let entry = |it: SealedQuestion| LoggedQuestion {
            answer: it.answer.or_else(|| answers.get(&it.key).cloned()),
            key: it.key,
            tag: it.tag,
            round: it.round,
            asked: None,
            waiter: None,
        };
        Some(AnswerLog(Mutex::new(AnswerLogState {
            round: self.rounds,
            secret,
            asked_total: self.questions.len(),
            entries: self.questions.into_iter().map(entry).collect(),
            once_values: self.once,
            ..AnswerLogState::default()
        })))
    }

    /// Returns the parts with their sizes, for an error message.
    pub(crate) fn part_sizes(&self) -> impl Iterator<Item = (&str, &str, usize)> {
        let answers = self.questions.iter().filter_map(|it| {
            let answer = it.answer.as_ref()?;
            Some(("the answer to", it.key.as_str(), answer.as_str().len()))
        });
        let once = self.once.iter();
        answers.chain(once.map(|(name, it)| ("the value of", name, it.as_str().len())))
    }
}

impl AnswerLog {
    /// Returns the part to be sealed with a round that asks for `sent`, or `None` if nothing was
    /// asked or kept.
    ///
    /// `ran` is false if a layer asks instead of the handler: then no question can have been
    /// repeated.
    pub(crate) fn seal(
        &self,
        sent: &InputRequests,
        ran: bool,
    ) -> Result<Option<SealedAnswerLog>, ProtocolError> {
        let state = self.lock();
        if state.entries.is_empty() && state.once_values.is_empty() {
            return Ok(None);
        }
        if ran && state.has_missing_questions() {
            return Err(AskError::Changed(NOT_ASKED_AGAIN.to_owned()).into_error());
        }
        let mut questions = Vec::with_capacity(state.entries.len());
        for entry in &state.entries {
            let sent = sent.get(&entry.key);
            if sent.is_some() && sent != entry.asked.as_ref()
                || sent.is_some() && entry.answer.is_some()
            {
                return Err(ProtocolError::internal(format!(
                    "two questions have the key {:?}",
                    entry.key
                )));
            }
            if sent.is_some() || entry.answer.is_some() {
                questions.push(SealedQuestion {
                    key: entry.key.clone(),
                    tag: entry.tag.clone(),
                    round: entry.round,
                    answer: entry.answer.clone(),
                });
            }
        }
        Ok(Some(SealedAnswerLog {
            secret: state
                .secret
                .as_ref()
                .map(MacKey::to_text)
                .unwrap_or_default(),
            rounds: state.round.saturating_add(1),
            questions,
            once: state.once_values.clone(),
        }))
    }
}

/// The error of a run that leaves out an earlier question.
pub(crate) const NOT_ASKED_AGAIN: &str =
    "a question that was answered before is not asked any more";
