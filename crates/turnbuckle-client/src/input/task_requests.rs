//! Requests of a server of 2025-11-25 that are about tasks at this client: questions that are to be tasks, and
//! `tasks/get`, `tasks/result`, `tasks/list` and `tasks/cancel`.
//!
//! Specification: basic/utilities/tasks (2025-11-25).

use serde::de::DeserializeOwned;
use turnbuckle_session::internal::{HandlerOutcome, IncomingRequest};
use turnbuckle_types::base::text::{Escaped, shorten};
use turnbuckle_types::method::{CreateMessage, Elicit, TaskStatusNotification};
use turnbuckle_types::{
    CancelTaskRequestParams, CreateLegacyTaskResult, ElicitRequestParams, GetTaskRequestParams,
    InputRequest, Json, LegacyTask, ListTasksResult, Map, Meta, Notification,
    PaginatedRequestParams, ProtocolError, Request, Settings, TaskElicitationCapability,
    TaskMetadata, TaskRequestsCapability, TaskResultRequestParams, TaskSamplingCapability,
    TasksCapability, describe_decode_error,
};
use turnbuckle_wire::era::{EncodedResult, Reply, params::raw_params};
use turnbuckle_wire::revision::{Features, Method};

use crate::input::handlers::InputHandlers;
use crate::input::limiter::AskingServer;
use crate::input::tasks::with_related_task;

/// The question of a legacy request.
pub(super) struct ReceivedQuestion {
    method: &'static str,
    question: Result<InputRequest, ProtocolError>,
    /// The question without the member `task`, if it does not decode with it.
    without_wish: Option<InputRequest>,
}

impl ReceivedQuestion {
    /// Decodes the question of a request.
    pub(super) fn decode(method: &'static str, message: &str) -> Self {
        let params = raw_params(message).map(|raw| raw.as_str());
        let question = decode(method, params);
        let without_wish = match (&question, params) {
            (Err(_), Some(params)) => without_wish(method, params),
            _ => None,
        };
        Self {
            method,
            question,
            without_wish,
        }
    }

    /// Returns the question and the wish for a task. Where there are no tasks, the wish is ignored, whatever it
    /// is.
    fn split(
        self,
        may_be_task: bool,
    ) -> Result<(InputRequest, Option<TaskMetadata>), ProtocolError> {
        let mut question = match self.without_wish {
            Some(question) if !may_be_task => question,
            _ => self.question?,
        };
        let wish = match &mut question {
            InputRequest::CreateMessage(params) => params.task.take(),
            InputRequest::Elicit(ElicitRequestParams::Form(params)) => params.task.take(),
            InputRequest::Elicit(ElicitRequestParams::Url(params)) => params.task.take(),
            _ => None,
        };
        Ok((question, wish.filter(|_| may_be_task)))
    }
}

impl InputHandlers {
    /// Returns the capability for tasks that the installed handlers give the client.
    pub(super) fn task_capability(&self) -> Option<TasksCapability> {
        let mut requests = TaskRequestsCapability::new();
        if self.sampling.handler.is_some() {
            let sampling = TaskSamplingCapability::new().create_message(Settings::new());
            requests.sampling = Some(sampling);
        }
        if self.form.is_some() || self.url.is_some() {
            let elicitation = TaskElicitationCapability::new().create(Settings::new());
            requests.elicitation = Some(elicitation);
        }
        (self.uses_tasks() && requests != TaskRequestsCapability::new()).then(|| {
            TasksCapability::new()
                .list(Settings::new())
                .cancel(Settings::new())
                .requests(requests)
        })
    }

    fn may_be_task(&self, method: &str, features: &Features) -> bool {
        let declared = self.declared_capabilities(features).tasks;
        declared.is_some_and(|tasks| match method {
            CreateMessage::METHOD => tasks.supports_sampling(),
            Elicit::METHOD => tasks.supports_elicitation(),
            _ => false,
        })
    }

    /// Answers the question of a legacy request, or starts a task that answers it.
    pub(super) async fn answer_or_start(
        &self,
        question: ReceivedQuestion,
        asking_server: AskingServer,
    ) -> Result<Reply, ProtocolError> {
        let (method, features) = (question.method, asking_server.features());
        let (question, wish) = match question.split(self.may_be_task(method, features)) {
            Ok(parts) => parts,
            // The handlers say first whether they can be asked at all.
            Err(error) => {
                let answer = self.answer(method, Err(error), asking_server).await?;
                return Ok(answer_reply(&answer));
            }
        };
        let Some(wish) = wish else {
            let related = meta_of(&question).and_then(Meta::related_task);
            let mut answer = self.answer(method, Ok(question), asking_server).await?;
            if features.core_tasks
                && let Some(related) = related
            {
                answer = with_related_task(&answer, &related.task_id)?;
            }
            return Ok(answer_reply(&answer));
        };
        let session = asking_server.session.clone();
        let notify = move |ended: LegacyTask| async move {
            let Some(session) = session.upgrade() else {
                return;
            };
            let notified = session.notify(TaskStatusNotification::METHOD, &ended);
            if let Err(error) = notified.await {
                let reason = format!("{error:?}");
                tracing::debug!(reason = %Escaped(&reason), "the server was not notified of a task");
            }
        };
        let input = self.clone();
        let answer = async move { input.answer(method, Ok(question), asking_server).await };
        let task = self.tasks.start(&wish, answer, notify)?;
        Ok(Reply::complete(CreateLegacyTaskResult::new(task)))
    }

