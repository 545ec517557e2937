//! Who hears of changes: one call in user code reaches every subscriber of every era.
//!
//! Specification: basic/patterns/subscriptions (2026-07-28); server/resources, "Subscriptions"
//! (2025-11-25).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use turnbuckle_session::{Binding, Change, Feed, Method, Reply};
use turnbuckle_types::{
    CancelledParams, Error, ListenResult, SubscriptionFilter, SubscriptionsAcknowledgedParams,
};

use crate::context::Context;

/// The subscribers of one server.
#[derive(Debug, Default)]
pub(crate) struct Hub(Mutex<Subscribers>);

#[derive(Debug, Default)]
struct Subscribers {
    tools: Vec<Weak<Feed>>,
    prompts: Vec<Weak<Feed>>,
    resources: Vec<Weak<Feed>>,
    by_uri: HashMap<Arc<str>, Vec<Weak<Feed>>>,
    /// How many resources each feed follows, by its address: what is kept of it here keeps that
    /// from being used again.
    followed: HashMap<usize, (Weak<Feed>, usize)>,
    /// Subscriptions made since those that ended were last cleared away.
    made: usize,
    /// How many there were then.
    live: usize,
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
        let Some(feeds) = feeds else { return };
        feeds.retain(|feed| match open(feed) {
            Some(feed) => {
                feed.tell(change);
                true
            }
            None => false,
        });
    }

    /// Lets a feed hear of a change.
    pub(crate) fn subscribe(&self, feed: &Arc<Feed>, change: Change) {
        let mut subscribers = self.subscribers();
        subscribers.made += 1;
        if subscribers.made > subscribers.live + 1024 {
            subscribers.clear_ended();
        }
        let Subscribers {
            tools,
            prompts,
            resources,
            by_uri,
            followed,
            ..
        } = &mut *subscribers;
        let this = Arc::downgrade(feed);
        let (feeds, is_resource) = match change {
            Change::Tools => (tools, false),
            Change::Prompts => (prompts, false),
            Change::Resources => (resources, false),
            Change::Resource(uri) => (by_uri.entry(uri).or_default(), true),
        };
        if feeds.iter().any(|other| other.ptr_eq(&this)) {
            return;
        }
        if is_resource {
            let count = followed
                .entry(address(feed))
                .or_insert_with(|| (this.clone(), 0));
            count.1 += 1;
        }
        feeds.push(this);
    }

    /// Lets a feed hear of a resource no more.
    pub(crate) fn unsubscribe(&self, feed: &Arc<Feed>, uri: &str) {
        let mut subscribers = self.subscribers();
        let Some(feeds) = subscribers.by_uri.get_mut(uri) else {
            return;
        };
        let (this, before) = (Arc::downgrade(feed), feeds.len());
        feeds.retain(|other| !other.ptr_eq(&this));
        let removed = before - feeds.len();
        if feeds.is_empty() {
            subscribers.by_uri.remove(uri);
        }
        if let Some((_, count)) = subscribers.followed.get_mut(&address(feed)) {
            *count = count.saturating_sub(removed);
        }
    }

    /// How many resources a feed follows.
    pub(crate) fn followed(&self, feed: &Arc<Feed>) -> usize {
        let subscribers = self.subscribers();
        let followed = subscribers.followed.get(&address(feed));
        followed.map_or(0, |(_, count)| *count)
    }
}

fn address(feed: &Arc<Feed>) -> usize {
    Arc::as_ptr(feed).addr()
}

fn open(feed: &Weak<Feed>) -> Option<Arc<Feed>> {
    feed.upgrade().filter(|feed| !feed.is_closed())
}

impl Subscribers {
    fn clear_ended(&mut self) {
        let Self {
            tools,
            prompts,
            resources,
            by_uri,
            followed,
            ..
        } = self;
        let mut live = 0;
        for feeds in [tools, prompts, resources]
            .into_iter()
            .chain(by_uri.values_mut())
        {
            feeds.retain(|feed| open(feed).is_some());
            live += feeds.len();
        }
        by_uri.retain(|_, feeds| !feeds.is_empty());
        followed.retain(|_, (feed, _)| open(feed).is_some());
        self.live = live;
        self.made = 0;
    }
}

/// Serves one `subscriptions/listen`: acknowledges what of `wanted` can be honoured, then tells of
/// every change, until the client or the server ends it.
pub(crate) async fn listen(context: Context, honoured: SubscriptionFilter) -> Reply {
    let feed = Arc::new(Feed::new());
    let end = CloseOnDrop(feed.clone());
    let hub = context.server().hub();
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

struct CloseOnDrop(Arc<Feed>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close();
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
        assert_eq!(hub.followed(&two), 1);
        hub.unsubscribe(&two, "a");
        hub.tell(&a());
        assert_eq!((news(&two), hub.followed(&two)), (vec![], 0));
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
        assert!(subscribers.by_uri.len() <= 1025 && subscribers.tools.len() <= 1025);
        assert!(subscribers.followed.len() <= 1025);
    }
}
