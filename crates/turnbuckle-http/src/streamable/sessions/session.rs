//! A legacy session over HTTP.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use turnbuckle_session::internal::{MemoryPermit, OwnerAccount, Session, count_refusal};
use turnbuckle_types::Principal;

use super::streams::SessionStreams;
use crate::event::{EventId, StreamName};
use crate::options::HttpServerOptions;
use crate::request::principal::Owner;
use crate::shares::Client;
#[cfg(feature = "store")]
use crate::streamable::stored::session::StoredSession;
#[cfg(feature = "store")]
use crate::streams::StreamCopies;
use crate::streams::{ReplayBudget, SessionStream, StreamReader};

/// The id of the standalone stream, for messages that belong to no request.
pub(super) const STANDALONE_STREAM: u64 = 0;

/// A legacy session over HTTP: the session, its streams, and who may use it.
#[derive(Debug)]
pub(crate) struct HttpSession {
    pub(crate) session: Arc<Session>,
    /// The stream of messages that belong to no request, which a GET opens.
    pub(crate) standalone: Arc<SessionStream>,
    pub(super) streams: Mutex<SessionStreams>,
    /// The budget that the replay logs of all streams of the endpoint share.
    pub(super) replay_budget: Arc<ReplayBudget>,
    pub(super) owner: Owner,
    /// The place where the session is kept.
    pub(super) kind: SessionKind,
    /// The client whose share the session takes.
    pub(super) client: Client,
    pub(super) last_used: Mutex<Instant>,
    /// The copies of the streams in the store, if other instances serve the session too.
    #[cfg(feature = "store")]
    pub(crate) copies: Option<Box<StreamCopies>>,
    /// The memory of the session itself.
    pub(super) _memory: MemoryPermit,
}

/// The place where a session is kept.
#[derive(Debug)]
pub(crate) enum SessionKind {
    /// In the memory of this endpoint.
    Local,
    /// In its id.
    Sealed {
        /// The time at which the id expires.
        expires_at: SystemTime,
    },
    /// In the store that all instances share.
    #[cfg(feature = "store")]
    Stored(Box<StoredSession>),
}

/// The origin of a session: who opens it, or comes back to it.
#[derive(Clone, Copy)]
pub(crate) struct SessionSource<'a> {
    pub(crate) principal: Option<&'a Principal>,
    pub(crate) account: Option<&'a OwnerAccount>,
    pub(crate) client: Client,
}

impl HttpSession {
    /// Returns the state of a session in the store, if it is there.
    #[cfg(feature = "store")]
    pub(crate) fn record_state(&self) -> Option<&StoredSession> {
        match &self.kind {
            SessionKind::Stored(stored) => Some(stored),
            SessionKind::Local | SessionKind::Sealed { .. } => None,
        }
    }

    /// Returns the id of a session that is in the store.
    #[cfg(feature = "store")]
    pub(crate) fn stored_id(&self) -> Option<&Arc<str>> {
        self.record_state().map(|state| &state.id)
    }

    /// Returns whether streams of the session can be resumed.
    pub(crate) fn is_resumable(&self) -> bool {
        !matches!(self.kind, SessionKind::Sealed { .. })
    }

    /// Returns whether the id of the session has expired at the time `now`.
    pub(crate) fn is_expired(&self, now: SystemTime) -> bool {
        matches!(self.kind, SessionKind::Sealed { expires_at } if now >= expires_at)
    }

    /// Returns the owner of the session.
    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    pub(super) fn streams(&self) -> MutexGuard<'_, SessionStreams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn last_used(&self) -> MutexGuard<'_, Instant> {
        self.last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn touch(&self) {
        *self.last_used() = Instant::now();
    }

    /// Creates a stream for one POST. It can be resumed only after [`keep`](Self::keep).
    pub(crate) fn new_stream(&self) -> Arc<SessionStream> {
        let name = self.next_stream_name();
        let account = self.standalone.account().clone();
        SessionStream::new(name, self.replay_budget.clone(), account)
    }

    fn next_stream_name(&self) -> StreamName {
        if !self.is_resumable() {
            return StreamName::NONE;
        }
        #[cfg(feature = "store")]
        if let Some(copies) = &self.copies {
            return copies.next_stream_name();
        }
        self.streams().next_id().into()
    }

    /// Keeps a stream, so that its client can resume it. Streams that ended and are over a bound
    /// are removed. Returns `false` if there are too many streams and none has ended, or the
    /// session has ended.
    pub(crate) fn keep(&self, stream: &Arc<SessionStream>, options: &HttpServerOptions) -> bool {
        let mut streams = self.streams();
        !self.is_ended() && streams.insert(stream, &self.replay_budget, options)
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.session.end_signal().is_cancelled()
    }

    /// Adds a connection that continues behind an event, if its stream is kept here.
    pub(crate) fn attach(&self, after: &EventId<'_>) -> Option<StreamReader> {
        let is_standalone = after.stream == self.standalone.name().number;
        let stream = match is_standalone {
            true => self.standalone.clone(),
            false => self.streams().get(after.stream)?.clone(),
        };
        if stream.name().instance.as_deref() != after.instance {
            return None;
        }
        let reader = stream.attach(Some(after.position))?;
        #[cfg(feature = "store")]
        stream.end_follower();
        Some(reader)
    }

    /// Removes streams that ended `ttl` ago or earlier, and gives back memory that nothing uses.
    pub(super) fn clean_up(&self, now: Instant, ttl: Duration) {
        self.streams().remove_expired(now, ttl);
        self.session.shrink();
    }

    /// Returns whether the client has concluded the handshake.
    pub(crate) fn is_initialized(&self) -> bool {
        let legacy = self.session.legacy();
        legacy.is_some_and(|state| state.is_initialized())
    }

    /// Returns whether a request runs, or a client that concluded the handshake reads a stream.
    pub(crate) fn is_in_use(&self) -> bool {
        let is_read = || {
            self.standalone.is_attached()
                || self.streams().iter().any(|stream| stream.is_attached())
        };
        self.session.in_flight() > 0 || (self.is_initialized() && is_read())
    }

    /// Returns whether the session has ended, or was not used for longer than it may be, which is
    /// counted.
    pub(super) fn is_over(&self, now: Instant, options: &HttpServerOptions) -> bool {
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

    /// Ends the session here. One that is in the store or in its id goes on elsewhere.
    pub(crate) fn end(&self) {
        self.session.end();
        self.standalone.end();
        let streams = self.streams().take_all();
        streams.for_each(|stream| stream.end());
    }
}
