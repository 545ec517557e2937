//! Progress of a request that takes a while.

use crate::object::object;
use crate::{Meta, Number, ProgressToken};

object! {
    /// Parameters of `notifications/progress`.
    ///
    /// Specification: basic/patterns/progress (2026-07-28).
    pub struct ProgressNotificationParams {
        /// The token that the request carried.
        req progress_token: ProgressToken = "progressToken" is progress_token,
        /// The progress so far; greater with each notification.
        req progress: Number = "progress",
        /// The progress at the end, if that is known.
        opt total: Number = "total",
        /// The current step, for people.
        opt message: String = "message",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}
