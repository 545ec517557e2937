//! The legacy sessions: id → session and its streams. Nothing stays of a client that vanishes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use turnbuckle_session::{Exchange, Session};
use turnbuckle_types::Principal;

use super::stream::Stream;
use crate::config::Config;

/// The stream of what belongs to no request.
const GENERAL: u64 = 0;

/// One open session.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) session: Arc<Session>,
    pub(crate) general: Arc<Stream>,
    streams: Mutex<Streams>,
    owner: Option<Owner>,
    used: Mutex<Instant>,
}

#[derive(Debug, Default)]
struct Streams {
    kept: HashMap<u64, Arc<Stream>>,
    last: u64,
}

/// Who opened a session: nobody else may use it.
#[derive(Debug, PartialEq, Eq)]
struct Owner {
    issuer: String,
    subject: String,
    client: Option<String>,
}

impl Owner {
    fn of(principal: &Principal) -> Self {
        Self {
            issuer: principal.issuer.clone(),
            subject: principal.subject.clone(),
            client: principal.client.clone(),
        }
    }

    fn is(&self, principal: &Principal) -> bool {
        self.issuer == principal.issuer
            && self.subject == principal.subject
            && self.client == principal.client
    }
}

impl Open {
    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// A stream for one POST. It is kept for replay only once it is [`keep`](Self::keep)t.
    pub(crate) fn new_stream(&self, config: &Config) -> Arc<Stream> {
        let mut streams = self.streams();
        streams.last += 1;
        Stream::new(streams.last, config.replay_events, config.replay_bytes)
    }

    /// Keeps a stream for replay. Beyond the bounds those that ended first are forgotten; `false`
    /// when there are too many and none has ended, or the session is over.
    pub(crate) fn keep(&self, stream: &Arc<Stream>, config: &Config) -> bool {
        let mut streams = self.streams();
        if self.is_over() {
            return false;
        }
        streams.forget_first(config);
        if streams.kept.len() >= config.max_streams {
            return false;
        }
        streams.kept.insert(stream.id, stream.clone());
        true
    }

    /// Whether the session has ended.
    fn is_over(&self) -> bool {
        self.session.ended().is_cancelled()
    }

    /// A stream that was kept.
    pub(crate) fn stream(&self, id: u64) -> Option<Arc<Stream>> {
        if id == GENERAL {
            return Some(self.general.clone());
        }
        self.streams().kept.get(&id).cloned()
    }

    fn forget_ended(&self, now: Instant, replay: Duration) {
        let expired = |ended| now.saturating_duration_since(ended) >= replay;
        self.streams()
            .kept
            .retain(|_, stream| !stream.ended().is_some_and(expired));
    }

    fn is_idle(&self, now: Instant, config: &Config) -> bool {
        if self.is_over() {
            return true;
        }
        if self.session.in_flight() > 0 {
            return false;
        }
        let initialized = self
            .session
            .legacy()
            .is_some_and(|state| state.is_initialized());
        let reading = self.general.is_attached()
            || self
                .streams()
                .kept
                .values()
                .any(|stream| stream.is_attached());
        let limit = match initialized {
            true if reading => return false,
            true => config.session_idle,
            false => config.handshake_time.min(config.session_idle),
        };
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        now.saturating_duration_since(used) >= limit
    }

    fn end(&self) {
        self.session.end();
        self.general.end();
        for stream in std::mem::take(&mut self.streams().kept).values() {
            stream.end();
        }
    }
}

impl Streams {
    /// Makes room for one more stream, as far as that can be had of those that have ended.
    fn forget_first(&mut self, config: &Config) {
        let ended = |stream: &Arc<Stream>| Some((stream.ended()?, stream.id, stream.bytes()));
        let mut ended: Vec<_> = self.kept.values().filter_map(ended).collect();
        ended.sort_unstable();
        let mut bytes: usize = ended.iter().map(|(_, _, bytes)| bytes).sum();
        for (_, id, size) in ended {
            if self.kept.len() < config.max_streams && bytes <= config.replay_session_bytes {
                break;
            }
            self.kept.remove(&id);
            bytes -= size;
        }
    }
}

/// The table.
#[derive(Debug)]
pub(crate) struct Sessions {
    open: Mutex<Table>,
    config: Arc<Config>,
}

