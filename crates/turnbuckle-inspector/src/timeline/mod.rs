//! The timeline: everything that happened, in one list that only grows at its end.
//!
//! Bytes are kept beside the entries: the newest in memory, older ones in a temporary file. The oldest
//! entries are dropped when a limit is reached, and counted.

mod filter;
mod message;
mod pairing;
mod search;
mod spill;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::time::Instant;
use turnbuckle_types::method::{GetTask, LoggingMessage, TaskResult};
use turnbuckle_types::{Notification as _, Request as _};

pub use filter::Filter;

use crate::api::{Entry, EntryDetail, EntryKind, EntryStatus, HttpFacts, TimelineWindow};
use crate::change::Changes;
use crate::values::string::{char_boundary, cut, excerpt};
use message::{MessageFacts, Outcome};
use pairing::{Pairing, Sender};
use search::TextHits;
use spill::{Spill, SpilledBytes};

/// The most entries of one answer.
const MAX_WINDOW: usize = 1_000;

/// The most bytes of texts in the entries of one answer.
const MAX_WINDOW_BYTES: usize = 256 * 1024;

/// The most bytes of the method and path of an HTTP exchange.
const MAX_METHOD_BYTES: usize = 512;

/// The most bytes of text in the detail of an entry.
const MAX_DETAIL_BYTES: usize = 64 * 1024;

/// The most bytes of a summary.
const MAX_SUMMARY_BYTES: usize = 300;

/// The most related entries that are named.
const MAX_RELATED: usize = 1_000;

/// The most that the timeline keeps.
#[derive(Debug, Clone, Copy)]
pub struct TimelineLimits {
    /// The most entries.
    pub max_entries: usize,
    /// The most bytes of messages and lines in memory.
    pub max_memory_bytes: usize,
    /// The most bytes of messages and lines in temporary files.
    pub max_file_bytes: u64,
}

impl Default for TimelineLimits {
    fn default() -> Self {
        Self {
            max_entries: 200_000,
            max_memory_bytes: 64 << 20,
            max_file_bytes: 1 << 30,
        }
    }
}

/// The list of everything that happened. Clones share it.
#[derive(Clone)]
pub struct Timeline(Arc<Shared>);

struct Shared {
    start: Instant,
    limits: TimelineLimits,
    changes: Changes,
    state: Mutex<State>,
    /// The entries that have a text, by the text.
    hits: Mutex<TextHits>,
}

struct State {
    records: VecDeque<Record>,
    /// The number of entries that were dropped: the first record is the one behind them.
    dropped: u64,
    memory_bytes: usize,
    /// The number of the first entry whose bytes are in memory.
    first_in_memory: u64,
    spill: Spill,
    pairing: Pairing,
}

struct Record {
    entry: Entry,
    bytes: StoredBytes,
    is_redacted: bool,
    http: Option<Box<HttpFacts>>,
    timeout_ms: Option<u64>,
}

#[derive(Clone)]
enum StoredBytes {
    Memory(Bytes),
    File(SpilledBytes),
}

impl StoredBytes {
    fn read(&self) -> Option<Bytes> {
        match self {
            Self::Memory(bytes) => Some(bytes.clone()),
            Self::File(bytes) => bytes.read().ok(),
        }
    }
}

/// An entry to add.
pub(crate) struct NewEntry<'a> {
    pub(crate) session: &'a str,
    pub(crate) kind: EntryKind,
    pub(crate) bytes: Bytes,
    /// The number of the request that the entry is about, if the message does not say it.
    pub(crate) about: Option<u64>,
    pub(crate) is_redacted: bool,
    pub(crate) http: Option<HttpFacts>,
    pub(crate) duration_us: Option<u64>,
    /// The milliseconds after which a request is given up.
    pub(crate) timeout_ms: Option<u64>,
}

impl<'a> NewEntry<'a> {
    pub(crate) fn new(session: &'a str, kind: EntryKind, bytes: impl Into<Bytes>) -> Self {
        Self {
            session,
            kind,
            bytes: bytes.into(),
            about: None,
            is_redacted: false,
            http: None,
            duration_us: None,
            timeout_ms: None,
        }
    }
}

