//! Changes of the server, told to the subscribers of all instances.

#[cfg(feature = "store")]
use turnbuckle_cluster::SharedChange;
use turnbuckle_session::handler::Change;

use super::ServerInner;

#[cfg(feature = "store")]
mod receiver;

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
