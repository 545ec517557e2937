//! Calls of tools that become tasks.

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_session::handler::RequestContext;
use turnbuckle_session::internal::{DetachedHandler, HandlerOutcome, limit_error};
use turnbuckle_types::base::random;
use turnbuckle_types::base::text::shorten;
use turnbuckle_types::{
    ClientCapabilities, CreateLegacyTaskResult, ErrorKind, Json, Map, ProtocolError, RawJson,
    RawObject, TASKS_EXTENSION, Task, TaskStatus,
};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::era::params::raw_param;

use super::clock::to_ms;
use super::counts::caller_key;
use super::outlet::TaskOutlet;
use super::record::{Caller, StoredPrincipal, TaskCall, TaskRecord};
use super::records::RecordError;
use super::run::Run;
use super::service::{RunMark, TaskService};
use crate::handler::HandlerRequest;
use crate::items::CatalogItem as _;
use crate::items::tool::{TaskSupport, ToolEntry};
use crate::request::context::HandlerContext;
use crate::request::input::Leg;
use crate::server::extension::as_is;

/// The shortest time for which a client can have a task kept.
const MIN_TTL: Duration = Duration::from_secs(1);

/// The time that a handler has to end after its request was cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// The form in which a client takes a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TaskForm {
    /// The extension of 2026-07-28: the server decides whether a call becomes a task.
    Extension,
    /// The core of 2025-11-25: the client asks for a task, and for how long it is to be kept.
    Core { ttl: Option<Duration> },
}

impl TaskForm {
    /// Returns the form in which the client of a call of `tool` takes a task; `None` for a plain call.
    ///
    /// # Errors
    /// When the tool and the call do not agree on whether there is to be a task, or the call asks for one in a
    /// way that makes no sense.
    pub(crate) fn of_call(
        tool: &ToolEntry,
        context: &RequestContext,
    ) -> Result<Option<Self>, ProtocolError> {
        let Some(support) = tool.task_support() else {
            // The capabilities of the client are not read for a tool that has no use for them.
            let asks = context.features().core_tasks && raw_param(context.text(), "task").is_some();
            return match asks {
                true => Err(has_no_tasks(tool.key())),
                false => Ok(None),
            };
        };
        match Self::of_request(context)? {
            None if support.is_required => Err(needs_tasks(tool.key(), context)),
            form => Ok(form),
        }
    }

    /// Returns the form in which the client of a request takes a task.
    fn of_request(context: &RequestContext) -> Result<Option<Self>, ProtocolError> {
        if context.features().extensions {
            let takes_tasks = context.declares_extension(TASKS_EXTENSION);
            return Ok(takes_tasks.then_some(Self::Extension));
        }
        if !context.features().core_tasks {
            return Ok(None);
        }
        let Some(task) = raw_param(context.text(), "task") else {
            return Ok(None);
        };
        let invalid = || {
            ProtocolError::invalid_params(format!(
                "\"task\" must be an object whose \"ttl\", if there, is a number of milliseconds that is not \
                 negative, got {}",
                shorten(task.as_str())
            ))
        };
        let task: Map<Json> = task.decode().map_err(|_| invalid())?;
        let ttl = match task.get("ttl").filter(|ttl| ttl.as_str() != "null") {
            None => None,
            Some(ttl) => {
                let ms: f64 = ttl.decode().map_err(|_| invalid())?;
                if !ms.is_finite() || ms < 0.0 {
                    return Err(invalid());
                }
                // More than any time that a server keeps tasks.
                Some(Duration::from_secs_f64((ms / 1000.0).min(1e9)))
            }
        };
        Ok(Some(Self::Core { ttl }))
    }
}

/// A call of a tool that may become a task.
struct TaskableCall {
    tool: Arc<ToolEntry>,
    support: TaskSupport,
    form: TaskForm,
    context: HandlerContext,
}

/// The parts of a handler that serves a call and may outlive it.
struct Prepared {
    context: HandlerContext,
    leg: Arc<Leg>,
    outlet: Arc<TaskOutlet>,
}

/// Returns the error for a call of a tool that runs only as a task, by a client without tasks.
///
/// The plain call of such a tool by a client of 2025-11-25 is "method not found" (basic/utilities/tasks,
/// "Tool-Level Negotiation"), which is a MUST, rather than an invalid request.
fn needs_tasks(name: &str, context: &RequestContext) -> ProtocolError {
    let message = format!("the tool {name:?} runs only as a task, which this call does not allow");
    if !context.features().extensions {
        return ProtocolError::new(ErrorKind::MethodNotFound, message);
    }
    let mut needed = ClientCapabilities::new();
    needed
        .extensions
        .insert(TASKS_EXTENSION, RawObject::empty());
    ProtocolError::missing_required_client_capability(needed, message)
}

