//! Progress of a request that takes a while.

use crate::object::object;
use crate::{Meta, Number, ProgressToken};

object! {
    /// Parameters of `notifications/progress`.
    ///
    /// Specification: basic/patterns/progress (2026-07-28).
    pub struct ProgressParams {
        /// The token that the request carried.
        req progress_token: ProgressToken = "progressToken",
        /// How far the work is; greater with each notification.
        req progress: Number = "progress",
        /// How far the work goes, if that is known.
        opt total: Number = "total",
        /// What is being done, for people.
        opt message: String = "message",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}
