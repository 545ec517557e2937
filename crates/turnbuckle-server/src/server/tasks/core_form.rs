//! Tasks in the form of 2025-11-25: translated from the record at the edge.
//!
//! Specification: basic/utilities/tasks (2025-11-25).

use std::sync::Arc;

use turnbuckle_session::handler::{PeerError, RequestContext};
use turnbuckle_session::internal::{HandlerOutcome, IncomingRequest};
use turnbuckle_types::method::{self, Notification as _};
use turnbuckle_types::{
    CallToolResult, ElicitRequestParams, ErrorObject, GetTaskRequestParams, InputRequest,
    InputRequests, Json, LegacyTask, Map, PaginatedRequestParams, ProtocolError, RelatedTask,
    RequestParams, TaskStatus,
};
use turnbuckle_wire::era::{Reply, kind_of_code};
use turnbuckle_wire::revision::Method;

use super::changes::TaskWatch;
use super::record::TaskRecord;
use super::records::Change;
use super::service::TaskService;
use crate::request::input::{LegacyInputError, ask_legacy};
use crate::server::router::decode_params;

impl TaskService {
    /// Answers a request about tasks.
    ///
    /// # Errors
    /// When its parameters are malformed.
    pub(crate) fn answer_core(
        self: &Arc<Self>,
        method: Method,
        call: IncomingRequest<'_>,
        context: RequestContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        let service = self.clone();
        if method == Method::ListTasks {
            let params: PaginatedRequestParams = decode_params(call)?;
            return Ok(pending(async move {
                let list = service.list(&context, params.cursor.as_deref()).await?;
                Ok(Reply::complete(list))
            }));
        }
        let params: GetTaskRequestParams = decode_params(call)?;
        let id = params.task_id;
        Ok(pending(async move {
            match method {
                Method::TaskResult => service.wait_for_result(&id, &context).await,
                Method::LegacyCancelTask => {
                    let (record, is_new) = service.cancel(&id, context.principal()).await?;
                    match is_new {
                        true => Ok(Reply::complete(record.to_core(&id))),
                        false => Err(ProtocolError::invalid_params(format!(
                            "the task has ended already: it is {}",
                            core_status(&record).as_str()
                        ))),
                    }
                }
                _ => {
                    let record = service.get(&id, context.principal()).await?;
                    Ok(Reply::complete(record.to_core(&id)))
                }
            }
        }))
    }

    /// Waits until a task has ended, and returns what the plain call would have returned. Meanwhile its
    /// questions are asked of this client.
    async fn wait_for_result(
        self: &Arc<Self>,
        id: &str,
        context: &RequestContext,
    ) -> Result<Reply, ProtocolError> {
        let watch = self.changes.watch(id);
        loop {
            let mut changed = std::pin::pin!(watch.changed());
            changed.as_mut().enable();
            let record = self.get(id, context.principal()).await?;
            match record.status {
                TaskStatus::Completed => return self.core_result(id).await,
                TaskStatus::Failed => return Ok(core_error(&record).into()),
                TaskStatus::Cancelled => {
                    let mut result = CallToolResult::error("the task was cancelled");
                    result.meta.set_related_task(RelatedTask::new(id));
                    return Ok(Reply::complete(result));
                }
                TaskStatus::InputRequired => {
                    if let Some(asking) = Asking::begin(self, id) {
                        let asked = self.ask_client(id, &record, context).await;
                        drop(asking);
                        asked?;
                        continue;
                    }
                }
                TaskStatus::Working => {}
            }
            tokio::select! {
                () = changed => {}
                // Another instance may have changed it, or its time may have passed.
                () = tokio::time::sleep(self.options.poll_interval) => {}
            }
        }
    }

    /// Asks a client the questions of a task on the stream of its own request, and gives the task the answers.
    async fn ask_client(
        self: &Arc<Self>,
        id: &str,
        record: &TaskRecord,
        context: &RequestContext,
    ) -> Result<(), ProtocolError> {
        let questions = related_questions(&record.questions, id);
        let changed = self.changes.watch(id);
        let answers = tokio::select! {
            biased;
            answers = ask_legacy(context, &questions) => answers,
            // The task was cancelled, or somebody else has answered.
            () = self.questions_changed(id, record, &changed) => return Ok(()),
        };
        match answers {
            Ok(answers) => self.answer(id, context.principal(), &answers).await,
            Err(error) => {
                let reason = match &error {
                    LegacyInputError::Unsupported(error) => error.message().to_owned(),
                    LegacyInputError::Failed(error) => error.to_string(),
                };
                if matches!(&error, LegacyInputError::Failed(PeerError::Refused(_))) {
                    return self.refuse_answers(id, record, context).await;
                }
                Err(ProtocolError::internal(format!(
                    "the questions of the task could not be asked: {reason}"
                )))
            }
        }
    }