/// Returns the error for a call of a tool as a task that runs only as a plain call.
fn has_no_tasks(name: &str) -> ProtocolError {
    let message = format!("the tool {name:?} does not run as a task: call it without \"task\"");
    ProtocolError::new(ErrorKind::MethodNotFound, message)
}

/// Cancels a handler with its request, and waits until it has ended.
async fn cancel(handler: DetachedHandler) -> ProtocolError {
    handler.cancel(CANCEL_TIMEOUT).await;
    ProtocolError::internal("the call was cancelled")
}

impl TaskService {
    /// Answers a call with a task, or with its result if it is quick or cannot become a task.
    pub(crate) fn call(
        self: &Arc<Self>,
        tool: Arc<ToolEntry>,
        arguments: Option<RawJson<'_>>,
        form: TaskForm,
        context: HandlerContext,
    ) -> HandlerOutcome {
        let support = tool.task_support().cloned();
        let call = TaskableCall {
            tool,
            support: support.unwrap_or_else(TaskSupport::optional),
            form,
            context,
        };
        let prepared = match call.prepare() {
            Ok(prepared) => prepared,
            Err(error) => return Reply::Error(error).into(),
        };
        let handler = call.handler(&prepared, arguments);
        let service = self.clone();
        HandlerOutcome::Pending(Box::pin(async move {
            match service.answer_call(call, prepared, handler).await {
                Ok(reply) => reply,
                Err(error) => error.into(),
            }
        }))
    }

    async fn answer_call(
        self: Arc<Self>,
        call: TaskableCall,
        prepared: Prepared,
        mut handler: DetachedHandler,
    ) -> Result<Reply, ProtocolError> {
        let request = call.context.call.clone();
        let after = match call.form {
            TaskForm::Extension => call.support.after,
            TaskForm::Core { .. } => None,
        };
        if let Some(after) = after {
            tokio::select! {
                biased;
                reply = handler.run() => return Ok(reply),
                () = request.cancelled() => return Err(cancel(handler).await),
                () = tokio::time::sleep(after) => {}
                () = prepared.leg.wished_for_task() => {}
            }
        }
        match self.create(&call, &prepared).await {
            Ok((mark, record, permit)) => {
                let reply = call.form.reply(record.to_task(&mark.id));
                if let (TaskForm::Core { .. }, Some(peer)) = (call.form, request.session_peer()) {
                    let ttl = Duration::from_millis(record.ttl_ms);
                    self.listen(&mark.id, peer, ttl);
                }
                prepared.leg.enter_task();
                prepared.outlet.leave_request();
                self.spawn_run(Run {
                    call: (!record.is_resumable).then(|| call.to_task_call()),
                    time_left: self.records.time_left(&record).unwrap_or_default(),
                    mark,
                    handler,
                    leg: prepared.leg,
                    outlet: prepared.outlet,
                    permit,
                });
                Ok(reply)
            }
            // A call that has begun goes on as a plain one.
            Err(Refused::Limit(error)) if after.is_none() => Err(error),
            Err(Refused::Store(error)) if after.is_none() && !call.can_be_plain() => Err(error),
            Err(_) => tokio::select! {
                biased;
                reply = handler.run() => Ok(reply),
                () = request.cancelled() => Err(cancel(handler).await),
            },
        }
    }

