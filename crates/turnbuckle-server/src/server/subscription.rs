//! Subscriptions to changes: one call in user code notifies the subscribers of every era.
//!
//! Specification: basic/patterns/subscriptions (2026-07-28); server/resources, "Subscriptions"
//! (2025-11-25).

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use turnbuckle_session::handler::{Change, RequestContext};
use turnbuckle_session::internal::{
    ChangeFeed, MemoryPermit, TopicNotification, count_refusal, limit_error,
};
use turnbuckle_types::base::change_position::ChangePosition;
use turnbuckle_types::{ClientAddress, ProtocolError};

mod feed_set;
mod restore;
#[cfg(feature = "store")]
mod shared;

use feed_set::FeedSet;

/// The time after which a client that was refused may try again: others of its subscriptions may have
/// ended by then.
const RETRY_DELAY: Duration = Duration::from_secs(4);

/// The bytes that a subscription to a resource or topic takes besides its key.
const SUBSCRIPTION_BYTES: usize = 256;

/// The subscribers of one server.
#[derive(Debug, Default)]
pub(crate) struct SubscriptionHub {
    subscribers: Mutex<Subscribers>,
    /// Notified when a subscription to a resource begins or ends.
    pub(crate) resources_changed: Notify,
    hasher: RandomState,
}

/// The subscribed feeds, by list and by resource.
#[derive(Debug, Default)]
struct Subscribers {
    tools: FeedSet,
    prompts: FeedSet,
    resources: FeedSet,
    /// Subscribers of each resource. A hash table, since every change of a resource looks its URI
    /// up.
    by_uri: HashMap<Arc<str>, FeedSet>,
    /// Subscribers of each topic of an extension.
    by_topic: HashMap<Arc<str>, FeedSet>,
    /// The number of resources and topics that each feed is subscribed to, by the feed's address.
    resource_counts: BTreeMap<usize, ResourceCount>,
    /// The number of resources and topics that the feeds of each client are subscribed to.
    by_client: BTreeMap<ClientKey, usize>,
    /// The number of resources and topics that all feeds are subscribed to.
    resource_total: usize,
    /// Subscriptions added or abandoned since closed feeds were last removed.
    changes_since_cleanup: usize,
    /// The number of open subscriptions after the last cleanup.
    open_at_cleanup: usize,
    /// The position in the log of changes, shared with other instances, up to which subscribers were told.
    position: ChangePosition,
}

/// A resource, by its URI, or a topic of an extension.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SubscriptionKey<'a> {
    /// A resource.
    Resource(&'a str),
    /// A topic, by the text that [`topic_key`] returns.
    Topic(&'a str),
}

impl<'a> SubscriptionKey<'a> {
    fn as_str(self) -> &'a str {
        match self {
            Self::Resource(key) | Self::Topic(key) => key,
        }
    }

    /// Returns the bytes that the subscription takes.
    fn bytes(self) -> usize {
        SUBSCRIPTION_BYTES + self.as_str().len()
    }
}

/// Returns the key of a topic of an extension. Ids of extensions have no space.
pub(crate) fn topic_key(extension: &str, topic: &str) -> String {
    format!("{extension} {topic}")
}

/// The resources and topics that one feed is subscribed to.
#[derive(Debug)]
struct ResourceCount {
    feed: Weak<ChangeFeed>,
    client: Option<ClientKey>,
    count: usize,
    /// The memory of the subscriptions.
    memory: MemoryPermit,
}

/// A client whose subscriptions are counted together: a keyed hash of its principal, or else of its
/// network address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClientKey(u64);

/// The bounds of subscriptions to resources and topics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubscriptionLimits {
    /// Resources that one subscriber can subscribe to.
    pub(crate) per_subscriber: usize,
    /// Subscriptions of all subscribers; those of one client are half of them at most.
    pub(crate) total: usize,
}

/// Shrinks a hash map that is mostly empty. Hash maps do not shrink by themselves.
fn shrink_if_sparse<V>(table: &mut HashMap<Arc<str>, V>) {
    if table.capacity() > 64 && table.capacity() / 4 > table.len() {
        table.shrink_to(table.len() * 2);
    }
}

/// Frees the last block of a tree that has become empty.
fn drop_if_empty<K, V>(tree: &mut BTreeMap<K, V>) {
    if tree.is_empty() {
        *tree = BTreeMap::new();
    }
}