    /// Answers a request about tasks; `None` for other requests.
    pub(super) fn handle_task_request(&self, call: IncomingRequest<'_>) -> Option<HandlerOutcome> {
        let method = call.method?;
        let answer = match method {
            Method::LegacyGetTask => Self::task_state,
            Method::LegacyCancelTask => Self::cancelled_task,
            Method::ListTasks => Self::task_list,
            Method::TaskResult => Self::task_result,
            _ => return None,
        };
        let capability = method.capability();
        let declared = self.capabilities();
        let outcome = match capability.is_some_and(|it| it.is_declared_by_client(&declared)) {
            true => answer(self, call.text),
            false => Err(ProtocolError::method_not_found(&shorten(call.name))),
        };
        Some(outcome.unwrap_or_else(|error| Reply::from(error).into()))
    }

    fn task_state(&self, text: &str) -> Result<HandlerOutcome, ProtocolError> {
        let params: GetTaskRequestParams = decode_params(text)?;
        Ok(Reply::complete(self.tasks.get(&params.task_id)?).into())
    }

    fn cancelled_task(&self, text: &str) -> Result<HandlerOutcome, ProtocolError> {
        let params: CancelTaskRequestParams = decode_params(text)?;
        Ok(Reply::complete(self.tasks.cancel(&params.task_id)?).into())
    }

    /// Returns all tasks: they are few, so that there is one page, and no cursor is known.
    fn task_list(&self, text: &str) -> Result<HandlerOutcome, ProtocolError> {
        let params: PaginatedRequestParams = decode_params(text)?;
        match params.cursor {
            Some(_) => Err(ProtocolError::invalid_params("the cursor is unknown")),
            None => Ok(Reply::complete(ListTasksResult::new(self.tasks.list())).into()),
        }
    }

    fn task_result(&self, text: &str) -> Result<HandlerOutcome, ProtocolError> {
        let params: TaskResultRequestParams = decode_params(text)?;
        let tasks = self.tasks.clone();
        Ok(HandlerOutcome::Pending(Box::pin(async move {
            let result = tasks.result(&params.task_id).await;
            result.map_or_else(Reply::from, |answer| answer_reply(&answer))
        })))
    }
}

fn answer_reply(answer: &Json) -> Reply {
    Reply::Complete(Box::new(EncodedResult::object(answer.as_str())))
}

/// Returns the metadata of a question.
fn meta_of(question: &InputRequest) -> Option<&Meta> {
    match question {
        InputRequest::CreateMessage(params) => Some(&params.meta),
        InputRequest::Elicit(ElicitRequestParams::Form(params)) => Some(&params.meta),
        InputRequest::Elicit(ElicitRequestParams::Url(params)) => Some(&params.meta),
        InputRequest::ListRoots(params) => params.as_ref().map(|params| &params.meta),
        _ => None,
    }
}

/// Decodes the question of a legacy request.
fn decode(method: &str, params: Option<&str>) -> Result<InputRequest, ProtocolError> {
    let needed = || params.ok_or_else(|| ProtocolError::invalid_params("\"params\" is missing"));
    Ok(match method {
        CreateMessage::METHOD => {
            InputRequest::CreateMessage(serde_json::from_str(needed()?).map_err(decode_error)?)
        }
        Elicit::METHOD => {
            InputRequest::Elicit(serde_json::from_str(needed()?).map_err(decode_error)?)
        }
        _ => match params {
            Some(params) => {
                InputRequest::ListRoots(serde_json::from_str(params).map_err(decode_error)?)
            }
            None => InputRequest::list_roots(),
        },
    })
}

/// Decodes the question of a legacy request without the member `task`.
fn without_wish(method: &str, params: &str) -> Option<InputRequest> {
    let mut members: Map<Json> = serde_json::from_str(params).ok()?;
    members.remove("task")?;
    decode(method, Some(Json::encode(&members).ok()?.as_str())).ok()
}

fn decode_params<P: DeserializeOwned>(text: &str) -> Result<P, ProtocolError> {
    let params = raw_params(text).map_or("{}", |raw| raw.as_str());
    serde_json::from_str(params).map_err(decode_error)
}

fn decode_error(error: serde_json::Error) -> ProtocolError {
    ProtocolError::invalid_params(shorten(&describe_decode_error(&error)))
}
