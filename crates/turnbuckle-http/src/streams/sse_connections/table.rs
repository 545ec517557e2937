//! The open HTTP+SSE connections by id. A connection is removed when its stream is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use turnbuckle_types::Principal;
use turnbuckle_types::base::random;

use super::transport::MessageQueue;
use crate::request::principal::ScopedOwner;
use crate::shares::{Client, Exceeded, Share, ShareLimits, ShareTable};

/// The open connections and their queues of posted messages.
#[derive(Debug)]
pub(crate) struct ConnectionTable {
    by_id: Mutex<HashMap<Box<str>, SseConnection>>,
    shares: Arc<ShareTable>,
    /// The name of this instance of the server, which ids begin with if others take messages too.
    instance: Option<Arc<str>>,
}

#[derive(Debug)]
struct SseConnection {
    owner: ScopedOwner,
    queue: Arc<MessageQueue>,
    _share: Share,
}

/// The reason why a connection was not opened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OpenConnectionError {
    TooMany(Exceeded),
    RandomnessUnavailable,
}

impl ConnectionTable {
    /// Creates an empty table with these bounds. `instance` is the name of this instance of the server, if
    /// there may be others.
    pub(crate) fn new(limits: ShareLimits, instance: Option<Arc<str>>) -> Arc<Self> {
        Arc::new(Self {
            instance,
            by_id: Mutex::default(),
            shares: ShareTable::new(limits),
        })
    }

    fn table(&self) -> MutexGuard<'_, HashMap<Box<str>, SseConnection>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of open connections.
    pub(crate) fn count(&self) -> usize {
        self.table().len()
    }

    /// Inserts a connection under an id that nobody can guess. It stays in the table until the
    /// entry is dropped.
    ///
    /// # Errors
    /// When the table is full, the client has its share of it, or the system has no randomness.
    pub(crate) fn insert(
        self: &Arc<Self>,
        queue: MessageQueue,
        principal: Option<&Principal>,
        client: Client,
    ) -> Result<ConnectionEntry, OpenConnectionError> {
        let id = random::id().map_err(|_| OpenConnectionError::RandomnessUnavailable)?;
        let id: Box<str> = match &self.instance {
            None => id.into(),
            Some(instance) => format!("{instance}.{id}").into(),
        };
        let share = self.shares.take(client);
        let share = share.map_err(OpenConnectionError::TooMany)?;
        let connection = SseConnection {
            owner: ScopedOwner::new(principal),
            queue: Arc::new(queue),
            _share: share,
        };
        self.table().insert(id.clone(), connection);
        Ok(ConnectionEntry {
            id,
            connections: self.clone(),
        })
    }

    /// Returns the queue of messages for the connection of that id, if this principal opened it with
    /// the same scopes.
    pub(crate) fn message_queue(
        &self,
        id: &str,
        principal: Option<&Principal>,
    ) -> Option<Arc<MessageQueue>> {
        let table = self.table();
        let connection = table.get(id)?;
        let admitted = connection.owner.admits(principal);
        admitted.then(|| connection.queue.clone())
    }
}

/// The entry of a connection in the table. Dropping it removes the connection.
pub(crate) struct ConnectionEntry {
    pub(crate) id: Box<str>,
    connections: Arc<ConnectionTable>,
}

impl Drop for ConnectionEntry {
    fn drop(&mut self) {
        self.connections.table().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use turnbuckle_session::handler::Limits;
    use turnbuckle_session::internal::OwnerAccount;

    use super::super::transport::open_transport;
    use super::*;
    use crate::options::HttpShares;

    const UNKNOWN: Client = Client {
        owner: None,
        address: None,
    };

    fn table() -> Arc<ConnectionTable> {
        ConnectionTable::new(ShareLimits::new(2, &HttpShares::new()), None)
    }

    fn queue() -> MessageQueue {
        let account = OwnerAccount::new(&Limits::new());
        open_transport(account, 1024, 64, Box::pin(pending()), Box::pin(pending())).0
    }

    #[test]
    fn a_dropped_entry_makes_room_for_another() {
        let connections = table();
        let one = connections
            .insert(queue(), None, UNKNOWN)
            .unwrap_or_else(|_| panic!());
        let _other = connections
            .insert(queue(), None, UNKNOWN)
            .unwrap_or_else(|_| panic!());
        let refused = connections.insert(queue(), None, UNKNOWN).err();
        assert_eq!(refused, Some(OpenConnectionError::TooMany(Exceeded::Total)));
        let id = one.id.clone();
        assert!(connections.message_queue(&id, None).is_some());
        drop(one);
        assert!(connections.message_queue(&id, None).is_none());
        assert!(connections.insert(queue(), None, UNKNOWN).is_ok());
        assert_eq!(connections.table().len(), 1, "nothing of the dropped stays");
    }

    #[test]
    fn only_the_principal_that_opened_a_connection_finds_it() {
        let connections = table();
        let ann = Principal::new("https://issuer.example", "ann").scopes(["read", "write"]);
        let bob = Principal::new("https://issuer.example", "bob").scopes(["read", "write"]);
        let narrowed = ann.clone().scopes(["read"]);
        let entry = connections.insert(queue(), Some(&ann), UNKNOWN).ok();
        let id = &*entry.as_ref().expect("there is room").id;
        assert!(connections.message_queue(id, Some(&ann)).is_some());
        for stranger in [None, Some(&bob), Some(&narrowed)] {
            assert!(connections.message_queue(id, stranger).is_none());
        }
    }
}
