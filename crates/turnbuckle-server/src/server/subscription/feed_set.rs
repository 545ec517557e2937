//! Sets of feeds.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use turnbuckle_session::internal::ChangeFeed;

use super::{address, drop_if_empty, upgrade_open};

/// A set of feeds, by their addresses. The weak reference keeps an address from being reused.
///
/// A tree, because it grows and shrinks in small blocks. The table of a large hash map is one
/// block; the last and largest one would stay allocated above freed memory and keep the allocator
/// from returning that memory to the system.
#[derive(Debug, Default)]
pub(super) struct FeedSet(BTreeMap<usize, Weak<ChangeFeed>>);

impl FeedSet {
    /// Adds a feed; returns whether it was not in the set yet.
    pub(super) fn add(&mut self, feed: &Arc<ChangeFeed>) -> bool {
        let new = || Arc::downgrade(feed);
        let before = self.0.len();
        self.0.entry(address(feed)).or_insert_with(new);
        self.0.len() > before
    }

    /// Removes a feed; returns whether it was in the set.
    pub(super) fn remove(&mut self, feed: &Arc<ChangeFeed>) -> bool {
        let removed = self.0.remove(&address(feed)).is_some();
        drop_if_empty(&mut self.0);
        removed
    }

    /// Calls `publish` for every open feed and removes closed ones.
    pub(super) fn publish(&mut self, publish: impl Fn(&ChangeFeed)) {
        self.0.retain(|_, feed| match upgrade_open(feed) {
            Some(feed) => {
                publish(&feed);
                true
            }
            None => false,
        });
    }

    /// Returns whether a feed is in the set.
    pub(super) fn contains(&self, feed: &Arc<ChangeFeed>) -> bool {
        self.0.contains_key(&address(feed))
    }

    /// Returns the open feeds.
    pub(super) fn open(&self) -> impl Iterator<Item = Arc<ChangeFeed>> {
        self.0.values().filter_map(upgrade_open)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes closed feeds.
    pub(super) fn remove_closed(&mut self) {
        self.0.retain(|_, feed| upgrade_open(feed).is_some());
        drop_if_empty(&mut self.0);
    }
}
