//! Subscriptions of legacy sessions that go on at another instance of the server.

use std::hash::BuildHasher as _;

use turnbuckle_session::handler::Peer;
use turnbuckle_session::internal::SessionOwner;
use turnbuckle_types::ProtocolError;

use super::{ClientKey, SubscriptionHub, SubscriptionKey, SubscriptionLimits};

impl SubscriptionHub {
    /// Subscribes the feed of a legacy session to resources, which its client subscribed to at another
    /// instance. They count for `owner`, the principal of the session.
    ///
    /// # Errors
    /// When there are as many subscriptions or bytes as the limits allow.
    pub(crate) fn restore(
        &self,
        peer: &Peer,
        owner: Option<&SessionOwner>,
        uris: &[Box<str>],
        limits: SubscriptionLimits,
    ) -> Result<(), ProtocolError> {
        let keys = uris.iter().map(|uri| SubscriptionKey::Resource(uri));
        let memory = peer.reserve_memory(keys.clone().map(SubscriptionKey::bytes).sum())?;
        let client = owner.map(|owner| ClientKey(self.hasher.hash_one(owner.identity())));
        self.subscribe_keys(peer.change_feed(), client, keys, limits, memory)
    }
}
