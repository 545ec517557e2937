//! Subscriptions to changes: one call in user code notifies the subscribers of every era.
//!
//! Specification: basic/patterns/subscriptions (2026-07-28); server/resources, "Subscriptions"
//! (2025-11-25).

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use turnbuckle_session::{Change, ChangeFeed};
use turnbuckle_types::ProtocolError;

/// The subscribers of one server.
#[derive(Debug, Default)]
pub(crate) struct SubscriptionHub {
    subscribers: Mutex<Subscribers>,
    /// Notified when a subscription to a resource begins or ends.
    resources_changed: Notify,
}

/// The subscribed feeds, by what they are subscribed to.
#[derive(Debug, Default)]
struct Subscribers {
    tools: FeedSet,
    prompts: FeedSet,
    resources: FeedSet,
    /// Subscribers of each resource. A hash table, since every change of a resource looks its URI
    /// up.
    by_uri: HashMap<Arc<str>, FeedSet>,
    /// The number of resources that each feed is subscribed to, by the feed's address.
    resource_counts: BTreeMap<usize, (Weak<ChangeFeed>, usize)>,
    /// Subscriptions added or abandoned since closed feeds were last removed.
    changes_since_cleanup: usize,
    /// The number of open subscriptions after the last cleanup.
    open_at_cleanup: usize,
}

/// A set of feeds, by their addresses. The weak reference keeps an address from being reused.
///
/// A tree, because it grows and shrinks in small blocks. The table of a large hash map is one
/// block; the last and largest one would stay allocated above freed memory and keep the allocator
/// from returning that memory to the system.
#[derive(Debug, Default)]
struct FeedSet(BTreeMap<usize, Weak<ChangeFeed>>);

impl FeedSet {
    /// Adds a feed; returns whether it was not in the set yet.
    fn add(&mut self, feed: &Arc<ChangeFeed>) -> bool {
        let new = || Arc::downgrade(feed);
        let before = self.0.len();
        self.0.entry(address(feed)).or_insert_with(new);
        self.0.len() > before
    }

    /// Removes a feed; returns whether it was in the set.
    fn remove(&mut self, feed: &Arc<ChangeFeed>) -> bool {
        let removed = self.0.remove(&address(feed)).is_some();
        drop_if_empty(&mut self.0);
        removed
    }

    /// Sends a change to every open feed and removes closed ones.
    fn publish(&mut self, change: &Change) {
        self.0.retain(|_, feed| match upgrade_open(feed) {
            Some(feed) => {
                feed.publish(change);
                true
            }
            None => false,
        });
    }

    /// Removes closed feeds.
    fn remove_closed(&mut self) {
        self.0.retain(|_, feed| upgrade_open(feed).is_some());
        drop_if_empty(&mut self.0);
    }
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

    /// Returns the notification of one task for each change of [`resources`](Self::resources).
    pub(crate) fn resources_changed(&self) -> &Notify {
        &self.resources_changed
    }

    /// Sends a change to every feed that is subscribed to it.
    pub(crate) fn publish(&self, change: &Change) {
        let mut subscribers = self.subscribers();
        let feeds = match change {
            Change::Tools => Some(&mut subscribers.tools),
            Change::Prompts => Some(&mut subscribers.prompts),
            Change::Resources => Some(&mut subscribers.resources),
            Change::Resource(uri) => subscribers.by_uri.get_mut(uri),
        };
        if let Some(feeds) = feeds {
            feeds.publish(change);
        }
    }

    /// Subscribes a feed to a change.
    pub(crate) fn subscribe(&self, feed: &Arc<ChangeFeed>, change: Change) {
        let is_resource = matches!(change, Change::Resource(_));
        self.subscribers().add(feed, change);
        if is_resource {
            self.resources_changed.notify_one();
        }
    }

    /// Subscribes a feed to a resource.
    ///
    /// # Errors
    /// When the feed is already subscribed to `most` other resources.
    pub(crate) fn subscribe_resource(
        &self,
        feed: &Arc<ChangeFeed>,
        uri: &str,
        most: usize,
    ) -> Result<(), ProtocolError> {
        let mut subscribers = self.subscribers();
        let feeds = subscribers.by_uri.get(uri);
        if feeds.is_some_and(|feeds| feeds.0.contains_key(&address(feed))) {
            return Ok(());
        }
        check_subscription_count(subscribers.resource_count(feed) + 1, most)?;
        subscribers.add(feed, Change::Resource(uri.into()));
        drop(subscribers);
        self.resources_changed.notify_one();
        Ok(())
    }

