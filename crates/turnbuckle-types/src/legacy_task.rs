//! Tasks as the core protocol of one revision has them: both sides run requests of the other as tasks.
//!
//! Specification: basic/utilities/tasks (2025-11-25).

use crate::object::object;
use crate::{Meta, Settings, Task, TaskStatus};

object! {
    /// The state of a task.
    pub struct LegacyTask {
        /// The id, which the receiver of the request chose.
        req task_id: String = "taskId",
        /// The state.
        req status: TaskStatus = "status",
        /// The time of its creation, in the form of ISO 8601.
        req created_at: String = "createdAt",
        /// The time of its last change, in the form of ISO 8601.
        req last_updated_at: String = "lastUpdatedAt",
        /// The state in words, for people.
        opt status_message: String = "statusMessage",
        /// The time in milliseconds from its creation after which the receiver may forget it; absent means
        /// that it has no end.
        lifetime ttl: u64 = "ttl",
        /// The time in milliseconds that the other side waits between two requests for its state.
        ttl poll_interval: u64 = "pollInterval",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// The wish that a request is a task.
    pub struct TaskMetadata {
        /// The time in milliseconds for which the task is to be kept from its creation.
        ttl ttl: u64 = "ttl",
    }

    /// The task that a message belongs to: the value of the key
    /// [`RELATED_TASK`](crate::meta::RELATED_TASK) in `_meta`.
    pub struct RelatedTask {
        /// The id of the task.
        req task_id: String = "taskId",
    }

    /// The result of a request that became a task.
    pub struct CreateLegacyTaskResult {
        /// The task.
        req task: LegacyTask = "task",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Parameters of `tasks/result`.
    pub struct TaskResultRequestParams {
        /// The id of the task.
        req task_id: String = "taskId",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Result of `tasks/list`: one page.
    pub struct ListTasksResult {
        /// The tasks of this page.
        req tasks: Vec<LegacyTask> = "tasks",
        /// The start of the next page; absent on the last one.
        opt next_cursor: String = "nextCursor",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// The capability to run requests of the other side as tasks.
    pub struct TasksCapability {
        /// The tasks can be listed.
        opt list: Settings = "list",
        /// The tasks can be cancelled.
        opt cancel: Settings = "cancel",
        /// The requests that can be tasks.
        opt requests: TaskRequestsCapability = "requests",
    }

    /// The requests that can be tasks.
    pub struct TaskRequestsCapability {
        /// Requests about tools, to a server.
        opt tools: TaskToolsCapability = "tools",
        /// Requests to a model, to a client.
        opt sampling: TaskSamplingCapability = "sampling",
        /// Requests to the user, to a client.
        opt elicitation: TaskElicitationCapability = "elicitation",
    }

    /// The requests about tools that can be tasks.
    pub struct TaskToolsCapability {
        /// `tools/call` can be a task.
        opt call: Settings = "call",
    }

    /// The requests to a model that can be tasks.
    pub struct TaskSamplingCapability {
        /// `sampling/createMessage` can be a task.
        opt create_message: Settings = "createMessage",
    }

    /// The requests to the user that can be tasks.
    pub struct TaskElicitationCapability {
        /// `elicitation/create` can be a task.
        opt create: Settings = "create",
    }
}

impl TasksCapability {
    /// Returns whether `tools/call` can be a task.
    #[must_use]
    pub fn supports_tool_calls(&self) -> bool {
        let requests = self.requests.as_ref();
        requests.is_some_and(|it| it.tools.as_ref().is_some_and(|tools| tools.call.is_some()))
    }

    /// Returns whether `sampling/createMessage` can be a task.
    #[must_use]
    pub fn supports_sampling(&self) -> bool {
        let sampling = self.requests.as_ref().and_then(|it| it.sampling.as_ref());
        sampling.is_some_and(|sampling| sampling.create_message.is_some())
    }

    /// Returns whether `elicitation/create` can be a task.
    #[must_use]
    pub fn supports_elicitation(&self) -> bool {
        let elicitation = self
            .requests
            .as_ref()
            .and_then(|it| it.elicitation.as_ref());
        elicitation.is_some_and(|elicitation| elicitation.create.is_some())
    }
}

impl From<Task> for LegacyTask {
    fn from(task: Task) -> Self {
        Self {
            task_id: task.task_id,
            status: task.status,
            created_at: task.created_at,
            last_updated_at: task.last_updated_at,
            status_message: task.status_message,
            ttl: task.ttl_ms,
            poll_interval: task.poll_interval_ms,
            meta: task.meta,
            extra: task.extra,
        }
    }
}

impl From<LegacyTask> for Task {
    fn from(task: LegacyTask) -> Self {
        Self {
            task_id: task.task_id,
            status: task.status,
            created_at: task.created_at,
            last_updated_at: task.last_updated_at,
            status_message: task.status_message,
            ttl_ms: task.ttl,
            poll_interval_ms: task.poll_interval,
            meta: task.meta,
            extra: task.extra,
        }
    }
}
