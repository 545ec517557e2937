//! A store whose contents say nothing to those who read the engine.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::bounds;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::{Store, StoreFuture};
use crate::topic::Subscription;
use crate::types::{
    AppendAt, Claim, Condition, Keep, LogSlice, Position, ReadLimit, StoreKey, Version, Versioned,
};

/// The encryption of a [`SealedStore`], under keys that all instances share.
pub trait Seal: Send + Sync + 'static {
    /// Returns the number of bytes that sealing adds: at most 256.
    fn overhead(&self) -> usize;

    /// Encrypts and authenticates bytes. They open only with the same context.
    ///
    /// # Errors
    /// If the operating system gives no random bytes.
    fn seal(&self, context: &[u8], plain: &[u8]) -> Result<Vec<u8>, StoreError>;

    /// Opens what [`seal`](Self::seal) sealed with the same context.
    ///
    /// # Errors
    /// [`StoreErrorKind::UnknownKey`] if it was sealed with a key that is not known, and
    /// [`StoreErrorKind::Corrupt`] for everything else.
    fn open(&self, context: &[u8], sealed: &[u8]) -> Result<Vec<u8>, StoreError>;
}

/// A store around another one, in which values, entries, messages and jobs are encrypted and the names of
/// keys are hashed.
///
/// Contents that were changed, moved to another key or sealed with an unknown key are never returned: reading
/// them fails, and a subscriber gets [`TopicEvent::Interrupted`](crate::TopicEvent::Interrupted) in the place
/// of such a message. Whoever can write to the engine can still remove contents, bring back older ones of the
/// same key, and change the order of a log's entries.
///
/// The part of a key up to its first `/` stays readable, so that operators see what takes the room.
pub struct SealedStore<S> {
    store: S,
    seal: Arc<dyn Seal>,
}

/// A kind of things in a store, which is a part of what seals stand for.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Kind {
    Value = b'v',
    Log = b'l',
    Topic = b't',
    Queue = b'q',
}

/// The location of a sealed thing.
struct SealedLocation {
    /// The key in the engine.
    hashed: StoreKey,
    /// The kind, and the key of the caller.
    context: Vec<u8>,
}

impl SealedLocation {
    fn new(kind: Kind, key: &StoreKey) -> Result<Self, StoreError> {
        let mut context = vec![kind as u8];
        context.extend_from_slice(key.as_str().as_bytes());
        let hashed = hashed_key(key)?;
        Ok(Self { hashed, context })
    }
}

/// The most bytes of a key that stay readable.
const MAX_READABLE_BYTES: usize = 128;

fn hashed_key(key: &StoreKey) -> Result<StoreKey, StoreError> {
    let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(key.as_str()));
    match key.as_str().split_once('/') {
        Some((readable, _)) if readable.len() <= MAX_READABLE_BYTES => {
            StoreKey::new(format!("{readable}/{hash}"))
        }
        _ => StoreKey::new(hash),
    }
}

impl<S: Store> SealedStore<S> {
    /// Puts encryption around a store.
    pub fn new(store: S, seal: impl Seal) -> Self {
        Self {
            store,
            seal: Arc::new(seal),
        }
    }

    /// Seals bytes whose bound in the engine is `max`.
    fn seal_one(
        &self,
        location: &SealedLocation,
        plain: &Bytes,
        max: usize,
    ) -> Result<Bytes, StoreError> {
        let (length, max) = (plain.len(), max.saturating_sub(self.seal.overhead()));
        if length > max {
            return Err(StoreError::new(
                StoreErrorKind::TooLarge,
                format!("{length} bytes are too many to seal, of at most {max}: make it smaller"),
            ));
        }
        Ok(self.seal.seal(&location.context, plain)?.into())
    }

    fn open_one(&self, location: &SealedLocation, sealed: &[u8]) -> Result<Bytes, StoreError> {
        Ok(self.seal.open(&location.context, sealed)?.into())
    }
}

