//! The record of what a client did.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::request::Parts;
use serde_json::Value;

/// Entries that a record keeps; later ones are lost.
const MAX_ENTRIES: usize = 20_000;

/// One thing that happened.
#[derive(Debug, Clone)]
pub(crate) enum Entry {
    /// A request of HTTP, with its message; null if it has none.
    Request { head: Box<Head>, message: Value },
    /// A line on a connection; null if it is no JSON.
    Line { connection: usize, message: Value },
    /// A message of the server.
    Sent(Value),
}

/// The head of a request of HTTP.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) method: http::Method,
    pub(crate) path: String,
    headers: http::HeaderMap,
}

impl Head {
    pub(crate) fn new(parts: &Parts) -> Self {
        Self {
            method: parts.method.clone(),
            path: parts.uri.path().to_owned(),
            headers: parts.headers.clone(),
        }
    }

    /// Returns the text of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl Entry {
    /// Returns the message of the client, if the entry is one.
    pub(crate) fn client_message(&self) -> Option<&Value> {
        match self {
            Self::Request { message, .. } | Self::Line { message, .. } => {
                Some(message).filter(|message| !message.is_null())
            }
            Self::Sent(_) => None,
        }
    }

    /// Returns the head of a POST that carries a message.
    pub(crate) fn post(&self) -> Option<(&Head, &Value)> {
        match self {
            Self::Request { head, message } if head.method == http::Method::POST => {
                Some((head, message))
            }
            _ => None,
        }
    }
}

/// A record that grows while a client runs; clones are the same record.
#[derive(Debug, Clone)]
pub(crate) struct Tape(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    entries: Vec<Entry>,
    changed: Instant,
}

impl Tape {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Inner {
            entries: Vec::new(),
            changed: Instant::now(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, entry: Entry) {
        let mut inner = self.lock();
        inner.changed = Instant::now();
        if inner.entries.len() < MAX_ENTRIES {
            inner.entries.push(entry);
        }
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.lock().entries.clone()
    }

    /// Returns whether an entry is there.
    pub(crate) fn has(&self, is_it: impl FnMut(&Entry) -> bool) -> bool {
        self.lock().entries.iter().any(is_it)
    }

    /// Returns for how long nothing has happened; `None` if nothing has happened at all.
    pub(crate) fn quiet_for(&self) -> Option<Duration> {
        let inner = self.lock();
        (!inner.entries.is_empty()).then(|| inner.changed.elapsed())
    }
}
