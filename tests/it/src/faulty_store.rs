//! A store in memory whose operations fail as a test says.

use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use turnbuckle_store::{
    AppendAt, Claim, Condition, Keep, LogSlice, MemoryStore, Position, ReadLimit, Store,
    StoreError, StoreErrorKind, StoreFuture, StoreKey, Subscription, Version, Versioned,
};

/// A fault of some operations.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// An error of this kind, and nothing is done.
    Error(StoreErrorKind),
    /// A delay.
    Slow(Duration),
    /// A delay of the answer: what is done is done at once.
    Late(Duration),
}

/// A handle on a store in memory. Clones have the same faults; [`FaultyStore::for_engine`] creates one with its own.
#[derive(Clone, Default)]
pub struct FaultyStore {
    engine: MemoryStore,
    faults: Arc<Mutex<Vec<(&'static str, Fault)>>>,
}

impl FaultyStore {
    /// Creates a handle on a store, as another instance has it.
    #[must_use]
    pub fn for_engine(engine: &MemoryStore) -> Self {
        Self {
            engine: engine.clone(),
            faults: Arc::default(),
        }
    }

    /// Lets operations of this name fail from now on, or all of them if the name is empty.
    pub fn fail(&self, operation: &'static str, fault: Fault) {
        self.lock().push((operation, fault));
    }

    /// Ends all faults.
    pub fn heal(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(&'static str, Fault)>> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fault(&self, operation: &str) -> Option<Fault> {
        let faults = self.lock();
        let fault = faults
            .iter()
            .find(|(name, _)| name.is_empty() || *name == operation);
        fault.map(|(_, fault)| *fault)
    }
}

/// Writes operations that are those of the engine, unless they have a fault.
macro_rules! operations {
    ($($name:ident($($argument:ident: $Argument:ty),*) -> $Result:ty;)+) => {
        impl Store for FaultyStore {$(
            fn $name(&self, $($argument: $Argument),*) -> StoreFuture<'_, $Result> {
                match self.fault(stringify!($name)) {
                    None => self.engine.$name($($argument),*),
                    Some(Fault::Error(kind)) => {
                        Box::pin(ready(Err(StoreError::new(kind, "the engine has a fault"))))
                    }
                    Some(Fault::Slow(time)) => {
                        let operation = self.engine.$name($($argument),*);
                        Box::pin(async move {
                            tokio::time::sleep(time).await;
                            operation.await
                        })
                    }
                    Some(Fault::Late(time)) => {
                        let operation = self.engine.$name($($argument),*);
                        Box::pin(async move {
                            let answer = operation.await;
                            tokio::time::sleep(time).await;
                            answer
                        })
                    }
                }
            }
        )+}
    };
}

operations! {
    get(key: &StoreKey) -> Option<Versioned>;
    put(key: &StoreKey, value: Bytes, when: Condition, ttl: Duration) -> Option<Version>;
    remove(key: &StoreKey, when: Condition) -> bool;
    touch(keys: Vec<StoreKey>, ttl: Duration) -> ();
    append(log: &StoreKey, at: AppendAt, entries: Vec<Bytes>, keep: Keep) -> Option<Position>;
    read(log: &StoreKey, after: Position, limit: ReadLimit) -> LogSlice;
    publish(topic: &StoreKey, message: Bytes) -> ();
    subscribe(topic: &StoreKey) -> Subscription;
    push(queue: &StoreKey, job: Bytes, ttl: Duration) -> ();
    claim(queue: &StoreKey, hidden_for: Duration) -> Option<Claim>;
    extend(claim: &Claim, hidden_for: Duration) -> bool;
    complete(claim: Claim) -> bool;
}
