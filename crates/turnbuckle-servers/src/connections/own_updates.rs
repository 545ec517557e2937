//! Changes that a server tells of on the connection of one client, and the subscribers of that client.
//!
//! Each open connection has a task, which passes changes of the lists on, and is subscribed to the resources that
//! the client is subscribed to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::watch;
use turnbuckle_client::Client;
use turnbuckle_server::{Server, Subscriber};
use turnbuckle_session::handler::Change;

use crate::connections::client_key::ConnectionKey;
use crate::connections::kept_subscription::{Attempt, Connected, KeptSubscription, Subscribing};
use crate::connections::own_lists::OwnLists;
use crate::error::Error;
use crate::member::state::Member;

/// The subscribers of clients with connections of their own to one server.
#[derive(Default)]
pub(crate) struct OwnUpdates {
    /// The server whose clients they are, once it is there.
    server: OnceLock<Server>,
    subscribers: Mutex<HashMap<ConnectionKey, Vec<Subscription>>>,
    /// The open connections.
    connections: Mutex<HashMap<ConnectionKey, Arc<WatchedConnection>>>,
    /// Changes with the resources that clients are subscribed to.
    changes: watch::Sender<()>,
}

/// The subscription of one subscriber.
struct Subscription {
    subscriber: Subscriber,
    /// The resources: the URI in the merged view by that of the server.
    uris: HashMap<Arc<str>, Arc<str>>,
    /// True if the client may know lists of a connection.
    knows_lists: bool,
}

/// An open connection, and the subscriptions on it.
struct WatchedConnection {
    key: ConnectionKey,
    client: Client,
    member: Arc<Member>,
    /// Subscriptions to single resources, by the URI of the server.
    resources: Mutex<HashMap<Arc<str>, KeptSubscription>>,
}

/// A subscription on the connection of a client, which ends at its first error.
struct OwnSubscription {
    updates: Arc<OwnUpdates>,
    connection: Arc<WatchedConnection>,
    changes: Vec<Change>,
    /// The lists that the changes are of.
    lists: Option<Arc<OwnLists>>,
}

impl Subscribing for OwnSubscription {
    fn member(&self) -> &Member {
        &self.connection.member
    }

    fn changes(&self) -> &[Change] {
        &self.changes
    }

    async fn connect(&self, attempt: Attempt) -> Option<Result<Connected, Error>> {
        let client = self.connection.client.clone();
        let lease = None;
        (attempt != Attempt::Failed).then_some(Ok(Connected { client, lease }))
    }

    fn record_answer(&self) {
        if let Some(lists) = &self.lists {
            lists.set_subscribed();
        }
    }

    fn publish(&self, change: &Change) {
        if let Some(lists) = &self.lists {
            lists.set_changed(change);
        }
        self.updates.publish(&self.connection.key, change);
    }
}

