//! The legacy sessions of one endpoint by id. Idle sessions are ended, so that nothing stays of a
//! client that vanishes.

use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use foldhash::HashMap;
use tokio::time::Instant;
use turnbuckle_session::internal::{
    MemoryExceeded, MemoryPermit, OwnerAccount, ServerEndpoint, Session, count_refusal,
};
use turnbuckle_types::Principal;
use turnbuckle_types::base::random;

use crate::options::HttpServerOptions;
use crate::request::principal::Owner;
use crate::shares::{Client, Exceeded, ShareCounts, ShareLimits};
use crate::streams::{ReplayBudget, SessionStream};

mod eviction;
mod streams;

use streams::SessionStreams;

/// The id of the standalone stream, for messages that belong to no request.
const STANDALONE_STREAM: u64 = 0;

/// The shortest time between two searches of a full table for idle sessions.
const MIN_SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The part of a full table that is searched for once and makes room: one of so many sessions.
const EVICTED_SHARE: usize = 64;

/// The bytes that a session takes besides what it keeps of its handshake: its state, its streams and its
/// place in the table.
const SESSION_BYTES: usize = 3 << 10;

/// A legacy session over HTTP: the session, its streams, and who may use it.
#[derive(Debug)]
pub(crate) struct HttpSession {
    pub(crate) session: Arc<Session>,
    /// The stream of messages that belong to no request, which a GET opens.
    pub(crate) standalone: Arc<SessionStream>,
    streams: Mutex<SessionStreams>,
    owner: Owner,
    /// The client whose share the session takes.
    client: Client,
    last_used: Mutex<Instant>,
    /// The memory of the session itself.
    _memory: MemoryPermit,
}

impl HttpSession {
    fn streams(&self) -> MutexGuard<'_, SessionStreams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last_used(&self) -> MutexGuard<'_, Instant> {
        self.last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        *self.last_used() = Instant::now();
    }

    /// Creates a stream for one POST. It can be resumed only after [`keep`](Self::keep).
    pub(crate) fn new_stream(&self) -> Arc<SessionStream> {
        let id = self.streams().next_id();
        let (budget, account) = (self.standalone.replay_budget(), self.standalone.account());
        SessionStream::new(id, budget.clone(), account.clone())
    }

    /// Keeps a stream, so that its client can resume it. Streams that ended and are over a bound
    /// are removed. Returns `false` if there are too many streams and none has ended, or the
    /// session has ended.
    pub(crate) fn keep(&self, stream: &Arc<SessionStream>, options: &HttpServerOptions) -> bool {
        let mut streams = self.streams();
        !self.is_ended() && streams.insert(stream, options)
    }

    fn is_ended(&self) -> bool {
        self.session.end_signal().is_cancelled()
    }

    /// Returns the kept stream of that id.
    pub(crate) fn stream(&self, id: u64) -> Option<Arc<SessionStream>> {
        if id == STANDALONE_STREAM {
            return Some(self.standalone.clone());
        }
        self.streams().get(id).cloned()
    }

    fn remove_expired_streams(&self, now: Instant, ttl: Duration) {
        self.streams().remove_expired(now, ttl);
    }

    /// Returns whether the client has concluded the handshake.
    fn is_initialized(&self) -> bool {
        let legacy = self.session.legacy();
        legacy.is_some_and(|state| state.is_initialized())
    }

    /// Returns whether a request runs, or a client that concluded the handshake reads a stream.
    fn is_in_use(&self) -> bool {
        let is_read = || {
            self.standalone.is_attached()
                || self.streams().iter().any(|stream| stream.is_attached())
        };
        self.session.in_flight() > 0 || (self.is_initialized() && is_read())
    }

    /// Returns whether the session has ended, or was not used for longer than it may be, which is
    /// counted.
    fn is_over(&self, now: Instant, options: &HttpServerOptions) -> bool {
        if self.is_ended() {
            return true;
        }
        if self.is_in_use() {
            // A session in use is idle only from the end of that use on.
            self.touch();
            return false;
        }
        let timeouts = &options.timeouts;
        let idle = timeouts.session_idle_timeout;
        let (timeout, setting) = match timeouts.handshake_timeout {
            timeout if timeout < idle && !self.is_initialized() => {
                (timeout, "HttpTimeouts::handshake_timeout")
            }
            _ => (idle, "HttpTimeouts::session_idle_timeout"),
        };
        let is_over = now.saturating_duration_since(*self.last_used()) >= timeout;
        if is_over {
            count_refusal(setting);
        }
        is_over
    }

    fn end(&self) {
        self.session.end();
        self.standalone.end();
        let streams = self.streams().take_all();
        streams.for_each(|stream| stream.end());
    }
}

/// The open sessions of one endpoint.
#[derive(Debug)]
pub(crate) struct SessionTable {
    state: Mutex<TableState>,
    options: Arc<HttpServerOptions>,
    replay_budget: Arc<ReplayBudget>,
    share_limits: ShareLimits,
}

