//! The state of a proxy's requests to its servers: permits, log levels, and the requests that wait for an
//! answer which comes in another request.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::timeout;
use turnbuckle_cluster::Cluster;
use turnbuckle_server::{Failure, HandlerContext, Result};
use turnbuckle_types::base::fair_permits::{FairPermits, Permit};
use turnbuckle_types::{LoggingLevel, ProtocolError};

use crate::connections::client_key::{ClientKey, ClientKeys};
use crate::proxy::elsewhere::Instances;
use crate::proxy::elsewhere::remote_call::RemoteCall;
use crate::proxy::parked::ParkedCalls;

/// The requests that wait for a permit of one server, for each permit.
const WAITING_PER_PERMIT: usize = 4;

/// The longest time for which a request waits for others to the same server.
const MAX_PERMIT_WAIT: Duration = Duration::from_secs(30);

/// The requests of a proxy that are under way.
pub(super) struct ActiveCalls {
    by_server: Mutex<HashMap<Arc<str>, ServerCalls>>,
    pub(super) keys: ClientKeys,
    /// The requests that wait for an answer which comes in another request.
    pub(super) parked: Arc<ParkedCalls>,
    /// The other instances of the proxy, if it has a store.
    instances: Option<Arc<Instances>>,
    /// Random, so that no other proxy gives the same ids.
    seed: RandomState,
    last_id: AtomicU64,
}

/// The requests to one server.
struct ServerCalls {
    permits: FairPermits<ClientKey>,
    /// The log levels that the senders of requests want, by the number of the request.
    log_levels: HashMap<u64, LoggingLevel>,
    last_number: u64,
}

/// A request to a server that is under way. It counts until this is dropped.
pub(super) struct ActiveCall {
    calls: Arc<ActiveCalls>,
    server: Arc<str>,
    number: u64,
    _permit: Permit<ClientKey>,
}

impl Drop for ActiveCall {
    fn drop(&mut self) {
        if let Some(server) = self.calls.by_server().get_mut(&self.server) {
            server.log_levels.remove(&self.number);
        }
    }
}

impl ActiveCalls {
    /// Creates the requests of a proxy, which is an instance of a cluster if it has a store.
    pub(super) fn new(cluster: Option<&Arc<Cluster>>) -> Self {
        let parked = Arc::<ParkedCalls>::default();
        Self {
            by_server: Mutex::default(),
            keys: ClientKeys::default(),
            instances: cluster.map(|cluster| Instances::start(cluster.clone(), parked.clone())),
            parked,
            seed: RandomState::new(),
            last_id: AtomicU64::new(0),
        }
    }

    /// Returns the id of another call, which names this instance.
    pub(super) fn next_id(&self) -> String {
        let number = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let id = format!("{:016x}-{number}", self.seed.hash_one("proxy"));
        match &self.instances {
            Some(instances) => instances.name_call(&id),
            None => id,
        }
    }

    /// Returns the call of this id for its client, if another instance has it.
    pub(super) fn call_elsewhere(&self, id: &str, context: &HandlerContext) -> Option<RemoteCall> {
        let instances = self.instances.as_ref()?;
        RemoteCall::find(instances, id, context.principal())
    }

    fn by_server(&self) -> MutexGuard<'_, HashMap<Arc<str>, ServerCalls>> {
        self.by_server
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the client of a request may send it to `server`, which gets `max_in_flight` at once.
    /// No client has more than half of them, and those that wait have their turn.
    ///
    /// # Errors
    /// When too many requests wait, or this one has waited for half a minute.
    pub(super) async fn begin(
        self: &Arc<Self>,
        server: Arc<str>,
        max_in_flight: usize,
        context: &HandlerContext,
    ) -> Result<ActiveCall> {
        let permits = {
            let mut by_server = self.by_server();
            let calls = by_server
                .entry(server.clone())
                .or_insert_with(|| ServerCalls {
                    permits: FairPermits::new(
                        max_in_flight,
                        max_in_flight.saturating_mul(WAITING_PER_PERMIT),
                    ),
                    log_levels: HashMap::new(),
                    last_number: 0,
                });
            calls.permits.clone()
        };
        let busy = |reason: String| {
            let message = format!(
                "the server {server:?} has too many open requests (UpstreamOptions::max_in_flight, \
                 ClientLimits::max_outgoing_requests): {reason}"
            );
            Failure::from(ProtocolError::rate_limited(message, MAX_PERMIT_WAIT))
        };
        let key = self.keys.key(context);
        let permit = timeout(MAX_PERMIT_WAIT, permits.acquire(key)).await;
        let permit = permit
            .map_err(|_| busy(format!("this one waited for {MAX_PERMIT_WAIT:?}")))?
            .map_err(|error| busy(error.to_string()))?;
        let mut by_server = self.by_server();
        let mut number = 0;
        if let Some(calls) = by_server.get_mut(&server) {
            calls.last_number += 1;
            number = calls.last_number;
            if let Some(level) = context.log_level() {
                calls.log_levels.insert(number, level);
            }
        }
        drop(by_server);
        Ok(ActiveCall {
            calls: self.clone(),
            server,
            number,
            _permit: permit,
        })
    }
}

impl ActiveCall {
    /// Returns the lowest level of log messages that the client of a request to the server wants.
    pub(super) fn lowest_log_level(&self) -> Option<LoggingLevel> {
        let by_server = self.calls.by_server();
        by_server
            .get(&self.server)?
            .log_levels
            .values()
            .min()
            .copied()
    }
}
