//! The open connections: id → where posted messages go. Nothing stays of a stream that is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use turnbuckle_types::Principal;

use super::lanes::Inbox;
use crate::principal::Owner;
use crate::secret;

/// The table.
#[derive(Debug)]
pub(crate) struct Connections {
    by_id: Mutex<HashMap<Box<str>, Open>>,
    max: usize,
}

#[derive(Debug)]
struct Open {
    owner: Owner,
    inbox: Arc<Inbox>,
}

/// Why there is no new connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoConnection {
    Full,
    NoRandomness,
}

impl Connections {
    /// An empty table for so many.
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            by_id: Mutex::default(),
            max,
        })
    }

    fn table(&self) -> MutexGuard<'_, HashMap<Box<str>, Open>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.table().len()
    }

    /// Takes a connection into the table, under an id that nobody can guess. It is there for as
    /// long as the entry.
    pub(crate) fn admit(
        self: &Arc<Self>,
        inbox: Inbox,
        principal: Option<&Principal>,
    ) -> Result<Entry, NoConnection> {
        let id = secret::new_id().ok_or(NoConnection::NoRandomness)?;
        let mut table = self.table();
        if table.len() >= self.max {
            return Err(NoConnection::Full);
        }
        let open = Open {
            owner: Owner::of(principal),
            inbox: Arc::new(inbox),
        };
        table.insert(id.clone(), open);
        Ok(Entry {
            id,
            connections: self.clone(),
        })
    }

    /// Where messages to the connection of that id go, if this principal opened it.
    pub(crate) fn inbox(&self, id: &str, principal: Option<&Principal>) -> Option<Arc<Inbox>> {
        let table = self.table();
        let open = table.get(id)?;
        let admitted = open.owner.admits(principal);
        admitted.then(|| open.inbox.clone())
    }
}

/// A place in the table. Its id is a secret of its client.
pub(crate) struct Entry {
    pub(crate) id: Box<str>,
    connections: Arc<Connections>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.connections.table().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::super::lanes::lanes;
    use super::*;

    fn inbox() -> Inbox {
        lanes(1024, 64, Box::pin(pending()), Box::pin(pending())).0
    }

    #[test]
    fn a_place_is_free_again_when_its_entry_is_gone() {
        let connections = Connections::new(2);
        let one = connections
            .admit(inbox(), None)
            .unwrap_or_else(|_| panic!());
        let _other = connections
            .admit(inbox(), None)
            .unwrap_or_else(|_| panic!());
        let refused = connections.admit(inbox(), None).err();
        assert_eq!(refused, Some(NoConnection::Full));
        let id = one.id.clone();
        assert!(connections.inbox(&id, None).is_some());
        drop(one);
        assert!(connections.inbox(&id, None).is_none());
        assert!(connections.admit(inbox(), None).is_ok());
        assert_eq!(connections.table().len(), 1, "nothing of the dropped stays");
    }

    #[test]
    fn only_who_opened_a_connection_finds_it() {
        let connections = Connections::new(2);
        let ann = Principal::new("https://issuer.example", "ann");
        let bob = Principal::new("https://issuer.example", "bob");
        let entry = connections.admit(inbox(), Some(&ann)).ok();
        let id = &*entry.as_ref().expect("there is room").id;
        assert!(connections.inbox(id, Some(&ann)).is_some());
        for stranger in [None, Some(&bob)] {
            assert!(connections.inbox(id, stranger).is_none());
        }
    }
}
