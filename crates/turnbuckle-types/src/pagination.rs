//! Lists in pages, and the parameters and results that hold nothing else.

use crate::Meta;
use crate::object::object;

object! {
    /// Parameters of the list methods.
    ///
    /// Specification: server/utilities/pagination (2026-07-28).
    pub struct PaginatedRequestParams {
        /// The start of the page, as the page before it said; absent for the first. The empty
        /// string is a cursor too.
        opt cursor: String = "cursor",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Parameters of a request that needs none.
    pub struct RequestParams {
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Parameters of a notification that needs none.
    pub struct NotificationParams {
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Result of a request that has nothing to say but that it was done.
    pub struct EmptyResult {
        /// Metadata.
        map meta: Meta = "_meta",
    }
}
