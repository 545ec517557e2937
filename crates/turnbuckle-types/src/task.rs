//! The extension for tasks: requests whose answer is fetched later.
//!
//! Specification: ext-tasks, tasks.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::object::object;
use crate::words::words;
use crate::{ErrorObject, InputRequests, InputResponses, Json, Meta, RawObject};

/// The id of the extension for tasks.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

words! {
    /// The state of a task.
    pub enum TaskStatus {
        /// The request is being processed.
        Working = "working",
        /// The request waits for answers of the client.
        InputRequired = "input_required",
        /// The request has a result.
        Completed = "completed",
        /// The request ended with an error.
        Failed = "failed",
        /// The request was cancelled before it ended.
        Cancelled = "cancelled",
    }
}

impl TaskStatus {
    /// Returns whether the task has ended: its status does not change any more.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

object! {
    /// The state of a task, without its questions, its result and its error.
    pub struct Task {
        /// The id, which the server chose.
        req task_id: String = "taskId",
        /// The state.
        req status: TaskStatus = "status",
        /// The time of its creation, in the form of ISO 8601.
        req created_at: String = "createdAt",
        /// The time of its last change, in the form of ISO 8601.
        req last_updated_at: String = "lastUpdatedAt",
        /// The state in words, for people.
        opt status_message: String = "statusMessage",
        /// The time in milliseconds from its creation after which the server may forget it; absent means
        /// that it has no end.
        lifetime ttl_ms: u64 = "ttlMs",
        /// The time in milliseconds that a client waits between two requests for its state.
        ttl poll_interval_ms: u64 = "pollIntervalMs",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Parameters of `tasks/get`.
    pub struct GetTaskRequestParams {
        /// The id of the task.
        req task_id: String = "taskId",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Parameters of `tasks/update`.
    pub struct UpdateTaskRequestParams {
        /// The id of the task.
        req task_id: String = "taskId",
        /// Answers to questions of the task.
        always input_responses: InputResponses = "inputResponses" is input_responses,
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Parameters of `tasks/cancel`.
    pub struct CancelTaskRequestParams {
        /// The id of the task.
        req task_id: String = "taskId",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

/// The result of a request that became a task: `resultType` is then `task`.
pub type CreateTaskResult = Task;

/// The state of a task with its questions, its result or its error: result of `tasks/get` and parameters of
/// `notifications/tasks`.
///
/// A task that is decoded has the part that its status demands, and no other.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DetailedTask {
    /// The state.
    pub task: Task,
    /// The questions that wait for an answer, where the status is `input_required`.
    pub input_requests: Option<InputRequests>,
    /// The result of the request, where the status is `completed`.
    pub result: Option<RawObject>,
    /// The error of the request, where the status is `failed`.
    pub error: Option<ErrorObject>,
}

const INPUT_REQUESTS: &str = "inputRequests";
const RESULT: &str = "result";
const ERROR: &str = "error";

impl DetailedTask {
    /// Creates a task without questions, a result or an error.
    #[must_use]
    pub fn new(task: impl Into<Task>) -> Self {
        Self {
            task: task.into(),
            input_requests: None,
            result: None,
            error: None,
        }
    }

    /// Sets `inputRequests`: see the field of the same name.
    #[must_use]
    pub fn input_requests(mut self, requests: impl Into<InputRequests>) -> Self {
        self.input_requests = Some(requests.into());
        self
    }

    /// Sets `result`: see the field of the same name.
    #[must_use]
    pub fn result(mut self, result: impl Into<RawObject>) -> Self {
        self.result = Some(result.into());
        self
    }

    /// Sets `error`: see the field of the same name.
    #[must_use]
    pub fn error(mut self, error: impl Into<ErrorObject>) -> Self {
        self.error = Some(error.into());
        self
    }
}

impl Serialize for DetailedTask {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.task.write_into(&mut map)?;
        if let Some(requests) = &self.input_requests {
            map.serialize_entry(INPUT_REQUESTS, requests)?;
        }
        if let Some(result) = &self.result {
            map.serialize_entry(RESULT, result)?;
        }
        if let Some(error) = &self.error {
            map.serialize_entry(ERROR, error)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for DetailedTask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut task = Task::deserialize(deserializer)?;
        let mut part = |name, status| -> Result<Option<Json>, D::Error> {
            let count = task.extra.keys().filter(|key| *key == name).count();
            let part = task.extra.remove(name);
            match (task.status == status, part, count) {
                (_, _, 2..) => Err(D::Error::duplicate_field(name)),
                (true, None, _) => Err(D::Error::missing_field(name)),
                (true, part, _) => Ok(part),
                (false, _, _) => Ok(None),
            }
        };
        let input_requests = part(INPUT_REQUESTS, TaskStatus::InputRequired)?;
        let result = part(RESULT, TaskStatus::Completed)?;
        let error = part(ERROR, TaskStatus::Failed)?;
        Ok(Self {
            input_requests: decode_part(input_requests).map_err(D::Error::custom)?,
            result: decode_part(result).map_err(D::Error::custom)?,
            error: decode_part(error).map_err(D::Error::custom)?,
            task,
        })
    }
}

fn decode_part<T: serde::de::DeserializeOwned>(
    part: Option<Json>,
) -> Result<Option<T>, serde_json::Error> {
    part.map(|json| json.decode()).transpose()
}
