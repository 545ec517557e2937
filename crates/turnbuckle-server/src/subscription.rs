//! Who hears of changes: one call in user code reaches every subscriber of every era.
//!
//! Specification: basic/patterns/subscriptions (2026-07-28); server/resources, "Subscriptions"
//! (2025-11-25).

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use turnbuckle_session::{Binding, Change, Feed};
use turnbuckle_types::{
    CancelledParams, Error, ListenResult, SubscriptionFilter, SubscriptionsAcknowledgedParams,
};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Method;

use crate::context::Context;

/// The subscribers of one server.
#[derive(Debug, Default)]
pub(crate) struct Hub(Mutex<Subscribers>);

#[derive(Debug, Default)]
struct Subscribers {
    tools: Feeds,
    prompts: Feeds,
    resources: Feeds,
    /// A table, since every change of a resource is looked up here.
    by_uri: HashMap<Arc<str>, Feeds>,
    /// How many resources each feed follows, by its address.
    followed: BTreeMap<usize, (Weak<Feed>, usize)>,
    /// Subscriptions made, or left behind, since those that ended were last cleared away.
    made: usize,
    /// How many there were then.
    live: usize,
}

/// Feeds by their addresses: what is kept of one here keeps that from being used again.
///
/// They are in a tree: it grows and shrinks by small blocks, beside the feeds that these are for. A
/// hash table of many is one large block, and of its successors the last would lie above all that
/// was given back, and keep the allocator from giving it to the system.
#[derive(Debug, Default)]
struct Feeds(BTreeMap<usize, Weak<Feed>>);

impl Feeds {
    /// Whether it was not there yet.
    fn add(&mut self, feed: &Arc<Feed>) -> bool {
        let new = || Arc::downgrade(feed);
        let before = self.0.len();
        self.0.entry(address(feed)).or_insert_with(new);
        self.0.len() > before
    }

    /// Whether it was there.
    fn remove(&mut self, feed: &Arc<Feed>) -> bool {
        let removed = self.0.remove(&address(feed)).is_some();
        release(&mut self.0);
        removed
    }

    fn tell(&mut self, change: &Change) {
        self.0.retain(|_, feed| match open(feed) {
            Some(feed) => {
                feed.tell(change);
                true
            }
            None => false,
        });
    }

    fn clear_ended(&mut self) {
        self.0.retain(|_, feed| open(feed).is_some());
        release(&mut self.0);
    }
}

/// Gives back the room of what is gone. A table does not do so by itself.
fn slim<V>(table: &mut HashMap<Arc<str>, V>) {
    if table.capacity() > 64 && table.capacity() / 4 > table.len() {
        table.shrink_to(table.len() * 2);
    }
}

/// Gives back the last block of what has become empty.
fn release<K, V>(tree: &mut BTreeMap<K, V>) {
    if tree.is_empty() {
        *tree = BTreeMap::new();
    }
}

impl Hub {
    fn subscribers(&self) -> MutexGuard<'_, Subscribers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everybody who asked to hear of it.
    pub(crate) fn tell(&self, change: &Change) {
        let mut subscribers = self.subscribers();
        let feeds = match change {
            Change::Tools => Some(&mut subscribers.tools),
            Change::Prompts => Some(&mut subscribers.prompts),
            Change::Resources => Some(&mut subscribers.resources),
            Change::Resource(uri) => subscribers.by_uri.get_mut(uri),
        };
        if let Some(feeds) = feeds {
            feeds.tell(change);
        }
    }

    /// Lets a feed hear of a change.
    pub(crate) fn subscribe(&self, feed: &Arc<Feed>, change: Change) {
        self.subscribers().add(feed, change);
    }

    /// Lets a feed hear of a resource.
    ///
    /// # Errors
    /// When it follows `most` others.
    pub(crate) fn follow(&self, feed: &Arc<Feed>, uri: &str, most: usize) -> Result<(), Error> {
        let mut subscribers = self.subscribers();
        let feeds = subscribers.by_uri.get(uri);
        if feeds.is_some_and(|feeds| feeds.0.contains_key(&address(feed))) {
            return Ok(());
        }
        check_count(subscribers.followed(feed) + 1, most)?;
        subscribers.add(feed, Change::Resource(uri.into()));
        Ok(())
    }

