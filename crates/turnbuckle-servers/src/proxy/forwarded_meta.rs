//! The `_meta` of a request, as a proxy passes it on.

use turnbuckle_server::HandlerContext;
use turnbuckle_types::{Meta, meta};

/// The keys that are about the connection which a message came on.
const CONNECTION_KEYS: [&str; 6] = [
    meta::PROGRESS_TOKEN,
    meta::PROTOCOL_VERSION,
    meta::CLIENT_INFO,
    meta::CLIENT_CAPABILITIES,
    meta::LOG_LEVEL,
    meta::RELATED_TASK,
];

/// Returns the `_meta` of a request as it is passed on.
pub(super) fn forwarded_meta(context: &HandlerContext) -> Meta {
    context.meta_without(&CONNECTION_KEYS)
}
