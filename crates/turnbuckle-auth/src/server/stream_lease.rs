//! The time for which the stream of a caller may last: as long as the caller has a valid token.
//!
//! A stream begins with the token of its request. When the same caller, with the same scopes and the
//! same key, is admitted with a token that ends later, the stream lasts as long as that one. So a
//! client that refreshes its token keeps its streams, and the calls that they answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::authenticator::Identity;

/// The streams that are open, by their callers.
#[derive(Debug, Default)]
pub(super) struct StreamLeases(Mutex<HashMap<Holder, OpenStreams>>);

/// The open streams of one caller.
#[derive(Debug, Default)]
struct OpenStreams {
    count: usize,
    /// The end of the caller's latest token, in seconds since 1970.
    until: Arc<AtomicU64>,
}

/// The caller of a stream, as far as another token has to be the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Holder {
    issuer: String,
    subject: String,
    client: Option<String>,
    scopes: Vec<String>,
    key_thumbprint: Option<String>,
}

impl Holder {
    fn new(identity: &Identity) -> Self {
        let principal = &identity.principal;
        let mut scopes = principal.scopes.clone();
        scopes.sort_unstable();
        Self {
            issuer: principal.issuer.clone(),
            subject: principal.subject.clone(),
            client: principal.client.clone(),
            scopes,
            key_thumbprint: identity.key_thumbprint.clone(),
        }
    }
}

/// The right of one stream to last. Dropping the last one of a caller forgets the caller.
pub(super) struct StreamLease {
    leases: Arc<StreamLeases>,
    holder: Holder,
    /// The end of the caller's latest token, in seconds since 1970.
    until: Arc<AtomicU64>,
    /// The part of `until` that the stream knows.
    known_until: u64,
}

impl StreamLeases {
    /// Begins the lease of a stream whose token can be used until `until`, in seconds since 1970.
    pub(super) fn begin(self: &Arc<Self>, identity: &Identity, until: u64) -> StreamLease {
        let holder = Holder::new(identity);
        let mut table = self.table();
        let streams = table.entry(holder.clone()).or_default();
        streams.count += 1;
        let shared = Arc::clone(&streams.until);
        drop(table);
        shared.fetch_max(until, Ordering::Relaxed);
        StreamLease {
            leases: Arc::clone(self),
            holder,
            until: shared,
            known_until: until,
        }
    }

    /// Extends the streams of a caller who was admitted with a token for the first time.
    pub(super) fn renew(&self, identity: &Identity) {
        let table = self.table();
        if table.is_empty() {
            return;
        }
        if let Some(streams) = table.get(&Holder::new(identity)) {
            let until = identity.usable_until.unwrap_or(u64::MAX);
            streams.until.fetch_max(until, Ordering::Relaxed);
        }
    }

    fn table(&self) -> MutexGuard<'_, HashMap<Holder, OpenStreams>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StreamLease {
    /// Returns the time by which the caller's later tokens extend the stream since the last call.
    pub(super) fn take_extension(&mut self) -> Option<Duration> {
        let until = self.until.load(Ordering::Relaxed);
        let extension = until.saturating_sub(self.known_until);
        self.known_until = until;
        (extension > 0).then(|| Duration::from_secs(extension))
    }
}

impl Drop for StreamLease {
    fn drop(&mut self) {
        let mut table = self.leases.table();
        if let Some(streams) = table.get_mut(&self.holder) {
            streams.count -= 1;
            if streams.count == 0 {
                table.remove(&self.holder);
            }
        }
    }
}
