//! The memory that the lists of clients' own connections take in sum.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A bounded number of bytes, of which the connections to one server take half at most.
pub(crate) struct ListMemory {
    max_bytes: usize,
    used: Arc<Mutex<Used>>,
}

#[derive(Default)]
struct Used {
    total: usize,
    by_server: HashMap<Arc<str>, usize>,
}

/// Bytes that are given back when the value is dropped.
pub(super) struct ReservedBytes {
    used: Arc<Mutex<Used>>,
    server: Arc<str>,
    bytes: usize,
}

fn lock(used: &Mutex<Used>) -> MutexGuard<'_, Used> {
    used.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ListMemory {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            used: Arc::default(),
        }
    }

    /// Reserves bytes for a list of a server; `None` if there is no room.
    pub(super) fn reserve(&self, server: &Arc<str>, bytes: usize) -> Option<ReservedBytes> {
        let mut used = lock(&self.used);
        let total = used.total.checked_add(bytes)?;
        let of_server = used.by_server.get(server).copied().unwrap_or_default();
        let of_server = of_server.saturating_add(bytes);
        if total > self.max_bytes || of_server > self.max_bytes.div_ceil(2) {
            return None;
        }
        used.total = total;
        used.by_server.insert(server.clone(), of_server);
        Some(ReservedBytes {
            used: self.used.clone(),
            server: server.clone(),
            bytes,
        })
    }
}

impl Drop for ReservedBytes {
    fn drop(&mut self) {
        let mut used = lock(&self.used);
        used.total -= self.bytes;
        if let Some(of_server) = used.by_server.get_mut(&self.server) {
            *of_server -= self.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_takes_half_at_most_and_gives_back_what_it_took() {
        let memory = ListMemory::new(100);
        let (one, other) = (Arc::from("one"), Arc::from("other"));
        let first = memory.reserve(&one, 50).unwrap();
        assert!(memory.reserve(&one, 1).is_none());
        let second = memory.reserve(&other, 40).unwrap();
        assert!(memory.reserve(&Arc::from("third"), 11).is_none());
        drop(first);
        assert!(memory.reserve(&one, 50).is_some());
        drop(second);
        assert_eq!(lock(&memory.used).total, 0);
        assert!(memory.reserve(&one, usize::MAX).is_none());
    }
}
