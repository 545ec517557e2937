//! Hints to the reader of content and resources.

use crate::object::object;
use crate::{MessageRole, Number};

object! {
    /// What a piece of data is for.
    ///
    /// Specification: server/resources, Annotations (2026-07-28).
    pub struct Annotations {
        /// Who it is meant for.
        opt audience: Vec<MessageRole> = "audience",
        /// How important it is, from 0 (optional) to 1 (effectively required).
        opt priority: Number = "priority",
        /// When it last changed, an ISO 8601 time.
        opt last_modified: String = "lastModified",
    }
}