#[derive(Debug, Default)]
struct Table {
    by_id: HashMap<Box<str>, Arc<Open>>,
    /// Whether somebody looks for idle sessions: only while there are any.
    swept: bool,
}

/// Why there is no new session.
#[derive(Debug)]
pub(crate) enum NoSession {
    Full,
    NoRandomness,
}

impl Sessions {
    pub(crate) fn new(config: Arc<Config>) -> Arc<Self> {
        Arc::new(Self {
            open: Mutex::default(),
            config,
        })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session on which nothing was said yet. It is not in the table before
    /// [`admit`](Self::admit).
    pub(crate) fn prepare(&self, exchange: &Exchange, principal: Option<&Principal>) -> Arc<Open> {
        let Config {
            replay_events,
            replay_bytes,
            ..
        } = *self.config;
        let general = Stream::new(GENERAL, replay_events, replay_bytes);
        Arc::new(Open {
            session: exchange.session(general.clone()),
            general,
            streams: Mutex::default(),
            owner: principal.map(Owner::of),
            used: Mutex::new(Instant::now()),
        })
    }

    /// Takes a session into the table, under an id that nobody can guess.
    pub(crate) fn admit(self: &Arc<Self>, open: Arc<Open>) -> Result<Box<str>, NoSession> {
        let Some(id) = new_id() else {
            open.end();
            return Err(NoSession::NoRandomness);
        };
        let mut table = self.table();
        if table.by_id.len() >= self.config.max_sessions {
            drop(table);
            self.sweep(Instant::now());
            table = self.table();
            if table.by_id.len() >= self.config.max_sessions {
                drop(table);
                open.end();
                return Err(NoSession::Full);
            }
        }
        table.by_id.insert(id.clone(), open);
        if !std::mem::replace(&mut table.swept, true) {
            tokio::spawn(sweeper(Arc::downgrade(self), self.sweep_interval()));
        }
        Ok(id)
    }

    /// The session of that id, if this principal opened it. Using it keeps it from being idle.
    pub(crate) fn get(&self, id: &str, principal: Option<&Principal>) -> Option<Arc<Open>> {
        let open = self.table().by_id.get(id).cloned()?;
        let owned = match (&open.owner, principal) {
            (None, _) => true,
            (Some(owner), Some(principal)) => owner.is(principal),
            (Some(_), None) => false,
        };
        if !owned || open.is_over() {
            return None;
        }
        open.touch();
        Some(open)
    }

    /// Ends a session; `false` when there is none of that id that this principal opened.
    pub(crate) fn end(&self, id: &str, principal: Option<&Principal>) -> bool {
        if self.get(id, principal).is_none() {
            return false;
        }
        let removed = self.table().by_id.remove(id);
        removed.inspect(|open| open.end()).is_some()
    }

    fn sweep_interval(&self) -> Duration {
        let Config {
            session_idle,
            handshake_time,
            replay_time,
            ..
        } = *self.config;
        let shortest = session_idle.min(handshake_time).min(replay_time);
        (shortest / 2).clamp(Duration::from_millis(100), Duration::from_secs(30))
    }

    /// Ends idle sessions and forgets streams whose time is over.
    fn sweep(&self, now: Instant) {
        let all: Vec<(Box<str>, Arc<Open>)> = self
            .table()
            .by_id
            .iter()
            .map(|(id, open)| (id.clone(), open.clone()))
            .collect();
        for (id, open) in all {
            open.forget_ended(now, self.config.replay_time);
            if open.is_idle(now, &self.config) {
                self.table().by_id.remove(&id);
                open.end();
            }
        }
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        for open in self.table().by_id.values() {
            open.end();
        }
    }
}

/// Looks after the table for as long as there is something in it.
async fn sweeper(sessions: Weak<Sessions>, interval: Duration) {
    loop {
        tokio::time::sleep(interval).await;
        let Some(sessions) = sessions.upgrade() else {
            return;
        };
        sessions.sweep(Instant::now());
        let mut table = sessions.table();
        if table.by_id.is_empty() {
            table.swept = false;
            return;
        }
    }
}

/// 128 random bits in hexadecimal.
fn new_id() -> Option<Box<str>> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect::<Option<String>>()
        .map(Into::into)
}
