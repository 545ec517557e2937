//! The conduct of a client with one server, and the form of the rules that it is judged by.

use serde_json::Value;
use turnbuckle_wire::revision::Revision;

use super::scenario::Scenario;
use super::tape::Entry;
use crate::report::Level;

/// The conduct of a client with one server.
pub(super) struct Run {
    pub(super) revision: Revision,
    pub(super) is_http: bool,
    pub(super) scenario: Scenario,
    pub(super) entries: Vec<Entry>,
}

/// A breach of a rule: a sentence, and the message that shows it.
pub(super) struct Breach {
    pub(super) sentence: String,
    pub(super) message: Option<Value>,
}

/// The outcome of a rule: why there was no occasion, or what was broken.
pub(super) type Outcome = Result<Vec<Breach>, &'static str>;

/// A rule for clients.
pub(super) struct Rule {
    pub(super) id: &'static str,
    pub(super) level: Level,
    pub(super) title: &'static str,
    /// Entries of the requirements manifest.
    pub(super) requirements: &'static [&'static str],
    pub(super) fix: &'static str,
    pub(super) judge: fn(&Run) -> Outcome,
}

impl Run {
    /// Returns the messages of the client.
    pub(super) fn client_messages(&self) -> impl Iterator<Item = &Value> {
        self.entries.iter().filter_map(Entry::client_message)
    }

    /// Returns the requests of the client.
    pub(super) fn requests(&self) -> impl Iterator<Item = &Value> {
        self.client_messages()
            .filter(|it| it["method"].is_string() && it.get("id").is_some())
    }

    /// Returns the requests with a method.
    pub(super) fn requests_of<'r>(&'r self, method: &'r str) -> impl Iterator<Item = &'r Value> {
        self.requests().filter(move |it| it["method"] == method)
    }

    /// Returns the messages of the server.
    pub(super) fn sent(&self) -> impl Iterator<Item = &Value> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Sent(message) => Some(message),
            _ => None,
        })
    }

    /// Returns the result of the handshake, if there was one.
    pub(super) fn handshake(&self) -> Option<&Value> {
        let mut results = self.sent().map(|message| &message["result"]);
        results.find(|result| result["protocolVersion"].is_string())
    }
}

/// Returns whether a message has any part of the envelope of the modern era.
pub(super) fn has_envelope(message: &Value) -> bool {
    let meta = message["params"]["_meta"].as_object();
    meta.is_some_and(|meta| {
        meta.keys()
            .any(|key| key.starts_with("io.modelcontextprotocol/"))
    })
}

pub(super) fn breach(sentence: impl Into<String>, message: &Value) -> Breach {
    Breach {
        sentence: sentence.into(),
        message: Some(message.clone()),
    }
}

/// Returns an outcome; `Err` if there was no occasion.
pub(super) fn outcome(has_occasion: bool, reason: &'static str, breaches: Vec<Breach>) -> Outcome {
    match has_occasion {
        true => Ok(breaches),
        false => Err(reason),
    }
}
