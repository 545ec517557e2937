//! Tasks that a server of 2025-11-25 starts at this client: questions whose answers it fetches later.
//!
//! Specification: basic/utilities/tasks (2025-11-25).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use turnbuckle_session::transport::ClientLimits;
use turnbuckle_types::base::random;
use turnbuckle_types::{
    ErrorKind, Json, LegacyTask, Map, Meta, ProtocolError, RelatedTask, TaskMetadata, TaskStatus,
};

/// The interval in milliseconds in which a server is told to ask for the state of a task.
const POLL_INTERVAL_MS: u64 = 1000;

/// The tasks of one client.
pub(crate) struct ReceivedTasks {
    tasks: Mutex<HashMap<String, ReceivedTask>>,
    max_tasks: usize,
    max_ttl: Duration,
    handler_timeout: Duration,
}

/// One task. It is dropped when its time to live has passed.
struct ReceivedTask {
    created_at: String,
    ttl: Duration,
    expires_at: Instant,
    state: watch::Sender<TaskState>,
    work: AbortHandle,
}

/// The part of a task that changes.
struct TaskState {
    status: TaskStatus,
    last_updated_at: String,
    outcome: Option<Result<Json, ProtocolError>>,
}

impl TaskState {
    fn new(status: TaskStatus, outcome: Option<Result<Json, ProtocolError>>) -> Self {
        Self {
            status,
            last_updated_at: now(),
            outcome,
        }
    }
}

impl ReceivedTasks {
    pub(crate) fn new(limits: &ClientLimits) -> Self {
        Self {
            tasks: Mutex::default(),
            max_tasks: limits.max_tasks,
            max_ttl: limits.max_task_ttl,
            handler_timeout: limits.handler_timeout,
        }
    }

    /// Starts to answer a question as a task, and returns the task. `notify` is called with its final state.
    ///
    /// # Errors
    /// Returns an error if the server has too many tasks, or the operating system has no randomness.
    pub(crate) fn start<N: Future<Output = ()> + Send>(
        self: &Arc<Self>,
        wish: &TaskMetadata,
        answer: impl Future<Output = Result<Json, ProtocolError>> + Send + 'static,
        notify: impl FnOnce(LegacyTask) -> N + Send + 'static,
    ) -> Result<LegacyTask, ProtocolError> {
        let id = random::id().map_err(|error| ProtocolError::internal(error.to_string()))?;
        let wished = wish.ttl.map(Duration::from_millis);
        let ttl = wished
            .unwrap_or(self.handler_timeout.saturating_mul(2))
            .min(self.max_ttl);
        let mut tasks = self.lock();
        if tasks.len() >= self.max_tasks {
            return Err(ProtocolError::new(
                ErrorKind::RateLimited { retry_after: None },
                format!(
                    "the server has {} tasks at this client already (ClientLimits::max_tasks)",
                    self.max_tasks
                ),
            ));
        }
        let state = TaskState::new(TaskStatus::Working, None);
        let (weak, work_id, timeout) = (Arc::downgrade(self), id.clone(), self.handler_timeout);
        let now = Instant::now();
        let expires_at = now.checked_add(ttl).unwrap_or(now);
        let work = tokio::spawn(async move {
            let late = || {
                Err(ProtocolError::internal(
                    "the answer took longer than this client allows (ClientLimits::handler_timeout)",
                ))
            };
            let answered = tokio::time::timeout(timeout, answer).await;
            let outcome = answered.unwrap_or_else(|_| late());
            let ended = weak
                .upgrade()
                .and_then(|tasks| tasks.finish(&work_id, outcome));
            if let Some(ended) = ended {
                notify(ended).await;
            }
        });
        let task = ReceivedTask {
            created_at: state.last_updated_at.clone(),
            ttl,
            expires_at,
            state: watch::Sender::new(state),
            work: work.abort_handle(),
        };
        let created = task.describe(&id);
        tasks.insert(id, task);
        Ok(created)
    }

    /// Returns the state of a task.
    pub(crate) fn get(&self, id: &str) -> Result<LegacyTask, ProtocolError> {
        let tasks = self.lock();
        Ok(tasks.get(id).ok_or_else(unknown_task)?.describe(id))
    }

