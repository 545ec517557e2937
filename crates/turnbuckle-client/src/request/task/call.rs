//! Calls that become tasks: the wish for a task in the core form, the task in a result, and waiting for it.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use turnbuckle_types::{
    CreateLegacyTaskResult, DetailedTask, Json, Map, ProgressNotificationParams, ProgressToken,
    TASKS_EXTENSION, Task, TaskMetadata, TaskStatus, TaskSupportLevel, describe_decode_error,
};
use turnbuckle_wire::era::params::member_of;
use turnbuckle_wire::era::{RESULT_TYPE, is_complete};

use crate::connection::Connection;
use crate::error::Error;
use crate::request::deadline::RequestDeadline;
use crate::request::erased::ErasedRequest;
use crate::request::inner::ClientInner;
use crate::request::options::RequestOptions;
use crate::request::task::handle::{MAX_ID_BYTES, TaskHandle};
use crate::request::task::running::CancelGuard;
use crate::request::task::wait::{TaskEnd, TaskWait};

/// The `resultType` of a task.
pub(in crate::request) const TASK: &str = "task";

/// The result of a call, or the task that it became.
pub(in crate::request) enum Answer {
    /// The result, which the request holds, with the length of its JSON if the first round had it.
    Result(Option<usize>),
    Task(Box<Task>),
}

impl ClientInner {
    /// Returns whether calls of a server's tools may be tasks of the core.
    fn may_wish_for_tasks(&self, connection: &Connection) -> bool {
        let tasks = connection.server.capabilities.tasks.as_ref();
        connection.server.revision.features().core_tasks
            && self.router.input().uses_tasks()
            && tasks.is_some_and(|tasks| tasks.supports_tool_calls())
    }

    /// Sets the wish for a task in the parameters, or removes it, if that has to change: a wish is sent only
    /// where the server allows it for the tool, and always where the tool demands it.
    ///
    /// Specification: basic/utilities/tasks, "Tool-Level Negotiation" (2025-11-25).
    pub(in crate::request) fn set_task_wish(
        &self,
        connection: &Connection,
        request: &mut dyn ErasedRequest,
        options: &RequestOptions,
    ) {
        if !request.can_be_task() || !connection.server.revision.features().core_tasks {
            return;
        }
        let support = match self.may_wish_for_tasks(connection) {
            true => self.core_task_support(request),
            false => None,
        };
        let is_wished = request.task().is_some();
        let wish = match support {
            Some(TaskSupportLevel::Required) => true,
            Some(TaskSupportLevel::Optional) => is_wished || options.wants_task(),
            Some(TaskSupportLevel::Forbidden) | None => false,
        };
        if wish != is_wished {
            request.set_task(wish.then(TaskMetadata::new));
        }
    }

    fn core_task_support(&self, request: &dyn ErasedRequest) -> Option<TaskSupportLevel> {
        self.tools.task_support(request.mirrored_fields().name?)
    }

    /// Returns whether the definition of the called tool is needed to know whether the call is a task, and was
    /// not listed yet.
    pub(in crate::request) fn lacks_task_support(
        &self,
        connection: &Connection,
        request: &dyn ErasedRequest,
    ) -> bool {
        request.can_be_task()
            && self.may_wish_for_tasks(connection)
            && self.core_task_support(request).is_none()
    }

    /// Returns whether a call that the server refused as unknown has to be a task, as the tools say that were
    /// listed since.
    pub(in crate::request) fn is_task_required(
        &self,
        connection: &Connection,
        request: &dyn ErasedRequest,
    ) -> bool {
        request.can_be_task()
            && self.may_wish_for_tasks(connection)
            && self.core_task_support(request) == Some(TaskSupportLevel::Required)
    }

    /// Returns the task of a result whose `resultType` says that it is one.
    ///
    /// # Errors
    /// Returns an error if the method is never a task, or either side did not declare the extension.
    pub(in crate::request) fn extension_task(
        &self,
        connection: &Connection,
        request: &dyn ErasedRequest,
        text: &str,
    ) -> Result<Task, Error> {
        let extensions = &connection.server.capabilities.extensions;
        let is_declared =
            self.router.input().uses_tasks() && extensions.contains_key(TASKS_EXTENSION);
        if !request.can_be_task() || !is_declared {
            let reason = "it is a task, which was not agreed on".into();
            return Err(invalid(request, reason));
        }
        let task = serde_json::from_str(text)
            .map_err(|error| invalid(request, describe_decode_error(&error)))?;
        checked_task(request, task)
    }

