//! Requests to servers that wait while a client of the modern era answers a question in another
//! request.

use std::any::Any;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use turnbuckle_server::Result;
use turnbuckle_types::ProtocolError;
use turnbuckle_types::base::fair_permits::{FairPermits, Permit};

use crate::connections::client_key::ClientKey;

/// The most requests that wait. No client has more than half of them.
const MAX_PARKED: usize = 256;

/// The most requests that wait for a place among these.
const MAX_WAITING: usize = 1024;

/// The longest time for which a request waits for a place.
const MAX_PLACE_WAIT: Duration = Duration::from_secs(5);

/// The time for which a request waits.
const PARKED_TTL: Duration = Duration::from_secs(10 * 60);

/// The requests that wait, by the id of their call.
pub(super) struct ParkedCalls {
    /// Random, so that no other proxy gives the same ids.
    seed: RandomState,
    places: FairPermits<ClientKey>,
    table: Mutex<ParkedTable>,
}

impl Default for ParkedCalls {
    fn default() -> Self {
        Self {
            seed: RandomState::new(),
            places: FairPermits::new(MAX_PARKED, MAX_WAITING),
            table: Mutex::default(),
        }
    }
}

/// The right of one call to wait for answers.
pub(super) type ParkingPlace = Permit<ClientKey>;

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

    /// Waits for a place for a call of the client.
    ///
    /// # Errors
    /// When too many calls of this client or of all clients wait for answers.
    pub(super) async fn reserve(&self, client: ClientKey) -> Result<ParkingPlace> {
        let place = tokio::time::timeout(MAX_PLACE_WAIT, self.places.acquire(client)).await;
        place.ok().and_then(std::result::Result::ok).ok_or_else(|| {
            let message = format!(
                "the call was ended at a question: too many calls wait for the answers of their \
                 clients (at most {MAX_PARKED}, and half of them of one client)"
            );
            ProtocolError::rate_limited(message, MAX_PLACE_WAIT).into()
        })
    }

    /// Keeps a request, which has a place, for ten minutes. Then it is dropped.
    pub(super) fn park(self: &Arc<Self>, id: String, call: Box<dyn Any + Send>) {
        self.table().by_id.insert(id.clone(), call);
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
