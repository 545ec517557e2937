//! The state that the requests of a connection, or of a legacy session over HTTP, share.

mod batch;
mod requests;
pub(crate) mod state;

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tokio::sync::Semaphore;
use turnbuckle_types::base::change_position::ChangePosition;
use turnbuckle_types::{AuditOutcome, ErrorKind};
use turnbuckle_wire::era::{decode_error_code, write_decode_error};
use turnbuckle_wire::revision::{EraKind, Features};
use turnbuckle_wire::rpc::{DecodeError, DecodeErrorKind};

use crate::server::change::Change;
use crate::server::change_feed::ChangeFeed;
#[cfg(feature = "store")]
use crate::server::dispatch::NotificationFuture;
use crate::server::dispatch::RestoredSubscriptions;
use crate::server::dispatch_handle::DispatchHandle;
use crate::server::legacy_state::LegacyState;
use crate::server::peer::Peer;
use crate::server::session_record::SessionRecord;
use crate::server::tasks;
use crate::shared::account::{AccountLease, OwnerAccount};
use crate::shared::limits::Limits;
use crate::shared::memory_budget::MemoryPermit;
use crate::shared::reply_sink::{EncodedResponse, ReplySink};
use crate::shared::signal::Signal;
use crate::shared::trace::{Side, audit_refusal, count_refusal};
use crate::shared::transport::{Binding, TransportContext};
use state::SessionState;

pub use requests::MessageOutcome;

/// A connection or a legacy session, shared by its requests.
///
/// On a duplex connection one session serves both eras: requests of the modern era carry their own
/// envelope, and all others belong to the legacy session that a handshake opens.
pub struct Session {
    state: Arc<SessionState>,
    dispatch: Arc<DispatchHandle>,
    binding: Binding,
    account: AccountLease,
    /// Permits for handling notifications.
    notification_permits: OnceLock<Arc<Semaphore>>,
    /// False if nothing is kept of the session between its messages, so that its client can be
    /// offered neither questions nor notifications.
    has_memory: bool,
}

impl Session {
    /// Returns a session that has received nothing yet. `sink` gets the messages that belong to no
    /// request; the rates count on `account`.
    pub(crate) fn new(
        dispatch: Arc<DispatchHandle>,
        binding: Binding,
        limits: impl Into<Arc<Limits>>,
        sink: Arc<dyn ReplySink>,
        account: OwnerAccount,
        has_memory: bool,
    ) -> Arc<Self> {
        Arc::new(Self {
            state: SessionState::new(limits.into(), account.memory().clone(), sink),
            dispatch,
            binding,
            account: AccountLease::new(account),
            notification_permits: OnceLock::new(),
            has_memory,
        })
    }

    /// Opens the session with the record of a handshake that another instance served, or this one
    /// earlier.
    pub(crate) fn restore(self: &Arc<Self>, record: &SessionRecord) {
        let legacy = LegacyState::of_record(record, self.has_memory);
        if self.state.legacy.set(Arc::new(legacy)).is_err() {
            return;
        }
        {
            let mut kernel = self.state.kernel();
            kernel.handshake_succeeded();
            if record.initialized {
                kernel.handshake_concluded();
            }
        }
        self.open("tcp");
        self.apply_record(record, None);
    }

    /// Takes over what another instance recorded of the session. `since` is the position in the log of changes
    /// at which the record was last known not to have what is new; `None` if nothing was told since then.
    pub fn apply_record(&self, record: &SessionRecord, since: Option<ChangePosition>) {
        let Some(legacy) = self.legacy() else {
            return;
        };
        let [added, removed] = legacy.apply_record(record);
        if record.initialized {
            self.state.kernel().handshake_concluded();
        }
        if !added.is_empty() || !removed.is_empty() {
            let restored = RestoredSubscriptions {
                owner: record.owner.as_ref(),
                added: &added,
                removed: &removed,
                since,
            };
            let dispatch = &self.dispatch.dispatch;
            dispatch.restore_subscriptions(&self.peer(), restored);
        }
    }

    /// Drops the client's roots, since it told another instance that they have changed.
    pub fn clear_roots(&self) {
        if let Some(legacy) = self.legacy() {
            legacy.clear_roots(false);
        }
    }

    /// Shares the session with other instances of the server, of which this one is `instance`: the ids
    /// of requests to the client name it, and changes are counted.
    pub fn share(&self, instance: &Arc<str>) {
        self.state.kernel().set_instance(instance.clone());
        if let Some(legacy) = self.legacy() {
            legacy.share();
        }
    }

    /// Begins the life of a session whose handshake has succeeded, over this transport.
    fn open(self: &Arc<Self>, transport: &'static str) {
        let (state, dispatch) = (&self.state, &self.dispatch.dispatch);
        let transport = *state.network_transport.get_or_init(|| transport);
        if let Some(legacy) = self.legacy() {
            let revision = legacy.features().revision;
            state.count.start(Side::Server, revision, transport);
        }
        if !self.has_memory {
            return;
        }
        dispatch.session_opened(&self.peer());
        if let Some(interval) = state.limits.ping_interval {
            let session = self.clone();
            let timeout = state.limits.ping_timeout;
            tasks::spawn_pings(state, interval, timeout, move || session.end());
        }
    }