    /// Removes a feed that has ended from the lists. Its resource subscriptions are removed by the
    /// next cleanup.
    pub(crate) fn remove_feed(&self, feed: &Arc<ChangeFeed>) {
        let mut subscribers = self.subscribers();
        for feeds in subscribers.lists() {
            feeds.remove(feed);
        }
        if let Some((_, count)) = subscribers.resource_counts.remove(&address(feed)) {
            drop_if_empty(&mut subscribers.resource_counts);
            subscribers.count(count);
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
        if feeds.0.is_empty() {
            subscribers.by_uri.remove(uri);
            shrink_if_sparse(&mut subscribers.by_uri);
        }
        if let Some((_, count)) = subscribers.resource_counts.get_mut(&address(feed)) {
            *count = count.saturating_sub(usize::from(removed));
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

    fn add(&mut self, feed: &Arc<ChangeFeed>, change: Change) {
        self.count(1);
        let (feeds, is_resource) = match change {
            Change::Tools => (&mut self.tools, false),
            Change::Prompts => (&mut self.prompts, false),
            Change::Resources => (&mut self.resources, false),
            Change::Resource(uri) => (self.by_uri.entry(uri).or_default(), true),
        };
        if feeds.add(feed) && is_resource {
            let count = self
                .resource_counts
                .entry(address(feed))
                .or_insert_with(|| (Arc::downgrade(feed), 0));
            count.1 += 1;
        }
    }

    /// Returns how many resources a feed is subscribed to.
    fn resource_count(&self, feed: &Arc<ChangeFeed>) -> usize {
        let count = self.resource_counts.get(&address(feed));
        count.map_or(0, |(_, count)| *count)
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
        self.by_uri.values_mut().for_each(FeedSet::remove_closed);
        self.by_uri.retain(|_, feeds| !feeds.0.is_empty());
        self.resource_counts
            .retain(|_, (feed, _)| upgrade_open(feed).is_some());
        shrink_if_sparse(&mut self.by_uri);
        drop_if_empty(&mut self.resource_counts);
        let lists = self.lists().map(|feeds| feeds.0.len());
        let by_uri = self.by_uri.values().map(|feeds| feeds.0.len());
        self.open_at_cleanup = lists.into_iter().chain(by_uri).sum();
        self.changes_since_cleanup = 0;
    }
}

/// Returns an error if `count` exceeds the resources that one subscriber can subscribe to.
pub(crate) fn check_subscription_count(count: usize, limit: usize) -> Result<(), ProtocolError> {
    if count <= limit {
        return Ok(());
    }
    Err(ProtocolError::invalid_params(format!(
        "one subscriber can subscribe to {limit} resources at most (ServerBuilder::max_subscriptions)"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll, Waker};

    fn news(feed: &ChangeFeed) -> Vec<Change> {
        let mut cx = Context::from_waker(Waker::noop());
        let next = || match feed.poll_next(&mut cx) {
            Poll::Ready(change) => change,
            Poll::Pending => None,
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn only_subscribers_are_notified_and_repeats_coalesce() {
        let hub = SubscriptionHub::default();
        let (one, two) = (Arc::new(ChangeFeed::new()), Arc::new(ChangeFeed::new()));
        let a = || Change::Resource("a".into());
        hub.subscribe(&one, Change::Tools);
        hub.subscribe(&two, a());
        hub.subscribe(&two, a());
        for change in [
            Change::Tools,
            Change::Tools,
            a(),
            a(),
            Change::Resource("b".into()),
        ] {
            hub.publish(&change);
        }
        assert_eq!(news(&one), [Change::Tools]);
        assert_eq!(news(&two), [a()]);
        assert_eq!(hub.subscribers().resource_count(&two), 1);
        hub.unsubscribe(&two, "a");
        hub.publish(&a());
        assert_eq!(
            (news(&two), hub.subscribers().resource_count(&two)),
            (vec![], 0)
        );
    }

    #[test]
    fn repeated_subscriptions_count_once() {
        let hub = SubscriptionHub::default();
        let feed = Arc::new(ChangeFeed::new());
        for uri in ["a", "b", "a", "b"] {
            hub.subscribe_resource(&feed, uri, 2).unwrap();
        }
        assert!(hub.subscribe_resource(&feed, "c", 2).is_err());
        assert_eq!(hub.subscribers().resource_count(&feed), 2);
        hub.unsubscribe(&feed, "a");
        hub.subscribe_resource(&feed, "c", 2).unwrap();
        assert!(hub.subscribe_resource(&feed, "a", 2).is_err());
        hub.subscribe_resource(&Arc::new(ChangeFeed::new()), "a", 2)
            .unwrap();
    }

    #[test]
    fn unsubscribing_drops_unread_notifications() {
        let hub = SubscriptionHub::default();
        let feed = Arc::new(ChangeFeed::new());
        let change = |uri: &str| Change::Resource(uri.into());
        for uri in ["stays", "a", "b"] {
            hub.subscribe(&feed, change(uri));
            hub.publish(&change(uri));
        }
        for uri in ["a", "b"] {
            hub.unsubscribe(&feed, uri);
        }
        assert_eq!(news(&feed), [change("stays")]);
    }

    #[test]
    fn dropped_feeds_are_removed() {
        let hub = SubscriptionHub::default();
        for n in 0..5000 {
            let feed = Arc::new(ChangeFeed::new());
            hub.subscribe(&feed, Change::Resource(n.to_string().into()));
            hub.subscribe(&feed, Change::Tools);
        }
        let subscribers = hub.subscribers();
        assert!(subscribers.by_uri.len() <= 1025 && subscribers.tools.0.len() <= 1025);
        assert!(subscribers.resource_counts.len() <= 1025);
    }

    #[test]
    fn removed_feeds_leave_no_memory() {
        let hub = SubscriptionHub::default();
        let feeds: Vec<_> = (0..5000).map(|_| Arc::new(ChangeFeed::new())).collect();
        for (n, feed) in feeds.iter().enumerate() {
            hub.subscribe(feed, Change::Tools);
            hub.subscribe(feed, Change::Tools);
            hub.subscribe(feed, Change::Resource((n % 7).to_string().into()));
        }
        assert_eq!(hub.open_count(), 10_000);
        for feed in &feeds {
            feed.close();
            hub.remove_feed(feed);
        }
        assert_eq!(hub.open_count(), 0);
        assert!(feeds.iter().all(|feed| Arc::weak_count(feed) == 0));
        let subscribers = hub.subscribers();
        assert!(subscribers.tools.0.is_empty() && subscribers.resource_counts.is_empty());
        assert!(subscribers.by_uri.is_empty());
    }
}
