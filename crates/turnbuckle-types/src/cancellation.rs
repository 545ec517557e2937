//! Cancellation of a request.

use crate::object::object;
use crate::{Meta, RequestId};

object! {
    /// Parameters of `notifications/cancelled`.
    ///
    /// The id is optional in 2025-11-25, where a task is cancelled by other means.
    /// Specification: basic/patterns/cancellation (2026-07-28).
    pub struct CancelledNotificationParams {
        /// The id of the request that is cancelled.
        opt request_id: RequestId = "requestId",
        /// The reason, for people.
        opt reason: String = "reason",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}