impl WatchedConnection {
    fn resources(&self) -> MutexGuard<'_, HashMap<Arc<str>, KeptSubscription>> {
        self.resources
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl OwnUpdates {
    /// Sets the server whose clients are notified.
    pub(crate) fn set_server(&self, server: Server) {
        // The first one stays.
        let _ = self.server.set(server);
    }

    fn subscribers(&self) -> MutexGuard<'_, HashMap<ConnectionKey, Vec<Subscription>>> {
        self.subscribers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<ConnectionKey, Arc<WatchedConnection>>> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies a subscriber of the changes of a connection from now on. `knows_lists` is whether the lists of the
    /// connection were read.
    pub(super) fn add(
        &self,
        key: &ConnectionKey,
        subscriber: &Subscriber,
        uris: Vec<(Arc<str>, Arc<str>)>,
        knows_lists: bool,
    ) {
        let mut subscribers = self.subscribers();
        subscribers.retain(|_, subscriptions| {
            subscriptions.retain(|it| it.subscriber.is_open());
            !subscriptions.is_empty()
        });
        let of_client = subscribers.entry(key.clone()).or_default();
        match of_client
            .iter_mut()
            .find(|it| it.subscriber.is_same(subscriber))
        {
            Some(known) => known.uris.extend(uris),
            None => of_client.push(Subscription {
                subscriber: subscriber.clone(),
                uris: uris.into_iter().collect(),
                knows_lists,
            }),
        }
        drop(subscribers);
        self.update();
    }

    /// Notifies a subscriber of changed lists of a connection from now on, if it is not notified yet.
    pub(super) fn add_once(&self, key: &ConnectionKey, subscriber: &Subscriber, knows_lists: bool) {
        let is_known = self.subscribers().get(key).is_some_and(|known| {
            let mut known = known.iter();
            known.any(|it| it.subscriber.is_same(subscriber))
        });
        if !is_known {
            self.add(key, subscriber, Vec::new(), knows_lists);
        }
    }

    /// Notifies the subscribers that know lists of an earlier connection of the client: its new one has been read.
    pub(super) fn replace_lists(&self, key: &ConnectionKey) {
        let mut knowing = Vec::new();
        for subscription in self.subscribers().get_mut(key).into_iter().flatten() {
            if std::mem::replace(&mut subscription.knows_lists, true) {
                knowing.push(subscription.subscriber.clone());
            }
        }
        let Some(server) = self.server.get() else {
            return;
        };
        for subscriber in knowing {
            for change in [Change::Tools, Change::Prompts, Change::Resources] {
                server.notify_subscriber(&subscriber, &change);
            }
        }
    }

    /// Has the connections look again which resources their clients are subscribed to.
    pub(crate) fn update(&self) {
        self.changes.send_replace(());
    }

    /// Returns the resources that a client is subscribed to, by the URIs of the server, and forgets the others.
    fn resources_of(&self, key: &ConnectionKey) -> Vec<Arc<str>> {
        let Some(server) = self.server.get() else {
            return Vec::new();
        };
        let mut subscribers = self.subscribers();
        let mut wanted = Vec::new();
        for Subscription {
            subscriber, uris, ..
        } in subscribers.get_mut(key).into_iter().flatten()
        {
            uris.retain(|_, uri| {
                server.is_subscribed(subscriber, &Change::Resource((**uri).into()))
            });
            wanted.extend(uris.keys().cloned());
        }
        wanted
    }

    /// Notifies the subscribers of a client.
    pub(super) fn publish(&self, key: &ConnectionKey, change: &Change) {
        let Some(server) = self.server.get() else {
            return;
        };
        let subscribers = self.subscribers();
        for Subscription {
            subscriber, uris, ..
        } in subscribers.get(key).into_iter().flatten()
        {
            let merged = match change {
                Change::Resource(own) => {
                    let Some(uri) = uris.get(&**own) else {
                        continue;
                    };
                    &Change::Resource((**uri).into())
                }
                list => list,
            };
            server.notify_subscriber(subscriber, merged);
        }
    }

    /// Watches an open connection in a task that ends with it.
    pub(super) fn watch(
        self: &Arc<Self>,
        key: ConnectionKey,
        client: Client,
        lists: Arc<OwnLists>,
        member: Arc<Member>,
    ) {
        let connection = Arc::new(WatchedConnection {
            key,
            client,
            member,
            resources: Mutex::default(),
        });
        let watched = connection.clone();
        self.connections().insert(connection.key.clone(), watched);
        let this = self.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = this.follow(&connection, lists) => {}
                () = connection.client.wait_for_disconnect() => {}
            }
            let mut connections = this.connections();
            // Another connection may have the key by now.
            if connections
                .get(&connection.key)
                .is_some_and(|it| Arc::ptr_eq(it, &connection))
            {
                connections.remove(&connection.key);
            }
            drop(connections);
            connection.resources().clear();
        });
    }

    async fn follow(self: &Arc<Self>, connection: &Arc<WatchedConnection>, lists: Arc<OwnLists>) {
        let mut changes = self.changes.subscribe();
        let all = vec![Change::Tools, Change::Prompts, Change::Resources];
        let _of_lists = self.subscribe(connection, all, Some(lists));
        loop {
            self.adjust(connection);
            // The sender lives as long as `self`.
            let _ = changes.changed().await;
        }
    }

    /// Subscribes to the resources that the client of a connection is subscribed to, and ends the other
    /// subscriptions.
    fn adjust(self: &Arc<Self>, connection: &Arc<WatchedConnection>) {
        let mut resources = connection.resources();
        // Under the lock, so that no newer subscription is ended.
        let wanted = self.resources_of(&connection.key);
        resources.retain(|uri, kept| wanted.contains(uri) && !kept.has_ended());
        for uri in wanted {
            resources.entry(uri).or_insert_with_key(|uri| {
                self.subscribe(connection, vec![Change::Resource((**uri).into())], None)
            });
        }
    }

    fn subscribe(
        self: &Arc<Self>,
        connection: &Arc<WatchedConnection>,
        changes: Vec<Change>,
        lists: Option<Arc<OwnLists>>,
    ) -> KeptSubscription {
        KeptSubscription::start(OwnSubscription {
            updates: self.clone(),
            connection: connection.clone(),
            changes,
            lists,
        })
    }

    /// Waits until the server tells a client of the updates of a resource, on the connection of the client.
    ///
    /// # Errors
    /// Returns the error of the server; `None` if there is no connection any more.
    pub(super) async fn wait_until_subscribed(
        self: &Arc<Self>,
        key: &ConnectionKey,
        uri: &str,
    ) -> Result<(), Option<Error>> {
        let connection = self.connections().get(key).cloned();
        let connection = connection.ok_or(None)?;
        self.adjust(&connection);
        let active = connection
            .resources()
            .get(uri)
            .map(KeptSubscription::wait_until_active);
        active.ok_or(None)?.await
    }
}
