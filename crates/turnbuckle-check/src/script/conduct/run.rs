//! The conduct of a client with one server, as checks read it.

use serde_json::Value;

use super::scenario::Scenario;
use super::tape::Entry;
use crate::case::Case;

/// The conduct of a client with one server.
pub(crate) struct Run {
    pub(crate) case: Case,
    pub(crate) scenario: Scenario,
    pub(crate) entries: Vec<Entry>,
}

/// A breach of a rule: a sentence, and the message that shows it.
pub(crate) struct Breach {
    pub(crate) sentence: String,
    pub(crate) message: Option<Value>,
}

/// The outcome of a rule: why there was no occasion, or what was broken.
pub(crate) type Outcome = Result<Vec<Breach>, &'static str>;

impl Run {
    /// Returns the messages of the client.
    pub(crate) fn client_messages(&self) -> impl Iterator<Item = &Value> {
        self.entries.iter().filter_map(Entry::client_message)
    }

    /// Returns the requests of the client.
    pub(crate) fn requests(&self) -> impl Iterator<Item = &Value> {
        self.client_messages()
            .filter(|it| it["method"].is_string() && it.get("id").is_some())
    }

    /// Returns the requests with a method.
    pub(crate) fn requests_of<'r>(&'r self, method: &'r str) -> impl Iterator<Item = &'r Value> {
        self.requests().filter(move |it| it["method"] == method)
    }

    /// Returns the messages of the server.
    pub(crate) fn sent(&self) -> impl Iterator<Item = &Value> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Sent(message) => Some(message),
            _ => None,
        })
    }

    /// Returns the result of the handshake, if there was one.
    pub(crate) fn handshake(&self) -> Option<&Value> {
        let mut results = self.sent().map(|message| &message["result"]);
        results.find(|result| result["protocolVersion"].is_string())
    }
}

/// Returns whether a message has any part of the envelope of the modern era.
pub(crate) fn has_envelope(message: &Value) -> bool {
    let meta = message["params"]["_meta"].as_object();
    meta.is_some_and(|meta| {
        meta.keys()
            .any(|key| key.starts_with("io.modelcontextprotocol/"))
    })
}

pub(crate) fn breach(sentence: impl Into<String>, message: &Value) -> Breach {
    Breach {
        sentence: sentence.into(),
        message: Some(message.clone()),
    }
}

/// Returns an outcome; `Err` if there was no occasion.
pub(crate) fn outcome(has_occasion: bool, reason: &'static str, breaches: Vec<Breach>) -> Outcome {
    match has_occasion {
        true => Ok(breaches),
        false => Err(reason),
    }
}
