//! The state of one connection or session.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;
use turnbuckle_types::LoggingLevel;
use turnbuckle_wire::revision::Revision;

use super::super::lock;
use super::faults::Cause;
use super::outlet::Outlet;

/// One connection over lines, one session of HTTP, or one request of the modern era over HTTP.
#[derive(Default)]
pub(super) struct Session {
    state: Mutex<State>,
    next_ask: AtomicUsize,
    initialized: Notify,
}

#[derive(Default)]
struct State {
    revision: Option<Revision>,
    capabilities: Value,
    is_initialized: bool,
    level: usize,
    subscriptions: HashSet<String>,
    /// By the text of their ids: the requests that are being handled.
    running: HashMap<String, Option<AbortHandle>>,
    /// By the text of their ids: the requests to the client that wait for an answer.
    asks: HashMap<String, oneshot::Sender<Value>>,
    /// Takes what belongs to no request.
    general: Option<Outlet>,
}

impl Session {
    /// Begins the legacy session.
    pub(super) fn open(&self, revision: Revision, capabilities: Value) {
        let mut state = lock(&self.state);
        state.revision = Some(revision);
        state.capabilities = capabilities;
    }

    /// Returns the revision that the handshake agreed on.
    pub(super) fn revision(&self) -> Option<Revision> {
        lock(&self.state).revision
    }

    /// Returns the capabilities that the handshake declared.
    pub(super) fn capabilities(&self) -> Value {
        lock(&self.state).capabilities.clone()
    }

    pub(super) fn set_initialized(&self) {
        lock(&self.state).is_initialized = true;
        self.initialized.notify_waiters();
    }

    /// Waits for `notifications/initialized`: nothing is asked before it.
    pub(super) async fn initialized(&self) {
        let is_initialized = || lock(&self.state).is_initialized;
        let initialized = self.initialized.notified();
        if !is_initialized() {
            initialized.await;
        }
    }

    /// Returns a message of the client as the cause of what is sent.
    pub(super) fn cause(&self, message: &Value) -> Cause {
        let state = lock(&self.state);
        Cause {
            message: message.clone(),
            revision: state.revision,
            is_initialized: state.is_initialized,
        }
    }

    pub(super) fn set_general(&self, outlet: Outlet) {
        lock(&self.state).general = Some(outlet);
    }

    pub(super) fn general(&self) -> Option<Outlet> {
        lock(&self.state).general.clone()
    }

    /// Sets the lowest level that the client wants; `false` if there is no such level.
    pub(super) fn set_level(&self, level: &Value) -> bool {
        let found = LoggingLevel::ALL
            .iter()
            .position(|known| level == known.as_str());
        lock(&self.state).level = found.unwrap_or_default();
        found.is_some()
    }

    pub(super) fn level(&self) -> usize {
        lock(&self.state).level
    }

    pub(super) fn subscribe(&self, uri: &str) {
        lock(&self.state).subscriptions.insert(uri.to_owned());
    }

    pub(super) fn unsubscribe(&self, uri: &str) {
        lock(&self.state).subscriptions.remove(uri);
    }

    pub(super) fn is_subscribed(&self, uri: &str) -> bool {
        lock(&self.state).subscriptions.contains(uri)
    }

    /// Takes note of a request; `false` if another with its id is being handled.
    pub(super) fn begin(&self, id: &Value) -> bool {
        let mut state = lock(&self.state);
        match state.running.contains_key(&id.to_string()) {
            true => false,
            false => {
                state.running.insert(id.to_string(), None);
                true
            }
        }
    }

    /// Sets how a request that is being handled can be given up.
    pub(super) fn set_abort(&self, id: &Value, abort: AbortHandle) {
        if let Some(running) = lock(&self.state).running.get_mut(&id.to_string()) {
            *running = Some(abort);
        }
    }

    pub(super) fn end(&self, id: &Value) {
        lock(&self.state).running.remove(&id.to_string());
    }

    /// Gives up a request that is being handled.
    pub(super) fn cancel(&self, id: &Value) {
        let running = lock(&self.state).running.remove(&id.to_string());
        if let Some(Some(abort)) = running {
            abort.abort();
        }
    }

    /// Sends a request to the client and returns its response, once it is there.
    pub(super) fn ask(
        &self,
        outlet: &Outlet,
        method: &str,
        params: &Value,
    ) -> oneshot::Receiver<Value> {
        let id = format!("ask-{}", self.next_ask.fetch_add(1, Ordering::Relaxed) + 1);
        let (answers, answer) = oneshot::channel();
        let text = Value::from(id.as_str()).to_string();
        lock(&self.state).asks.insert(text, answers);
        let mut request = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !params.is_null() {
            request["params"] = params.clone();
        }
        outlet.send(request);
        answer
    }

    /// Passes on a response of the client; one that nobody waits for is dropped.
    pub(super) fn resolve_ask(&self, response: Value) {
        let id = response["id"].to_string();
        let waiting = lock(&self.state).asks.remove(&id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(response);
        }
    }
}
