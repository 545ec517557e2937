//! The setting of a tool whose calls may become tasks.

use std::time::Duration;

use turnbuckle_types::base::setters;
use turnbuckle_types::{TaskSupportLevel, ToolExecution};

/// The way in which calls of a tool become tasks: work that goes on after its request, and whose result
/// the client gets later.
///
/// The server needs the extension for tasks; a tool with this setting on a server without it is an error
/// when the server is built.
///
/// ```
/// use std::time::Duration;
///
/// use turnbuckle_server::{TaskSupport, Tool};
///
/// // Answers if it is quick, and becomes a task after five seconds.
/// let report = Tool::builder("report")
///     .task(TaskSupport::optional().after(Duration::from_secs(5)))
///     .handler(|| "42 pages");
/// ```
///
/// Specification: basic/utilities/tasks (2025-11-25), and the extension `io.modelcontextprotocol/tasks`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct TaskSupport {
    /// True if clients without tasks get an error.
    pub(crate) is_required: bool,
    /// The time for which a call runs in its request before it becomes a task; `None` for no time.
    pub(crate) after: Option<Duration>,
    /// True if another instance may run the call again when the one that ran it has ended.
    pub(crate) is_resumable: bool,
}

impl TaskSupport {
    /// Creates the setting of a tool whose calls become tasks for clients that support tasks. For others
    /// a call runs in its request.
    pub const fn optional() -> Self {
        Self {
            is_required: false,
            after: None,
            is_resumable: false,
        }
    }

    /// Returns the member of the tool's definition for clients of 2025-11-25.
    pub(super) fn to_execution(&self) -> ToolExecution {
        ToolExecution::new().task_support(match self.is_required {
            true => TaskSupportLevel::Required,
            false => TaskSupportLevel::Optional,
        })
    }

    /// Creates the setting of a tool that only clients with tasks can call. Others get an error.
    pub const fn required() -> Self {
        Self {
            is_required: true,
            ..Self::optional()
        }
    }

    setters! {
        /// Sets the time for which a call runs in its request before it becomes a task. A call that ends in this
        /// time is answered as usual. A question to the client in this time is asked on the call, and the
        /// time begins anew with the answer.
        ///
        /// A client of 2025-11-25 chooses itself, with each call, and gets its task at once.
        after(duration: Duration) { after = Some(duration) }

        /// Lets the call run again from its beginning where the server that ran it has ended, if the
        /// server has a store. Without this setting such a task fails.
        ///
        /// The handler gets the answers again that it got before, and
        /// [`Ask::once`](crate::Ask::once) keeps it from repeating an effect.
        resumable() { is_resumable = true }
    }
}
