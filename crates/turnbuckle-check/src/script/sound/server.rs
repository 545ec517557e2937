//! The server: its revisions, its faults, and what its connections share.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, request, response};
use serde_json::Value;
use turnbuckle_wire::revision::{EraKind, Revision};

use super::super::{self as script, lock};
use super::change::{Change, Listener};
use super::faults::{Cause, Faults};
use super::interlude::{BeforeAnswer, Interlude};
use super::outlet::Outlet;
use super::questions::RequestState;
use super::streams::{HttpSession, SseConnection};

/// Listeners that a server has; with more of them it forgets the oldest.
const MAX_LISTENERS: usize = 1000;

/// A correct server; clones are the same server, and have the faults that they were given before.
#[derive(Clone)]
pub struct Sound {
    pub(super) faults: Arc<Faults>,
    pub(super) before_answer: Option<Arc<BeforeAnswer>>,
    pub(super) revisions: Arc<[Revision]>,
    pub(super) state: Arc<State>,
}

/// The state that the connections of one server share.
#[derive(Default)]
pub(super) struct State {
    pub(super) sessions: Mutex<HashMap<String, Arc<HttpSession>>>,
    pub(super) sse: Mutex<HashMap<String, Arc<SseConnection>>>,
    /// By the text of the state: what it stands for.
    pub(super) request_states: Mutex<HashMap<String, RequestState>>,
    pub(super) listeners: Mutex<Vec<Listener>>,
}

impl Default for Sound {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Sound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sound")
            .field("revisions", &self.revisions)
            .finish_non_exhaustive()
    }
}

impl Sound {
    /// Creates a server of all revisions without a fault.
    #[must_use]
    pub fn new() -> Self {
        Self {
            faults: Arc::default(),
            before_answer: None,
            revisions: Revision::ALL.into(),
            state: Arc::default(),
        }
    }

    /// Sets the revisions that the server speaks.
    #[must_use]
    pub fn revisions(self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        Self {
            revisions: revisions.into_iter().collect(),
            ..self
        }
    }

    /// Adds a fault that changes each request of HTTP before the server sees it: the server does not
    /// check what it is never shown.
    #[must_use]
    pub fn on_request(
        mut self,
        fault: impl Fn(&mut Request<Bytes>) + Send + Sync + 'static,
    ) -> Self {
        Arc::make_mut(&mut self.faults).request = Some(Arc::new(fault));
        self
    }

    /// Adds a fault that changes the head of each response of HTTP.
    #[must_use]
    pub fn on_head(
        mut self,
        fault: impl Fn(&request::Parts, &mut response::Parts) + Send + Sync + 'static,
    ) -> Self {
        Arc::make_mut(&mut self.faults).head = Some(Arc::new(fault));
        self
    }

    /// Adds a fault that changes each message of the client, an object, before the server sees it. If it returns
    /// messages, the server sends these and does nothing else.
    #[must_use]
    pub fn on_message(
        mut self,
        fault: impl Fn(&mut Value) -> Option<Vec<Value>> + Send + Sync + 'static,
    ) -> Self {
        Arc::make_mut(&mut self.faults).message = Some(Arc::new(fault));
        self
    }

    /// Adds a fault that changes what the server sends: it is given one message at a time, which
    /// it can change, drop, or add to.
    #[must_use]
    pub fn on_reply(
        mut self,
        fault: impl Fn(&Cause, &mut Vec<Value>) + Send + Sync + 'static,
    ) -> Self {
        Arc::make_mut(&mut self.faults).reply = Some(Arc::new(fault));
        self
    }

    /// Adds a fault that changes each line that the server reads, without its end.
    #[must_use]
    pub fn on_read_line(mut self, fault: impl Fn(&mut Vec<u8>) + Send + Sync + 'static) -> Self {
        Arc::make_mut(&mut self.faults).read_line = Some(Arc::new(fault));
        self
    }

    /// Adds a fault that changes each line that the server writes, with its end.
    #[must_use]
    pub fn on_line(mut self, fault: impl Fn(&mut Vec<u8>) + Send + Sync + 'static) -> Self {
        Arc::make_mut(&mut self.faults).line = Some(Arc::new(fault));
        self
    }

    /// Adds a script that runs before each request but `initialize` is answered; it is given the method.
    #[must_use]
    pub fn before_answer<F>(
        mut self,
        script: impl Fn(&str, Interlude) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.before_answer = Some(Arc::new(move |method, interlude| {
            Box::pin(script(method, interlude))
        }));
        self
    }

    /// Adds a fault that changes each event of a stream of HTTP, as text with its end.
    #[must_use]
    pub fn on_event(mut self, fault: impl Fn(&mut String) + Send + Sync + 'static) -> Self {
        Arc::make_mut(&mut self.faults).event = Some(Arc::new(fault));
        self
    }

    /// Serves HTTP on a free port of 127.0.0.1, until the listener is dropped.
    ///
    /// # Errors
    /// When there is no free port.
    pub async fn listen(&self) -> io::Result<script::Listener> {
        let sound = self.clone();
        script::Listener::start(move |request| sound.clone().respond(request)).await
    }

    /// Returns the revisions of an era.
    pub(super) fn of_era(&self, era: EraKind) -> Vec<Revision> {
        let all = self.revisions.iter().copied();
        all.filter(|it| it.features().era == era).collect()
    }

    /// Sends a message to every legacy session that has somewhere to take what belongs to no request.
    pub fn announce(&self, message: &Value) {
        for listener in lock(&self.state.listeners).iter() {
            if let Listener::Session(session) = listener
                && let Some(outlet) = session.general()
            {
                outlet.send_unchanged(message.clone());
            }
        }
    }

    /// Announces a change to everybody who wants to know of it.
    pub(super) fn publish(&self, change: &Change) {
        let mut listeners = lock(&self.state.listeners);
        listeners.retain(Listener::is_there);
        for listener in listeners.iter() {
            listener.announce(change);
        }
    }

    pub(super) fn add_listener(&self, listener: Listener) {
        let mut listeners = lock(&self.state.listeners);
        listeners.retain(Listener::is_there);
        if listeners.len() == MAX_LISTENERS {
            listeners.remove(0);
        }
        listeners.push(listener);
    }

    pub(super) fn remove_subscription(&self, gone: &Value, of: &Outlet) {
        let is_gone = |listener: &Listener| match listener {
            Listener::Subscription { id, outlet, .. } => id == gone && outlet.is_same(of),
            Listener::Session(_) => false,
        };
        lock(&self.state.listeners).retain(|listener| !is_gone(listener));
    }
}
