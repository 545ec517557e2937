//! The settings of tasks.

use std::time::Duration;

use turnbuckle_types::base::setters;
use turnbuckle_types::{Settings, TaskRequestsCapability, TaskToolsCapability, TasksCapability};

/// The shortest time after which an instance counts as ended.
const MIN_LEASE_TTL: Duration = Duration::from_millis(100);

/// The shortest time between two polls. Requests that wait for a result look at the task as often.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Tasks: tool calls that a client can leave and come back to.
///
/// A tool says with [`task`](crate::Tool::task) that its calls may become tasks. With a
/// [store](crate::ServerBuilder::store), tasks and their results outlive the process; without one they
/// live in its memory, and are bounded there.
///
/// A task belongs to the principal that made the call: others are told that it does not exist. On a server
/// without authorization, whoever knows the id of a task can read and cancel it; the ids cannot be guessed.
///
/// Specification: the extension `io.modelcontextprotocol/tasks` (2026-07-28), basic/utilities/tasks
/// (2025-11-25).
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Tasks {
    pub(super) options: TaskOptions,
}

/// The settings of tasks.
#[derive(Debug, Clone)]
pub(crate) struct TaskOptions {
    pub(super) ttl: Duration,
    pub(super) max_ttl: Duration,
    pub(super) poll_interval: Duration,
    pub(super) lease_ttl: Duration,
    pub(super) max_per_principal: usize,
    pub(super) max_running: usize,
    pub(super) max_tasks: usize,
    pub(super) result_bytes: usize,
    pub(super) list: bool,
}

impl Default for TaskOptions {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(3600),
            max_ttl: Duration::from_secs(24 * 3600),
            poll_interval: Duration::from_secs(1),
            lease_ttl: Duration::from_secs(10),
            max_per_principal: 64,
            max_running: 256,
            max_tasks: 10_000,
            result_bytes: 1 << 20,
            list: false,
        }
    }
}

impl Tasks {
    /// Creates the extension with its default settings.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the time for which a task is kept from its creation, running or not: an hour unless set. A
        /// task that has not ended by then is ended, and its id is unknown from then on.
        ttl(ttl: Duration) { options.ttl = ttl }

        /// Sets the longest time for which a client of 2025-11-25 can have a task kept: a day unless set. A
        /// client that asks for more gets this.
        max_ttl(ttl: Duration) { options.max_ttl = ttl }

        /// Sets the time between two polls that is suggested to clients: a second unless set, and at least one
        /// tenth of a second.
        poll_interval(interval: Duration) {
            options.poll_interval = interval.max(MIN_POLL_INTERVAL)
        }

        /// Sets the time after which an instance that has shown no sign counts as ended, where a store is
        /// shared: 10 seconds unless set, and at least one tenth of a second. Its tasks then fail, or go on
        /// elsewhere if their tools are resumable. An instance that runs tasks shows a sign three times in that
        /// time.
        lease_ttl(ttl: Duration) { options.lease_ttl = ttl.max(MIN_LEASE_TTL) }

        /// Sets the most tasks of one principal that have not ended, on this instance: 64 unless set.
        /// Callers without a principal count by their network address, and together without one.
        max_per_principal(tasks: usize) { options.max_per_principal = tasks }

        /// Sets the most tasks that run at once on this instance: 256 unless set. Another call is refused;
        /// a task whose questions were answered waits for its turn.
        max_running(tasks: usize) { options.max_running = tasks }

        /// Sets the most tasks that this instance has created and that are still kept, ended ones included:
        /// 10,000 unless set. One caller can have as many of them as are left for others, so that none
        /// takes them all.
        max_tasks(tasks: usize) { options.max_tasks = tasks }

        /// Sets the most bytes of a result: 1 MiB less what encryption takes unless set, and at most that. A
        /// task with a larger result fails.
        result_bytes(bytes: usize) { options.result_bytes = bytes }

        /// Offers `tasks/list` to clients of 2025-11-25, for servers whose clients have principals: each
        /// gets its own tasks.
        ///
        /// Specification: basic/utilities/tasks, "Task Isolation and Access Control" (2025-11-25).
        list(list: bool) { options.list = list }
    }
}

impl TaskOptions {
    /// Returns the capability that clients of 2025-11-25 are told of.
    pub(crate) fn core_capability(&self) -> TasksCapability {
        let calls = TaskToolsCapability::new().call(Settings::new());
        let capability = TasksCapability::new()
            .cancel(Settings::new())
            .requests(TaskRequestsCapability::new().tools(calls));
        match self.list {
            true => capability.list(Settings::new()),
            false => capability,
        }
    }
}
