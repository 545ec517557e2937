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

const LIMITS: SubscriptionLimits = SubscriptionLimits {
    per_subscriber: 2,
    total: 6,
};

fn subscribe(
    hub: &SubscriptionHub,
    feed: &Arc<ChangeFeed>,
    uri: &str,
) -> Result<(), ProtocolError> {
    hub.subscribers().subscribe_keys(
        feed,
        None,
        [SubscriptionKey::Resource(uri)],
        LIMITS,
        MemoryPermit::default(),
    )
}

#[test]
fn one_client_has_half_of_all_subscriptions() {
    let hub = SubscriptionHub::default();
    let feeds: Vec<_> = (0..5).map(|_| Arc::new(ChangeFeed::new())).collect();
    let add = |feed: usize, client, uri: &str| {
        hub.subscribers().subscribe_keys(
            &feeds[feed],
            Some(ClientKey(client)),
            [SubscriptionKey::Resource(uri)],
            LIMITS,
            MemoryPermit::default(),
        )
    };
    for (feed, uri) in [(0, "a"), (0, "b"), (1, "a")] {
        add(feed, 1, uri).unwrap();
    }
    let refused = add(1, 1, "b").unwrap_err().message().to_owned();
    let setting = "of one client (ServerBuilder::max_total_subscriptions)";
    assert!(refused.contains(setting), "{refused}");
    for (feed, client, uri) in [(2, 2, "a"), (2, 2, "b"), (3, 3, "a")] {
        add(feed, client, uri).unwrap();
    }
    let refused = add(4, 4, "a").unwrap_err().message().to_owned();
    assert!(refused.contains("of all clients"), "{refused}");
    // What ends makes room, whether it is unsubscribed, removed or closed.
    hub.unsubscribe(&feeds[0], "a");
    add(1, 1, "b").unwrap();
    hub.remove_feed(&feeds[2]);
    feeds[3].close();
    for uri in ["a", "b"] {
        add(4, 4, uri).unwrap();
    }
    for feed in &feeds {
        hub.remove_feed(feed);
    }
    let subscribers = hub.subscribers();
    assert_eq!(
        (subscribers.resource_total, subscribers.by_client.len()),
        (0, 0)
    );
}

#[test]
fn subscriptions_count_for_the_memory_of_their_client() {
    let account = turnbuckle_session::internal::OwnerAccount::new(
        &turnbuckle_session::handler::Limits::new(),
    );
    let memory = account.memory();
    let hub = SubscriptionHub::default();
    let feed = Arc::new(ChangeFeed::new());
    let one = SubscriptionKey::Resource("a").bytes();
    let add = |uris: &[&str]| {
        let held = memory.reserve(one * uris.len()).unwrap();
        let keys = uris.iter().map(|uri| SubscriptionKey::Resource(uri));
        hub.subscribers()
            .subscribe_keys(&feed, None, keys, LIMITS, held)
    };
    add(&["a"]).unwrap();
    add(&["a", "b"]).unwrap();
    assert_eq!(memory.used(), 2 * one, "once for each resource");
    assert!(add(&["c"]).is_err());
    assert_eq!(memory.used(), 2 * one, "nothing for what is refused");
    hub.unsubscribe(&feed, "a");
    assert_eq!(memory.used(), one);
    hub.remove_feed(&feed);
    assert_eq!(memory.used(), 0);
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
        subscribe(&hub, &feed, uri).unwrap();
    }
    assert!(subscribe(&hub, &feed, "c").is_err());
    assert_eq!(hub.subscribers().resource_count(&feed), 2);
    hub.unsubscribe(&feed, "a");
    subscribe(&hub, &feed, "c").unwrap();
    assert!(subscribe(&hub, &feed, "a").is_err());
    subscribe(&hub, &Arc::new(ChangeFeed::new()), "a").unwrap();
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
    assert!(subscribers.by_uri.len() <= 1025 && subscribers.tools.len() <= 1025);
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
    assert!(subscribers.tools.is_empty() && subscribers.resource_counts.is_empty());
    assert!(subscribers.by_uri.is_empty());
}

#[cfg(feature = "store")]
mod shared {
    use super::*;

    fn position(number: u64) -> ChangePosition {
        ChangePosition { number, mark: 3 }
    }

    fn hub_with_feed() -> (SubscriptionHub, Arc<ChangeFeed>) {
        let hub = SubscriptionHub::default();
        hub.set_position(position(10));
        let feed = Arc::new(ChangeFeed::new());
        hub.open(&feed, [Change::Tools, Change::Prompts].into_iter());
        subscribe(&hub, &feed, "a").unwrap();
        (hub, feed)
    }

    #[test]
    fn a_feed_begins_at_the_position_of_its_instance() {
        let (hub, feed) = hub_with_feed();
        assert_eq!(feed.position(), position(10));
        hub.publish_at(&Change::Resource("a".into()), position(12));
        hub.publish_at(&Change::Resources, position(13));
        hub.publish(&Change::Tools);
        assert_eq!(
            news(&feed),
            [Change::Resource("a".into()), Change::Tools],
            "in the order of the log, without what it is not subscribed to"
        );
        assert_eq!(feed.position(), position(13));
        assert_eq!(hub.position(), position(13));
    }

    #[test]
    fn who_comes_back_is_told_of_what_it_is_subscribed_to() {
        let (hub, feed) = hub_with_feed();
        let since = [
            (Change::Tools, position(11)),
            (Change::Resource("b".into()), position(12)),
            (Change::Resource("a".into()), position(14)),
        ];
        hub.catch_up(&feed, position(9), || Some(since.to_vec()));
        // The log was read further than the hub has published.
        hub.publish_at(&Change::Resource("a".into()), position(14));
        assert_eq!(news(&feed), [Change::Tools, Change::Resource("a".into())]);
        hub.publish_at(&Change::Resource("a".into()), position(14));
        assert_eq!(news(&feed), []);
    }

    #[test]
    fn a_loss_is_told_once_for_each_subscription() {
        let (hub, feed) = hub_with_feed();
        let other = Arc::new(ChangeFeed::new());
        hub.open(&other, [Change::Resources].into_iter());
        let all = [Change::Tools, Change::Prompts, Change::Resource("a".into())];
        hub.publish_at(&Change::Tools, position(11));
        // The log began anew.
        hub.publish_loss(position(2));
        assert_eq!(news(&feed), all);
        assert_eq!(feed.position(), position(2));
        assert_eq!(news(&other), [Change::Resources]);
        hub.catch_up(&feed, position(900), || None);
        assert_eq!(news(&feed), all);
        assert_eq!(news(&other), [], "another subscriber knows");
    }
}