    /// Skips the handshake for a client of the revision with these `features` that declared
    /// nothing.
    pub(crate) fn skip_handshake(&self, features: &'static Features) {
        let legacy = LegacyState::without_session(features);
        if self.state.legacy.set(Arc::new(legacy)).is_ok() {
            self.state.kernel().handshake_succeeded();
        }
    }

    /// Returns the state that the handshake of the legacy era left behind, if there was one.
    #[must_use]
    pub fn legacy(&self) -> Option<&Arc<LegacyState>> {
        self.state.legacy.get()
    }

    /// Returns the feed of the changes that the legacy client was not told of yet.
    #[must_use]
    pub fn feed(&self) -> &Arc<ChangeFeed> {
        &self.state.feed
    }

    /// Returns a future that tells the client what has changed since `position`, which it names. `None` if
    /// the server shares no changes with other instances.
    #[cfg(feature = "store")]
    #[must_use]
    pub fn catch_up(&self, position: ChangePosition) -> Option<NotificationFuture> {
        self.dispatch.dispatch.catch_up(self.feed(), position)
    }

    /// Sends the notification of a change to the legacy client by `send`, which returns whether there
    /// was space for the frame. Returns the same.
    pub fn send_change(&self, change: &Change, send: impl FnOnce(Vec<u8>) -> bool) -> bool {
        let notification = change.to_notification(None);
        let is_sent = send(notification.frame);
        if is_sent {
            let uri = notification.uri.as_deref();
            self.state.notification_span(&notification.method, uri);
        }
        is_sent
    }

    pub(crate) fn dispatch(&self) -> &DispatchHandle {
        &self.dispatch
    }

    /// Returns the session's limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.state.limits
    }

    /// Returns the signal that fires when the session has ended.
    #[must_use]
    pub fn end_signal(&self) -> &Signal {
        &self.state.ended
    }

    /// Returns how many requests of the client are running.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.state.kernel().in_flight()
    }

    /// Gives back the memory in which requests were counted that have ended.
    pub fn shrink(&self) {
        self.state.kernel().shrink();
    }

    /// Returns whether every handler has ended, those of cancelled requests included.
    pub(crate) fn is_idle(&self) -> bool {
        self.state.kernel().handler_count() == 0
    }

    /// Returns the client, for messages that belong to no request.
    #[must_use]
    pub fn peer(&self) -> Peer {
        Peer::of_session(&self.state)
    }

    /// Asks the handlers of all running requests to come to their own end.
    pub(crate) fn close_requests(&self) {
        for request in self.state.kernel().running_requests() {
            request.close();
        }
    }

    /// Ends the session: cancels its requests in both directions.
    pub fn end(&self) {
        self.state.ended.cancel();
        self.state.count.end();
        self.state.feed.close();
        self.dispatch.dispatch.session_closed(&self.state.feed);
        let (requests, waiting) = self.state.kernel().end();
        for request in requests {
            request.cancel();
        }
        // A task that waits for the client's response sees the channel close.
        drop(waiting);
    }

    /// Encodes the response to a frame that is no message, or is refused because of `limit`, and passes
    /// its record to the audit log.
    #[cold]
    pub(crate) fn refuse(
        &self,
        refusal: &DecodeError,
        limit: Option<&'static str>,
        sender: &TransportContext,
    ) -> EncodedResponse {
        let outcome = match limit {
            Some(limit) => {
                count_refusal(limit);
                AuditOutcome::Refused { limit }
            }
            None => AuditOutcome::Error {
                code: decode_error_code(refusal.kind),
            },
        };
        let audit = self.dispatch.dispatch.audit();
        audit_refusal(audit, sender.into(), None, outcome, 0);
        let mut frame = Vec::with_capacity(128);
        let features = self.legacy().map(|legacy| legacy.features());
        write_decode_error(&mut frame, refusal, features);
        let kind = match refusal.kind {
            DecodeErrorKind::ParseError => ErrorKind::ParseError,
            DecodeErrorKind::InvalidRequest => ErrorKind::InvalidRequest,
            DecodeErrorKind::InvalidParams | DecodeErrorKind::InvalidNotification => {
                ErrorKind::InvalidParams
            }
        };
        EncodedResponse {
            frame,
            tail: Bytes::new(),
            failure: Some(kind),
            memory: MemoryPermit::default(),
        }
    }

    /// Returns the number of messages that a batch may hold; `None` if the session's revision has
    /// no batches.
    #[must_use]
    fn max_batch_messages(&self) -> Option<usize> {
        let legacy = self.legacy()?;
        let batching = legacy.features().batching;
        batching.then_some(self.state.limits.max_batch_messages)
    }

    /// Returns whether a handshake of the legacy era has opened the session.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let legacy = self.legacy();
        legacy.is_some_and(|legacy| legacy.features().era == EraKind::Legacy)
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let legacy = self.legacy();
        f.debug_struct("Session")
            .field("binding", &self.binding)
            .field("revision", &legacy.map(|legacy| legacy.features().revision))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