#[derive(Debug, Default)]
struct TableState {
    by_id: HashMap<Box<str>, Arc<HttpSession>>,
    counts: ShareCounts,
    /// True while a [`Sweeper`] runs: as long as there are sessions.
    has_sweeper: bool,
    /// The time at which idle sessions were last removed.
    last_sweep: Option<Instant>,
}

impl TableState {
    fn insert(&mut self, id: Box<str>, session: Arc<HttpSession>) {
        self.counts.add(session.client);
        self.by_id.insert(id, session);
    }

    fn remove(&mut self, id: &str) -> Option<Arc<HttpSession>> {
        let session = self.by_id.remove(id)?;
        self.counts.remove(session.client);
        Some(session)
    }

    /// Removes sessions that are not in use, so that `client` can open another one within the bound
    /// that is exceeded, and returns them. Those of the same owner or address make room for a share.
    /// For the total these go first: sessions of clients that have more than their part, then those
    /// whose client never concluded the handshake, then those idle longest. A search reads the whole
    /// table, which is why it removes more than one.
    fn evict(&mut self, client: Client, exceeded: Exceeded) -> Vec<Arc<HttpSession>> {
        // Clients are told apart by their owner, or else by their address.
        let name = |client: Client| client.owner.or(client.address);
        let mut per_client = HashMap::<Option<u64>, usize>::default();
        for session in self.by_id.values() {
            *per_client.entry(name(session.client)).or_default() += 1;
        }
        let part = self.by_id.len() / per_client.len().max(1);
        let makes_room = |session: &HttpSession| match exceeded {
            Exceeded::Owner => session.client.owner == client.owner,
            Exceeded::Address => session.client.address == client.address,
            Exceeded::Total => true,
        };
        let mut idle: Vec<_> = self
            .by_id
            .iter()
            .filter(|(_, session)| makes_room(session) && !session.is_in_use())
            .map(|(id, session)| {
                let is_within_part = per_client[&name(session.client)] <= part;
                let order = (
                    is_within_part,
                    session.is_initialized(),
                    *session.last_used(),
                );
                (order, id.clone())
            })
            .collect();
        let count = (self.by_id.len() / EVICTED_SHARE).max(1).min(idle.len());
        if count == 0 {
            return Vec::new();
        }
        idle.select_nth_unstable(count - 1);
        let evicted = idle.into_iter().take(count);
        evicted.filter_map(|(_, id)| self.remove(&id)).collect()
    }
}

/// The reason why a session was not opened.
#[derive(Debug)]
pub(crate) enum OpenSessionError {
    TooMany(Exceeded),
    RandomnessUnavailable,
}

