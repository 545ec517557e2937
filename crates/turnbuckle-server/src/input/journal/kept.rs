//! The part of a journal that is sealed between two runs.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use turnbuckle_types::{Error, InputRequests, Json, Map};

use super::Journal;
use super::book::{Book, Entry, MAX_QUESTIONS};
use crate::input::AskError;
use crate::input::state::Secret;

/// The questions of all rounds so far, and what was kept.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct KeptJournal {
    #[serde(rename = "k")]
    secret: String,
    /// How many rounds there were.
    #[serde(rename = "r")]
    rounds: u32,
    #[serde(rename = "q")]
    questions: Vec<KeptQuestion>,
    #[serde(rename = "o")]
    once: Map<Json>,
}

#[derive(Serialize, Deserialize)]
struct KeptQuestion {
    #[serde(rename = "k")]
    key: String,
    #[serde(rename = "t")]
    tag: String,
    #[serde(rename = "r")]
    round: u32,
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    answer: Option<Json>,
}

impl KeptJournal {
    /// The journal of the run that goes on from here, with what the client answered. Answers that
    /// nobody asked for, or that were there already, are passed over.
    pub(crate) fn resumed(self, answers: &Map<Json>) -> Option<Journal> {
        if self.questions.len() > MAX_QUESTIONS {
            return None;
        }
        let secret = Secret::from_text(&self.secret);
        if secret.is_none() && !self.questions.is_empty() {
            return None;
        }
        let entry = |it: KeptQuestion| Entry {
            answer: it.answer.or_else(|| answers.get(&it.key).cloned()),
            key: it.key,
            tag: it.tag,
            round: it.round,
            asked: None,
            waiter: None,
        };
        Some(Journal(Mutex::new(Book {
            round: self.rounds,
            secret,
            put: self.questions.len(),
            entries: self.questions.into_iter().map(entry).collect(),
            kept: self.once,
            ..Book::default()
        })))
    }

    /// Its parts with their sizes.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&str, &str, usize)> {
        let answers = self.questions.iter().filter_map(|it| {
            let answer = it.answer.as_ref()?;
            Some(("the answer to", it.key.as_str(), answer.as_str().len()))
        });
        let once = self.once.iter();
        answers.chain(once.map(|(name, it)| ("the value of", name, it.as_str().len())))
    }
}

impl Journal {
    /// What has to be sealed with a round that asks for `sent`; nothing, if nothing was asked or
    /// kept. `ran` tells whether the handler was run with it, or a layer asks instead: then nothing
    /// can have been asked again.
    pub(crate) fn kept(
        &self,
        sent: &InputRequests,
        ran: bool,
    ) -> Result<Option<KeptJournal>, Error> {
        let book = self.lock();
        if book.entries.is_empty() && book.kept.is_empty() {
            return Ok(None);
        }
        if ran && book.is_incomplete() {
            return Err(AskError::Changed(NOT_ASKED_AGAIN.to_owned()).into_error());
        }
        let mut questions = Vec::with_capacity(book.entries.len());
        for entry in &book.entries {
            let sent = sent.get(&entry.key);
            if sent.is_some() && sent != entry.asked.as_ref()
                || sent.is_some() && entry.answer.is_some()
            {
                return Err(Error::internal(format!(
                    "two questions have the key {:?}",
                    entry.key
                )));
            }
            if sent.is_some() || entry.answer.is_some() {
                questions.push(KeptQuestion {
                    key: entry.key.clone(),
                    tag: entry.tag.clone(),
                    round: entry.round,
                    answer: entry.answer.clone(),
                });
            }
        }
        Ok(Some(KeptJournal {
            secret: book
                .secret
                .as_ref()
                .map(Secret::to_text)
                .unwrap_or_default(),
            rounds: book.round.saturating_add(1),
            questions,
            once: book.kept.clone(),
        }))
    }
}

/// Why a run is refused that asks something new first.
pub(crate) const NOT_ASKED_AGAIN: &str =
    "a question that was answered before is not asked any more";