impl SubscriptionHub {
    fn subscribers(&self) -> MutexGuard<'_, Subscribers> {
        let subscribers = self.subscribers.lock();
        subscribers.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the resources that open feeds are subscribed to, in order.
    pub(crate) fn resources(&self) -> Vec<String> {
        let mut subscribers = self.subscribers();
        subscribers.remove_closed();
        let mut uris: Vec<String> = subscribers
            .by_uri
            .keys()
            .map(|uri| (**uri).into())
            .collect();
        uris.sort_unstable();
        uris
    }

    /// Sends a change that no shared log has to every feed that is subscribed to it.
    pub(crate) fn publish(&self, change: &Change) {
        let mut subscribers = self.subscribers();
        let position = subscribers.position;
        if let Some(feeds) = subscribers.feeds_of(change) {
            feeds.publish(|feed| feed.publish_after(change, position));
        }
    }

    /// Returns whether a feed is subscribed to a change.
    pub(crate) fn is_subscribed(&self, feed: &Arc<ChangeFeed>, change: &Change) -> bool {
        let mut subscribers = self.subscribers();
        let feeds = subscribers.feeds_of(change);
        feeds.is_some_and(|feeds| feeds.contains(feed))
    }

    /// Sends a change that no shared log has to one feed, if it is subscribed to that.
    pub(crate) fn publish_to(&self, feed: &Arc<ChangeFeed>, change: &Change) {
        let mut subscribers = self.subscribers();
        let position = subscribers.position;
        let feeds = subscribers.feeds_of(change);
        if feeds.is_some_and(|feeds| feeds.contains(feed)) {
            feed.publish_after(change, position);
        }
    }

    /// Sends a notification to every feed that is subscribed to a topic.
    pub(crate) fn publish_to_topic(&self, key: &str, notification: &TopicNotification) {
        let subscribers = self.subscribers();
        let Some((key, feeds)) = subscribers.by_topic.get_key_value(key) else {
            return;
        };
        for feed in feeds.open() {
            feed.publish_to_topic(key, notification);
        }
    }

    /// Returns whether a feed is subscribed to a topic.
    #[cfg(feature = "tasks")]
    pub(crate) fn has_subscribers(&self, key: &str) -> bool {
        self.subscribers().by_topic.contains_key(key)
    }

    /// Subscribes the feed of a session that has opened to lists.
    pub(crate) fn open(&self, feed: &Arc<ChangeFeed>, lists: impl Iterator<Item = Change>) {
        let mut subscribers = self.subscribers();
        feed.reset_to(subscribers.position, []);
        lists.for_each(|list| subscribers.add(feed, list));
    }

    /// Subscribes a feed to a change.
    pub(crate) fn subscribe(&self, feed: &Arc<ChangeFeed>, change: Change) {
        let is_resource = matches!(change, Change::Resource(_));
        self.subscribers().add(feed, change);
        if is_resource {
            self.resources_changed.notify_one();
        }
    }

    /// Returns the client of a request, if anything tells who it is.
    fn client_of(&self, context: &RequestContext) -> Option<ClientKey> {
        let hash = match (context.principal(), context.client_address()) {
            (Some(principal), _) => self.hasher.hash_one(principal.identity()),
            (None, address) => self.hasher.hash_one(ClientAddress(address?).network()),
        };
        Some(ClientKey(hash))
    }

