//! Stores that each break a rule.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;

use super::harness::{FAILURE_TIMEOUT, LONG, SHORT};
use crate::MemoryStore;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::{Store, StoreFuture};
use crate::topic::Subscription;
use crate::types::{
    AppendAt, Claim, Condition, Keep, LogSlice, Position, ReadLimit, StoreKey, Version, Versioned,
};

/// The numbers that are subtracted from versions, by key.
pub(super) type Bases = Arc<Mutex<HashMap<StoreKey, u64>>>;

/// A fault of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    None,
    PutKeepsOldValue,
    KeysIgnoreCase,
    AbsentIgnored,
    VersionIgnored,
    VersionsStartAgain,
    RemoveIgnoresCondition,
    NeverExpires,
    PutKeepsExpiry,
    TouchNothing,
    TouchChangesVersion,
    CutsValues,
    ZeroTtl,
    ExactIsEnd,
    PositionsFromZero,
    ReadIgnoresBytes,
    KeepIgnored,
    LogOutlives,
    BatchInParts,
    BatchWithPauses,
    ChecksFirst,
    KeepsMessages,
    CutsJobs,
    PublishNowhere,
    PublishTwice,
    PublishEverywhere,
    CutsMessages,
    ClaimShows,
    CompleteForgets,
    OldClaimCompletes,
    ExtendsLittle,
    JobOutlives,
    LeavesExpired,
    GivesUpLate,
    Unnamed,
    Forgets,
    OpensNewer,
    Silent,
}

/// A store that breaks a rule.
pub(super) struct Flawed {
    pub(super) inner: MemoryStore,
    pub(super) flaw: Flaw,
    pub(super) is_cut: Arc<AtomicBool>,
    pub(super) bases: Bases,
    pub(super) calls: AtomicU64,
    pub(super) last_message: Mutex<Bytes>,
}

impl Flawed {
    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    /// Runs an operation unless the engine is cut.
    fn run<'s, T: Send + 's>(&'s self, operation: StoreFuture<'s, T>) -> StoreFuture<'s, T> {
        if !self.is_cut.load(Ordering::Relaxed) {
            return operation;
        }
        let kind = match self.flaw {
            Flaw::Unnamed => StoreErrorKind::Corrupt,
            _ => StoreErrorKind::Unavailable,
        };
        let late = self.has(Flaw::GivesUpLate);
        Box::pin(async move {
            if late {
                tokio::time::sleep(FAILURE_TIMEOUT * 2).await;
            }
            Err(StoreError::new(kind, "cut"))
        })
    }

    fn base(&self, key: &StoreKey) -> u64 {
        self.bases.lock().unwrap().get(key).copied().unwrap_or(0)
    }

    fn ttl(&self, ttl: Duration, flaw: Flaw) -> Duration {
        match ttl == SHORT && self.has(flaw) {
            true => LONG,
            false => ttl,
        }
    }

    fn position(&self, position: Position) -> Position {
        match self.has(Flaw::PositionsFromZero) {
            true => Position(position.0.saturating_sub(1)),
            false => position,
        }
    }

    fn key(&self, key: &StoreKey) -> StoreKey {
        match self.has(Flaw::KeysIgnoreCase) {
            true => StoreKey::new(key.as_str().to_lowercase()).unwrap(),
            false => key.clone(),
        }
    }
}

