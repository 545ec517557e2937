//! A task of the server, bound to a client.

use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use turnbuckle_session::transport::Timeouts;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::base::text::Escaped;
use turnbuckle_types::method::CallTool;
use turnbuckle_types::{
    CallToolRequestParams, CallToolResult, DetailedTask, InputResponses, Json, Request, Task,
    describe_decode_error,
};
use turnbuckle_wire::era::RESULT_TYPE;

use crate::error::Error;
use crate::request::builder::RequestBuilder;
use crate::request::deadline::RequestDeadline;
use crate::request::erased::TypedRequest;
use crate::request::inner::ClientInner;
use crate::request::options::RequestOptions;
use crate::request::task::call::{TASK, about_task, decode_end, first_wait};
use crate::request::task::changes::TaskChanges;
use crate::request::task::handle::TaskHandle;
use crate::request::task::wait::TaskWait;

/// The time that cancelling a task may take when nobody waits for it.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// The outcome of a call that was started: see [`RequestBuilder::start`].
#[derive(Debug, Clone)]
pub enum Started {
    /// The call has its result.
    Done(CallToolResult),
    /// The call became a task.
    Task(RunningTask),
}

type Observer = Arc<dyn Fn(&DetailedTask) + Send + Sync>;

/// A task of the server. Awaiting it waits until the task has ended, and returns the result of the call.
///
/// While it is awaited, the installed handlers answer the questions of the task, each once. The wait ends
/// with an error when a timeout passes or a question cannot be answered; the task goes on then, and goes
/// on when the future or the `RunningTask` is dropped, unless [`cancel_on_drop`](Self::cancel_on_drop) says
/// otherwise. Its [`handle`](Self::handle), which is also its text form, lets any client of the server
/// [come back](crate::Client::task) to it. Requests about tasks do not pass the layers of the client.
///
/// Specification: ext-tasks, tasks; basic/utilities/tasks (2025-11-25).
#[derive(Clone)]
#[must_use = "a task is waited for when it is awaited"]
pub struct RunningTask {
    inner: Arc<ClientInner>,
    handle: TaskHandle,
    /// The time until its state is asked for.
    first_wait: Duration,
    options: RequestOptions,
    observer: Option<Observer>,
    guard: Option<Arc<CancelGuard>>,
}

impl RunningTask {
    pub(crate) fn new(inner: Arc<ClientInner>, handle: TaskHandle) -> Self {
        Self {
            inner,
            handle,
            first_wait: Duration::ZERO,
            options: RequestOptions::default(),
            observer: None,
            guard: None,
        }
    }

    /// Returns the handle of the task: the data that another process needs.
    #[must_use]
    pub fn handle(&self) -> &TaskHandle {
        &self.handle
    }

    /// Sets the timeouts of waiting: the idle timeout of each request about the task, and the total timeout of
    /// the whole wait. Default: those of the client.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.options.timeouts = Some(timeouts);
        self
    }

    /// Calls `callback` with each state of the task that arrives while it is awaited. The callback must not
    /// block.
    pub fn on_state(mut self, callback: impl Fn(&DetailedTask) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(callback));
        self
    }

    /// Cancels the task when the last clone of this value and of its futures is dropped before the task has
    /// ended.
    pub fn cancel_on_drop(mut self) -> Self {
        let guard = CancelGuard::new(self.inner.clone(), self.handle.id.clone());
        self.guard = Some(Arc::new(guard));
        self
    }

    /// Asks for the state of the task.
    ///
    /// # Errors
    /// Returns an [`Error`] if there is no answer; [`Error::ErrorResponse`] for an unknown or expired task.
    pub async fn status(&self) -> Result<DetailedTask, Error> {
        self.inner.task_state(&self.handle.id, &self.options).await
    }

    /// Cancels the task. The server may not be able to stop the work.
    ///
    /// # Errors
    /// Returns an [`Error`] if the server does not acknowledge it.
    pub async fn cancel(&self) -> Result<(), Error> {
        let timeouts = self.options.timeouts;
        self.inner.cancel_task(&self.handle.id, timeouts).await
    }

    /// Answers questions of the task, under their keys, instead of the installed handlers. Tasks of 2025-11-25
    /// ask while they are awaited, and only then.
    ///
    /// # Errors
    /// Returns an [`Error`] if the server does not acknowledge the answers; [`Error::Unsupported`] for a task
    /// of 2025-11-25.
    pub async fn answer(&self, answers: InputResponses) -> Result<(), Error> {
        let timeouts = self.options.timeouts;
        let updated = self.inner.update_task(&self.handle.id, answers, timeouts);
        updated.await
    }

    /// Answers the questions that the task has now, once, with the installed handlers. Returns their number.
    ///
    /// # Errors
    /// Returns an [`Error`] if a question cannot be answered or the server does not acknowledge the answers;
    /// [`Error::Unsupported`] for a task of 2025-11-25.
    pub async fn answer_questions(&self) -> Result<usize, Error> {
        let questions = self.status().await?.input_requests.unwrap_or_default();
        if questions.is_empty() && !self.inner.has_core_tasks() {
            return Ok(0);
        }
        let Some(connection) = self.inner.reconnector.last_connection() else {
            return Err(Error::Closed);
        };
        let tag = self.options.tag.as_ref();
        let answers = self.inner.ask_handlers(&connection, &questions, tag);
        self.answer(answers.await?).await?;
        Ok(questions.len())
    }

    /// Returns the states of the task from now on, each once, without an answer to its questions.
    pub fn changes(&self) -> TaskChanges {
        TaskChanges::new(
            self.inner.clone(),
            self.handle.id.clone(),
            self.options.clone(),
        )
    }

    async fn wait(self) -> Result<CallToolResult, Error> {
        let inner = &self.inner;
        let options = about_task(&self.options, inner);
        let deadline = RequestDeadline::start(
            options.timeouts.unwrap_or(inner.timeouts),
            &inner.user_waits,
        );
        let wait = TaskWait {
            client: inner,
            id: &self.handle.id,
            options: &options,
            observer: &|state| {
                if let Some(observer) = &self.observer {
                    observer(state);
                }
            },
        };
        let end = deadline.run(wait.run(self.first_wait)).await??;
        if let Some(guard) = &self.guard {
            guard.disarm();
        }
        let Some(connection) = inner.reconnector.last_connection() else {
            return Err(Error::Closed);
        };
        let params = CallToolRequestParams::new(self.handle.tool.as_str());
        let mut request = TypedRequest::<CallTool>::new(&params);
        decode_end(&mut request, end, &connection, &options)?;
        inner.inspect(&connection, &mut request, &options)?;
        request.into_result()
    }
}

