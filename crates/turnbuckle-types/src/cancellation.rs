//! Taking back a request.

use crate::object::object;
use crate::{Meta, RequestId};

object! {
    /// Parameters of `notifications/cancelled`.
    ///
    /// The id is optional in 2025-11-25, where a task is cancelled by other means.
    /// Specification: basic/patterns/cancellation (2026-07-28).
    pub struct CancelledParams {
        /// The id of the request that is taken back.
        opt request_id: RequestId = "requestId",
        /// Why, for people.
        opt reason: String = "reason",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

impl CancelledParams {
    /// Takes back the request `id`.
    #[must_use]
    pub fn of(id: impl Into<RequestId>) -> Self {
        Self::new().request_id(id)
    }
}
