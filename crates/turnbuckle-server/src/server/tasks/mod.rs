//! Tasks: tool calls that a client can leave and come back to.
//!
//! Both forms of tasks have one record, kept in the store: the extension of 2026-07-28 shows it as it is, and
//! the tasks of 2025-11-25 are translated at the edge (`core_form`). A task goes on in runs: a run ends with
//! the result of the handler or with its questions; when these are answered, the next run gets the answers
//! (`run`), as the rounds of a multi round-trip request do. Nothing is held in memory for a task that waits.
//!
//! Specification: the extension `io.modelcontextprotocol/tasks` (2026-07-28), basic/utilities/tasks
//! (2025-11-25).

mod call;
mod changes;
mod clock;
mod core_form;
mod core_list;
mod counts;
mod extension_form;
mod leases;
mod options;
mod outlet;
mod record;
mod records;
mod run;
mod service;

pub(crate) use call::TaskForm;
pub(crate) use options::TaskOptions;
pub use options::Tasks;
pub(crate) use service::TaskHandle;