    /// Forgets a feed that has ended. What it followed is cleared away with that of others.
    pub(crate) fn forget(&self, feed: &Arc<Feed>) {
        let mut subscribers = self.subscribers();
        for feeds in subscribers.lists() {
            feeds.remove(feed);
        }
        if let Some((_, count)) = subscribers.followed.remove(&address(feed)) {
            release(&mut subscribers.followed);
            subscribers.count(count);
        }
    }

    /// Lets a feed hear of a resource no more, nor of what it has not read yet: what is unread is
    /// bounded by what is followed.
    pub(crate) fn unsubscribe(&self, feed: &Arc<Feed>, uri: &str) {
        let mut subscribers = self.subscribers();
        let Some(feeds) = subscribers.by_uri.get_mut(uri) else {
            return;
        };
        let removed = feeds.remove(feed);
        feed.forget(uri);
        if feeds.0.is_empty() {
            subscribers.by_uri.remove(uri);
            slim(&mut subscribers.by_uri);
        }
        if let Some((_, count)) = subscribers.followed.get_mut(&address(feed)) {
            *count = count.saturating_sub(usize::from(removed));
        }
    }

    /// How many subscriptions somebody hears.
    pub(crate) fn open(&self) -> usize {
        let mut subscribers = self.subscribers();
        subscribers.clear_ended();
        subscribers.live
    }
}

fn address(feed: &Arc<Feed>) -> usize {
    Arc::as_ptr(feed).addr()
}

fn open(feed: &Weak<Feed>) -> Option<Arc<Feed>> {
    feed.upgrade().filter(|feed| !feed.is_closed())
}

impl Subscribers {
    fn lists(&mut self) -> [&mut Feeds; 3] {
        [&mut self.tools, &mut self.prompts, &mut self.resources]
    }

    fn add(&mut self, feed: &Arc<Feed>, change: Change) {
        self.count(1);
        let (feeds, is_resource) = match change {
            Change::Tools => (&mut self.tools, false),
            Change::Prompts => (&mut self.prompts, false),
            Change::Resources => (&mut self.resources, false),
            Change::Resource(uri) => (self.by_uri.entry(uri).or_default(), true),
        };
        if feeds.add(feed) && is_resource {
            let count = self
                .followed
                .entry(address(feed))
                .or_insert_with(|| (Arc::downgrade(feed), 0));
            count.1 += 1;
        }
    }

    /// How many resources a feed follows.
    fn followed(&self, feed: &Arc<Feed>) -> usize {
        let followed = self.followed.get(&address(feed));
        followed.map_or(0, |(_, count)| *count)
    }

    /// Counts what may have to be cleared away, and does so when it is much.
    fn count(&mut self, subscriptions: usize) {
        self.made += subscriptions;
        if self.made > self.live + 1024 {
            self.clear_ended();
        }
    }

    fn clear_ended(&mut self) {
        self.lists().into_iter().for_each(Feeds::clear_ended);
        self.by_uri.values_mut().for_each(Feeds::clear_ended);
        self.by_uri.retain(|_, feeds| !feeds.0.is_empty());
        self.followed.retain(|_, (feed, _)| open(feed).is_some());
        slim(&mut self.by_uri);
        release(&mut self.followed);
        let lists = self.lists().map(|feeds| feeds.0.len());
        let by_uri = self.by_uri.values().map(|feeds| feeds.0.len());
        self.live = lists.into_iter().chain(by_uri).sum();
        self.made = 0;
    }
}

/// Serves one `subscriptions/listen`: acknowledges what of `wanted` can be honoured, then tells of
/// every change, until the client or the server ends it.
pub(crate) async fn listen(context: Context, honoured: SubscriptionFilter) -> Reply {
    let feed = Arc::new(Feed::new());
    let hub = context.server().hub();
    let end = CloseOnDrop(feed.clone(), hub);
    let lists = [
        (honoured.tools_list_changed, Change::Tools),
        (honoured.prompts_list_changed, Change::Prompts),
        (honoured.resources_list_changed, Change::Resources),
    ];
    for (_, change) in lists
        .into_iter()
        .filter(|(wanted, _)| *wanted == Some(true))
    {
        hub.subscribe(&feed, change);
    }
    for uri in honoured.resource_subscriptions.iter().flatten() {
        hub.subscribe(&feed, Change::Resource(uri.as_str().into()));
    }
    let id = context.id().clone();
    let mut acknowledged = SubscriptionsAcknowledgedParams::new(honoured);
    acknowledged.meta.set_subscription_id(id.clone());
    context
        .notify(Method::SubscriptionsAcknowledged.as_str(), acknowledged)
        .await;
    loop {
        tokio::select! {
            biased;
            () = context.closing() => break,
            change = feed.next() => match change {
                Some(change) => context.send_frame(change.frame(Some(&id))).await,
                None => break,
            },
        }
    }
    drop(end);
    if context.binding() == Binding::Duplex {
        let mut cancelled = CancelledParams::new();
        cancelled.request_id = Some(id.clone());
        cancelled.meta.set_subscription_id(id.clone());
        context.notify(Method::Cancelled.as_str(), cancelled).await;
    }
    Reply::complete(ListenResult::of(id))
}

