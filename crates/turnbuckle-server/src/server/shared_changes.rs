//! Changes of the server, told to the subscribers of all instances.

#[cfg(feature = "store")]
use turnbuckle_cluster::SharedChange;
use turnbuckle_session::handler::{Change, Peer};
use turnbuckle_session::internal::RestoredSubscriptions;
use turnbuckle_types::base::change_position::ChangePosition;

use super::ServerInner;
use crate::Server;

#[cfg(feature = "store")]
mod receiver;
#[cfg(feature = "store")]
use receiver::changes_since;

impl ServerInner {
    /// Tells all subscribers of a change, also those of other instances.
    pub(crate) fn publish_change(&self, change: Change) {
        #[cfg(feature = "store")]
        if let Some(cluster) = &self.cluster {
            return cluster.changes().publish(to_shared(change));
        }
        self.subscriptions.publish(&change);
    }
}

impl Server {
    /// Applies the subscriptions that another instance has begun and ended for the client of a session.
    pub(super) fn apply_subscriptions(&self, peer: &Peer, restored: RestoredSubscriptions<'_>) {
        let hub = &self.0.subscriptions;
        for uri in restored.removed {
            hub.unsubscribe(peer.change_feed(), uri);
        }
        let missed = || self.missed_changes(restored.since);
        let limits = self.0.subscription_limits;
        if let Err(error) = hub.restore(peer, restored, limits, missed) {
            tracing::warn!(
                error = error.message(),
                "subscriptions of a session that another instance opened were not restored"
            );
        }
    }

    /// Returns the changes in the shared log after a position; none if there is no position.
    fn missed_changes(
        &self,
        since: Option<ChangePosition>,
    ) -> Option<Vec<(Change, ChangePosition)>> {
        #[cfg(feature = "store")]
        if let (Some(since), Some(cluster)) = (since, &self.0.cluster) {
            return changes_since(cluster, since);
        }
        #[cfg(not(feature = "store"))]
        let _ = since;
        Some(Vec::new())
    }
}

/// Returns the form of a change in which instances share it.
#[cfg(feature = "store")]
fn to_shared(change: Change) -> SharedChange {
    match change {
        Change::Tools => SharedChange::Tools,
        Change::Prompts => SharedChange::Prompts,
        Change::Resources => SharedChange::Resources,
        Change::Resource(uri) => SharedChange::Resource(uri),
    }
}
