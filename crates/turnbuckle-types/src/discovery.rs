//! Discovery: what a server is and can do, asked at any time.

use crate::object::object;
use crate::{CacheScope, Meta, ServerCapabilities};

object! {
    /// Result of `server/discover`.
    ///
    /// Specification: server/discover (2026-07-28).
    pub struct DiscoverResult {
        /// The revisions that the server answers in this way.
        req supported_versions: Vec<String> = "supportedVersions",
        /// What it can do.
        req capabilities: ServerCapabilities = "capabilities",
        /// How to use it, for the model.
        opt instructions: String = "instructions",
        /// How long this may be used, in milliseconds.
        ttl ttl_ms: u64 = "ttlMs",
        /// Who may be shown a cached copy.
        opt cache_scope: CacheScope = "cacheScope",
        /// Metadata, with the server's name and version.
        map meta: Meta = "_meta",
    }
}
