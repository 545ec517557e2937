//! Claims of DPoP proofs in the store that the instances of a server share, so that a proof works once
//! on all of them together.
//!
//! A request whose proof cannot be claimed is not served: the proof may have been used on another
//! instance.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use turnbuckle_store::{Condition, GuardedStore, Store, StoreError, StoreErrorKind, StoreKey};
use turnbuckle_types::Principal;
use turnbuckle_types::base::error_chain::ErrorChain;
use turnbuckle_types::base::panics;
use turnbuckle_types::base::refusals::count_refusal;
use turnbuckle_types::base::text::Escaped;

/// The shortest time between two log lines about a store that fails.
const LOG_INTERVAL_SECONDS: u64 = 60;

/// A proof that is new to this instance, and must be claimed in the store before its request is served.
#[must_use]
pub(super) struct ProofClaim {
    digest: [u8; 32],
    ttl: Duration,
}

impl ProofClaim {
    /// Creates the claim of a proof: the identifier `jti` of a key and an account, for `ttl`.
    pub(super) fn new(account: &Principal, thumbprint: &str, jti: &str, ttl: Duration) -> Self {
        let mut hash = Sha256::new();
        for part in [&*account.issuer, &*account.subject, thumbprint, jti] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let digest = hash.finalize().into();
        Self { digest, ttl }
    }
}

/// The proofs that all instances have used, in their store.
pub(super) struct ProofStore {
    store: Box<dyn Store>,
    /// The time of the next log line about a failure, in seconds since 1970.
    next_log: AtomicU64,
}

impl ProofStore {
    pub(super) fn new(store: impl Store) -> Self {
        Self {
            store: Box::new(GuardedStore::new(store)),
            next_log: AtomicU64::new(0),
        }
    }

    /// Claims a proof at the time `now`, in seconds since 1970. Returns whether it is new.
    ///
    /// # Errors
    /// If the store failed, which is counted and logged.
    pub(super) async fn claim(&self, claim: ProofClaim, now: u64) -> Result<bool, StoreError> {
        let claimed = self.put(claim).await;
        if let Err(error) = &claimed {
            count_refusal("ResourceServerBuilder::store");
            if self.may_log(now) {
                let kind = error.kind().name();
                let error = ErrorChain(error);
                tracing::warn!(error = %Escaped(&error), kind, "refused requests with DPoP: the store failed (ResourceServerBuilder::store)");
            }
        }
        claimed
    }

    /// Returns whether the proof was new.
    async fn put(&self, claim: ProofClaim) -> Result<bool, StoreError> {
        let key = StoreKey::new(format!("dpop/{}", URL_SAFE_NO_PAD.encode(claim.digest)))?;
        let put = || {
            self.store
                .put(&key, Bytes::new(), Condition::Absent, claim.ttl)
        };
        let put = panics::catch_future(put).await.unwrap_or_else(|panic| {
            tracing::error!(panic, "the store panicked (ResourceServerBuilder::store)");
            Err(StoreError::new(
                StoreErrorKind::Unavailable,
                "the store panicked",
            ))
        });
        Ok(put?.is_some())
    }

    fn may_log(&self, now: u64) -> bool {
        let next = now.saturating_add(LOG_INTERVAL_SECONDS);
        let claim = |at: u64| (now >= at).then_some(next);
        let taken = self
            .next_log
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, claim);
        taken.is_ok()
    }
}
