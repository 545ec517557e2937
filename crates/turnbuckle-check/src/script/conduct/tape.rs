//! The record of what a client did.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::Request;
use serde_json::Value;
use url::form_urlencoded;

use crate::script::login::bearer;

/// Entries that a record keeps; later ones are lost.
const MAX_ENTRIES: usize = 20_000;

/// One thing that happened.
#[derive(Debug, Clone)]
pub(crate) enum Entry {
    /// A request of HTTP, with its message for the server; null if it has none, or was refused for lack of
    /// a token.
    Request { head: Box<Head>, message: Value },
    /// A line on a connection; null if it is no JSON.
    Line { connection: usize, message: Value },
    /// A message of the server.
    Sent(Value),
    /// A token that the client was given.
    Token(String),
}

/// The head of a request of HTTP.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) method: http::Method,
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    /// The status of the refusal for lack of a token, or 0.
    pub(crate) refused: u16,
    form: Vec<(String, String)>,
    headers: http::HeaderMap,
}

/// Parameters of a query or a form that are kept.
const MAX_PARAMETERS: usize = 100;

fn parameters(text: &[u8]) -> Vec<(String, String)> {
    let pairs = form_urlencoded::parse(text).into_owned();
    pairs.take(MAX_PARAMETERS).collect()
}

impl Head {
    pub(crate) fn new<B>(request: &Request<B>) -> Self {
        let uri = request.uri();
        Self {
            method: request.method().clone(),
            path: uri.path().to_owned(),
            query: parameters(uri.query().unwrap_or_default().as_bytes()),
            refused: 0,
            form: Vec::new(),
            headers: request.headers().clone(),
        }
    }

    /// Adds the form in the body of the request.
    pub(crate) fn set_form(&mut self, body: &[u8]) {
        self.form = parameters(body);
    }

    /// Returns a parameter of the query or of the form.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let mut all = self.query.iter().chain(&self.form);
        all.find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns the token in the Authorization header.
    pub(crate) fn bearer(&self) -> Option<&str> {
        bearer(&self.headers)
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
            Self::Sent(_) | Self::Token(_) => None,
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