    /// Subscribes a feed to resources or topics for the client of a request, on whose account they count.
    ///
    /// # Errors
    /// When the subscriber, the client or all together have as many subscriptions or bytes as the
    /// limits allow.
    pub(crate) fn subscribe_for<'a>(
        &self,
        context: &RequestContext,
        feed: &Arc<ChangeFeed>,
        keys: impl Iterator<Item = SubscriptionKey<'a>> + Clone,
        limits: SubscriptionLimits,
    ) -> Result<(), ProtocolError> {
        let bytes = keys.clone().map(SubscriptionKey::bytes).sum();
        // Reserved before the lock is taken, since sessions may end for it.
        let memory = context.reserve_memory(bytes)?;
        let (client, mut subscribers) = (self.client_of(context), self.subscribers());
        let subscribed = subscribers.subscribe_keys(feed, client, keys, limits, memory);
        drop(subscribers);
        self.resources_changed.notify_one();
        subscribed
    }

    /// Removes a feed that has ended from the lists. Its resource subscriptions are removed by the
    /// next cleanup.
    pub(crate) fn remove_feed(&self, feed: &Arc<ChangeFeed>) {
        let mut subscribers = self.subscribers();
        for feeds in subscribers.lists() {
            feeds.remove(feed);
        }
        if let Some(removed) = subscribers.resource_counts.remove(&address(feed)) {
            drop_if_empty(&mut subscribers.resource_counts);
            subscribers.give_back(removed.client, removed.count);
            subscribers.count(removed.count);
            self.resources_changed.notify_one();
        }
    }

    /// Ends a feed's subscription to a resource and drops its unread notification, so that unread
    /// notifications are bounded by subscriptions.
    pub(crate) fn unsubscribe(&self, feed: &Arc<ChangeFeed>, uri: &str) {
        let mut subscribers = self.subscribers();
        let Some(feeds) = subscribers.by_uri.get_mut(uri) else {
            return;
        };
        let removed = feeds.remove(feed);
        feed.remove_resource(uri);
        if feeds.is_empty() {
            subscribers.by_uri.remove(uri);
            shrink_if_sparse(&mut subscribers.by_uri);
        }
        if let Some(resources) = subscribers.resource_counts.get_mut(&address(feed))
            && removed
        {
            resources.count -= 1;
            let left = resources.memory.bytes();
            let left = left.saturating_sub(SubscriptionKey::Resource(uri).bytes());
            resources.memory.resize_beyond_limits(left);
            let client = resources.client;
            subscribers.give_back(client, 1);
        }
        drop(subscribers);
        self.resources_changed.notify_one();
    }

    /// Returns the number of open subscriptions.
    pub(crate) fn open_count(&self) -> usize {
        let mut subscribers = self.subscribers();
        subscribers.remove_closed();
        subscribers.open_at_cleanup
    }
}

/// Returns the address of a feed, which identifies the feed while a weak reference to it exists.
fn address(feed: &Arc<ChangeFeed>) -> usize {
    Arc::as_ptr(feed).addr()
}

/// Returns the feed if it still exists and is open.
fn upgrade_open(feed: &Weak<ChangeFeed>) -> Option<Arc<ChangeFeed>> {
    feed.upgrade().filter(|feed| !feed.is_closed())
}

impl Subscribers {
    /// Returns the subscribers of the three list-changed notifications.
    fn lists(&mut self) -> [&mut FeedSet; 3] {
        [&mut self.tools, &mut self.prompts, &mut self.resources]
    }

    /// Returns the subscribers of a change, if there may be any.
    fn feeds_of(&mut self, change: &Change) -> Option<&mut FeedSet> {
        match change {
            Change::Tools => Some(&mut self.tools),
            Change::Prompts => Some(&mut self.prompts),
            Change::Resources => Some(&mut self.resources),
            Change::Resource(uri) => self.by_uri.get_mut(uri),
        }
    }

    /// Returns the subscribers of each resource, or of each topic.
    fn table(&mut self, key: SubscriptionKey<'_>) -> &mut HashMap<Arc<str>, FeedSet> {
        match key {
            SubscriptionKey::Resource(_) => &mut self.by_uri,
            SubscriptionKey::Topic(_) => &mut self.by_topic,
        }
    }

