//! The changes that one subscriber was not told of yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use turnbuckle_types::RequestId;
use turnbuckle_types::base::change_position::ChangePosition;

use crate::server::change::{Change, ChangeNotification, TopicNotification};

/// The position of a change among those that wait for a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FeedPosition {
    position: ChangePosition,
    /// True if the change is not in the shared log: it was published here alone, after the entry at
    /// `position`.
    is_local: bool,
}

/// A change that a subscriber is told of next.
#[derive(Debug)]
pub struct PendingChange {
    /// The list or resource that has changed.
    pub change: Change,
    /// The position in the shared log up to which the subscriber is told once it has received the change.
    pub position: ChangePosition,
    feed_position: FeedPosition,
    /// The position before.
    before: ChangePosition,
}

/// The changes that one subscriber was not told of yet. Changes coalesce into one for each list and
/// each resource, at the position of the latest, and the latest notification of each method for each topic
/// of an extension.
#[derive(Debug, Default)]
pub struct ChangeFeed {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    positions: BTreeMap<Change, FeedPosition>,
    /// The keys of `positions` in their order.
    order: BTreeSet<(FeedPosition, Change)>,
    topics: BTreeMap<(Arc<str>, Arc<str>), TopicNotification>,
    /// The position up to which the subscriber was told of everything.
    position: ChangePosition,
    closed: bool,
    reader: Option<Waker>,
}

impl State {
    /// Adds a change, unless it waits at this position or a later one already.
    fn insert(&mut self, change: &Change, new: FeedPosition) {
        match self.positions.get_mut(change) {
            Some(known) if *known >= new => return,
            Some(known) => {
                let earlier = std::mem::replace(known, new);
                self.order.remove(&(earlier, change.clone()));
            }
            None => {
                self.positions.insert(change.clone(), new);
            }
        }
        self.order.insert((new, change.clone()));
    }

    /// Takes the first change.
    fn take(&mut self) -> Option<PendingChange> {
        let (feed_position, change) = self.order.pop_first()?;
        self.positions.remove(&change);
        let before = self.position;
        // Several changes may have one position. It is reached with the last of them.
        let is_last = self
            .order
            .first()
            .is_none_or(|(next, _)| *next != feed_position);
        if is_last || feed_position.is_local {
            self.position = before.max(feed_position.position);
        }
        Some(PendingChange {
            change,
            position: self.position,
            feed_position,
            before,
        })
    }
}

impl ChangeFeed {
    /// Returns an empty feed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a change that no shared log has. A change that the subscriber was not told of yet is added
    /// once.
    pub fn publish(&self, change: &Change) {
        self.publish_after(change, ChangePosition::default());
    }

    /// Adds a change that no shared log has, behind what the log has up to a position.
    pub fn publish_after(&self, change: &Change, position: ChangePosition) {
        let is_local = true;
        self.add(|state| state.insert(change, FeedPosition { position, is_local }));
    }

    /// Adds a change that is in the shared log at a position, unless the subscriber knows everything up
    /// to it.
    pub fn publish_at(&self, change: &Change, position: ChangePosition) {
        let is_local = false;
        self.add(|state| {
            if position.number > state.position.number {
                state.insert(change, FeedPosition { position, is_local });
            }
        });
    }

    /// Adds a change that is in the shared log at a position, which went by before the subscription to it was
    /// known here.
    pub fn publish_late(&self, change: &Change, position: ChangePosition) {
        let is_local = false;
        self.add(|state| state.insert(change, FeedPosition { position, is_local }));
    }

    /// Adds a notification of a topic. It takes the place of an earlier one of the same method that the
    /// subscriber was not sent yet.
    pub fn publish_to_topic(&self, topic: &Arc<str>, notification: &TopicNotification) {
        self.add(|state| {
            let key = (topic.clone(), notification.method.clone());
            state.topics.insert(key, notification.clone());
        });
    }

