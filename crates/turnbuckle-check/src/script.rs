//! Servers that do what a script says, however wrong that is.
//!
//! One [`Peer`] can be reached over a stream of lines ([`Peer::serve_lines`]) and by requests of HTTP
//! ([`Peer::respond`]). A message without a reaction in the script gets a plain correct answer.

pub(crate) mod conduct;
mod http;
mod lines;
mod listener;
pub(crate) mod login;
mod plain;
mod sound;
pub(crate) mod visit;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use turnbuckle_wire::revision::Revision;

pub use http::ScriptBody;
pub use listener::Listener;
pub use sound::{Cause, Interlude, Sound, SoundBody};
pub use visit::visit;

/// One step of a server's reaction to a message.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sends a message: a line, or an event of the stream. A message alone is a JSON body.
    Say(Value),
    /// Sends these bytes as they are.
    Write(Bytes),
    /// Sends these bytes so many times, so far apart. Further steps are for after that.
    Repeat(Bytes, usize, Duration),
    /// Lets time pass.
    Wait(Duration),
    /// Leaves it at that, with the connection open.
    Hang,
    /// Breaks the connection, or the exchange.
    Break,
    /// HTTP alone, and before all else: the answer's status and headers. Without it a stream is
    /// begun, unless there is but one message to say.
    Head(u16, Vec<(&'static str, String)>),
}

/// A message that a peer received.
#[derive(Debug, Clone)]
pub struct ReceivedMessage {
    /// The message; null for a request of HTTP that carries none.
    pub message: Value,
    /// On which connection, or in which session, counted from 1; 0 for none.
    pub connection: usize,
    /// HTTP method of the request that carried the message; empty on other transports.
    pub verb: String,
}

impl ReceivedMessage {
    /// Returns the method of the message; empty if it has none.
    #[must_use]
    pub fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or_default()
    }

    /// Returns the id of the message; null if it has none.
    #[must_use]
    pub fn id(&self) -> &Value {
        &self.message["id"]
    }

    /// Returns the answer to the message.
    #[must_use]
    pub fn answer(&self, result: Value) -> Step {
        Step::Say(json!({"jsonrpc": "2.0", "id": self.id(), "result": result}))
    }

    /// Returns the answer to a tool call, with a text.
    #[must_use]
    pub fn text(&self, text: &str) -> Step {
        self.answer(json!({"content": [{"type": "text", "text": text}]}))
    }

    /// Returns an error response to the message.
    #[must_use]
    pub fn refuse(&self, code: i64, message: &str) -> Step {
        Step::Say(json!({"jsonrpc": "2.0", "id": self.id(),
            "error": {"code": code, "message": message}}))
    }

    /// Returns a progress notification for the message.
    #[must_use]
    pub fn progress(&self, progress: u32) -> Step {
        let token = &self.message["params"]["_meta"]["progressToken"];
        Step::Say(json!({"jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": token, "progress": progress}}))
    }
}

type Script = dyn Fn(&ReceivedMessage) -> Option<Vec<Step>> + Send + Sync;

/// A scripted server; clones are the same one.
#[derive(Clone)]
pub struct Peer(Arc<Inner>);

struct Inner {
    revision: Revision,
    script: Box<Script>,
    received: Mutex<Vec<ReceivedMessage>>,
    opened: AtomicUsize,
    /// Sender of steps to the newest connection over lines, for steps that answer no message.
    wire: Mutex<Option<UnboundedSender<Step>>>,
    /// Number of connections and bodies that are open.
    open_count: AtomicUsize,
}

impl Peer {
    /// Creates a server of that revision. `script` returns the reaction to a message, or `None` for
    /// the reaction of a correct server.
    pub fn new(
        revision: Revision,
        script: impl Fn(&ReceivedMessage) -> Option<Vec<Step>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner {
            revision,
            script: Box::new(script),
            received: Mutex::default(),
            opened: AtomicUsize::new(0),
            wire: Mutex::default(),
            open_count: AtomicUsize::new(0),
        }))
    }

    /// Creates a server that misbehaves only for calls of tools.
    pub fn calls(
        revision: Revision,
        script: impl Fn(&ReceivedMessage) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        Self::new(revision, move |received| {
            (received.method() == "tools/call").then(|| script(received))
        })
    }

    /// Returns the revision that the server speaks.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.0.revision
    }

    /// Returns every message that the server received.
    #[must_use]
    pub fn messages(&self) -> Vec<ReceivedMessage> {
        lock(&self.0.received).clone()
    }

    /// Returns the messages with that method that the server received.
    #[must_use]
    pub fn messages_of(&self, method: &str) -> Vec<ReceivedMessage> {
        let mut messages = self.messages();
        messages.retain(|received| received.method() == method);
        messages
    }

    /// Returns the number of connections or sessions opened so far.
    #[must_use]
    pub fn connection_count(&self) -> usize {
        self.0.opened.load(Ordering::Relaxed)
    }

    /// Returns the number of connections and response bodies that are open now.
    #[must_use]
    pub fn open_count(&self) -> usize {
        self.0.open_count.load(Ordering::Relaxed)
    }

    /// Sends a message on the newest connection over lines.
    ///
    /// # Panics
    /// When there is no connection, or it is closed.
    pub fn send(&self, message: Value) {
        self.step(Step::Say(message));
    }

    /// Sends a notification on the newest connection over lines.
    ///
    /// # Panics
    /// When there is no connection, or it is closed.
    pub fn notify(&self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Closes the newest connection over lines.
    ///
    /// # Panics
    /// When there is no connection, or it is closed.
    pub fn disconnect(&self) {
        self.step(Step::Break);
    }

    #[expect(
        clippy::expect_used,
        reason = "a script that sends without a connection is wrong"
    )]
    fn step(&self, step: Step) {
        let wire = lock(&self.0.wire);
        let wire = wire.as_ref().expect("a connection was opened");
        wire.send(step).expect("the connection is open");
    }

    /// Opens a connection, and returns its number and the steps that answer no message.
    fn open_wire(&self) -> (usize, UnboundedReceiver<Step>) {
        let (wire, steps) = unbounded_channel();
        *lock(&self.0.wire) = Some(wire);
        (self.open(), steps)
    }

    fn open(&self) -> usize {
        self.0.opened.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Counts a connection or a body as open until the guard is dropped.
    fn open_guard(&self) -> OpenGuard {
        self.0.open_count.fetch_add(1, Ordering::Relaxed);
        OpenGuard(self.0.clone())
    }

    fn react(&self, received: &ReceivedMessage) -> Vec<Step> {
        lock(&self.0.received).push(received.clone());
        (self.0.script)(received).unwrap_or_else(|| plain::steps(received, self.0.revision))
    }
}

struct OpenGuard(Arc<Inner>);

impl Drop for OpenGuard {
    fn drop(&mut self) {
        self.0.open_count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Locks what stays whole even if a thread panicked with it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
