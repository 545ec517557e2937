//! Tasks: calls whose result is fetched later, in the form of the extension and in that of 2025-11-25.
//!
//! Specification: ext-tasks, tasks; basic/utilities/tasks (2025-11-25).

pub(in crate::request) mod call;
pub(crate) mod changes;
pub(crate) mod handle;
mod messages;
mod poll;
pub(crate) mod running;
mod wait;