    fn add(&self, add: impl FnOnce(&mut State)) {
        let mut state = self.state();
        if state.closed {
            return;
        }
        add(&mut state);
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Returns the position in the shared log up to which the subscriber was told of everything.
    #[must_use]
    pub fn position(&self) -> ChangePosition {
        self.state().position
    }

    /// Sets the position up to which the subscriber knows everything. `since` are all changes in the shared
    /// log after it, which the subscriber is told of next. Of the changes that waited, those stay that no
    /// shared log has, and that came later.
    pub fn reset_to<'a>(
        &self,
        position: ChangePosition,
        since: impl IntoIterator<Item = (&'a Change, ChangePosition)>,
    ) {
        self.add(|state| {
            for (known, change) in std::mem::take(&mut state.order) {
                if known.is_local && known.position >= position {
                    state.order.insert((known, change));
                } else {
                    state.positions.remove(&change);
                }
            }
            state.position = position;
            for (change, position) in since {
                let is_local = false;
                state.insert(change, FeedPosition { position, is_local });
            }
        });
    }

    /// Replaces everything by these changes, all at one position: of the time before, nothing is known.
    pub fn restart(&self, changes: impl IntoIterator<Item = Change>, position: ChangePosition) {
        self.add(|state| {
            state.order.clear();
            state.positions.clear();
            state.position = ChangePosition::default();
            let is_local = false;
            for change in changes {
                state.insert(&change, FeedPosition { position, is_local });
            }
            if state.order.is_empty() {
                state.position = position;
            }
        });
    }

    /// Removes the update of a resource, if the subscriber was not told of it yet.
    pub fn remove_resource(&self, uri: &str) {
        let mut state = self.state();
        let change = Change::Resource(uri.into());
        if let Some(position) = state.positions.remove(&change) {
            state.order.remove(&(position, change));
        }
    }

    /// Closes the feed: its changes are dropped, and no others are added.
    pub fn close(&self) {
        let mut state = self.state();
        let reader = state.reader.take();
        *state = State {
            closed: true,
            position: state.position,
            ..State::default()
        };
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Returns whether the feed was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Returns the next change, or `None` once the feed is closed. Changes in the shared log come in its
    /// order.
    pub fn poll_pending(&self, cx: &mut Context<'_>) -> Poll<Option<PendingChange>> {
        let mut state = self.state();
        if state.closed {
            return Poll::Ready(None);
        }
        if let Some(pending) = state.take() {
            return Poll::Ready(Some(pending));
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Puts back a change that could not be sent.
    pub fn put_back(&self, pending: &PendingChange) {
        let mut state = self.state();
        if !state.closed {
            state.insert(&pending.change, pending.feed_position);
            state.position = state.position.min(pending.before);
        }
    }

    /// Returns the next change, or `None` once the feed is closed.
    pub fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Change>> {
        let next = self.poll_pending(cx);
        next.map(|pending| pending.map(|it| it.change))
    }

    /// Returns the next notification for a subscription stream, or `None` once the feed is closed.
    pub async fn next_notification(&self, subscription: &RequestId) -> Option<ChangeNotification> {
        std::future::poll_fn(|cx| match self.poll_next(cx) {
            Poll::Ready(change) => {
                Poll::Ready(change.map(|change| change.to_notification(Some(subscription))))
            }
            Poll::Pending => match self.state().topics.pop_first() {
                Some((_, notification)) => {
                    Poll::Ready(Some(notification.to_notification(subscription)))
                }
                None => Poll::Pending,
            },
        })
        .await
    }

    /// Returns the next change, or `None` once the feed is closed.
    pub async fn next(&self) -> Option<Change> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(number: u64) -> ChangePosition {
        ChangePosition { number, mark: 7 }
    }

    fn resource(uri: &str) -> Change {
        Change::Resource(uri.into())
    }

    /// Takes all changes, each with the number of the position that it reaches.
    fn take(feed: &ChangeFeed) -> Vec<(Change, u64)> {
        let mut cx = Context::from_waker(Waker::noop());
        let mut taken = Vec::new();
        while let Poll::Ready(Some(next)) = feed.poll_pending(&mut cx) {
            taken.push((next.change, next.position.number));
        }
        taken
    }

    #[test]
    fn changes_come_in_the_order_of_their_latest_positions() {
        let feed = ChangeFeed::new();
        feed.publish_at(&Change::Tools, position(1));
        feed.publish_at(&resource("b"), position(2));
        feed.publish_at(&resource("a"), position(3));
        feed.publish_at(&Change::Tools, position(4));
        feed.publish_at(&resource("a"), position(3));
        let expected = [(resource("b"), 2), (resource("a"), 3), (Change::Tools, 4)];
        assert_eq!(take(&feed), expected);
        assert_eq!(feed.position(), position(4));
    }

    #[test]
    fn a_position_of_several_changes_is_reached_with_the_last() {
        let feed = ChangeFeed::new();
        feed.publish_at(&Change::Tools, position(3));
        for change in [Change::Tools, Change::Prompts, resource("a")] {
            feed.publish_at(&change, position(9));
        }
        let expected = [(Change::Tools, 0), (Change::Prompts, 0), (resource("a"), 9)];
        assert_eq!(take(&feed), expected);
    }

    #[test]
    fn changes_that_no_log_has_come_after_those_that_it_has() {
        let feed = ChangeFeed::new();
        feed.publish_after(&Change::Prompts, position(5));
        feed.publish_after(&Change::Tools, position(5));
        feed.publish_at(&resource("a"), position(5));
        let expected = [(resource("a"), 5), (Change::Tools, 5), (Change::Prompts, 5)];
        assert_eq!(take(&feed), expected);
    }

    #[test]
    fn a_subscriber_that_comes_back_is_told_what_changed_since() {
        let feed = ChangeFeed::new();
        feed.publish_at(&resource("seen"), position(4));
        feed.publish_at(&resource("both"), position(5));
        feed.publish_at(&resource("unchanged"), position(8));
        feed.publish_at(&Change::Prompts, position(8));
        feed.publish_after(&Change::Tools, position(5));
        let since = [
            (resource("missed"), position(6)),
            (Change::Prompts, position(8)),
        ];
        feed.reset_to(position(5), since.iter().map(|(change, at)| (change, *at)));
        assert_eq!(feed.position(), position(5));
        let expected = [
            (Change::Tools, 5),
            (resource("missed"), 6),
            (Change::Prompts, 8),
        ];
        assert_eq!(take(&feed), expected);
        feed.publish_at(&resource("both"), position(9));
        assert_eq!(take(&feed), [(resource("both"), 9)]);
    }

    #[test]
    fn a_feed_that_restarts_knows_nothing_of_the_time_before() {
        let feed = ChangeFeed::new();
        feed.publish_at(&resource("a"), position(800));
        feed.publish_at(&resource("b"), position(900));
        assert_eq!(take(&feed).len(), 2);
        feed.publish_at(&resource("c"), position(901));
        // A log that began anew has smaller positions.
        feed.restart([Change::Tools, Change::Prompts], position(3));
        assert_eq!(take(&feed), [(Change::Tools, 0), (Change::Prompts, 3)]);
        feed.publish_at(&Change::Tools, position(3));
        feed.publish_at(&resource("a"), position(4));
        assert_eq!(take(&feed), [(resource("a"), 4)]);
        feed.restart([], position(2));
        assert_eq!(feed.position(), position(2));
    }

    #[test]
    fn a_change_that_was_put_back_is_not_told() {
        let feed = ChangeFeed::new();
        feed.publish_at(&Change::Tools, position(1));
        feed.publish_at(&Change::Prompts, position(2));
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..2 {
            let Poll::Ready(Some(first)) = feed.poll_pending(&mut cx) else {
                panic!("there is a change");
            };
            assert_eq!(
                (&first.change, first.position),
                (&Change::Tools, position(1))
            );
            feed.put_back(&first);
            assert_eq!(feed.position(), ChangePosition::default());
        }
        assert_eq!(take(&feed), [(Change::Tools, 1), (Change::Prompts, 2)]);
    }

    #[test]
    fn nothing_of_a_removed_resource_or_a_closed_feed_is_left() {
        let feed = ChangeFeed::new();
        feed.publish_at(&resource("a"), position(1));
        feed.publish_at(&resource("b"), position(2));
        feed.remove_resource("a");
        assert_eq!(take(&feed), [(resource("b"), 2)]);
        feed.publish(&Change::Tools);
        feed.close();
        feed.publish(&Change::Prompts);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(matches!(feed.poll_next(&mut cx), Poll::Ready(None)));
        let state = feed.state();
        assert!(state.positions.is_empty() && state.order.is_empty());
    }
}
