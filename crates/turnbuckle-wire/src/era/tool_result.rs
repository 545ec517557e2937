//! Members that tool results have in some revisions only.

/// The name under which an output that is no object is wrapped where it has to be one.
pub(crate) const WRAPPER_MEMBER: &str = "result";

/// The `_meta` key of a result whose structured form is wrapped.
///
/// An object with the one member `result` may also be what a tool means; only the sender knows.
pub(crate) const WRAPPED_META_KEY: &str = "io.github.turnbuckle-mcp/wrapped";

/// The member of a successful tool result where the reader's revision expects it.
pub(crate) const IS_NO_ERROR: (&str, &[u8]) = ("isError", b"false");
