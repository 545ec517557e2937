//! The number of the client's subscriptions that need each resource of a legacy session.

use std::collections::HashMap;
use std::sync::Arc;

use crate::connection::Connection;

/// The subscribed resources of one session.
#[derive(Debug, Default)]
pub(crate) struct ResourceCounts {
    /// The generation of the connection that the session belongs to.
    generation: u64,
    /// The number of subscriptions for each URI.
    by_uri: HashMap<Arc<str>, usize>,
}

impl ResourceCounts {
    /// Returns the counts of a connection. Those of an older connection are dropped.
    pub(crate) fn for_connection(
        &mut self,
        connection: &Connection,
    ) -> &mut HashMap<Arc<str>, usize> {
        if self.generation < connection.generation {
            self.generation = connection.generation;
            self.by_uri.clear();
        }
        &mut self.by_uri
    }

    /// Removes one subscription of a resource. Returns whether it was the last one and the server
    /// must still be unsubscribed at the server.
    pub(crate) fn release(&mut self, connection: &Connection, uri: &Arc<str>) -> bool {
        if connection.session.is_closed() || self.generation != connection.generation {
            return false;
        }
        let Some(count) = self.by_uri.get_mut(uri) else {
            return false;
        };
        *count -= 1;
        let last = *count == 0;
        if last {
            self.by_uri.remove(uri);
        }
        last
    }
}
