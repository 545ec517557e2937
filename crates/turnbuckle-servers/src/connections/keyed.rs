//! One connection for each session or principal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use turnbuckle_server::HandlerContext;
use turnbuckle_session::handler::Change;
use turnbuckle_session::internal::ChangeFeed;
use turnbuckle_types::base::fair_permits::{FairPermits, Permit};

use crate::connections::backoff::Backoff;
use crate::connections::client_key::{ClientKey, ConnectionKey};
use crate::connections::connection::Connection;
use crate::connections::lease::Lease;
use crate::connections::list_updates::ListUpdates;
use crate::connections::open::{NO_ATTEMPTS, open};
use crate::connections::own_lists::OwnLists;
use crate::connections::own_updates::OwnUpdates;
use crate::connections::upstream::UpstreamOptions;
use crate::connections::{Closing, Sweep};
use crate::error::Error;
use crate::limits::ServersLimits;
use crate::member::shared::Shared;
use crate::member::state::Member;

/// The longest time for which a request waits until it may open a connection.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The requests that wait for a connection, for each connection.
const WAITING_PER_CONNECTION: usize = 4;

/// The connection of one client, open or not.
pub(super) struct OwnConnection {
    pub(super) key: ConnectionKey,
    /// The session whose connection it is; `None` for that of a client without one.
    pub(super) session: Option<Weak<ChangeFeed>>,
    /// A request of that session, if it has told its client's capabilities in a handshake.
    pub(super) session_request: Option<HandlerContext>,
}

/// The connections of sessions or principals.
pub(super) struct KeyedConnections {
    slots: Mutex<HashMap<ConnectionKey, Arc<Slot>>>,
    permits: FairPermits<ClientKey>,
    max_connections: usize,
    idle_timeout: Duration,
    used: Notify,
    pub(super) updates: Arc<OwnUpdates>,
    pub(super) running: ListUpdates,
}

/// The place of one connection.
struct Slot {
    /// The session whose connection it is; `None` for that of a client without one.
    session: Option<Weak<ChangeFeed>>,
    /// Held by the request that opens the connection.
    state: tokio::sync::Mutex<SlotState>,
    /// The lists of the connection that was opened last.
    lists: Mutex<Option<Arc<OwnLists>>>,
    users: Mutex<usize>,
}

#[derive(Default)]
struct SlotState {
    open: Option<(Arc<Connection>, ConnectionPermits)>,
    backoff: Backoff,
    last_error: Option<String>,
}

/// The right to have a connection: of this server, and of all.
type ConnectionPermits = (Permit<ClientKey>, Permit<ClientKey>);

/// A request that uses a slot.
struct SlotUse(Arc<Slot>);

impl Drop for SlotUse {
    fn drop(&mut self) {
        *self.0.users() -= 1;
    }
}

impl Slot {
    fn users(&self) -> MutexGuard<'_, usize> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lists(&self) -> MutexGuard<'_, Option<Arc<OwnLists>>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the session of the slot has ended.
    fn is_orphaned(&self) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.strong_count() == 0)
    }
}

