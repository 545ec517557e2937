//! The HTTP headers that mirror a message's body: their names, how values are encoded, and whether
//! both say the same. Shared by both ends, so that they agree by construction.
//!
//! Specification: basic/transports/streamable-http, "Standard Request Headers" and "Custom Headers
//! from Tool Parameters" (2026-07-28).

mod arguments;
mod check;
mod value;

pub use check::{
    HeaderSource, HeaderValues, check_headers, check_param_headers, mirror_param_headers,
    mirrored_name,
};
use value::value_matches;
pub use value::{InvalidHeaderValue, decode_value, encode_value};

/// Names the revision that a request speaks.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// Mirrors the method of a request.
pub const METHOD: &str = "mcp-method";
/// Mirrors the name or URI of what a request is about.
pub const NAME: &str = "mcp-name";
/// Begins the name of every header that mirrors an argument of a tool.
pub(super) const PARAM_PREFIX: &str = "mcp-param-";
/// Names the session that a legacy request belongs to.
pub const SESSION_ID: &str = "mcp-session-id";
/// Names the last event that a client saw of a legacy stream.
pub const LAST_EVENT_ID: &str = "last-event-id";
