//! The legacy sessions: id → session and its streams. Nothing stays of a client that vanishes.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use turnbuckle_session::{Exchange, QuickHash, Session};
use turnbuckle_types::Principal;

use super::replay::Replay;
use super::stream::Stream;
use crate::config::Config;
use crate::principal::Owner;
use crate::secret;

/// The stream of what belongs to no request.
const GENERAL: u64 = 0;

/// How soon a full table is looked through again for sessions that are idle.
const SWEEP_GAP: Duration = Duration::from_secs(1);

/// One open session.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) session: Arc<Session>,
    pub(crate) general: Arc<Stream>,
    streams: Mutex<Streams>,
    owner: Owner,
    used: Mutex<Instant>,
}

#[derive(Debug, Default)]
struct Streams {
    kept: HashMap<u64, Arc<Stream>, QuickHash>,
    /// Those of them that had not ended when that was last looked for.
    running: Vec<u64>,
    /// The others, those that ended first in front.
    ended: VecDeque<Ended>,
    /// Bytes that those keep.
    bytes: usize,
    last: u64,
}

/// When a stream ended, which one it is, and how much it keeps.
type Ended = (Instant, u64, usize);

impl Open {
    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// A stream for one POST. It is kept for replay only once it is [`keep`](Self::keep)t.
    pub(crate) fn new_stream(&self, replay: &Arc<Replay>) -> Arc<Stream> {
        let mut streams = self.streams();
        streams.last += 1;
        replay.stream(streams.last)
    }

    /// Keeps a stream for replay. Beyond the bounds those that ended first are forgotten; `false`
    /// when there are too many and none has ended, or the session is over.
    pub(crate) fn keep(&self, stream: &Arc<Stream>, config: &Config) -> bool {
        let mut streams = self.streams();
        if self.is_over() {
            return false;
        }
        streams.forget_first(config, stream.replay());
        if streams.kept.len() >= config.max_streams {
            return false;
        }
        streams.kept.insert(stream.id, stream.clone());
        streams.running.push(stream.id);
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
        let mut streams = self.streams();
        streams.find_ended();
        while streams.ended.front().is_some_and(|it| expired(it.0)) {
            streams.forget_one();
        }
        slim(&mut streams.kept);
        if streams.kept.is_empty() {
            (streams.running, streams.ended) = Default::default();
        }
    }