impl IntoFuture for RunningTask {
    type Output = Result<CallToolResult, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.wait())
    }
}

impl fmt::Display for RunningTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.fmt(f)
    }
}

impl From<RunningTask> for TaskHandle {
    fn from(task: RunningTask) -> Self {
        task.handle
    }
}

debug_fields!(RunningTask { handle });

impl RequestBuilder<CallTool> {
    /// Sends the call and returns its result, or the task that the server made of it. A server of 2025-11-25
    /// makes a task of each call of a tool that allows it; a later one decides by itself; others never do.
    ///
    /// # Errors
    /// Returns an [`Error`](crate::Error) if there is neither.
    pub async fn start(mut self) -> Result<Started, Error> {
        self.options.starts_task = true;
        let result = self.send().await?;
        let is_task = |stated: &Json| stated.decode::<&str>().is_ok_and(|stated| stated == TASK);
        if !result.extra.get(RESULT_TYPE).is_some_and(is_task) {
            return Ok(Started::Done(result));
        }
        let decode = || Json::encode(&result.extra)?.decode();
        let task: Task = decode().map_err(|error: serde_json::Error| Error::InvalidResult {
            method: CallTool::METHOD.to_owned(),
            reason: describe_decode_error(&error),
        })?;
        let Some(connection) = self.inner.reconnector.last_connection() else {
            return Err(Error::Closed);
        };
        let first_wait = first_wait(&task);
        let handle = TaskHandle {
            revision: connection.server.revision,
            tool: self.params.name,
            id: task.task_id,
        };
        let options = RequestOptions {
            timeouts: self.options.timeouts,
            tag: self.options.tag,
            ..RequestOptions::default()
        };
        Ok(Started::Task(RunningTask {
            first_wait,
            options,
            ..RunningTask::new(self.inner, handle)
        }))
    }
}

/// Cancels a task when it is dropped, unless it was disarmed.
pub(crate) struct CancelGuard {
    client: Arc<ClientInner>,
    id: String,
    is_armed: AtomicBool,
}

impl CancelGuard {
    pub(crate) fn new(client: Arc<ClientInner>, id: String) -> Self {
        Self {
            client,
            id,
            is_armed: AtomicBool::new(true),
        }
    }

    /// Takes note that the task has ended.
    pub(crate) fn disarm(&self) {
        self.is_armed.store(false, Ordering::Relaxed);
    }

    /// Cancels the task and waits for the acknowledgement for a while.
    pub(crate) async fn cancel(self) {
        cancel(&self.client, &self.id).await;
        self.disarm();
    }
}

async fn cancel(client: &Arc<ClientInner>, id: &str) {
    let timeouts = Timeouts::uniform(CANCEL_TIMEOUT);
    if let Err(error) = client.cancel_task(id, Some(timeouts)).await {
        let reason = error.to_string();
        tracing::debug!(reason = %Escaped(&reason), "a task could not be cancelled");
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        if !self.is_armed.load(Ordering::Relaxed) {
            return;
        }
        // Without a runtime nothing can be sent any more.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (client, id) = (self.client.clone(), std::mem::take(&mut self.id));
            runtime.spawn(async move { cancel(&client, &id).await });
        }
    }
}

debug_fields!(CancelGuard { id });
