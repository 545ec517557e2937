//! The store that the instances of a server share, and what the server itself keeps in it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use turnbuckle_session::internal::count_store_operation;
use turnbuckle_store::{
    Condition, GuardedStore, Seal, SealedStore, Store, StoreError, StoreErrorKind, StoreKey,
    StoreObserver, Version,
};
use turnbuckle_types::{DerivedKeys, Json, KeyLabel, KeyRing};

use crate::request::input::{ClaimError, ClaimFuture, Claimed, OnceClaims, OnceRecords, OpenClaim};

/// Puts bounds, metrics and encryption around the store of a server.
pub(super) fn shared_store(store: Arc<dyn Store>, keys: &KeyRing) -> Arc<dyn Store> {
    const LABEL: KeyLabel = KeyLabel::new("store");
    let guarded = GuardedStore::new(store).observer(Metrics);
    Arc::new(SealedStore::new(guarded, StoreSeal(keys.derive(LABEL))))
}

/// Counts the operations of the store.
struct Metrics;

impl StoreObserver for Metrics {
    fn operation_ended(&self, name: &'static str, error: Option<StoreErrorKind>, time: Duration) {
        count_store_operation(name, error.map(StoreErrorKind::name), time);
    }
}

/// The keys of the server, which seal what the store keeps.
struct StoreSeal(DerivedKeys);

impl Seal for StoreSeal {
    fn overhead(&self) -> usize {
        DerivedKeys::OVERHEAD
    }

    fn seal(&self, context: &[u8], plain: &[u8]) -> Result<Vec<u8>, StoreError> {
        let sealed = self.0.seal(context, plain);
        sealed.map_err(|error| StoreError::new(StoreErrorKind::Unavailable, error.to_string()))
    }

    fn open(&self, context: &[u8], sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.0.open(context, sealed).ok_or_else(|| match self.0.has_key_of(sealed) {
            true => StoreError::new(
                StoreErrorKind::Corrupt,
                "what the store keeps was changed or moved: see who else writes to it",
            ),
            false => StoreError::new(
                StoreErrorKind::UnknownKey,
                "what the store keeps was sealed with a key that this server does not have: give \
                 every instance the same keys, and keep old ones in the list until it has expired",
            ),
        })
    }
}

/// Returns the records of effects in the [shared store](shared_store) of a server.
pub(super) fn once_records(store: Arc<dyn Store>) -> OnceRecords {
    OnceRecords(Some(Arc::new(StoredClaims(store))))
}

/// Records of effects in a store.
struct StoredClaims(Arc<dyn Store>);

impl OnceClaims for StoredClaims {
    fn claim(&self, record: String, ttl: Duration) -> ClaimFuture<'_, Claimed> {
        Box::pin(async move {
            let key = StoreKey::new(record).map_err(claim_error)?;
            let claim = self.0.put(&key, Bytes::new(), Condition::Absent, ttl);
            if let Some(version) = claim.await.map_err(claim_error)? {
                let store = self.0.clone();
                return Ok(Claimed::Now(Box::new(StoredClaim {
                    store,
                    key,
                    version,
                    ttl,
                })));
            }
            let found = self.0.get(&key).await.map_err(claim_error)?;
            // A record without a value is the claim alone.
            let value = found
                .map(|found| found.value)
                .filter(|value| !value.is_empty());
            Ok(match value {
                Some(value) => Claimed::Done(serde_json::from_slice(&value).map_err(|error| {
                    ClaimError(format!("the record of an effect is not JSON: {error}"))
                })?),
                None => Claimed::Unknown,
            })
        })
    }
}

/// A claim that this process has made.
struct StoredClaim {
    store: Arc<dyn Store>,
    key: StoreKey,
    version: Version,
    ttl: Duration,
}

impl OpenClaim for StoredClaim {
    fn complete(self: Box<Self>, value: Json) -> ClaimFuture<'static, ()> {
        Box::pin(async move {
            let value = Bytes::copy_from_slice(value.as_str().as_bytes());
            let when = Condition::Version(self.version);
            let put = self.store.put(&self.key, value, when, self.ttl);
            put.await.map(drop).map_err(claim_error)
        })
    }

    fn release(self: Box<Self>) -> ClaimFuture<'static, ()> {
        Box::pin(async move {
            let removed = self
                .store
                .remove(&self.key, Condition::Version(self.version));
            removed.await.map(drop).map_err(claim_error)
        })
    }
}

fn claim_error(error: StoreError) -> ClaimError {
    ClaimError(error.to_string())
}