struct CloseOnDrop<'a>(Arc<Feed>, &'a Hub);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close();
        self.1.forget(&self.0);
    }
}

/// Refuses more resources than one subscriber may follow.
pub(crate) fn check_count(count: usize, limit: usize) -> Result<(), Error> {
    if count <= limit {
        return Ok(());
    }
    Err(Error::invalid_params(format!(
        "one subscriber may follow {limit} resources at most (ServerBuilder::max_subscriptions)"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context as Task, Poll, Waker};

    fn news(feed: &Feed) -> Vec<Change> {
        let mut cx = Task::from_waker(Waker::noop());
        let next = || match feed.poll_next(&mut cx) {
            Poll::Ready(change) => change,
            Poll::Pending => None,
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn only_subscribers_hear_and_repeats_coalesce() {
        let hub = Hub::default();
        let (one, two) = (Arc::new(Feed::new()), Arc::new(Feed::new()));
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
            hub.tell(&change);
        }
        assert_eq!(news(&one), [Change::Tools]);
        assert_eq!(news(&two), [a()]);
        assert_eq!(hub.subscribers().followed(&two), 1);
        hub.unsubscribe(&two, "a");
        hub.tell(&a());
        assert_eq!((news(&two), hub.subscribers().followed(&two)), (vec![], 0));
    }

    #[test]
    fn only_what_is_new_counts() {
        let hub = Hub::default();
        let feed = Arc::new(Feed::new());
        for uri in ["a", "b", "a", "b"] {
            hub.follow(&feed, uri, 2).unwrap();
        }
        assert!(hub.follow(&feed, "c", 2).is_err());
        assert_eq!(hub.subscribers().followed(&feed), 2);
        hub.unsubscribe(&feed, "a");
        hub.follow(&feed, "c", 2).unwrap();
        assert!(hub.follow(&feed, "a", 2).is_err());
        hub.follow(&Arc::new(Feed::new()), "a", 2).unwrap();
    }

    #[test]
    fn what_is_unread_is_of_what_is_followed() {
        let hub = Hub::default();
        let feed = Arc::new(Feed::new());
        let change = |uri: &str| Change::Resource(uri.into());
        for uri in ["stays", "a", "b"] {
            hub.subscribe(&feed, change(uri));
            hub.tell(&change(uri));
        }
        for uri in ["a", "b"] {
            hub.unsubscribe(&feed, uri);
        }
        assert_eq!(news(&feed), [change("stays")]);
    }

    #[test]
    fn subscribers_that_are_gone_leave_nothing() {
        let hub = Hub::default();
        for n in 0..5000 {
            let feed = Arc::new(Feed::new());
            hub.subscribe(&feed, Change::Resource(n.to_string().into()));
            hub.subscribe(&feed, Change::Tools);
        }
        let subscribers = hub.subscribers();
        assert!(subscribers.by_uri.len() <= 1025 && subscribers.tools.0.len() <= 1025);
        assert!(subscribers.followed.len() <= 1025);
    }

    #[test]
    fn what_is_forgotten_leaves_no_room_behind() {
        let hub = Hub::default();
        let feeds: Vec<_> = (0..5000).map(|_| Arc::new(Feed::new())).collect();
        for (n, feed) in feeds.iter().enumerate() {
            hub.subscribe(feed, Change::Tools);
            hub.subscribe(feed, Change::Tools);
            hub.subscribe(feed, Change::Resource((n % 7).to_string().into()));
        }
        assert_eq!(hub.open(), 10_000);
        for feed in &feeds {
            feed.close();
            hub.forget(feed);
        }
        assert_eq!(hub.open(), 0);
        assert!(feeds.iter().all(|feed| Arc::weak_count(feed) == 0));
        let subscribers = hub.subscribers();
        assert!(subscribers.tools.0.is_empty() && subscribers.followed.is_empty());
        assert!(subscribers.by_uri.is_empty());
    }
}
