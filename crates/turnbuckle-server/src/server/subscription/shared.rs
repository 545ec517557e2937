//! Changes that have positions in the log that the instances of the server share.

use std::collections::BTreeMap;
use std::sync::Arc;

use turnbuckle_session::handler::Change;
use turnbuckle_session::internal::ChangeFeed;
use turnbuckle_types::base::change_position::ChangePosition;

use super::{Subscribers, SubscriptionHub, address};

impl SubscriptionHub {
    /// Sends a change at a position of the shared log to every feed that is subscribed to it.
    pub(crate) fn publish_at(&self, change: &Change, position: ChangePosition) {
        let mut subscribers = self.subscribers();
        subscribers.position = position;
        if let Some(feeds) = subscribers.feeds_of(change) {
            feeds.publish(|feed| feed.publish_at(change, position));
        }
    }

    /// Sets the position up to which subscribers were told.
    pub(crate) fn set_position(&self, position: ChangePosition) {
        self.subscribers().position = position;
    }

    /// Tells all subscribers that everything may have changed, up to a position.
    pub(crate) fn publish_loss(&self, position: ChangePosition) {
        let mut subscribers = self.subscribers();
        subscribers.position = position;
        for (feed, changes) in subscribers.subscriptions().into_values() {
            feed.restart(changes, position);
        }
    }

    /// Returns the position up to which subscribers were told.
    pub(crate) fn position(&self) -> ChangePosition {
        self.subscribers().position
    }

    /// Sets a feed to the position that its subscriber names. `since` returns the changes after it, or
    /// `None` if they are not known: then everything may have changed.
    pub(crate) fn catch_up(
        &self,
        feed: &Arc<ChangeFeed>,
        position: ChangePosition,
        since: impl FnOnce() -> Option<Vec<(Change, ChangePosition)>>,
    ) {
        // Locked before the changes are read, so that none is published between.
        let mut subscribers = self.subscribers();
        match since() {
            Some(mut changes) => {
                changes.retain(|(change, _)| {
                    let feeds = subscribers.feeds_of(change);
                    feeds.is_some_and(|feeds| feeds.contains(feed))
                });
                let changes = changes.iter().map(|(change, at)| (change, *at));
                feed.reset_to(position, changes);
            }
            None => {
                let mut all = subscribers.subscriptions();
                let changes = all.remove(&address(feed)).map(|(_, changes)| changes);
                feed.restart(changes.unwrap_or_default(), subscribers.position);
            }
        }
    }
}

impl Subscribers {
    /// Returns the open feeds, each with the lists and resources that it is subscribed to.
    fn subscriptions(&self) -> BTreeMap<usize, (Arc<ChangeFeed>, Vec<Change>)> {
        let lists = [
            (Change::Tools, &self.tools),
            (Change::Prompts, &self.prompts),
            (Change::Resources, &self.resources),
        ];
        let resources = self
            .by_uri
            .iter()
            .map(|(uri, feeds)| (Change::Resource(uri.clone()), feeds));
        let mut found = BTreeMap::new();
        for (change, feeds) in lists.into_iter().chain(resources) {
            for feed in feeds.open() {
                let (_, changes) = found
                    .entry(address(&feed))
                    .or_insert_with(|| (feed, Vec::new()));
                changes.push(change.clone());
            }
        }
        found
    }
}
