//! Cache hints: for how long, and for whom, a client may keep a result.
//!
//! Specification: server/utilities/caching (2026-07-28).

use std::time::Duration;

use turnbuckle_types::CacheScope;

/// The time for which clients may cache a result, and who may share it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CacheHint {
    pub(crate) ttl_ms: u64,
    pub(crate) scope: CacheScope,
}

impl CacheHint {
    /// Creates a hint in whole milliseconds; longer times become the longest that can be expressed.
    pub(crate) fn new(ttl: Duration, scope: CacheScope) -> Self {
        Self {
            ttl_ms: u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX),
            scope,
        }
    }
}

impl Default for CacheHint {
    /// Returns the hint for results that must be neither kept nor shared: only the author of a
    /// server knows better.
    fn default() -> Self {
        Self {
            ttl_ms: 0,
            scope: CacheScope::Private,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ttl_is_sent_in_whole_milliseconds() {
        for (ttl, expected) in [
            (Duration::ZERO, 0),
            (Duration::from_micros(999), 0),
            (Duration::from_micros(1999), 1),
            (Duration::from_millis(u64::MAX), u64::MAX),
            (Duration::MAX, u64::MAX),
        ] {
            let cache = CacheHint::new(ttl, CacheScope::Public);
            assert_eq!(cache.ttl_ms, expected, "{ttl:?}");
        }
    }
}
