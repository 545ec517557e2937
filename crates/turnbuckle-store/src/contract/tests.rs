//! The contract with a store that keeps every rule, and with stores that each break one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::flawed::{Bases, Flaw, Flawed};
use super::harness::{SHORT, fill};
use super::{ContractBackend, ContractFuture, Fault, check, rule_names};
use crate::error::{StoreError, StoreErrorKind};
use crate::store::{Store, StoreFuture};
use crate::types::{Condition, StoreKey};
use crate::{MemoryStore, MemoryStoreOptions};

/// The engine of a test: a store in memory and its faults.
struct Backend {
    engine: MemoryStore,
    flaw: Flaw,
    is_cut: Arc<AtomicBool>,
    is_newer: AtomicBool,
    bases: Bases,
    calls: AtomicU64,
}

impl Backend {
    fn new(flaw: Flaw) -> Self {
        let options = MemoryStoreOptions::new().max_bytes(16 << 20);
        Self {
            engine: MemoryStore::with_options(options),
            flaw,
            is_cut: Arc::default(),
            is_newer: AtomicBool::new(false),
            bases: Arc::default(),
            calls: AtomicU64::new(0),
        }
    }
}

impl ContractBackend for Backend {
    fn open(&self) -> StoreFuture<'_, Arc<dyn Store>> {
        Box::pin(async {
            if self.is_newer.load(Ordering::Relaxed) && self.flaw != Flaw::OpensNewer {
                return Err(StoreError::new(StoreErrorKind::NewerVersion, "newer"));
            }
            Ok(Arc::new(Flawed {
                inner: self.engine.clone(),
                flaw: self.flaw,
                is_cut: self.is_cut.clone(),
                bases: self.bases.clone(),
                calls: AtomicU64::new(0),
                last_message: Mutex::default(),
            }) as Arc<dyn Store>)
        })
    }

    fn advance(&self, time: Duration) -> ContractFuture<'_, ()> {
        Box::pin(tokio::time::advance(time))
    }

    fn remaining(&self) -> StoreFuture<'_, Option<u64>> {
        Box::pin(async {
            // A store that leaves what has expired: more each time but the second.
            let calls = self.calls.fetch_add(1, Ordering::Relaxed);
            let left = match self.flaw {
                Flaw::LeavesExpired => calls / 2,
                _ => 0,
            };
            Ok(Some(self.engine.len() as u64 + left))
        })
    }

    fn faults(&self) -> &[Fault] {
        &[Fault::Cut, Fault::Full, Fault::NewerVersion]
    }

    fn begin(&self, fault: Fault) -> ContractFuture<'_, ()> {
        Box::pin(async move {
            match fault {
                Fault::Cut => self.is_cut.store(true, Ordering::Relaxed),
                Fault::NewerVersion => self.is_newer.store(true, Ordering::Relaxed),
                // The store in memory holds no more than 16 MiB.
                Fault::Full => {
                    for number in 0..14 {
                        let key = StoreKey::new(format!("fill/{number}")).unwrap();
                        let ttl = SHORT;
                        let put = self.engine.put(&key, fill(1 << 20), Condition::Always, ttl);
                        let _ = put.await;
                    }
                }
            }
        })
    }

    fn end(&self, fault: Fault) -> ContractFuture<'_, ()> {
        Box::pin(async move {
            match fault {
                Fault::Cut => {
                    self.is_cut.store(false, Ordering::Relaxed);
                    if self.flaw != Flaw::Silent {
                        self.engine.interrupt();
                    }
                }
                Fault::NewerVersion => self.is_newer.store(false, Ordering::Relaxed),
                Fault::Full => {}
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn the_store_in_memory_keeps_every_rule() {
    check(&Backend::new(Flaw::None)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn every_rule_can_be_broken() {
    let cases = [
        (Flaw::PutKeepsOldValue, "a value is what was put last"),
        (
            Flaw::KeysIgnoreCase,
            "keys that differ have values that differ",
        ),
        (Flaw::AbsentIgnored, "put with Absent takes a free key only"),
        (
            Flaw::VersionIgnored,
            "put with Version replaces that version only",
        ),
        (Flaw::VersionsStartAgain, "a version is never given twice"),
        (
            Flaw::RemoveIgnoresCondition,
            "remove keeps its condition and says what it removed",
        ),
        (
            Flaw::NeverExpires,
            "a value is gone when its time to live is over",
        ),
        (Flaw::PutKeepsExpiry, "put gives a value a new time to live"),
        (
            Flaw::TouchNothing,
            "touch gives values a new time to live and nothing else",
        ),
        (
            Flaw::TouchChangesVersion,
            "touch gives values a new time to live and nothing else",
        ),
        (Flaw::CutsValues, "values have bounds"),
        (Flaw::ZeroTtl, "values have bounds"),
        (
            Flaw::PositionsFromZero,
            "entries have positions 1, 2, 3 without gaps",
        ),
        (
            Flaw::ExactIsEnd,
            "append with Exactly takes the next position only",
        ),
        (
            Flaw::ReadIgnoresBytes,
            "a read has bounds and makes progress",
        ),
        (
            Flaw::KeepIgnored,
            "a log keeps its newest entries and their positions",
        ),
        (
            Flaw::LogOutlives,
            "a log is gone when its time to live is over",
        ),
        (Flaw::BatchInParts, "an append takes all entries or none"),
        (
            Flaw::BatchWithPauses,
            "appends at once lose no entry and keep batches whole",
        ),
        (
            Flaw::ChecksFirst,
            "of several that put with Absent at once, one succeeds",
        ),
        (
            Flaw::KeepsMessages,
            "a topic keeps nothing for later subscribers",
        ),
        (Flaw::CutsJobs, "jobs have bounds"),
        (
            Flaw::PublishNowhere,
            "a message reaches each subscriber of its topic once",
        ),
        (
            Flaw::PublishTwice,
            "a message reaches each subscriber of its topic once",
        ),
        (
            Flaw::PublishEverywhere,
            "a message reaches each subscriber of its topic once",
        ),
        (Flaw::CutsMessages, "messages have a bound"),
        (
            Flaw::ClaimShows,
            "jobs are claimed in the order in which they were pushed",
        ),
        (Flaw::CompleteForgets, "a completed job is gone"),
        (
            Flaw::OldClaimCompletes,
            "a claim that is not extended is offered again",
        ),
        (Flaw::ExtendsLittle, "an extended claim stays hidden"),
        (
            Flaw::JobOutlives,
            "a job is gone when its time to live is over",
        ),
        (Flaw::LeavesExpired, "nothing is left after expiry"),
        (
            Flaw::GivesUpLate,
            "a cut connection fails by name, and nothing is lost",
        ),
        (
            Flaw::Unnamed,
            "a cut connection fails by name, and nothing is lost",
        ),
        (
            Flaw::Silent,
            "a cut connection fails by name, and nothing is lost",
        ),
        (
            Flaw::Forgets,
            "a full engine refuses by name, and nothing is lost",
        ),
        (
            Flaw::OpensNewer,
            "an engine of a newer release is refused by name",
        ),
    ];
    for (flaw, rule) in cases {
        let Err(violation) = check(&Backend::new(flaw)).await else {
            panic!("{flaw:?} was not noticed");
        };
        assert_eq!(violation.rule(), rule, "{flaw:?}: {violation}");
        assert!(violation.to_string().contains(rule));
    }
}

#[test]
fn rules_have_names_that_differ() {
    let names = rule_names();
    let distinct: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len());
}
