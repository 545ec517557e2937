//! The observer of one connection: everything that happens on it goes to the timeline.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;
use turnbuckle_session::transport::{Frame, LinkError, MessageObserver, OutboundMessage};

use super::{HttpExchange, OpenServer};
use crate::api::{EntryKind, Step};
use crate::change::Changes;
use crate::items::Items;
use crate::timeline::{NewEntry, Timeline};
use crate::values::string::cut;

/// The most lines of stderr that are kept for a connection that ends.
const MAX_STDERR_LINES: usize = 20;

/// The longest line of stderr, in bytes. A longer one is cut.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// The most messages to the server whose HTTP exchange is still to come.
const MAX_SENT: usize = 256;

tokio::task_local! {
    /// The request that the task sends.
    pub(crate) static SENDING: Arc<SendSlot>;
}

/// The number of a request in the timeline, which is known once its message is sent.
pub(crate) struct SendSlot {
    method: String,
    timeout: Option<Duration>,
    first: OnceLock<u64>,
    sent: Mutex<Option<oneshot::Sender<u64>>>,
}

impl SendSlot {
    /// Creates a slot, with a receiver of the number of the request's first message. `timeout` is the time
    /// without a sign of the server after which the request is given up.
    pub(crate) fn new(
        method: &str,
        timeout: Option<Duration>,
    ) -> (Arc<Self>, oneshot::Receiver<u64>) {
        let (sender, receiver) = oneshot::channel();
        let slot = Self {
            method: method.to_owned(),
            timeout,
            first: OnceLock::new(),
            sent: Mutex::new(Some(sender)),
        };
        (Arc::new(slot), receiver)
    }

    /// Returns the number of the request's first message.
    pub(crate) fn number(&self) -> Option<u64> {
        self.first.get().copied()
    }

    fn set(&self, n: u64) {
        if self.first.set(n).is_ok() {
            let sender = self
                .sent
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(sender) = sender {
                // Nobody waits for the number of a page of a list.
                let _ = sender.send(n);
            }
        }
    }
}

/// The observer of one connection. Clones share it.
#[derive(Clone)]
pub struct ConnectionObserver(Arc<Shared>);

struct Shared {
    session: String,
    timeline: Timeline,
    changes: Changes,
    items: Items,
    opener: Arc<dyn OpenServer>,
    hasher: RandomState,
    state: Mutex<State>,
}

struct State {
    step: Step,
    pid: Option<u32>,
    login_url: Option<String>,
    stderr: VecDeque<String>,
    disconnect: Option<LinkError>,
    has_received: bool,
    is_login_wanted: bool,
    is_over: bool,
    /// The hashes of the last messages to the server, with their numbers.
    sent: VecDeque<(u64, u64)>,
}

impl ConnectionObserver {
    pub(crate) fn new(
        session: &str,
        timeline: Timeline,
        changes: Changes,
        items: Items,
        opener: Arc<dyn OpenServer>,
    ) -> Self {
        Self(Arc::new(Shared {
            session: session.to_owned(),
            timeline,
            changes,
            items,
            opener,
            hasher: RandomState::new(),
            state: Mutex::new(State {
                step: Step::Start,
                pid: None,
                login_url: None,
                stderr: VecDeque::new(),
                disconnect: None,
                has_received: false,
                is_login_wanted: false,
                is_over: false,
                sent: VecDeque::new(),
            }),
        }))
    }

    /// Records that a step of connecting has begun.
    pub fn begin_step(&self, step: Step) {
        self.lock().step = step;
        self.0.changes.add("sessions");
    }

    /// Records the process id of a program.
    pub fn set_pid(&self, pid: u32) {
        self.lock().pid = Some(pid);
        self.0.changes.add("sessions");
    }

    /// Records the URL at which the user has to log in, or that the login is over.
    pub fn set_login_url(&self, url: Option<String>) {
        self.lock().login_url = url.map(|url| cut(url, MAX_LINE_BYTES));
        self.0.changes.add("sessions");
    }

    /// Records a line that the program wrote to stderr.
    pub fn add_stderr(&self, line: &[u8]) {
        let line = &line[..line.len().min(MAX_LINE_BYTES)];
        let (bytes, _) = self.redact(Bytes::copy_from_slice(line));
        let is_over = {
            let mut state = self.lock();
            if state.stderr.len() == MAX_STDERR_LINES {
                state.stderr.pop_front();
            }
            let line = String::from_utf8_lossy(&bytes).into_owned();
            state.stderr.push_back(line);
            state.is_over
        };
        if is_over {
            self.0.changes.add("sessions");
        }
        self.add(NewEntry::new(&self.0.session, EntryKind::Stderr, bytes));
    }

    /// Records an HTTP exchange, without its secrets.
    pub fn add_http(&self, exchange: &HttpExchange) {
        let facts = exchange.to_facts(|text| self.0.opener.redact(text));
        let mut entry = NewEntry::new(&self.0.session, EntryKind::Http, Bytes::new());
        entry.http = Some(facts);
        entry.duration_us = Some(exchange.duration_us);
        entry.about = self.message_with(&exchange.body);
        self.add(entry);
    }

