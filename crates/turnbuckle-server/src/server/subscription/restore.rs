//! Subscriptions of legacy sessions that go on at another instance of the server.

use std::collections::BTreeSet;
use std::hash::BuildHasher as _;

use turnbuckle_session::handler::{Change, Peer};
use turnbuckle_session::internal::RestoredSubscriptions;
use turnbuckle_types::ProtocolError;
use turnbuckle_types::base::change_position::ChangePosition;

use super::{ClientKey, SubscriptionHub, SubscriptionKey, SubscriptionLimits};

impl SubscriptionHub {
    /// Subscribes the feed of a legacy session to resources, which its client subscribed to at another
    /// instance. They count for the principal of the session. `missed` returns the changes of which the client
    /// is told, if they are of these resources; `None` if they are not known: everything may have changed.
    ///
    /// # Errors
    /// When there are as many subscriptions or bytes as the limits allow.
    pub(in crate::server) fn restore(
        &self,
        peer: &Peer,
        restored: RestoredSubscriptions<'_>,
        limits: SubscriptionLimits,
        missed: impl FnOnce() -> Option<Vec<(Change, ChangePosition)>>,
    ) -> Result<(), ProtocolError> {
        let keys = restored
            .added
            .iter()
            .map(|uri| SubscriptionKey::Resource(uri));
        let memory = peer.reserve_memory(keys.clone().map(SubscriptionKey::bytes).sum())?;
        let owner = restored.owner;
        let client = owner.map(|owner| ClientKey(self.hasher.hash_one(owner.identity())));
        let feed = peer.change_feed();
        // Locked until the missed changes are added, so that none is published between.
        let mut subscribers = self.subscribers();
        let is_new = |uri: &&str| {
            let feeds = subscribers.by_uri.get(*uri);
            !feeds.is_some_and(|feeds| feeds.contains(feed))
        };
        let added = restored.added.iter().map(|uri| &**uri);
        let new: BTreeSet<&str> = added.filter(is_new).collect();
        let subscribed = subscribers.subscribe_keys(feed, client, keys, limits, memory);
        let position = subscribers.position;
        let missed = missed().unwrap_or_else(|| {
            let change = |uri: &&str| (Change::Resource((*uri).into()), position);
            new.iter().map(change).collect()
        });
        for (change, position) in &missed {
            if matches!(change, Change::Resource(uri) if new.contains(&**uri)) {
                feed.publish_late(change, *position);
            }
        }
        drop(subscribers);
        self.resources_changed.notify_one();
        subscribed
    }
}