    /// Resolves when a task waits for other answers than `record` says.
    async fn questions_changed(
        self: &Arc<Self>,
        id: &str,
        record: &TaskRecord,
        watch: &TaskWatch<'_>,
    ) {
        loop {
            let mut changed = std::pin::pin!(watch.changed());
            changed.as_mut().enable();
            let newest = self.records.get(id).await;
            if let Ok(newest) = newest
                && newest.is_none_or(|newest| newest.questions.len() != record.questions.len())
            {
                return;
            }
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep(self.options.poll_interval) => {}
            }
        }
    }

    /// Gives a task refusals in the place of answers: its client has refused to ask.
    async fn refuse_answers(
        self: &Arc<Self>,
        id: &str,
        record: &TaskRecord,
        context: &RequestContext,
    ) -> Result<(), ProtocolError> {
        let mut answers = Map::new();
        for (key, question) in record.questions.iter() {
            if let (InputRequest::Elicit(_), Ok(declined)) =
                (question, r#"{"action":"decline"}"#.parse::<Json>())
            {
                answers.insert(key, declined);
            }
        }
        if answers.len() == record.questions.len() {
            return self.answer(id, context.principal(), &answers).await;
        }
        let refused = ErrorObject::new(
            -32603,
            "the client refused to answer a question of the task",
        );
        let failed = self.records.change(id, |record| {
            if record.status != TaskStatus::InputRequired {
                return Change::Keep(());
            }
            record.fail(refused.clone());
            Change::Write(())
        });
        if let Some((record, ())) = failed.await? {
            self.changed(id, &record);
        }
        Ok(())
    }

    /// Returns the result of a task that has completed.
    async fn core_result(&self, id: &str) -> Result<Reply, ProtocolError> {
        let result = self.result(id).await?;
        let result: Result<CallToolResult, _> = result.decode();
        let mut result = result
            .map_err(|_| ProtocolError::internal("the result of the task is not readable"))?;
        result.meta.set_related_task(RelatedTask::new(id));
        Ok(Reply::complete(result))
    }

    /// Tells the client that made a task of its change, if it has a session.
    pub(super) fn notify_listener(&self, id: &str, record: &TaskRecord) {
        let mut listeners = self.listeners();
        let peer = match record.status.is_final() {
            true => listeners.remove(id),
            false => None,
        };
        let ended = peer.map(|listener| listener.peer);
        let peer = ended.or_else(|| listeners.get(id).map(|listener| listener.peer.clone()));
        drop(listeners);
        if let Some(peer) = peer {
            let task = record.to_core(id);
            tokio::spawn(async move {
                peer.notify(method::TaskStatusNotification::METHOD, task)
                    .await;
            });
        }
    }
}

/// The mark of a task whose questions are being asked, so that two requests do not ask them twice.
struct Asking<'a> {
    service: &'a TaskService,
    id: &'a str,
}

impl<'a> Asking<'a> {
    fn begin(service: &'a TaskService, id: &'a str) -> Option<Self> {
        let is_first = service.asked_tasks().insert(id.to_owned());
        is_first.then(|| Self { service, id })
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.service.asked_tasks().remove(self.id);
        self.service.changes.notify(self.id);
    }
}

impl TaskRecord {
    /// Returns the task in the form of 2025-11-25.
    pub(super) fn to_core(&self, id: &str) -> LegacyTask {
        let mut task = LegacyTask::from(self.to_task(id));
        task.status = core_status(self);
        task
    }
}

/// Returns the status in the form of 2025-11-25, where a tool that reports an error has failed.
///
/// Specification: basic/utilities/tasks, "Task Execution Errors" (2025-11-25).
fn core_status(record: &TaskRecord) -> TaskStatus {
    match record.status {
        TaskStatus::Completed if record.is_error => TaskStatus::Failed,
        status => status,
    }
}

/// Returns the error with which a call failed.
fn core_error(record: &TaskRecord) -> ProtocolError {
    let Some(error) = &record.error else {
        return ProtocolError::internal("the task has failed");
    };
    let failed = ProtocolError::new(kind_of_code(error.code), error.message.as_str());
    match &error.data {
        Some(data) => failed.with_data(data),
        None => failed,
    }
}

/// Returns questions that say which task they belong to.
fn related_questions(questions: &InputRequests, id: &str) -> InputRequests {
    let related = |(key, question): (&str, &InputRequest)| {
        let mut question = question.clone();
        let meta = match &mut question {
            InputRequest::Elicit(ElicitRequestParams::Form(params)) => Some(&mut params.meta),
            InputRequest::Elicit(ElicitRequestParams::Url(params)) => Some(&mut params.meta),
            InputRequest::CreateMessage(params) => Some(&mut params.meta),
            InputRequest::ListRoots(params) => {
                Some(&mut params.get_or_insert_with(RequestParams::new).meta)
            }
            _ => None,
        };
        if let Some(meta) = meta {
            meta.set_related_task(RelatedTask::new(id));
        }
        (key.to_owned(), question)
    };
    questions.iter().map(related).collect()
}

/// Returns the outcome of a request that is answered by a future.
fn pending(
    answer: impl Future<Output = Result<Reply, ProtocolError>> + Send + 'static,
) -> HandlerOutcome {
    HandlerOutcome::Pending(Box::pin(
        async move { answer.await.unwrap_or_else(Reply::from) },
    ))
}