impl SessionTable {
    pub(crate) fn new(options: Arc<HttpServerOptions>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            replay_budget: ReplayBudget::new(&options.replay),
            share_limits: ShareLimits::new(options.http_limits.max_sessions, &options.shares),
            options,
        })
    }

    /// Returns the budget that the replay logs of all streams of the endpoint share, also those of
    /// streams without a session.
    pub(crate) fn replay_budget(&self) -> &Arc<ReplayBudget> {
        &self.replay_budget
    }

    fn state(&self) -> MutexGuard<'_, TableState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a session that is not in the table yet.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub(crate) fn create(
        &self,
        endpoint: &ServerEndpoint,
        principal: Option<&Principal>,
        connection: Option<&OwnerAccount>,
        client: Client,
    ) -> Result<Arc<HttpSession>, MemoryExceeded> {
        let account = endpoint.session_account(principal, connection);
        let memory = account.memory().clone();
        let budget = self.replay_budget.clone();
        let standalone = SessionStream::new(STANDALONE_STREAM, budget, memory.clone());
        let session = endpoint.new_session(account, standalone.clone(), true);
        let bytes = SESSION_BYTES.saturating_add(session.limits().max_handshake_bytes);
        Ok(Arc::new(HttpSession {
            _memory: memory.reserve(bytes)?,
            session,
            standalone,
            streams: Mutex::default(),
            owner: Owner::new(principal),
            client,
            last_used: Mutex::new(Instant::now()),
        }))
    }

    /// Inserts a session into the table and returns its id, which nobody can guess.
    ///
    /// # Errors
    /// When [`HttpLimits::max_sessions`] are open and in use, or as many as the client's share of
    /// them, or the system has no randomness. The session is ended then.
    pub(crate) fn insert(
        self: &Arc<Self>,
        session: Arc<HttpSession>,
    ) -> Result<Box<str>, OpenSessionError> {
        let Ok(id) = random::id().map(Box::<str>::from) else {
            session.end();
            return Err(OpenSessionError::RandomnessUnavailable);
        };
        let client = session.client;
        let mut evicted: Vec<Arc<HttpSession>> = Vec::new();
        let mut state = self.state();
        if state
            .counts
            .find_exceeded(client, &self.share_limits)
            .is_some()
        {
            let now = Instant::now();
            let is_recent =
                |sweep: Instant| now.saturating_duration_since(sweep) < MIN_SWEEP_INTERVAL;
            if !state.last_sweep.is_some_and(is_recent) {
                drop(state);
                self.sweep(now);
                state = self.state();
            }
            // Room within one bound need not be room within the next.
            while let Some(exceeded) = state.counts.find_exceeded(client, &self.share_limits) {
                let more = state.evict(client, exceeded);
                if more.is_empty() {
                    drop(state);
                    evicted.iter().for_each(|session| session.end());
                    session.end();
                    return Err(OpenSessionError::TooMany(exceeded));
                }
                let setting = exceeded.setting("HttpLimits::max_sessions");
                more.iter().for_each(|_| count_refusal(setting));
                evicted.extend(more);
            }
        }
        state.insert(id.clone(), session);
        let had_sweeper = std::mem::replace(&mut state.has_sweeper, true);
        // A runtime that is shutting down drops the sweeper in `spawn`, and its `Drop` locks the
        // table.
        drop(state);
        if !evicted.is_empty() {
            tracing::warn!(
                sessions = evicted.len(),
                "sessions that nobody used made room for another one (HttpLimits::max_sessions, \
                 HttpShares::max_owner_percent, HttpShares::max_address_percent)"
            );
            evicted.iter().for_each(|session| session.end());
        }
        if !had_sweeper {
            tokio::spawn(Sweeper(Arc::downgrade(self)).run(self.sweep_interval()));
        }
        Ok(id)
    }

    /// Returns the session of that id if this principal opened it, and counts that as use.
    pub(crate) fn get(&self, id: &str, principal: Option<&Principal>) -> Option<Arc<HttpSession>> {
        let session = self.state().by_id.get(id).cloned()?;
        if !session.owner.admits(principal) || session.is_ended() {
            return None;
        }
        session.touch();
        Some(session)
    }

    /// Ends the session of that id and removes it. Returns `false` if this principal has not opened
    /// such a session.
    pub(crate) fn end(&self, id: &str, principal: Option<&Principal>) -> bool {
        if self.get(id, principal).is_none() {
            return false;
        }
        let removed = self.state().remove(id);
        removed.inspect(|session| session.end()).is_some()
    }

    /// Returns the numbers of sessions, of their streams, of the bytes kept for replay, and of
    /// requests in flight.
    pub(crate) fn sizes(&self) -> [(&'static str, usize); 4] {
        let (mut streams, mut bytes, mut requests) = (0, 0, 0);
        let state = self.state();
        for session in state.by_id.values() {
            for stream in session.streams().iter() {
                streams += 1;
                bytes += stream.replay_bytes();
            }
            bytes += session.standalone.replay_bytes();
            requests += session.session.in_flight();
        }
        [
            ("sessions", state.by_id.len()),
            ("streams", streams),
            ("replay bytes", bytes),
            ("session requests", requests),
        ]
    }

    fn sweep_interval(&self) -> Duration {
        let HttpServerOptions {
            timeouts, replay, ..
        } = &*self.options;
        let shortest = timeouts
            .session_idle_timeout
            .min(timeouts.handshake_timeout);
        let shortest = shortest.min(replay.stream_ttl);
        (shortest / 2).clamp(Duration::from_millis(100), Duration::from_secs(30))
    }

    /// Ends idle sessions, and removes streams that were kept for replay long enough.
    fn sweep(&self, now: Instant) {
        let mut idle = Vec::new();
        let mut state = self.state();
        let TableState {
            by_id,
            counts,
            last_sweep,
            ..
        } = &mut *state;
        *last_sweep = Some(now);
        by_id.retain(|_, session| {
            session.remove_expired_streams(now, self.options.replay.stream_ttl);
            let stays = !session.is_over(now, &self.options);
            if !stays {
                counts.remove(session.client);
                idle.push(session.clone());
            }
            stays
        });
        shrink(by_id);
        drop(state);
        idle.iter().for_each(|session| session.end());
    }
}

impl Drop for SessionTable {
    fn drop(&mut self) {
        for session in self.state().by_id.values() {
            session.end();
        }
    }
}

/// Gives back memory of a map that has become much smaller, which a map does not do by itself.
fn shrink<K: Eq + Hash, V>(map: &mut HashMap<K, V>) {
    if map.is_empty() || map.capacity() / 4 > map.len() {
        map.shrink_to(map.len() * 2);
    }
}

/// A task that sweeps a table for as long as it has sessions.
struct Sweeper(Weak<SessionTable>);

impl Sweeper {
    async fn run(mut self, interval: Duration) {
        loop {
            tokio::time::sleep(interval).await;
            let Some(sessions) = self.0.upgrade() else {
                return;
            };
            sessions.sweep(Instant::now());
            let mut state = sessions.state();
            if state.by_id.is_empty() {
                state.has_sweeper = false;
                self.0 = Weak::new();
                return;
            }
        }
    }
}

/// Lets the next session that is opened start another sweeper, if the runtime ended this one.
impl Drop for Sweeper {
    fn drop(&mut self) {
        if let Some(sessions) = self.0.upgrade() {
            sessions.state().has_sweeper = false;
        }
    }
}

#[cfg(test)]
mod tests;