    /// Waits for the task that a call became, for the result of the call. A wait that ends early, for
    /// instance by the deadline, cancels the task.
    pub(in crate::request) async fn finish_call(
        self: &Arc<Self>,
        connection: &Connection,
        task: Task,
        request: &mut dyn ErasedRequest,
        options: &RequestOptions,
        deadline: &RequestDeadline<'_>,
    ) -> Result<(), Error> {
        let tool = request.mirrored_fields().name.unwrap_or_default();
        let handle = TaskHandle {
            revision: connection.server.revision,
            tool: tool.to_owned(),
            id: task.task_id.clone(),
        };
        let guard = CancelGuard::new(self.clone(), handle.id.clone());
        if let Some(callback) = &options.on_task {
            callback(&handle);
        }
        let progress = StatusProgress::new(options, &handle.id);
        let first = first_wait(&task);
        progress.report(&DetailedTask::new(task));
        let wait = TaskWait {
            client: self,
            id: &handle.id,
            options: &about_task(options, self),
            observer: &|state| progress.report(state),
        };
        let end = match deadline.run(wait.run(first)).await {
            Ok(Ok(end)) => end,
            Ok(Err(error)) | Err(error) => {
                guard.cancel().await;
                return Err(error);
            }
        };
        guard.disarm();
        decode_end(request, end, connection, options)?;
        self.inspect(connection, request, options)
    }
}

/// Returns the task of a result in the core form, if the call was one with the wish for a task. Others are
/// results as any.
pub(in crate::request) fn core_task(
    request: &dyn ErasedRequest,
    text: &str,
) -> Result<Option<Task>, Error> {
    if request.task().is_none() || member_of(text, "task").is_none() {
        return Ok(None);
    }
    let created: CreateLegacyTaskResult = serde_json::from_str(text)
        .map_err(|error| invalid(request, describe_decode_error(&error)))?;
    checked_task(request, created.task.into()).map(Some)
}

/// Decodes the result of a task as that of its request.
pub(in crate::request) fn decode_end(
    request: &mut dyn ErasedRequest,
    end: TaskEnd,
    connection: &Connection,
    options: &RequestOptions,
) -> Result<(), Error> {
    let text = match end {
        TaskEnd::Result(text) => text,
        TaskEnd::Error(error) => return Err(error),
    };
    options.check_result_size(request.method(), text.as_str())?;
    request
        .decode_result(text.as_str(), options.structured_only)
        .map_err(|error| invalid(request, describe_decode_error(&error)))?;
    let features = connection.server.revision.features();
    match is_complete(request.result_type(), features) {
        true => Ok(()),
        false => {
            let reason = "the result of its task is not complete".into();
            Err(invalid(request, reason))
        }
    }
}

/// Decodes a task in the form of a result of the method, for its caller.
pub(in crate::request) fn task_as_result(
    request: &mut dyn ErasedRequest,
    task: &Task,
) -> Result<(), Error> {
    let encode = || {
        let mut members: Map<Json> = Json::encode(task)?.decode()?;
        members.insert(RESULT_TYPE, Json::encode(TASK)?);
        Json::encode(&members)
    };
    encode()
        .and_then(|task| request.decode_result(task.as_str(), false))
        .map_err(|error| invalid(request, error.to_string()))
}

/// Returns the options of the requests about a task: those of the call that are about its messages.
pub(in crate::request) fn about_task(
    options: &RequestOptions,
    client: &ClientInner,
) -> RequestOptions {
    RequestOptions {
        timeouts: Some(options.timeouts.unwrap_or(client.timeouts)),
        tag: options.tag.clone(),
        ..RequestOptions::default()
    }
}

/// Returns the time after which the state of a new task is asked for: its interval, unless it is not working.
pub(in crate::request) fn first_wait(task: &Task) -> Duration {
    let mut schedule = crate::request::task::poll::PollSchedule::new();
    schedule.note(task);
    match task.status {
        TaskStatus::Working => schedule.wait(),
        _ => Duration::ZERO,
    }
}

fn checked_task(request: &dyn ErasedRequest, task: Task) -> Result<Task, Error> {
    match task.task_id.len() {
        1..=MAX_ID_BYTES => Ok(task),
        bytes => {
            let reason = format!("the id of its task has {bytes} bytes");
            Err(invalid(request, reason))
        }
    }
}

fn invalid(request: &dyn ErasedRequest, reason: String) -> Error {
    Error::InvalidResult {
        method: request.method().to_owned(),
        reason,
    }
}

/// Passes the status messages of a task on as progress of its call.
struct StatusProgress<'a> {
    options: &'a RequestOptions,
    token: ProgressToken,
    /// The number of reports, and the last message.
    last: Mutex<(i64, Option<String>)>,
}

impl<'a> StatusProgress<'a> {
    fn new(options: &'a RequestOptions, id: &str) -> Self {
        Self {
            options,
            token: id.into(),
            last: Mutex::default(),
        }
    }

    fn report(&self, state: &DetailedTask) {
        let (Some(listener), Some(message)) = (&self.options.listener, &state.task.status_message)
        else {
            return;
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.1.as_ref() == Some(message) {
            return;
        }
        *last = (last.0 + 1, Some(message.clone()));
        let params = ProgressNotificationParams::new(self.token.clone(), last.0);
        drop(last);
        listener.handle_progress(params.message(message.clone()));
    }
}