    /// Returns the states of all tasks.
    pub(crate) fn list(&self) -> Vec<LegacyTask> {
        let tasks = self.lock();
        tasks.iter().map(|(id, task)| task.describe(id)).collect()
    }

    /// Waits until a task has ended, and returns the answer of its question.
    pub(crate) async fn result(&self, id: &str) -> Result<Json, ProtocolError> {
        let (mut state, expires_at) = {
            let tasks = self.lock();
            let task = tasks.get(id).ok_or_else(unknown_task)?;
            (task.state.subscribe(), task.expires_at)
        };
        let ended = state.wait_for(|state| state.status.is_final());
        match tokio::time::timeout_at(expires_at, ended).await {
            Ok(Ok(state)) => match &state.outcome {
                Some(Ok(answer)) => with_related_task(answer, id),
                Some(Err(error)) => Err(ProtocolError::from_link(error).unwrap_or_else(|| {
                    // `from_link` copies every error of this type.
                    ProtocolError::internal(error.message())
                })),
                None => Err(ProtocolError::new(
                    ErrorKind::InvalidRequest,
                    "the task was cancelled",
                )),
            },
            Ok(Err(_)) | Err(_) => Err(unknown_task()),
        }
    }

    /// Cancels a task that has not ended.
    pub(crate) fn cancel(&self, id: &str) -> Result<LegacyTask, ProtocolError> {
        let tasks = self.lock();
        let task = tasks.get(id).ok_or_else(unknown_task)?;
        if !task.end(TaskStatus::Cancelled, None) {
            return Err(ProtocolError::invalid_params("the task has ended already"));
        }
        task.work.abort();
        Ok(task.describe(id))
    }

    /// Ends a task with the answer of its question; `None` if it has ended, or is forgotten.
    fn finish(&self, id: &str, outcome: Result<Json, ProtocolError>) -> Option<LegacyTask> {
        let tasks = self.lock();
        let task = tasks.get(id)?;
        let status = match outcome {
            Ok(_) => TaskStatus::Completed,
            Err(_) => TaskStatus::Failed,
        };
        task.end(status, Some(outcome)).then(|| task.describe(id))
    }

    /// Returns the tasks whose time to live has not passed.
    fn lock(&self) -> MutexGuard<'_, HashMap<String, ReceivedTask>> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        tasks.retain(|_, task| task.expires_at > now);
        tasks
    }
}

impl Default for ReceivedTasks {
    fn default() -> Self {
        Self::new(&ClientLimits::default())
    }
}

impl ReceivedTask {
    /// Ends the task, unless it has ended. Returns whether it did.
    fn end(&self, status: TaskStatus, outcome: Option<Result<Json, ProtocolError>>) -> bool {
        self.state.send_if_modified(|state| {
            let is_open = !state.status.is_final();
            if is_open {
                *state = TaskState::new(status, outcome);
            }
            is_open
        })
    }

    fn describe(&self, id: &str) -> LegacyTask {
        let state = self.state.borrow();
        let mut task = LegacyTask::new(
            id,
            state.status,
            self.created_at.as_str(),
            state.last_updated_at.as_str(),
        )
        .ttl(u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX))
        .poll_interval(POLL_INTERVAL_MS);
        if let Some(Err(error)) = &state.outcome {
            task.status_message = Some(error.message().to_owned());
        }
        task
    }
}

impl Drop for ReceivedTask {
    fn drop(&mut self) {
        self.work.abort();
    }
}

/// Returns an answer with the id of the task that it belongs to in its `_meta`.
///
/// Specification: basic/utilities/tasks, "Related Task Metadata" (2025-11-25).
pub(crate) fn with_related_task(answer: &Json, id: &str) -> Result<Json, ProtocolError> {
    let add = || {
        let mut members: Map<Json> = answer.decode()?;
        let meta = members.get("_meta").map(Json::decode::<Meta>).transpose()?;
        let mut meta = meta.unwrap_or_default();
        meta.set_related_task(RelatedTask::new(id));
        members.insert("_meta", Json::encode(&meta)?);
        Json::encode(&members)
    };
    add().map_err(|error: serde_json::Error| ProtocolError::internal(error.to_string()))
}

fn unknown_task() -> ProtocolError {
    ProtocolError::invalid_params("there is no task of this id, or its time to live has passed")
}

fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}
