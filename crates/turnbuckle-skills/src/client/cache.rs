//! A cache of verified files, in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use turnbuckle_types::base::debug_fields;

/// A cache of verified files that several readers can share. It is filled as files are read; when it is
/// full, the file that was not used for the longest time makes room.
///
/// It is in memory only: nothing else can change what it holds, and it ends with the program.
///
/// Specification: "Lazy Retrieval" and "Security Considerations" of the extension.
#[derive(Clone)]
pub struct SkillCache(Arc<Mutex<Files>>);

/// The host's name of the server, the URI of the file, and its digest.
type Key = (Arc<str>, String, String);

struct Files {
    by_key: HashMap<Key, CachedFile>,
    /// The keys by the time of their last use.
    by_use: BTreeMap<u64, Key>,
    uses: u64,
    bytes: usize,
    max_bytes: usize,
}

struct CachedFile {
    content: CachedContent,
    last_use: u64,
}

/// The content of a file, with its media type.
#[derive(Clone)]
pub(super) struct CachedContent {
    pub(super) bytes: Arc<[u8]>,
    pub(super) mime_type: Option<String>,
}

impl SkillCache {
    /// Creates a cache that holds `max_bytes` of files and of their names at most.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self(Arc::new(Mutex::new(Files {
            by_key: HashMap::new(),
            by_use: BTreeMap::new(),
            uses: 0,
            bytes: 0,
            max_bytes,
        })))
    }

    /// Removes what was read from a server: a host calls this when the user removes the server.
    pub fn remove_server(&self, server: &str) {
        let mut files = self.lock();
        let removed = files.by_key.keys().filter(|(of, ..)| &**of == server);
        for key in removed.cloned().collect::<Vec<_>>() {
            files.remove(&key);
        }
    }

    /// Returns the number of bytes that are held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    pub(super) fn get(&self, server: &Arc<str>, uri: &str, digest: &str) -> Option<CachedContent> {
        let key = (server.clone(), uri.to_owned(), digest.to_owned());
        let mut files = self.lock();
        files.uses += 1;
        let now = files.uses;
        let file = files.by_key.get_mut(&key)?;
        let before = std::mem::replace(&mut file.last_use, now);
        let content = file.content.clone();
        files.by_use.remove(&before);
        files.by_use.insert(now, key);
        Some(content)
    }

    pub(super) fn insert(
        &self,
        server: &Arc<str>,
        uri: &str,
        digest: &str,
        content: CachedContent,
    ) {
        let key = (server.clone(), uri.to_owned(), digest.to_owned());
        let mut files = self.lock();
        let cost = cost(&key, &content);
        if cost > files.max_bytes {
            return;
        }
        files.remove(&key);
        while files.bytes + cost > files.max_bytes {
            let Some((_, oldest)) = files.by_use.pop_first() else {
                break;
            };
            files.remove(&oldest);
        }
        files.uses += 1;
        let last_use = files.uses;
        files.bytes += cost;
        files.by_use.insert(last_use, key.clone());
        files.by_key.insert(key, CachedFile { content, last_use });
    }

    fn lock(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files {
    fn remove(&mut self, key: &Key) {
        if let Some(file) = self.by_key.remove(key) {
            self.by_use.remove(&file.last_use);
            self.bytes -= cost(key, &file.content);
        }
    }
}

/// Returns the memory that a file takes: its content, its names twice, and the entries of both tables.
fn cost((server, uri, digest): &Key, content: &CachedContent) -> usize {
    let names = server.len() + 2 * (uri.len() + digest.len());
    let mime_type = content.mime_type.as_ref().map_or(0, String::len);
    content.bytes.len() + names + mime_type + 256
}

debug_fields!(SkillCache { bytes = |cache| cache.bytes() });

#[cfg(test)]
mod tests {
    use super::*;

    fn content(bytes: usize) -> CachedContent {
        CachedContent {
            bytes: vec![7; bytes].into(),
            mime_type: None,
        }
    }

    #[test]
    fn the_file_that_was_not_used_for_the_longest_time_makes_room() {
        let cache = SkillCache::new(10_000);
        let server = Arc::from("docs");
        for uri in ["a", "b", "c"] {
            cache.insert(&server, uri, "d", content(2800));
        }
        assert!(cache.get(&server, "a", "d").is_some());
        cache.insert(&server, "e", "d", content(2800));
        assert!(cache.get(&server, "b", "d").is_none());
        for uri in ["a", "c", "e"] {
            assert!(cache.get(&server, uri, "d").is_some(), "{uri}");
        }
        assert!(cache.bytes() <= 10_000);
        cache.insert(&server, "large", "d", content(10_000));
        assert!(cache.get(&server, "large", "d").is_none());
    }

    // requirement: ca97a6cbdda5
    #[test]
    fn servers_and_digests_do_not_share_files() {
        let cache = SkillCache::new(10_000);
        let (one, other) = (Arc::from("one"), Arc::from("other"));
        cache.insert(&one, "uri", "digest", content(1));
        assert!(cache.get(&other, "uri", "digest").is_none());
        assert!(cache.get(&one, "uri", "another").is_none());
        assert!(cache.get(&one, "another", "digest").is_none());
        cache.insert(&other, "uri", "digest", content(1));
        cache.remove_server("one");
        assert!(cache.get(&one, "uri", "digest").is_none());
        assert!(cache.get(&other, "uri", "digest").is_some());
        cache.remove_server("other");
        assert_eq!(cache.bytes(), 0);
    }
}
