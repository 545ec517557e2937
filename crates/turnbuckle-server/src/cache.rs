//! For how long, and for whom, a client may keep a result.
//!
//! Specification: server/utilities/caching (2026-07-28).

use turnbuckle_types::CacheScope;

/// A cache hint.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cache {
    pub(crate) ttl_ms: u64,
    pub(crate) scope: CacheScope,
}

impl Default for Cache {
    /// Not to be kept, nor shared: only the author of a server knows better.
    fn default() -> Self {
        Self {
            ttl_ms: 0,
            scope: CacheScope::Private,
        }
    }
}