    /// Subscribes a feed of this client to resources or topics, for which `memory` is enough.
    fn subscribe_keys<'a>(
        &mut self,
        feed: &Arc<ChangeFeed>,
        client: Option<ClientKey>,
        keys: impl IntoIterator<Item = SubscriptionKey<'a>>,
        limits: SubscriptionLimits,
        mut memory: MemoryPermit,
    ) -> Result<(), ProtocolError> {
        let mut bytes = 0;
        let subscribed = keys.into_iter().try_for_each(|key| {
            let feeds = self.table(key).get(key.as_str());
            if feeds.is_some_and(|feeds| feeds.contains(feed)) {
                return Ok(());
            }
            let count = self.resource_count(feed) + 1;
            check_subscription_count(count, limits.per_subscriber)?;
            self.check_total(client, limits)?;
            self.add_counted(feed, client, key);
            bytes += key.bytes();
            Ok(())
        });
        if let Some(resources) = self.resource_counts.get_mut(&address(feed)) {
            memory.resize_beyond_limits(bytes);
            resources.memory.absorb(memory);
        }
        subscribed
    }

    /// Subscribes a feed to a list.
    fn add(&mut self, feed: &Arc<ChangeFeed>, change: Change) {
        self.count(1);
        if let Change::Resource(uri) = &change {
            self.add_counted(feed, None, SubscriptionKey::Resource(uri));
        } else if let Some(feeds) = self.feeds_of(&change) {
            feeds.add(feed);
        }
    }

    /// Subscribes a feed to a resource or topic.
    fn add_counted(
        &mut self,
        feed: &Arc<ChangeFeed>,
        client: Option<ClientKey>,
        key: SubscriptionKey<'_>,
    ) {
        self.count(1);
        let feeds = self.table(key).entry(key.as_str().into()).or_default();
        if !feeds.add(feed) {
            return;
        }
        let new = || ResourceCount {
            feed: Arc::downgrade(feed),
            client,
            count: 0,
            memory: MemoryPermit::default(),
        };
        let resources = self
            .resource_counts
            .entry(address(feed))
            .or_insert_with(new);
        resources.count += 1;
        self.resource_total += 1;
        if let Some(client) = resources.client {
            *self.by_client.entry(client).or_default() += 1;
        }
    }

    /// Counts subscriptions of a client that have ended.
    fn give_back(&mut self, client: Option<ClientKey>, count: usize) {
        self.resource_total -= count;
        if let Some(client) = client
            && let Some(left) = self.by_client.get_mut(&client)
        {
            *left -= count;
            if *left == 0 {
                self.by_client.remove(&client);
                drop_if_empty(&mut self.by_client);
            }
        }
    }

    /// Returns an error if there is no room for another subscription of a client.
    fn check_total(
        &mut self,
        client: Option<ClientKey>,
        limits: SubscriptionLimits,
    ) -> Result<(), ProtocolError> {
        let full = |subscribers: &Self| {
            let own = client.and_then(|client| subscribers.by_client.get(&client));
            if subscribers.resource_total >= limits.total {
                Some("of all clients")
            } else if own.copied().unwrap_or(0) >= limits.total.div_ceil(2) {
                Some("of one client")
            } else {
                None
            }
        };
        if full(self).is_some() {
            self.remove_closed();
        }
        full(self).map_or(Ok(()), |whose| {
            const LIMIT: &str = "ServerBuilder::max_total_subscriptions";
            let message = format!(
                "too many resource subscriptions {whose} (ServerBuilder::max_total_subscriptions)"
            );
            Err(limit_error(LIMIT, message, Some(RETRY_DELAY)))
        })
    }

    /// Returns how many resources a feed is subscribed to.
    fn resource_count(&self, feed: &Arc<ChangeFeed>) -> usize {
        let count = self.resource_counts.get(&address(feed));
        count.map_or(0, |resources| resources.count)
    }

    /// Counts changes, and removes closed feeds once enough have accumulated.
    fn count(&mut self, subscriptions: usize) {
        self.changes_since_cleanup += subscriptions;
        if self.changes_since_cleanup > self.open_at_cleanup + 1024 {
            self.remove_closed();
        }
    }

    fn remove_closed(&mut self) {
        self.lists().into_iter().for_each(FeedSet::remove_closed);
        for table in [&mut self.by_uri, &mut self.by_topic] {
            table.values_mut().for_each(FeedSet::remove_closed);
            table.retain(|_, feeds| !feeds.is_empty());
            shrink_if_sparse(table);
        }
        let mut closed = Vec::new();
        self.resource_counts.retain(|_, resources| {
            let is_open = upgrade_open(&resources.feed).is_some();
            if !is_open {
                closed.push((resources.client, resources.count));
            }
            is_open
        });
        for (client, count) in closed {
            self.give_back(client, count);
        }
        drop_if_empty(&mut self.resource_counts);
        let lists = self.lists().map(|feeds| feeds.len());
        let keyed = self.by_uri.values().chain(self.by_topic.values());
        let keyed = keyed.map(FeedSet::len);
        self.open_at_cleanup = lists.into_iter().chain(keyed).sum();
        self.changes_since_cleanup = 0;
    }
}

/// Returns an error if `count` exceeds the resources that one subscriber can subscribe to.
pub(crate) fn check_subscription_count(count: usize, limit: usize) -> Result<(), ProtocolError> {
    if count <= limit {
        return Ok(());
    }
    count_refusal("ServerBuilder::max_subscriptions");
    Err(ProtocolError::invalid_params(format!(
        "one subscriber can subscribe to {limit} resources at most (ServerBuilder::max_subscriptions)"
    ))
    .with_limit("ServerBuilder::max_subscriptions"))
}

#[cfg(test)]
mod tests;
