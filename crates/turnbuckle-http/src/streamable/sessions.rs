//! The legacy sessions of one endpoint by id. Idle sessions are ended, so that nothing stays of a
//! client that vanishes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
#[cfg(feature = "store")]
use std::sync::{OnceLock, Weak};
use std::time::Duration;

use foldhash::HashMap;
use tokio::time::Instant;
use turnbuckle_session::internal::{MemoryExceeded, ServerEndpoint, SessionRecord, count_refusal};
use turnbuckle_types::Principal;
use turnbuckle_types::base::random;

use crate::event::StreamName;
use crate::options::HttpServerOptions;
use crate::request::principal::Owner;
use crate::shares::{Client, Exceeded, ShareCounts, ShareLimits};
#[cfg(feature = "store")]
use crate::streams::Courier;
use crate::streams::{ReplayBudget, SessionStream};

mod eviction;
mod session;
mod streams;
mod sweeper;

use session::STANDALONE_STREAM;
pub(crate) use session::{HttpSession, SessionKind, SessionSource};
use streams::shrink;
#[cfg(feature = "store")]
pub(crate) use sweeper::Maintain;
use sweeper::Sweeper;

/// The shortest time between two searches of a full table for idle sessions.
const MIN_SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The part of a full table that is searched for once and makes room: one of so many sessions.
const EVICTED_SHARE: usize = 64;

/// The bytes that a session takes besides what it keeps of its handshake: its state, its streams and its
/// place in the table.
const SESSION_BYTES: usize = 3 << 10;