    fn is_idle(&self, now: Instant, config: &Config) -> bool {
        if self.is_over() {
            return true;
        }
        let initialized = self
            .session
            .legacy()
            .is_some_and(|state| state.is_initialized());
        let read = self.general.is_attached()
            || self
                .streams()
                .kept
                .values()
                .any(|stream| stream.is_attached());
        if self.session.in_flight() > 0 || (initialized && read) {
            // What is in use is idle only from the end of that.
            self.touch();
            return false;
        }
        let limit = match initialized {
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
    fn forget_first(&mut self, config: &Config, replay: &Replay) {
        self.find_ended();
        while !self.ended.is_empty() {
            let fits = self.bytes <= config.replay_session_bytes && !replay.is_over();
            if self.kept.len() < config.max_streams && fits {
                break;
            }
            self.forget_one();
        }
    }

    /// Forgets what ended first.
    fn forget_one(&mut self) {
        if let Some((_, id, size)) = self.ended.pop_front() {
            self.bytes -= size;
            self.kept.remove(&id);
        }
    }

    /// Finds those that have ended meanwhile.
    fn find_ended(&mut self) {
        let known = self.ended.len();
        let (kept, ended, bytes) = (&self.kept, &mut self.ended, &mut self.bytes);
        self.running.retain(|id| {
            let Some(stream) = kept.get(id) else {
                return false;
            };
            let Some(end) = stream.ended() else {
                return true;
            };
            let size = stream.bytes();
            *bytes += size;
            ended.push_back((end, *id, size));
            false
        });
        if self.ended.len() > known + 1 {
            // What was found earlier had ended before.
            self.ended.make_contiguous()[known..].sort_unstable();
        }
    }
}

/// The table.
#[derive(Debug)]
pub(crate) struct Sessions {
    open: Mutex<Table>,
    config: Arc<Config>,
    replay: Arc<Replay>,
}

#[derive(Debug, Default)]
struct Table {
    by_id: HashMap<Box<str>, Arc<Open>, QuickHash>,
    /// Whether somebody looks for idle sessions: only while there are any.
    swept: bool,
    /// When that was last done.
    swept_at: Option<Instant>,
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
            replay: Replay::new(&config),
            config,
        })
    }

    /// What makes streams.
    pub(crate) fn replay(&self) -> &Arc<Replay> {
        &self.replay
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session on which nothing was said yet. It is not in the table before
    /// [`admit`](Self::admit).
    pub(crate) fn prepare(&self, exchange: &Exchange, principal: Option<&Principal>) -> Arc<Open> {
        let general = self.replay.stream(GENERAL);
        Arc::new(Open {
            session: exchange.session(general.clone(), principal),
            general,
            streams: Mutex::default(),
            owner: Owner::of(principal),
            used: Mutex::new(Instant::now()),
        })
    }

    /// Takes a session into the table, under an id that nobody can guess.
    pub(crate) fn admit(self: &Arc<Self>, open: Arc<Open>) -> Result<Box<str>, NoSession> {
        let Some(id) = secret::new_id() else {
            open.end();
            return Err(NoSession::NoRandomness);
        };
        let mut table = self.table();
        if table.by_id.len() >= self.config.max_sessions {
            let now = Instant::now();
            let lately = |swept: Instant| now.saturating_duration_since(swept) < SWEEP_GAP;
            if !table.swept_at.is_some_and(lately) {
                drop(table);
                self.sweep(now);
                table = self.table();
            }
            if table.by_id.len() >= self.config.max_sessions {
                drop(table);
                open.end();
                return Err(NoSession::Full);
            }
        }
        table.by_id.insert(id.clone(), open);
        let swept = std::mem::replace(&mut table.swept, true);
        // A runtime that is about to end drops the sweeper at once, which looks at the table.
        drop(table);
        if !swept {
            tokio::spawn(Sweeper(Arc::downgrade(self)).run(self.sweep_interval()));
        }
        Ok(id)
    }

    /// The session of that id, if this principal opened it. Using it keeps it from being idle.
    pub(crate) fn get(&self, id: &str, principal: Option<&Principal>) -> Option<Arc<Open>> {
        let open = self.table().by_id.get(id).cloned()?;
        if !open.owner.admits(principal) || open.is_over() {
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

    /// What the table holds: sessions, their streams, bytes of these, and requests under way.
    pub(crate) fn held(&self) -> [(&'static str, usize); 4] {
        let (mut streams, mut bytes, mut requests) = (0, 0, 0);
        let table = self.table();
        for open in table.by_id.values() {
            let kept = &open.streams().kept;
            streams += kept.len();
            bytes += kept.values().map(|stream| stream.bytes()).sum::<usize>();
            bytes += open.general.bytes();
            requests += open.session.in_flight();
        }
        [
            ("sessions", table.by_id.len()),
            ("streams", streams),
            ("replay bytes", bytes),
            ("session requests", requests),
        ]
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
        let mut idle = Vec::new();
        let mut table = self.table();
        table.swept_at = Some(now);
        table.by_id.retain(|_, open| {
            open.forget_ended(now, self.config.replay_time);
            let stays = !open.is_idle(now, &self.config);
            if !stays {
                idle.push(open.clone());
            }
            stays
        });
        slim(&mut table.by_id);
        drop(table);
        idle.iter().for_each(|open| open.end());
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        for open in self.table().by_id.values() {
            open.end();
        }
    }
}

/// Gives back the room of what is gone. A table does not do so by itself.
fn slim<K: Eq + Hash, V, S: BuildHasher>(table: &mut HashMap<K, V, S>) {
    if table.is_empty() || table.capacity() / 4 > table.len() {
        table.shrink_to(table.len() * 2);
    }
}

/// Looks after the table for as long as there is something in it.
struct Sweeper(Weak<Sessions>);

impl Sweeper {
    async fn run(mut self, interval: Duration) {
        loop {
            tokio::time::sleep(interval).await;
            let Some(sessions) = self.0.upgrade() else {
                return;
            };
            sessions.sweep(Instant::now());
            let mut table = sessions.table();
            if table.by_id.is_empty() {
                table.swept = false;
                self.0 = Weak::new();
                return;
            }
        }
    }
}

/// Its runtime may end before it does: then whoever opens the next session has to begin anew.
impl Drop for Sweeper {
    fn drop(&mut self) {
        if let Some(sessions) = self.0.upgrade() {
            sessions.table().swept = false;
        }
    }
}

#[cfg(test)]
mod tests;