impl Timeline {
    /// Creates an empty timeline, whose time begins now.
    #[must_use]
    pub fn new(limits: TimelineLimits, changes: Changes) -> Self {
        Self(Arc::new(Shared {
            start: Instant::now(),
            limits,
            changes,
            state: Mutex::new(State {
                records: VecDeque::new(),
                dropped: 0,
                memory_bytes: 0,
                first_in_memory: 1,
                spill: Spill::new(limits.max_file_bytes),
                pairing: Pairing::default(),
            }),
            hits: Mutex::default(),
        }))
    }

    /// Returns the microseconds since the timeline was created.
    pub(crate) fn elapsed_us(&self) -> u64 {
        u64::try_from(self.0.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Adds an entry and returns its number. A message is paired with the request that it is about.
    pub(crate) fn add(&self, new: NewEntry<'_>) -> u64 {
        let at_us = self.elapsed_us();
        let is_message = matches!(new.kind, EntryKind::Sent | EntryKind::Received);
        let facts = is_message.then(|| MessageFacts::read(&new.bytes)).flatten();
        let mut state = self.lock();
        let n = state.dropped + state.records.len() as u64 + 1;
        let mut entry = Entry {
            n,
            at_us,
            session: new.session.to_owned(),
            kind: new.kind,
            method: None,
            id: None,
            status: EntryStatus::None,
            http_status: None,
            about: new.about,
            answer: None,
            duration_us: new.duration_us,
            size: new.bytes.len() as u64,
            summary: None,
        };
        match (facts, &new.http) {
            (Some(facts), _) => state.apply_facts(&mut entry, facts),
            (None, Some(http)) => {
                let method = format!("{} {}", http.method, http.path);
                entry.method = Some(cut(method, MAX_METHOD_BYTES));
                entry.http_status = http.status;
                entry.summary.clone_from(&http.error);
                let is_ok = http.status.is_some_and(|status| status < 400);
                entry.status = if is_ok {
                    EntryStatus::Ok
                } else {
                    EntryStatus::Error
                };
            }
            (None, None) => {
                let length = char_boundary(&new.bytes, MAX_SUMMARY_BYTES);
                entry.summary = Some(excerpt(&new.bytes[..length]).text);
                if new.kind == EntryKind::Received {
                    entry.kind = EntryKind::Noise;
                }
            }
        }
        if let Some(summary) = &mut entry.summary {
            summary.truncate(char_boundary(summary.as_bytes(), MAX_SUMMARY_BYTES));
        }
        state.memory_bytes += new.bytes.len();
        state.records.push_back(Record {
            entry,
            bytes: StoredBytes::Memory(new.bytes),
            is_redacted: new.is_redacted,
            http: new.http.map(Box::new),
            timeout_ms: new.timeout_ms,
        });
        state.enforce(&self.0.limits);
        drop(state);
        self.0.changes.add("timeline");
        n
    }

    /// Sets the outcome of a request that has no response, unless it has an outcome already.
    pub(crate) fn set_outcome(&self, n: u64, status: EntryStatus, summary: Option<String>) {
        let at_us = self.elapsed_us();
        let mut state = self.lock();
        state.pairing.forget(n);
        if let Some(record) = state.record_mut(n)
            && record.entry.status == EntryStatus::Open
        {
            record.entry.status = status;
            record.entry.duration_us = Some(at_us - record.entry.at_us);
            record.entry.summary = summary;
        }
        drop(state);
        self.0.changes.add("timeline");
    }

    /// Sets the outcome of all requests of a session, and of its server, that have no response.
    pub(crate) fn fail_open_requests(&self, session: &str, sentence: &str) {
        let at_us = self.elapsed_us();
        let mut state = self.lock();
        for n in state.pairing.take_session(session) {
            if let Some(record) = state.record_mut(n) {
                record.entry.status = EntryStatus::Error;
                record.entry.duration_us = Some(at_us - record.entry.at_us);
                record.entry.summary = Some(sentence.to_owned());
            }
        }
        drop(state);
        self.0.changes.add("timeline");
    }

    /// Returns an entry, unless it was dropped.
    #[must_use]
    pub fn entry(&self, n: u64) -> Option<Entry> {
        Some(self.lock().record(n)?.entry.clone())
    }

    /// Returns the bytes of an entry.
    #[must_use]
    pub fn bytes(&self, n: u64) -> Option<Bytes> {
        let bytes = self.lock().record(n)?.bytes.clone();
        bytes.read()
    }

    /// Returns an entry in full.
    #[must_use]
    pub fn detail(&self, n: u64) -> Option<EntryDetail> {
        let bytes = self.bytes(n)?;
        let state = self.lock();
        let record = state.record(n)?;
        let length = char_boundary(&bytes, MAX_DETAIL_BYTES);
        let request = record.entry.about.unwrap_or(n);
        let is_related =
            |entry: &Entry| entry.n != n && (entry.n == request || entry.about == Some(request));
        let first = state.index(request).unwrap_or(0);
        let entries = state.records.range(first..).map(|record| &record.entry);
        let related = entries.filter(|entry| is_related(entry));
        let repeats = |entry: &&Entry| {
            let is_same = entry.method == record.entry.method;
            let is_of_task = || {
                let method = entry.method.as_deref();
                method.is_some_and(|it| [GetTask::METHOD, TaskResult::METHOD].contains(&it))
            };
            entry.about == Some(n)
                && entry.kind == EntryKind::Sent
                && entry.id.is_some()
                && (is_same || is_of_task())
        };
        let newest = related.clone().filter(repeats).last();
        Some(EntryDetail {
            entry: record.entry.clone(),
            text: String::from_utf8_lossy(&bytes[..length]).into_owned(),
            is_cut: length < bytes.len(),
            is_redacted: record.is_redacted,
            http: record.http.as_deref().cloned(),
            newest: newest.map(|entry| entry.n),
            timeout_ms: record.timeout_ms,
            related: related.map(|entry| entry.n).take(MAX_RELATED).collect(),
        })
    }

    /// Returns the entries that pass a filter, from an index on. A negative index counts from the end.
    #[must_use]
    pub fn query(&self, filter: &Filter, from: i64, count: usize) -> TimelineWindow {
        for text in filter.texts() {
            self.search(text);
        }
        let hits = self.0.hits.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.lock();
        let passes = |record: &&Record| {
            let entry = &record.entry;
            filter.matches(entry, |text| hits.has(text, entry.n))
        };
        let matching: Vec<&Record> = state.records.iter().filter(passes).collect();
        let from = match usize::try_from(from) {
            Ok(from) => from.min(matching.len()),
            Err(_) => {
                let back = usize::try_from(from.unsigned_abs()).unwrap_or(usize::MAX);
                matching.len().saturating_sub(back)
            }
        };
        let mut bytes = 0;
        let shown = matching[from..].iter().take(count.min(MAX_WINDOW));
        // An answer with fewer entries is continued from its end.
        let shown = shown.take_while(|record| {
            let is_full = bytes >= MAX_WINDOW_BYTES;
            bytes += entry_bytes(&record.entry);
            !is_full
        });
        TimelineWindow {
            total: state.records.len() as u64,
            matching: matching.len() as u64,
            from: from as u64,
            entries: shown.map(|record| record.entry.clone()).collect(),
            dropped: state.dropped,
            faults: filter.faults().to_vec(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns about the bytes of an entry in an answer.
fn entry_bytes(entry: &Entry) -> usize {
    let texts = [&entry.method, &entry.id, &entry.summary];
    let texts = texts.into_iter().flatten().map(String::len);
    size_of::<Entry>() + texts.sum::<usize>()
}

impl State {
    /// Adds the facts of a message to its entry, and pairs it with the request that it is about.
    fn apply_facts(&mut self, entry: &mut Entry, facts: MessageFacts) {
        let sender = match entry.kind {
            EntryKind::Sent => Sender::Client,
            _ => Sender::Server,
        };
        entry.summary = facts.summary;
        if let Some(outcome) = facts.outcome {
            entry.status = match outcome {
                Outcome::Ok => EntryStatus::Ok,
                Outcome::Error => EntryStatus::Error,
            };
            let request = facts.id.as_ref().and_then(|id| {
                let request = self
                    .pairing
                    .take_request(&entry.session, sender.other(), id)?;
                self.record_mut(request)
            });
            if let Some(record) = request {
                let request = &mut record.entry;
                let duration = entry.at_us - request.at_us;
                (request.answer, request.status) = (Some(entry.n), entry.status);
                (request.duration_us, entry.duration_us) = (Some(duration), Some(duration));
                entry.about = Some(request.about.unwrap_or(request.n));
                entry.method.clone_from(&request.method);
            }
        } else if let (Some(id), Some(_)) = (&facts.id, &facts.method) {
            entry.status = EntryStatus::Open;
            self.pairing
                .add_request(&entry.session, sender, id, entry.n);
            if let Some(token) = &facts.progress_token {
                self.pairing
                    .add_token(&entry.session, sender, token, entry.n);
            }
        } else if let Some(token) = &facts.progress_token {
            let request = self.pairing.token(&entry.session, sender.other(), token);
            entry.about = request.or(entry.about);
        } else if let Some(id) = &facts.cancelled_id {
            let request = self.pairing.take_request(&entry.session, sender, id);
            entry.about = request.or(entry.about);
            if let Some(record) = request.and_then(|n| self.record_mut(n)) {
                record.entry.status = EntryStatus::Cancelled;
                record.entry.duration_us = Some(entry.at_us - record.entry.at_us);
            }
        }
        if facts.method.as_deref() == Some(LoggingMessage::METHOD) {
            entry.kind = EntryKind::Log;
        }
        entry.method = facts.method.or(entry.method.take());
        entry.id = facts.id;
    }

    /// Moves bytes to the file and drops the oldest entries until the limits hold.
    fn enforce(&mut self, limits: &TimelineLimits) {
        while self.memory_bytes > limits.max_memory_bytes {
            let n = self.first_in_memory;
            let Some(index) = self.index(n) else {
                break;
            };
            self.first_in_memory += 1;
            let StoredBytes::Memory(bytes) = self.records[index].bytes.clone() else {
                continue;
            };
            self.memory_bytes -= bytes.len();
            match self.spill.write(&bytes) {
                Ok(spilled) => self.records[index].bytes = StoredBytes::File(spilled),
                Err(_) => self.drop_until(n),
            }
            while let Some(StoredBytes::File(first)) = self.records.front().map(|it| &it.bytes)
                && !self.spill.has(first)
            {
                self.drop_until(self.dropped + 1);
            }
        }
        if self.records.len() > limits.max_entries {
            self.drop_until(self.dropped + 1);
        }
    }

    /// Drops the entries up to a number.
    fn drop_until(&mut self, n: u64) {
        while self.dropped < n {
            let Some(record) = self.records.pop_front() else {
                break;
            };
            self.dropped += 1;
            if record.entry.status == EntryStatus::Open {
                self.pairing.forget(record.entry.n);
            }
            if record.entry.n >= self.first_in_memory {
                self.first_in_memory = record.entry.n + 1;
                self.memory_bytes -= record.entry.size as usize;
            }
        }
    }

    fn index(&self, n: u64) -> Option<usize> {
        let index = n.checked_sub(self.dropped + 1)?;
        let index = usize::try_from(index).ok()?;
        (index < self.records.len()).then_some(index)
    }

    fn record(&self, n: u64) -> Option<&Record> {
        self.records.get(self.index(n)?)
    }

    fn record_mut(&mut self, n: u64) -> Option<&mut Record> {
        let index = self.index(n)?;
        self.records.get_mut(index)
    }
}
