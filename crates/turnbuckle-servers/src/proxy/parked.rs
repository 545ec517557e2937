//! Requests to servers that wait while a client of the modern era answers a question in another
//! request.

use std::any::Any;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most requests that wait.
const MAX_PARKED: usize = 256;

/// The time for which a request waits.
const PARKED_TTL: Duration = Duration::from_secs(10 * 60);

/// The requests that wait, by the id of their call.
#[derive(Default)]
pub(super) struct ParkedCalls {
    /// Random, so that no other proxy gives the same ids.
    seed: RandomState,
    table: Mutex<ParkedTable>,
}

#[derive(Default)]
struct ParkedTable {
    last_id: u64,
    by_id: HashMap<String, Box<dyn Any + Send>>,
}

impl ParkedCalls {
    fn table(&self) -> MutexGuard<'_, ParkedTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the id of another call.
    pub(super) fn next_id(&self) -> String {
        let mut table = self.table();
        table.last_id += 1;
        let id = table.last_id;
        drop(table);
        format!("{:016x}-{id}", self.seed.hash_one("proxy"))
    }

    /// Keeps a request for ten minutes, after which it is dropped. With too many that wait, it is
    /// dropped at once.
    pub(super) fn park(self: &Arc<Self>, id: String, call: Box<dyn Any + Send>) {
        {
            let mut table = self.table();
            if table.by_id.len() >= MAX_PARKED {
                // The call is dropped after the lock.
                tracing::warn!("a request is given up: {MAX_PARKED} others wait for answers");
                return;
            }
            table.by_id.insert(id.clone(), call);
        }
        let calls = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(PARKED_TTL).await;
            if let Some(calls) = calls.upgrade() {
                drop(calls.take(&id));
            }
        });
    }

    /// Takes a request that waits.
    pub(super) fn take(&self, id: &str) -> Option<Box<dyn Any + Send>> {
        self.table().by_id.remove(id)
    }
}