/// The open sessions of one endpoint.
#[derive(Debug)]
pub(crate) struct SessionTable {
    state: Mutex<TableState>,
    options: Arc<HttpServerOptions>,
    replay_budget: Arc<ReplayBudget>,
    share_limits: ShareLimits,
    /// The sessions that are in the store too.
    #[cfg(feature = "store")]
    pub(crate) stored: OnceLock<Weak<dyn Maintain>>,
    /// The courier of the streams, if other instances serve the sessions too.
    #[cfg(feature = "store")]
    courier: OnceLock<Arc<Courier>>,
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
            #[cfg(feature = "store")]
            stored: OnceLock::new(),
            #[cfg(feature = "store")]
            courier: OnceLock::new(),
        })
    }

    /// Copies the streams of the sessions for other instances, which serve the sessions too.
    #[cfg(feature = "store")]
    pub(crate) fn copy_streams(&self, courier: Arc<Courier>) {
        // Called once, before there are sessions.
        let _ = self.courier.set(courier);
    }

    /// Returns the courier of the streams, if other instances serve the sessions too.
    #[cfg(feature = "store")]
    pub(crate) fn courier(&self) -> Option<&Arc<Courier>> {
        self.courier.get()
    }

    /// Returns the name of the standalone stream of another session.
    fn standalone_name(&self, kind: &SessionKind) -> StreamName {
        #[cfg(feature = "store")]
        if let (SessionKind::Stored(_), Some(courier)) = (kind, self.courier.get()) {
            return courier.next_stream_name();
        }
        #[cfg(not(feature = "store"))]
        let _ = kind;
        STANDALONE_STREAM.into()
    }

    /// Returns the budget that the replay logs of all streams of the endpoint share, also those of
    /// streams without a session.
    pub(crate) fn replay_budget(&self) -> &Arc<ReplayBudget> {
        &self.replay_budget
    }

    fn state(&self) -> MutexGuard<'_, TableState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a session that is not in the table yet: one that goes on with a record, or a new one.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub(crate) fn create(
        &self,
        endpoint: &ServerEndpoint,
        source: SessionSource<'_>,
        kind: SessionKind,
        record: Option<&SessionRecord>,
    ) -> Result<Arc<HttpSession>, MemoryExceeded> {
        let account = endpoint.session_account(source.principal, source.account);
        let memory = account.memory().clone();
        let replay_budget = self.replay_budget.clone();
        let name = self.standalone_name(&kind);
        let standalone = SessionStream::new(name, replay_budget.clone(), memory.clone());
        let has_memory = !matches!(kind, SessionKind::Sealed { .. });
        let (session, owner) = match record {
            None => (
                endpoint.new_session(account, standalone.clone(), has_memory),
                Owner::new(source.principal),
            ),
            Some(record) => (
                endpoint.restore_session(account, standalone.clone(), has_memory, record),
                Owner::of_record(record.owner.clone()),
            ),
        };
        #[cfg(feature = "store")]
        let copies = match (&kind, self.courier.get()) {
            (SessionKind::Stored(stored), Some(courier)) => {
                Some(Box::new(courier.copies_of(&stored.id)))
            }
            _ => None,
        };
        let bytes = SESSION_BYTES.saturating_add(session.limits().max_handshake_bytes);
        Ok(Arc::new(HttpSession {
            _memory: memory.reserve(bytes)?,
            session,
            standalone,
            streams: Mutex::default(),
            replay_budget,
            owner,
            kind,
            client: source.client,
            last_used: Mutex::new(Instant::now()),
            #[cfg(feature = "store")]
            copies,
        }))
    }

    /// Inserts a session into the table and returns its id, which nobody can guess.
    ///
    /// # Errors
    /// As those of [`insert_as`](Self::insert_as), and when the system has no randomness.
    pub(crate) fn insert(
        self: &Arc<Self>,
        session: Arc<HttpSession>,
    ) -> Result<Box<str>, OpenSessionError> {
        let Ok(id) = random::id().map(Box::<str>::from) else {
            session.end();
            return Err(OpenSessionError::RandomnessUnavailable);
        };
        self.insert_as(&id, session)?;
        Ok(id)
    }

    /// Inserts a session under this id. Returns the session of the id, which is another one if that was
    /// inserted before.
    ///
    /// # Errors
    /// When [`HttpLimits::max_sessions`] are open and in use, or as many as the client's share of
    /// them. The session is ended then.
    pub(crate) fn insert_as(
        self: &Arc<Self>,
        id: &str,
        session: Arc<HttpSession>,
    ) -> Result<Arc<HttpSession>, OpenSessionError> {
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
        let inserted = match state.by_id.get(id).filter(|known| !known.is_ended()) {
            Some(known) => known.clone(),
            None => {
                state.remove(id);
                state.insert(id.into(), session.clone());
                session.clone()
            }
        };
        let had_sweeper = std::mem::replace(&mut state.has_sweeper, true);
        // A runtime that is shutting down drops the sweeper in `spawn`, and its `Drop` locks the
        // table.
        drop(state);
        if !Arc::ptr_eq(&inserted, &session) {
            session.end();
        }
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
        Ok(inserted)
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

    /// Returns the session of that id, for whatever principal, which does not count as use.
    #[cfg(feature = "store")]
    pub(crate) fn find(&self, id: &str) -> Option<Arc<HttpSession>> {
        let session = self.state().by_id.get(id).cloned()?;
        (!session.is_ended()).then_some(session)
    }

    /// Returns all sessions.
    #[cfg(feature = "store")]
    pub(crate) fn all(&self) -> Vec<Arc<HttpSession>> {
        self.state().by_id.values().cloned().collect()
    }

    /// Removes a session and ends it here, unless another one has taken its place.
    pub(crate) fn forget(&self, id: &str, session: &Arc<HttpSession>) {
        let mut state = self.state();
        if state
            .by_id
            .get(id)
            .is_some_and(|known| Arc::ptr_eq(known, session))
        {
            state.remove(id);
        }
        drop(state);
        session.end();
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
            session.clean_up(now, self.options.replay.stream_ttl);
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
        #[cfg(feature = "store")]
        if let Some(courier) = self.courier.get() {
            courier.begin_stop();
        }
        for session in self.state().by_id.values() {
            session.end();
        }
    }
}

#[cfg(test)]
mod tests;
