//! The state of a proxy's requests to its servers: permits, log levels, and the requests that wait for an
//! answer which comes in another request.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::HashMap;
use tokio::time::timeout;
use turnbuckle_cluster::Cluster;
use turnbuckle_server::{Failure, HandlerContext, Result};
use turnbuckle_session::internal::FailureCause;
use turnbuckle_types::base::fair_permits::{FairPermits, Permit};
use turnbuckle_types::{LoggingLevel, ProtocolError, UpstreamFailure};

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
    by_server: Mutex<HashMap<Arc<str>, Arc<ServerCalls>>>,
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
    /// The number of requests by the log level that their senders want, which may be 0.
    log_levels: Mutex<BTreeMap<LoggingLevel, usize>>,
}

/// A request to a server that is under way. It counts until this is dropped.
pub(super) struct ActiveCall {
    server: Arc<ServerCalls>,
    log_level: Option<LoggingLevel>,
    _permit: Permit<ClientKey>,
}

impl ServerCalls {
    fn log_levels(&self) -> MutexGuard<'_, BTreeMap<LoggingLevel, usize>> {
        self.log_levels
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ActiveCall {
    fn drop(&mut self) {
        if let Some(level) = self.log_level
            && let Some(count) = self.server.log_levels().get_mut(&level)
        {
            *count -= 1;
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

    /// Returns the requests to a server, which gets `max_in_flight` at once.
    fn of_server(&self, server: &Arc<str>, max_in_flight: usize) -> Arc<ServerCalls> {
        let by_server = self.by_server.lock();
        let mut by_server = by_server.unwrap_or_else(PoisonError::into_inner);
        if let Some(calls) = by_server.get(server) {
            return calls.clone();
        }
        let max_waiting = max_in_flight.saturating_mul(WAITING_PER_PERMIT);
        let calls = Arc::new(ServerCalls {
            permits: FairPermits::new(max_in_flight, max_waiting),
            log_levels: Mutex::default(),
        });
        by_server.insert(server.clone(), calls.clone());
        calls
    }

    /// Waits until the client of a request may send it to `server`, which gets `max_in_flight` at once.
    /// No client has more than half of them, and those that wait have their turn.
    ///
    /// # Errors
    /// When too many requests wait, or this one has waited for half a minute.
    pub(super) async fn begin(
        &self,
        server: &Arc<str>,
        max_in_flight: usize,
        context: &HandlerContext,
    ) -> Result<ActiveCall> {
        let calls = self.of_server(server, max_in_flight);
        let key = self.keys.key(context);
        let permit = match calls.permits.try_acquire(key) {
            Some(permit) => permit,
            // Boxed, so that the rare case does not enlarge the future of every call.
            None => {
                let waited = Box::pin(wait_for_permit(&calls.permits, key, server)).await;
                waited.inspect_err(|_| {
                    let failure = UpstreamFailure::TooManyInFlight;
                    context.set_failure_cause(FailureCause::Upstream(failure));
                })?
            }
        };
        let log_level = context.log_level();
        if let Some(level) = log_level {
            *calls.log_levels().entry(level).or_default() += 1;
        }
        Ok(ActiveCall {
            server: calls,
            log_level,
            _permit: permit,
        })
    }
}

/// Waits for a permit of a server for a client.
async fn wait_for_permit(
    permits: &FairPermits<ClientKey>,
    key: ClientKey,
    server: &str,
) -> Result<Permit<ClientKey>> {
    let busy = |reason: String| {
        let message =
            format!("the server {server:?} has too many open requests (in_flight): {reason}");
        Failure::from(ProtocolError::rate_limited(message, MAX_PERMIT_WAIT))
    };
    let permit = timeout(MAX_PERMIT_WAIT, permits.acquire(key)).await;
    permit
        .map_err(|_| busy(format!("this one waited for {MAX_PERMIT_WAIT:?}")))?
        .map_err(|error| busy(error.to_string()))
}

impl ActiveCall {
    /// Returns the lowest level of log messages that the client of a request to the server wants.
    pub(super) fn lowest_log_level(&self) -> Option<LoggingLevel> {
        let levels = self.server.log_levels();
        let lowest = levels.iter().find(|(_, count)| **count > 0);
        lowest.map(|(level, _)| *level)
    }
}
