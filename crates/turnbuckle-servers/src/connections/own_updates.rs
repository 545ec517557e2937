//! Changes that a server tells of on the connection of one client, and the subscribers of that client.
//!
//! Each open connection has a task, which passes changes of the lists on, and is subscribed to the resources that
//! the client is subscribed to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;
use turnbuckle_client::{ChangeFilter, Client};
use turnbuckle_server::{Server, Subscriber};
use turnbuckle_session::handler::Change;
use turnbuckle_types::base::text::Escaped;

use crate::connections::client_key::ConnectionKey;
use crate::connections::own_lists::OwnLists;

/// The time after which a subscription that has ended is made again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The subscribers of clients with connections of their own to one server.
#[derive(Default)]
pub(crate) struct OwnUpdates {
    /// The server whose clients they are, once it is there.
    server: OnceLock<Server>,
    subscribers: Mutex<HashMap<ConnectionKey, Vec<Subscription>>>,
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
    ) {
        let this = self.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = this.follow(&key, &client, &lists) => {}
                () = client.wait_for_disconnect() => {}
            }
        });
    }

    async fn follow(self: &Arc<Self>, key: &ConnectionKey, client: &Client, lists: &Arc<OwnLists>) {
        let mut changes = self.changes.subscribe();
        let mut resources: HashMap<Arc<str>, JoinSet<()>> = HashMap::new();
        let mut of_lists = JoinSet::new();
        let all = vec![Change::Tools, Change::Prompts, Change::Resources];
        let passing_on =
            self.clone()
                .pass_on(key.clone(), client.clone(), all, Some(lists.clone()));
        of_lists.spawn(passing_on);
        loop {
            let wanted = self.resources_of(key);
            resources.retain(|uri, _| wanted.contains(uri));
            for uri in wanted {
                resources.entry(uri).or_insert_with_key(|uri| {
                    let update = vec![Change::Resource((**uri).into())];
                    let mut task = JoinSet::new();
                    task.spawn(
                        self.clone()
                            .pass_on(key.clone(), client.clone(), update, None),
                    );
                    task
                });
            }
            // The sender lives as long as `self`.
            let _ = changes.changed().await;
        }
    }

    /// Passes the changes of a subscription on, which is made again when it ends; those of lists are for `lists`
    /// first.
    async fn pass_on(
        self: Arc<Self>,
        key: ConnectionKey,
        client: Client,
        changes: Vec<Change>,
        lists: Option<Arc<OwnLists>>,
    ) {
        let publish = |change: &Change| {
            if let Some(lists) = &lists {
                lists.set_changed(change);
            }
            self.publish(&key, change);
        };
        let filter = || {
            let of_all = ChangeFilter::new();
            changes.iter().fold(of_all, |filter, change| match change {
                Change::Tools => filter.tools(),
                Change::Prompts => filter.prompts(),
                Change::Resources => filter.resources(),
                Change::Resource(uri) => filter.resource(&**uri),
            })
        };
        let mut is_resumed = false;
        loop {
            let subscribed = client.subscribe(filter()).await;
            if let Some(lists) = &lists {
                lists.set_subscribed();
            }
            let mut subscription = match subscribed {
                Ok(subscription) => subscription,
                Err(error) => {
                    tracing::debug!(error = %Escaped(&error), "a server tells of no changes");
                    return;
                }
            };
            if is_resumed {
                // Some may have been missed.
                changes.iter().for_each(publish);
            }
            while let Some(change) = subscription.next().await {
                publish(&change);
            }
            is_resumed = true;
            sleep(RETRY_INTERVAL).await;
        }
    }
}