    /// Creates the record of the task that a call becomes.
    async fn create(
        self: &Arc<Self>,
        call: &TaskableCall,
        prepared: &Prepared,
    ) -> Result<(RunMark, TaskRecord, tokio::sync::OwnedSemaphorePermit), Refused> {
        let request = &call.context.call;
        let internal = |error: random::RandomnessUnavailable| {
            Refused::Store(ProtocolError::internal(error.to_string()))
        };
        let id = random::secret().map_err(internal)?;
        let ttl = match call.form {
            TaskForm::Core { ttl: Some(ttl) } => ttl.clamp(MIN_TTL, self.options.max_ttl),
            _ => self.options.ttl,
        };
        self.counts
            .add(&id, caller_key(request), ttl, &self.options)
            .map_err(Refused::Limit)?;
        let mut new = NewTask {
            service: self,
            id: Some(&id),
            may_have_record: false,
        };
        let Ok(permit) = self.permits.clone().try_acquire_owned() else {
            let most = self.options.max_running;
            let message = format!("too many tasks run: the limit is {most} (Tasks::max_running)");
            return Err(Refused::Limit(limit_error(
                "Tasks::max_running",
                message,
                None,
            )));
        };
        let name = random::id().map_err(internal)?;
        let mark = self.mark_run(&id, name);
        let mark = mark.ok_or_else(|| {
            Refused::Store(ProtocolError::internal("the id of the new task is taken"))
        })?;
        let round = prepared.context.round().ok_or_else(|| {
            Refused::Store(ProtocolError::internal("the call of the task has no round"))
        })?;
        let now = self.records.now_ms();
        let caller = request.principal().map(Caller::from);
        let record = TaskRecord {
            caller: caller.clone(),
            tool: call.tool.key().to_owned(),
            is_resumable: call.support.is_resumable && self.records.is_shared,
            created_ms: now,
            updated_ms: now,
            ttl_ms: to_ms(ttl),
            poll_ms: to_ms(self.options.poll_interval),
            status: TaskStatus::Working,
            message: None,
            questions: Map::new(),
            answers: Map::new(),
            state: round.to_parked().map_err(Refused::Store)?,
            identity: round.identity_for(ttl).map_err(Refused::Store)?,
            run: Some(mark.name.clone()),
            error: None,
            is_error: false,
        };
        let create = async {
            self.records.take_lease(&id).await?;
            mark.keep_lease();
            if let Some(caller) = caller.filter(|_| self.options.list) {
                self.records
                    .add_to_list(&id, &caller, self.options.max_ttl)
                    .await?;
            }
            new.may_have_record = true;
            let later = record.is_resumable.then(|| call.to_task_call());
            self.records.create(&id, &record, later.as_ref()).await?;
            if record.is_resumable {
                self.records.push_job(&id, ttl).await?;
            }
            Ok(())
        };
        create
            .await
            .map_err(|error: RecordError| Refused::Store(error.into()))?;
        new.keep();
        tracing::debug!(tool = call.tool.key(), "a call became a task");
        Ok((mark, record, permit))
    }
}

/// The reason that a call cannot become a task now.
enum Refused {
    /// There are too many.
    Limit(ProtocolError),
    /// The record cannot be kept.
    Store(ProtocolError),
}

/// A task until it is created. What is there of it is removed when this is dropped before.
struct NewTask<'a> {
    service: &'a Arc<TaskService>,
    id: Option<&'a str>,
    may_have_record: bool,
}

impl NewTask<'_> {
    /// Lets the task be there from now on.
    fn keep(mut self) {
        self.id = None;
    }
}

impl Drop for NewTask<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        self.service.counts.remove(id);
        if self.may_have_record {
            self.service.discard(id);
        }
    }
}

impl TaskForm {
    /// Returns the answer to a call that became a task.
    fn reply(self, task: Task) -> Reply {
        match self {
            Self::Extension => Reply::Extension("task", as_is(task)),
            Self::Core { .. } => Reply::complete(CreateLegacyTaskResult::new(task)),
        }
    }
}

impl TaskableCall {
    /// Returns whether the client takes a result where it could have a task.
    fn can_be_plain(&self) -> bool {
        self.form == TaskForm::Extension && !self.support.is_required
    }

    /// Prepares the context of the handler.
    fn prepare(&self) -> Result<Prepared, ProtocolError> {
        let outlet = Arc::new(TaskOutlet::new(Some(self.context.call.clone())));
        let leg = Arc::new(Leg::default());
        let call = self.context.call.detach(outlet.clone())?;
        let context = self.context.in_leg(call, leg.clone());
        Ok(Prepared {
            context,
            leg,
            outlet,
        })
    }

    /// Returns the handler. It begins when it is first polled.
    fn handler(&self, prepared: &Prepared, arguments: Option<RawJson<'_>>) -> DetachedHandler {
        let tool = self.tool.clone();
        let request = HandlerRequest::new(prepared.context.clone(), arguments).detach();
        let run = async move {
            match tool.run_request(request) {
                HandlerOutcome::Ready(reply) => reply,
                HandlerOutcome::Pending(run) => run.await,
            }
        };
        let outcome = HandlerOutcome::Pending(Box::pin(run));
        DetachedHandler::new(outcome, prepared.context.call.clone())
    }

    /// Returns what later runs begin with.
    fn to_task_call(&self) -> TaskCall {
        let request = &self.context.call;
        TaskCall {
            message: request.text().to_owned(),
            capabilities: request.client_capabilities().clone(),
            client_info: request.client_info(),
            principal: request.principal().map(StoredPrincipal::from),
        }
    }
}
