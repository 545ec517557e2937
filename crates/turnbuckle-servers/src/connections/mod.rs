//! The connections to one server, and which of them a request of a proxy's client takes.
//!
//! [`Connections::acquire`] decides by the server's [`UpstreamMode`]. The connection that the common lists are read
//! over belongs to the server's supervisor; all others belong to this module, with the lists of those that are of
//! one client.

pub(crate) mod backoff;
pub(crate) mod client_key;
pub(crate) mod client_view;
pub(crate) mod connection;
pub(crate) mod kept_subscription;
mod keyed;
pub(crate) mod lease;
pub(crate) mod list_memory;
mod list_updates;
pub(crate) mod open;
pub(crate) mod own_lists;
pub(crate) mod own_updates;
mod pool;
pub(crate) mod upstream;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout, timeout_at};
use turnbuckle_server::{HandlerContext, Subscriber};

use crate::connections::client_key::{ClientKey, ClientKeys, ConnectionKey, Owner};
use crate::connections::keyed::{KeyedConnections, OwnConnection};
use crate::connections::lease::Lease;
use crate::connections::list_updates::UpdateOutcome;
use crate::connections::own_lists::OwnLists;
use crate::connections::own_updates::OwnUpdates;
use crate::connections::pool::Pool;
use crate::connections::upstream::UpstreamMode;
use crate::error::Error;
use crate::limits::ServersLimits;
use crate::member::shared::Shared;
use crate::member::state::Member;

/// The time between two searches for connections that are no longer used.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The time that connections get to close when the servers are closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The connections to one server, beside the one of its supervisor.
pub(crate) struct Connections {
    shared: Arc<Shared>,
    member: Arc<Member>,
    kind: Kind,
    keys: ClientKeys,
}

enum Kind {
    Shared,
    PerSession(KeyedConnections),
    PerPrincipal(KeyedConnections),
    Pool(Pool),
}

impl Connections {
    pub(crate) fn new(shared: Arc<Shared>, member: Arc<Member>) -> Self {
        let options = &member.options;
        Self {
            kind: match options.mode {
                UpstreamMode::Shared => Kind::Shared,
                UpstreamMode::PerSession => Kind::PerSession(KeyedConnections::new(options)),
                UpstreamMode::PerPrincipal => Kind::PerPrincipal(KeyedConnections::new(options)),
                UpstreamMode::Pool(size) => Kind::Pool(Pool::new(size.max(1), options)),
            },
            keys: ClientKeys::default(),
            shared,
            member,
        }
    }

    /// Returns a connection for a request, which is opened if none fits. The request uses it until the
    /// lease is dropped.
    ///
    /// # Errors
    /// Returns [`Error::NotReady`] if the server is not connected, the clients have as many connections as
    /// they may, or the request is of nobody that has one.
    pub(crate) async fn acquire(&self, context: &HandlerContext) -> Result<Lease, Error> {
        let (shared, member) = (&self.shared, &self.member);
        match &self.kind {
            Kind::Shared => member.lease(None).await,
            // Boxed: the future of every call would have room for the opening of a connection.
            Kind::Pool(pool) => {
                let client = self.keys.key(context);
                Box::pin(pool.acquire(shared, member, client)).await
            }
            Kind::PerSession(connections) | Kind::PerPrincipal(connections) => {
                let own = self.own(context)?;
                Box::pin(connections.acquire(own, shared, member)).await
            }
        }
    }

    /// Returns the connection that only the client of a request has.
    fn own(&self, context: &HandlerContext) -> Result<OwnConnection, Error> {
        let client = self.keys.key(context);
        let session = match &self.kind {
            Kind::PerSession(_) => context.session_change_feed(),
            _ => None,
        };
        let is_per_principal = matches!(self.kind, Kind::PerPrincipal(_));
        if is_per_principal && !matches!(client, ClientKey::Principal(_)) {
            let reason = "nobody is logged in, and its mode is per-principal";
            return Err(self.member.not_ready(reason));
        }
        let owner = match session {
            Some(session) => Owner::Session(Arc::as_ptr(session).addr()),
            None => Owner::Client(client),
        };
        let settings = match &self.member.options.by_client {
            Some(by_client) => by_client.settings(context),
            None => String::new(),
        };
        Ok(OwnConnection {
            key: ConnectionKey {
                owner,
                client,
                settings: settings.into(),
            },
            session: session.map(Arc::downgrade),
            session_request: session
                .filter(|_| context.is_legacy())
                .map(|_| context.clone()),
        })
    }

    /// Returns the lists of the connection that the client of a request has for itself, if it is open.
    pub(crate) fn own_lists(&self, context: &HandlerContext) -> Option<Arc<OwnLists>> {
        let connections = self.own_connections()?;
        connections.lists(&self.own(context).ok()?.key)
    }

    /// Begins to read what is not known of the lists of the client's own connection, which is opened if it is not.
    /// Returns `None` if all is known, or the client has no connection of its own.
    ///
    /// # Errors
    /// Returns [`Error::NotReady`] if the request is of nobody that has one.
    pub(crate) fn begin_update(
        self: &Arc<Self>,
        context: &HandlerContext,
    ) -> Result<Option<OwnUpdate>, Error> {
        let Some(connections) = self.own_connections() else {
            return Ok(None);
        };
        let own = self.own(context)?;
        let key = own.key.clone();
        let lists = connections.lists(&key);
        if let Some(subscriber) = Subscriber::of_session(context) {
            let is_read = lists.as_ref().is_some_and(|it| it.are_read());
            connections.updates.add_once(&key, &subscriber, is_read);
        }
        if lists.is_some_and(|it| it.are_current()) {
            return Ok(None);
        }
        let this = self.clone();
        let outcome = connections.running.begin(&key, move || async move {
            match this.own_connections() {
                Some(connections) => {
                    connections
                        .update_lists(own, &this.shared, &this.member)
                        .await
                }
                None => Ok(()),
            }
        });
        Ok(Some(OwnUpdate {
            connections: self.clone(),
            key,
            outcome,
        }))
    }