impl Store for Flawed {
    fn get(&self, key: &StoreKey) -> StoreFuture<'_, Option<Versioned>> {
        let key = self.key(key);
        let forgets = self.has(Flaw::Forgets) && key.as_str().ends_with("/full");
        let inner = self.inner.get(&key);
        let base = self.base(&key);
        self.run(Box::pin(async move {
            let found = inner.await?.filter(|_| !forgets);
            Ok(found.map(|it| Versioned {
                version: Version(it.version.0 - base),
                ..it
            }))
        }))
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Bytes,
        when: Condition,
        ttl: Duration,
    ) -> StoreFuture<'_, Option<Version>> {
        let key = self.key(key);
        let base = self.base(&key);
        let when = match (when, self.flaw) {
            (Condition::Version(version), Flaw::VersionsStartAgain) => {
                Condition::Version(Version(version.0 + base))
            }
            (Condition::Absent, Flaw::AbsentIgnored) => Condition::Always,
            (Condition::Version(_), Flaw::VersionIgnored) => Condition::Always,
            (when, _) => when,
        };
        let ttl = match self.flaw {
            Flaw::ZeroTtl => ttl.clamp(Duration::from_secs(1), crate::bounds::MAX_TTL),
            _ => self.ttl(ttl, Flaw::NeverExpires),
        };
        let value = match value.len() > crate::bounds::MAX_VALUE_BYTES {
            true if self.has(Flaw::CutsValues) => value.slice(..crate::bounds::MAX_VALUE_BYTES),
            _ => value,
        };
        self.run(Box::pin(async move {
            let old = self.inner.get(&key).await?;
            let (mut value, mut ttl) = (value, ttl);
            if let Some(old) = &old {
                if self.has(Flaw::PutKeepsOldValue) && when == Condition::Always {
                    value = old.value.clone();
                }
                if self.has(Flaw::PutKeepsExpiry) && ttl == LONG {
                    ttl = SHORT;
                }
            }
            let mut when = when;
            let current = old.as_ref().map(|old| old.version);
            if self.has(Flaw::ChecksFirst) && when != Condition::Always {
                tokio::task::yield_now().await;
                if !when.holds(current) {
                    return Ok(None);
                }
                when = Condition::Always;
            }
            let version = self.inner.put(&key, value, when, ttl).await?;
            if let (Some(version), None) = (version, current)
                && self.has(Flaw::VersionsStartAgain)
            {
                self.bases
                    .lock()
                    .unwrap()
                    .insert(key.clone(), version.0 - 1);
            }
            Ok(version.map(|version| Version(version.0 - self.base(&key))))
        }))
    }

    fn remove(&self, key: &StoreKey, when: Condition) -> StoreFuture<'_, bool> {
        let key = self.key(key);
        let when = match (when, self.flaw) {
            (_, Flaw::RemoveIgnoresCondition) => Condition::Always,
            (Condition::Version(version), _) => {
                Condition::Version(Version(version.0 + self.base(&key)))
            }
            (when, _) => when,
        };
        self.run(self.inner.remove(&key, when))
    }

    fn touch(&self, keys: Vec<StoreKey>, ttl: Duration) -> StoreFuture<'_, ()> {
        match self.flaw {
            Flaw::TouchNothing if ttl == LONG => Box::pin(async { Ok(()) }),
            Flaw::TouchChangesVersion => Box::pin(async move {
                for key in keys {
                    if let Some(old) = self.inner.get(&key).await? {
                        let put = self.inner.put(&key, old.value, Condition::Always, ttl);
                        put.await?;
                    }
                }
                Ok(())
            }),
            _ => self.run(self.inner.touch(keys, ttl)),
        }
    }

    fn append(
        &self,
        log: &StoreKey,
        at: AppendAt,
        entries: Vec<Bytes>,
        keep: Keep,
    ) -> StoreFuture<'_, Option<Position>> {
        let keep = Keep {
            entries: match self.has(Flaw::KeepIgnored) && keep.entries > 0 {
                true => u64::MAX,
                false => keep.entries,
            },
            ttl: self.ttl(keep.ttl, Flaw::LogOutlives),
        };
        let at = match self.has(Flaw::ExactIsEnd) {
            true => AppendAt::End,
            false => at,
        };
        let log = log.clone();
        self.run(Box::pin(async move {
            if self.has(Flaw::BatchWithPauses) {
                crate::bounds::check_append(&entries, &keep)?;
            }
            if matches!(self.flaw, Flaw::BatchInParts | Flaw::BatchWithPauses)
                && at == AppendAt::End
                && !entries.is_empty()
            {
                let mut last = None;
                for entry in entries {
                    last = self.inner.append(&log, at, vec![entry], keep).await?;
                    tokio::task::yield_now().await;
                }
                return Ok(last);
            }
            let last = self.inner.append(&log, at, entries, keep).await?;
            Ok(last.map(|last| self.position(last)))
        }))
    }

    fn read(&self, log: &StoreKey, after: Position, limit: ReadLimit) -> StoreFuture<'_, LogSlice> {
        let limit = match self.has(Flaw::ReadIgnoresBytes) {
            true => ReadLimit {
                bytes: usize::MAX,
                ..limit
            },
            false => limit,
        };
        self.run(self.inner.read(log, after, limit))
    }

    fn publish(&self, topic: &StoreKey, message: Bytes) -> StoreFuture<'_, ()> {
        let topic = topic.clone();
        self.run(Box::pin(async move {
            let mut message = message;
            let max = crate::bounds::MAX_MESSAGE_BYTES;
            let calls = match self.flaw {
                Flaw::PublishNowhere => 0,
                Flaw::PublishTwice => 2,
                Flaw::PublishEverywhere => {
                    let name = topic.as_str().replace("/topic", "/another topic");
                    self.inner
                        .publish(&StoreKey::new(name)?, message.clone())
                        .await?;
                    1
                }
                Flaw::CutsMessages => {
                    message.truncate(max);
                    1
                }
                _ => 1,
            };
            *self.last_message.lock().unwrap() = message.clone();
            for _ in 0..calls {
                self.inner.publish(&topic, message.clone()).await?;
            }
            Ok(())
        }))
    }

    fn subscribe(&self, topic: &StoreKey) -> StoreFuture<'_, Subscription> {
        let topic = topic.clone();
        self.run(Box::pin(async move {
            let subscription = self.inner.subscribe(&topic).await?;
            if self.has(Flaw::KeepsMessages) {
                let last = self.last_message.lock().unwrap().clone();
                if !last.is_empty() {
                    self.inner.publish(&topic, last).await?;
                }
            }
            Ok(subscription)
        }))
    }

    fn push(&self, queue: &StoreKey, job: Bytes, ttl: Duration) -> StoreFuture<'_, ()> {
        let ttl = self.ttl(ttl, Flaw::JobOutlives);
        let mut job = job;
        if self.has(Flaw::CutsJobs) {
            job.truncate(crate::bounds::MAX_MESSAGE_BYTES);
        }
        self.run(self.inner.push(queue, job, ttl))
    }

    fn claim(&self, queue: &StoreKey, hidden_for: Duration) -> StoreFuture<'_, Option<Claim>> {
        let hidden_for = match self.has(Flaw::ClaimShows) && hidden_for == LONG {
            true => Duration::from_millis(1),
            false => hidden_for,
        };
        let queue = queue.clone();
        self.run(Box::pin(async move {
            let claim = self.inner.claim(&queue, hidden_for).await?;
            if self.has(Flaw::ClaimShows) {
                tokio::time::advance(Duration::from_millis(1)).await;
            }
            Ok(claim)
        }))
    }

    fn extend(&self, claim: &Claim, hidden_for: Duration) -> StoreFuture<'_, bool> {
        let hidden_for = match self.has(Flaw::ExtendsLittle) && hidden_for == LONG {
            true => SHORT,
            false => hidden_for,
        };
        self.run(self.inner.extend(claim, hidden_for))
    }

    fn complete(&self, claim: Claim) -> StoreFuture<'_, bool> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        match self.flaw {
            Flaw::CompleteForgets => Box::pin(async { Ok(true) }),
            Flaw::OldClaimCompletes if claim.attempt == 1 => Box::pin(async move {
                let done = self.inner.complete(claim).await?;
                // As often as it is tried, but for the one time that is tested before.
                Ok(done || self.calls.load(Ordering::Relaxed) > 2)
            }),
            _ => self.run(self.inner.complete(claim)),
        }
    }
}
