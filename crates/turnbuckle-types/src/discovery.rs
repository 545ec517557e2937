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
        /// The capabilities of the server.
        req capabilities: ServerCapabilities = "capabilities",
        /// Instructions for the model.
        opt instructions: String = "instructions",
        /// The time for which the result may be cached, in milliseconds.
        ttl ttl_ms: u64 = "ttlMs",
        /// The receivers that may be given a cached copy.
        opt cache_scope: CacheScope = "cacheScope",
        /// Metadata, with the server's name and version.
        map meta: Meta = "_meta",
    }
}
