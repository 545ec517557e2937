//! A number of connections, each of which serves one request at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use turnbuckle_types::base::fair_permits::{FairPermits, Permit};

use crate::connections::backoff::Backoff;
use crate::connections::client_key::ClientKey;
use crate::connections::connection::Connection;
use crate::connections::lease::Lease;
use crate::connections::open::{FEW_ATTEMPTS, open};
use crate::connections::upstream::UpstreamOptions;
use crate::connections::{Closing, Sweep};
use crate::error::Error;
use crate::limits::ServersLimits;
use crate::member::shared::Shared;
use crate::member::state::Member;

/// The requests that wait for a connection, for each connection.
const WAITING_PER_CONNECTION: usize = 64;

/// The longest time for which a request waits for a connection.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The longest delay after a failed attempt for which a request waits.
const MAX_DELAY: Duration = Duration::from_secs(5);

/// The connections of a pool. That of the server's supervisor is one of them.
pub(super) struct Pool {
    size: usize,
    permits: FairPermits<ClientKey>,
    state: Arc<Mutex<PoolState>>,
    idle_timeout: Duration,
    used: Arc<Notify>,
}

#[derive(Default)]
struct PoolState {
    /// True while a request uses the connection of the supervisor.
    is_supervisors_taken: bool,
    /// The connections that no request uses. The one that was used last comes last, and is used next, so
    /// that the others become idle.
    free: Vec<Arc<Connection>>,
    backoff: Backoff,
    last_error: Option<String>,
}

impl PoolState {
    /// Closes a connection that is lost. The next one is opened after a delay.
    fn lose(&mut self, connection: Arc<Connection>, limits: &ServersLimits) {
        self.backoff.fail(Some(connection.opened), limits);
        self.last_error = Some("a connection was lost".to_owned());
        connection.close_in_background(());
    }
}

/// Gives a connection back to its pool.
struct Release {
    state: Arc<Mutex<PoolState>>,
    used: Arc<Notify>,
    connection: PoolUse,
    _permit: Permit<ClientKey>,
}

/// The connection that a request has taken.
enum PoolUse {
    Nothing,
    Supervisors,
    Own(Arc<Connection>),
}

impl Drop for Release {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        match std::mem::replace(&mut self.connection, PoolUse::Nothing) {
            PoolUse::Own(connection) => state.free.push(connection),
            PoolUse::Supervisors => state.is_supervisors_taken = false,
            PoolUse::Nothing => {}
        }
        self.used.notify_one();
    }
}

fn lock(state: &Mutex<PoolState>) -> MutexGuard<'_, PoolState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The connection that a request takes.
enum Choice {
    Free(Arc<Connection>),
    Supervisors,
    New,
}

impl Pool {
    pub(super) fn new(size: usize, options: &UpstreamOptions) -> Self {
        Self {
            size,
            permits: FairPermits::new(size, size.saturating_mul(WAITING_PER_CONNECTION)),
            state: Arc::default(),
            idle_timeout: options.client_idle_timeout(),
            used: Arc::default(),
        }
    }

    /// Returns a connection that no other request uses, once there is one.
    pub(super) async fn acquire(
        &self,
        shared: &Shared,
        member: &Member,
        client: ClientKey,
    ) -> Result<Lease, Error> {
        let permit = match timeout(MAX_WAIT, self.permits.acquire(client)).await {
            Ok(Ok(permit)) => permit,
            _ => {
                return Err(Error::TooManyConnections {
                    server: member.name.clone(),
                    reason: format!(
                        "all of its {} connections are in use, or half of them by one client (pool)",
                        self.size
                    ),
                });
            }
        };
        // Dropped early, it gives the connection back, too.
        let mut release = Release {
            state: self.state.clone(),
            used: self.used.clone(),
            connection: PoolUse::Nothing,
            _permit: permit,
        };
        match self.choose(shared, member) {
            Choice::Free(connection) => {
                release.connection = PoolUse::Own(connection.clone());
                Ok(Lease::new(connection, Some(Box::new(release))))
            }
            Choice::Supervisors => {
                release.connection = PoolUse::Supervisors;
                member.lease(Some(Box::new(release))).await
            }
            Choice::New => {
                let connection = self.open(shared, member).await?;
                release.connection = PoolUse::Own(connection.clone());
                Ok(Lease::new(connection, Some(Box::new(release))))
            }
        }
    }

    /// Chooses a connection: an open one, else that of the supervisor, which may have to be opened, else a
    /// new one. So there are never more than the size of the pool.
    fn choose(&self, shared: &Shared, member: &Member) -> Choice {
        let mut state = lock(&self.state);
        if !state.is_supervisors_taken && member.is_open() {
            state.is_supervisors_taken = true;
            return Choice::Supervisors;
        }
        while let Some(connection) = state.free.pop() {
            if !connection.is_lost() {
                return Choice::Free(connection);
            }
            state.lose(connection, &shared.limits);
        }
        if state.is_supervisors_taken {
            return Choice::New;
        }
        state.is_supervisors_taken = true;
        Choice::Supervisors
    }

    /// Opens another connection, once the delay after a failed attempt has passed.
    async fn open(&self, shared: &Shared, member: &Member) -> Result<Arc<Connection>, Error> {
        let (remaining, error) = {
            let state = lock(&self.state);
            (state.backoff.remaining(), state.last_error.clone())
        };
        if remaining > MAX_DELAY {
            let error = error.unwrap_or_default();
            let reason = format!("next attempt after {remaining:.0?}: {error}");
            return Err(member.not_ready(&reason));
        }
        sleep(remaining).await;
        let connector = member.connector.clone();
        let connector = connector.map_err(|reason| member.not_ready(&reason))?;
        match open(shared, member, connector, member.era(), FEW_ATTEMPTS, None).await {
            Ok(client) => Ok(Connection::new(member.name.clone(), client)),
            Err(error) => {
                let error = error.to_string();
                let mut state = lock(&self.state);
                state.backoff.fail(None, &shared.limits);
                state.last_error = Some(error.clone());
                Err(member.not_ready(&error))
            }
        }
    }
}

impl Sweep for Pool {
    fn wait_for_use(&self) -> Closing<'_> {
        Box::pin(async {
            while lock(&self.state).free.is_empty() {
                self.used.notified().await;
            }
        })
    }

    fn close_unused(&self, limits: &ServersLimits) {
        let mut state = lock(&self.state);
        let is_ended = |connection: &mut Arc<Connection>| {
            connection.is_lost() || connection.is_unused_for(self.idle_timeout)
        };
        let ended: Vec<_> = state.free.extract_if(.., is_ended).collect();
        for connection in ended {
            match connection.is_lost() {
                true => state.lose(connection, limits),
                false => connection.close_in_background(()),
            }
        }
    }

    fn close_all(&self) -> Closing<'_> {
        Box::pin(async {
            let mut closing = tokio::task::JoinSet::new();
            for connection in std::mem::take(&mut lock(&self.state).free) {
                closing.spawn(async move { connection.client.close().await });
            }
            while closing.join_next().await.is_some() {}
        })
    }
}