    /// Records a line on stdout that is no message. Messages that the client receives are seen without
    /// it.
    pub fn add_noise(&self, line: &[u8]) {
        let line = Bytes::copy_from_slice(&line[..line.len().min(MAX_LINE_BYTES)]);
        let (bytes, is_redacted) = self.redact(line);
        let mut entry = NewEntry::new(&self.0.session, EntryKind::Noise, bytes);
        entry.is_redacted = is_redacted;
        self.add(entry);
    }

    /// Records a step of a login, in a sentence.
    pub fn add_login_step(&self, sentence: &str) {
        self.begin_step_after(Step::Authorization);
        self.add_life(sentence);
    }

    /// Returns whether the user asked for a new login: stored credentials are not to be used.
    #[must_use]
    pub fn is_login_wanted(&self) -> bool {
        self.lock().is_login_wanted
    }

    pub(crate) fn want_login(&self) {
        self.lock().is_login_wanted = true;
    }

    /// Returns the number of the last message with these bytes.
    fn message_with(&self, bytes: &[u8]) -> Option<u64> {
        let hash = self.0.hasher.hash_one(bytes);
        let state = self.lock();
        let mut sent = state.sent.iter().rev();
        sent.find(|(known, _)| *known == hash).map(|(_, n)| *n)
    }

    /// Records a change of the session, in a sentence.
    pub fn add_life(&self, sentence: &str) {
        let (bytes, is_redacted) = self.redact(Bytes::copy_from_slice(sentence.as_bytes()));
        let mut entry = NewEntry::new(&self.0.session, EntryKind::Life, bytes);
        entry.is_redacted = is_redacted;
        self.add(entry);
    }

    pub(crate) fn step(&self) -> Step {
        self.lock().step
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.lock().pid
    }

    pub(crate) fn login_url(&self) -> Option<String> {
        self.lock().login_url.clone()
    }

    pub(crate) fn stderr(&self) -> Vec<String> {
        self.lock().stderr.iter().cloned().collect()
    }

    /// Makes lines of stderr that come late known to the page.
    pub(crate) fn end(&self) {
        self.lock().is_over = true;
    }

    pub(crate) fn take_disconnect(&self) -> Option<LinkError> {
        self.lock().disconnect.take()
    }

    /// Returns whether the server sent anything.
    pub(crate) fn has_received(&self) -> bool {
        self.lock().has_received
    }

    fn remember(&self, message: &[u8], n: u64) {
        let hash = self.0.hasher.hash_one(message);
        let mut state = self.lock();
        if state.sent.len() == MAX_SENT {
            state.sent.pop_front();
        }
        state.sent.push_back((hash, n));
    }

    fn add(&self, entry: NewEntry<'_>) -> u64 {
        self.0.timeline.add(entry)
    }

    fn redact(&self, bytes: Bytes) -> (Bytes, bool) {
        match self.0.opener.redact(&String::from_utf8_lossy(&bytes)) {
            Some(redacted) => (Bytes::from(redacted), true),
            None => (bytes, false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MessageObserver for ConnectionObserver {
    fn on_send(&self, message: &OutboundMessage) {
        self.begin_step_after(Step::Http);
        let (bytes, is_redacted) = self.redact(Bytes::copy_from_slice(&message.frame));
        let slot = SENDING.try_with(Clone::clone).ok();
        let mut entry = NewEntry::new(&self.0.session, EntryKind::Sent, bytes);
        entry.is_redacted = is_redacted;
        // A request that is sent again with answers belongs to its first message.
        entry.about = slot.as_ref().and_then(|slot| slot.number());
        let timeout = slot.as_ref().and_then(|slot| slot.timeout);
        let timeout = timeout.filter(|_| message.kind.request_id().is_some());
        entry.timeout_ms = timeout.and_then(|timeout| timeout.as_millis().try_into().ok());
        let n = self.add(entry);
        self.remember(&message.frame, n);
        if let Some(slot) = slot
            && message.kind.request_id().is_some()
            && self.0.timeline.entry(n).and_then(|entry| entry.method) == Some(slot.method.clone())
        {
            slot.set(n);
        }
    }

    fn on_receive(&self, frame: &Frame) {
        self.begin_step_after(Step::Version);
        self.lock().has_received = true;
        match frame {
            Frame::Message(bytes) => {
                let (bytes, is_redacted) = self.redact(bytes.clone());
                let mut entry = NewEntry::new(&self.0.session, EntryKind::Received, bytes.clone());
                entry.is_redacted = is_redacted;
                let n = self.add(entry);
                self.0.items.observe_task(&self.0.session, n, &bytes);
            }
            Frame::TooLong { limit } => {
                let sentence = format!("a message of more than {limit} bytes was skipped");
                let entry = NewEntry::new(&self.0.session, EntryKind::Noise, sentence);
                self.add(entry);
            }
        }
    }

    fn on_disconnect(&self, reason: &LinkError) {
        self.lock().disconnect = Some(reason.clone());
        self.add_life(&format!("the connection is lost: {reason}"));
    }
}

impl ConnectionObserver {
    /// Records a step that a message shows, unless a later one has begun.
    fn begin_step_after(&self, step: Step) {
        let mut state = self.lock();
        if state.step < step {
            state.step = step;
        }
    }
}