    /// Returns the name of the server.
    pub(crate) fn server_name(&self) -> &str {
        &self.member.name
    }

    /// Returns whether a client has an open connection for itself.
    pub(crate) fn has_own_connection(&self) -> bool {
        self.own_connections()
            .is_some_and(KeyedConnections::has_open)
    }

    /// Passes the changes of a client's own connection on to a subscriber from now on. If resources are to be
    /// watched, each by its own URI and that in the merged view, opens the connection, and waits until the server
    /// has answered. Returns the resources that are not watched, by their URIs in the merged view, with the reasons.
    pub(crate) async fn subscribe(
        &self,
        context: &HandlerContext,
        subscriber: &Subscriber,
        uris: Vec<(Arc<str>, Arc<str>)>,
    ) -> Vec<(Arc<str>, Error)> {
        let Some(connections) = self.own_connections() else {
            return Vec::new();
        };
        let all_refused = |error: &Error| {
            let uris = uris.iter();
            uris.map(|(_, merged)| (merged.clone(), error.clone()))
                .collect()
        };
        let own = match self.own(context) {
            Ok(own) => own,
            Err(error) => return all_refused(&error),
        };
        let (key, updates) = (own.key.clone(), &connections.updates);
        let is_read = connections.lists(&key).is_some_and(|it| it.are_read());
        updates.add(&key, subscriber, uris.clone(), is_read);
        if uris.is_empty() {
            return Vec::new();
        }
        let lease = Box::pin(connections.acquire(own, &self.shared, &self.member)).await;
        // Keeps the connection open until the server has answered.
        let _lease = match lease {
            Ok(lease) => lease,
            Err(error) => return all_refused(&error),
        };
        let mut refused = Vec::new();
        for (own, merged) in uris {
            if let Err(error) = updates.wait_until_subscribed(&key, &own).await {
                let error = error.unwrap_or_else(|| self.member.not_ready("it was disconnected"));
                refused.push((merged, error));
            }
        }
        refused
    }

    /// Returns the updates of the connections that clients have for themselves, if they have any.
    pub(crate) fn own_updates(&self) -> Option<&Arc<OwnUpdates>> {
        self.own_connections()
            .map(|connections| &connections.updates)
    }

    fn own_connections(&self) -> Option<&KeyedConnections> {
        match &self.kind {
            Kind::PerSession(connections) | Kind::PerPrincipal(connections) => Some(connections),
            Kind::Shared | Kind::Pool(_) => None,
        }
    }

    /// Closes connections that are no longer used, until the servers are closed; then all.
    pub(crate) async fn sweep(&self) {
        let shared = &*self.shared;
        let Some(sweep) = self.sweeper() else {
            return;
        };
        let sweeping = async {
            loop {
                sweep.wait_for_use().await;
                sleep(SWEEP_INTERVAL).await;
                sweep.close_unused(&shared.limits);
            }
        };
        tokio::select! {
            () = sweeping => {}
            () = shared.stop.cancelled() => {}
        }
        let _ = timeout(CLOSE_TIMEOUT, sweep.close_all()).await;
    }

    fn sweeper(&self) -> Option<&dyn Sweep> {
        match &self.kind {
            Kind::Shared => None,
            Kind::PerSession(connections) | Kind::PerPrincipal(connections) => Some(connections),
            Kind::Pool(pool) => Some(pool),
        }
    }
}

/// An update of the lists of a client's own connection, which goes on by itself.
pub(crate) struct OwnUpdate {
    connections: Arc<Connections>,
    key: ConnectionKey,
    outcome: UpdateOutcome,
}

impl OwnUpdate {
    /// Waits for the end, until `deadline` at most. If the update ends later, the client is told that its lists
    /// have changed.
    ///
    /// # Errors
    /// Returns the reason why the lists cannot be read, or not in time.
    pub(crate) async fn wait(mut self, deadline: Instant) -> Result<(), Error> {
        let ended = timeout_at(deadline, self.outcome.wait_for(Option::is_some)).await;
        let member = &self.connections.member;
        match ended {
            Ok(Ok(ended)) => ended.clone().unwrap_or(Ok(())),
            Ok(Err(_)) => Err(member.not_ready("its lists could not be read")),
            Err(_) => {
                if let Some(connections) = self.connections.own_connections() {
                    connections.running.leave(&self.key);
                }
                Err(member.not_ready("its lists are not read yet"))
            }
        }
    }
}

/// A future that is boxed.
type Closing<'a> = std::pin::Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Connections that end when nobody has used them for a time.
trait Sweep: Send + Sync {
    /// Waits until there is a connection.
    fn wait_for_use(&self) -> Closing<'_>;

    /// Closes those connections that nobody has used for the time.
    fn close_unused(&self, limits: &ServersLimits);

    /// Closes all connections, and waits until they are gone.
    fn close_all(&self) -> Closing<'_>;
}