impl<S: Store> Store for SealedStore<S> {
    fn get(&self, key: &StoreKey) -> StoreFuture<'_, Option<Versioned>> {
        let location = SealedLocation::new(Kind::Value, key);
        Box::pin(async move {
            let location = location?;
            let Some(found) = self.store.get(&location.hashed).await? else {
                return Ok(None);
            };
            Ok(Some(Versioned {
                value: self.open_one(&location, &found.value)?,
                version: found.version,
            }))
        })
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Bytes,
        when: Condition,
        ttl: Duration,
    ) -> StoreFuture<'_, Option<Version>> {
        let location = SealedLocation::new(Kind::Value, key);
        Box::pin(async move {
            let location = location?;
            let sealed = self.seal_one(&location, &value, bounds::MAX_VALUE_BYTES)?;
            self.store.put(&location.hashed, sealed, when, ttl).await
        })
    }

    fn remove(&self, key: &StoreKey, when: Condition) -> StoreFuture<'_, bool> {
        let hashed = hashed_key(key);
        Box::pin(async move { self.store.remove(&hashed?, when).await })
    }

    fn touch(&self, keys: Vec<StoreKey>, ttl: Duration) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            bounds::check_touch(keys.len())?;
            let hashed: Result<_, _> = keys.iter().map(hashed_key).collect();
            self.store.touch(hashed?, ttl).await
        })
    }

    fn append(
        &self,
        log: &StoreKey,
        at: AppendAt,
        entries: Vec<Bytes>,
        keep: Keep,
    ) -> StoreFuture<'_, Option<Position>> {
        let location = SealedLocation::new(Kind::Log, log);
        Box::pin(async move {
            let location = location?;
            bounds::check_append(&entries, &keep)?;
            let seal = |entry| self.seal_one(&location, entry, bounds::MAX_ENTRY_BYTES);
            let sealed: Result<_, _> = entries.iter().map(seal).collect();
            self.store.append(&location.hashed, at, sealed?, keep).await
        })
    }

    fn read(&self, log: &StoreKey, after: Position, limit: ReadLimit) -> StoreFuture<'_, LogSlice> {
        let location = SealedLocation::new(Kind::Log, log);
        Box::pin(async move {
            let location = location?;
            let limit = bounds::clamp_read(limit);
            let added = limit.entries * self.seal.overhead();
            let bytes = limit.bytes + added;
            let sealed = ReadLimit { bytes, ..limit };
            let mut slice = self.store.read(&location.hashed, after, sealed).await?;
            let mut left = limit.bytes;
            let mut taken = 0;
            for entry in &mut slice.entries {
                let plain = self.open_one(&location, entry)?;
                if taken > 0 && plain.len() > left {
                    break;
                }
                left = left.saturating_sub(plain.len());
                taken += 1;
                *entry = plain;
            }
            slice.entries.truncate(taken);
            Ok(slice)
        })
    }

    fn publish(&self, topic: &StoreKey, message: Bytes) -> StoreFuture<'_, ()> {
        let location = SealedLocation::new(Kind::Topic, topic);
        Box::pin(async move {
            let location = location?;
            let sealed = self.seal_one(&location, &message, bounds::MAX_MESSAGE_BYTES)?;
            self.store.publish(&location.hashed, sealed).await
        })
    }

    fn subscribe(&self, topic: &StoreKey) -> StoreFuture<'_, Subscription> {
        let location = SealedLocation::new(Kind::Topic, topic);
        Box::pin(async move {
            let location = location?;
            let subscription = self.store.subscribe(&location.hashed).await?;
            let seal = self.seal.clone();
            Ok(subscription.with_decoder(move |message| {
                let plain = seal.open(&location.context, &message).ok()?;
                Some(plain.into())
            }))
        })
    }

    fn push(&self, queue: &StoreKey, job: Bytes, ttl: Duration) -> StoreFuture<'_, ()> {
        let location = SealedLocation::new(Kind::Queue, queue);
        Box::pin(async move {
            let location = location?;
            let sealed = self.seal_one(&location, &job, bounds::MAX_MESSAGE_BYTES)?;
            self.store.push(&location.hashed, sealed, ttl).await
        })
    }

    fn claim(&self, queue: &StoreKey, hidden_for: Duration) -> StoreFuture<'_, Option<Claim>> {
        let (location, queue) = (SealedLocation::new(Kind::Queue, queue), queue.clone());
        Box::pin(async move {
            let location = location?;
            let Some(claim) = self.store.claim(&location.hashed, hidden_for).await? else {
                return Ok(None);
            };
            let job = self.open_one(&location, &claim.job)?;
            Ok(Some(Claim {
                queue,
                job,
                ..claim
            }))
        })
    }

    fn extend(&self, claim: &Claim, hidden_for: Duration) -> StoreFuture<'_, bool> {
        let (hashed, claim) = (hashed_key(&claim.queue), claim.clone());
        Box::pin(async move {
            let queue = hashed?;
            self.store
                .extend(&Claim { queue, ..claim }, hidden_for)
                .await
        })
    }

    fn complete(&self, claim: Claim) -> StoreFuture<'_, bool> {
        let hashed = hashed_key(&claim.queue);
        Box::pin(async move {
            let queue = hashed?;
            self.store.complete(Claim { queue, ..claim }).await
        })
    }
}

#[cfg(test)]
mod tests;
