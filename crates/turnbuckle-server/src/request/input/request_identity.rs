//! The name of a request in the records of its effects, the same in all its rounds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use turnbuckle_types::base::random::{self, RandomnessUnavailable};

/// The time for which a request can go on, from its first round, in seconds.
///
/// A client can send an older state again as long as it is accepted, and each round gives out a new one.
/// The records of effects must outlive all of them.
const MAX_AGE_SECS: u64 = 24 * 3600;

/// The time by which the clocks of two instances may differ.
const CLOCK_SKEW: Duration = Duration::from_secs(60);

/// The name of a request that a server keeps records about, in a store.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RequestIdentity {
    #[serde(rename = "i")]
    id: String,
    /// The time at which the last state of the request expires, in seconds since the Unix epoch.
    #[serde(rename = "e")]
    pub(super) expires_at: u64,
}

impl RequestIdentity {
    /// Creates the identity of a new request, whose states are accepted for `state_ttl_secs` each.
    pub(crate) fn new(state_ttl_secs: u64) -> Result<Self, RandomnessUnavailable> {
        Ok(Self {
            id: random::id()?,
            expires_at: now().saturating_add(state_ttl_secs.max(MAX_AGE_SECS)),
        })
    }

    /// Returns a key of an effect for services that take one: the same in all runs of the request.
    pub(super) fn idempotency_key(&self, name: &str) -> String {
        format!("{}.{name}", self.id)
    }

    /// Returns the name of the record of one effect of the request.
    pub(super) fn record(&self, name: &str) -> String {
        format!("once/{}/{name}", self.id)
    }

    /// Returns the time for which a record has to be kept.
    pub(super) fn record_ttl(&self) -> Duration {
        Duration::from_secs(self.expires_at.saturating_sub(now())) + CLOCK_SKEW
    }
}

/// Returns the seconds since the Unix epoch.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
