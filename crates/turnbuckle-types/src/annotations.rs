//! Hints to the reader of content and resources.

use crate::object::object;
use crate::{Number, Role};

object! {
    /// The audience, priority and age of a piece of data.
    ///
    /// Specification: server/resources, Annotations (2026-07-28).
    pub struct Annotations {
        /// The intended audience.
        opt audience: Vec<Role> = "audience",
        /// The importance, from 0 (optional) to 1 (effectively required).
        opt priority: Number = "priority" is fraction,
        /// The time of the last change, as ISO 8601 writes it.
        opt last_modified: String = "lastModified",
    }
}