impl KeyedConnections {
    pub(super) fn new(options: &UpstreamOptions) -> Self {
        let max_connections = options.max_connections;
        Self {
            slots: Mutex::default(),
            permits: FairPermits::new(max_connections, max_connections * WAITING_PER_CONNECTION),
            max_connections,
            idle_timeout: options.client_idle_timeout(),
            used: Notify::new(),
            updates: Arc::default(),
            running: ListUpdates::default(),
        }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<ConnectionKey, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the lists of a client's connection, if it is open.
    pub(super) fn lists(&self, key: &ConnectionKey) -> Option<Arc<OwnLists>> {
        self.slots().get(key)?.lists().clone()
    }

    /// Returns whether a connection of a client is open.
    pub(super) fn has_open(&self) -> bool {
        let slots = self.slots();
        let mut lists = slots.values().filter_map(|slot| slot.lists().clone());
        lists.any(|it| !it.are_lost())
    }

    /// Reads what is not known of the lists of a client's connection, which is opened if there is none. If a request
    /// did not wait for that, the client is told at the end that its lists have changed.
    pub(super) async fn update_lists(
        &self,
        own: OwnConnection,
        shared: &Shared,
        member: &Arc<Member>,
    ) -> Result<(), Error> {
        let key = own.key.clone();
        let update = async {
            let _lease = self.acquire(own, shared, member).await?;
            let Some(lists) = self.lists(&key) else {
                return Ok(());
            };
            let is_first = !lists.are_read();
            lists.update(shared, member).await?;
            if is_first {
                self.updates.replace_lists(&key);
            }
            Ok(())
        };
        let updated = tokio::select! {
            updated = update => updated,
            () = shared.stop.cancelled() => Err(member.not_ready("the servers are closed")),
        };
        if self.running.end(&key) {
            for change in [Change::Tools, Change::Prompts, Change::Resources] {
                self.updates.publish(&key, &change);
            }
        }
        updated
    }

    /// Returns the connection of a client, which is opened if there is none.
    pub(super) async fn acquire(
        &self,
        own: OwnConnection,
        shared: &Shared,
        member: &Arc<Member>,
    ) -> Result<Lease, Error> {
        let OwnConnection {
            key,
            session,
            session_request,
        } = own;
        let client = key.client;
        let slot_use = self
            .begin_use(key.clone(), session)
            .ok_or_else(|| self.too_many(member))?;
        let slot = slot_use.0.clone();
        let mut state = slot.state.lock().await;
        if let Some((connection, _)) = &state.open {
            if !connection.is_lost() {
                let connection = connection.clone();
                return Ok(Lease::new(connection, Some(Box::new(slot_use))));
            }
            *slot.lists() = None;
            if let Some((lost, permits)) = state.open.take() {
                state.backoff.fail(Some(lost.opened), &shared.limits);
                state.last_error = Some("the connection was lost".to_owned());
                lost.close_in_background(permits);
            }
        }
        let remaining = state.backoff.remaining();
        if remaining > MAX_WAIT {
            let error = state.last_error.as_deref().unwrap_or_default();
            let reason = format!("next attempt after {remaining:.0?}: {error}");
            return Err(member.not_ready(&reason));
        }
        sleep(remaining).await;
        let permits = async {
            let of_server = self.permits.acquire(client).await?;
            let of_all = shared.connections.acquire(client).await?;
            Ok::<_, turnbuckle_types::base::fair_permits::TooManyWaiting>((of_server, of_all))
        };
        let permits = match timeout(MAX_WAIT, permits).await {
            Ok(Ok(permits)) => permits,
            _ => return Err(self.too_many(member)),
        };
        let connector = member.connector_for(&key.settings)?;
        let era = member.era();
        let capabilities = session_request.as_ref().map(|it| it.client_capabilities());
        match open(shared, member, connector, era, NO_ATTEMPTS, capabilities).await {
            Ok(client) => {
                let lists = OwnLists::new(client.clone());
                *slot.lists() = Some(lists.clone());
                self.updates
                    .watch(key, client.clone(), lists, member.clone());
                let connection = Connection::new(member.name.clone(), client);
                state.open = Some((connection.clone(), permits));
                Ok(Lease::new(connection, Some(Box::new(slot_use))))
            }
            Err(error) => {
                state.backoff.fail(None, &shared.limits);
                let error = error.to_string();
                state.last_error = Some(error.clone());
                Err(member.not_ready(&error))
            }
        }
    }

    /// Returns the slot of a key, as one that is used; `None` if there are too many.
    fn begin_use(&self, key: ConnectionKey, session: Option<Weak<ChangeFeed>>) -> Option<SlotUse> {
        let mut slots = self.slots();
        if !slots.contains_key(&key)
            && slots.len() >= self.max_connections * (1 + WAITING_PER_CONNECTION)
        {
            return None;
        }
        let slot = slots.entry(key).or_insert_with(|| {
            Arc::new(Slot {
                session,
                state: tokio::sync::Mutex::default(),
                lists: Mutex::default(),
                users: Mutex::new(0),
            })
        });
        // Under the lock of all slots, so that the slot is not removed before.
        *slot.users() += 1;
        self.used.notify_one();
        Some(SlotUse(slot.clone()))
    }

    fn too_many(&self, member: &Member) -> Error {
        Error::TooManyConnections {
            server: member.name.clone(),
            reason: format!(
                "its clients have as many connections as they may ({}, and half of them of one client: \
                 UpstreamOptions::max_connections; in all ServersLimits::max_connections)",
                self.max_connections
            ),
        }
    }

    /// Removes the slots that nobody needs any more, and returns their connections.
    fn take_unused(&self) -> Vec<(Arc<Connection>, ConnectionPermits)> {
        let mut unused = Vec::new();
        self.slots().retain(|_, slot| {
            if *slot.users() > 0 {
                return true;
            }
            let Ok(mut state) = slot.state.try_lock() else {
                return true;
            };
            let is_needed = match &state.open {
                Some((connection, _)) => {
                    !slot.is_orphaned() && !connection.is_unused_for(self.idle_timeout)
                }
                // The delay stays until the next attempt may be made.
                None => state.backoff.remaining() > Duration::ZERO,
            };
            if !is_needed {
                unused.extend(state.open.take());
            }
            is_needed
        });
        unused
    }
}

impl Sweep for KeyedConnections {
    fn wait_for_use(&self) -> Closing<'_> {
        Box::pin(async {
            while self.slots().is_empty() {
                self.used.notified().await;
            }
        })
    }

    fn close_unused(&self, _: &ServersLimits) {
        for (connection, permits) in self.take_unused() {
            connection.close_in_background(permits);
        }
    }

    fn close_all(&self) -> Closing<'_> {
        Box::pin(async {
            let slots: Vec<_> = self.slots().drain().map(|(_, slot)| slot).collect();
            let mut closing = tokio::task::JoinSet::new();
            for slot in slots {
                closing.spawn(async move {
                    if let Some((connection, _permits)) = slot.state.lock().await.open.take() {
                        connection.client.close().await;
                    }
                });
            }
            while closing.join_next().await.is_some() {}
        })
    }
}
