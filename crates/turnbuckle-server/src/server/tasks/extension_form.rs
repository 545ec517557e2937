//! Tasks in the form of the extension `io.modelcontextprotocol/tasks` of 2026-07-28: the record as it is.

use std::sync::Arc;

use turnbuckle_types::method::{CancelTask, GetTask, TaskNotification, UpdateTask};
use turnbuckle_types::{
    CancelTaskRequestParams, DetailedTask, EmptyResult, GetTaskRequestParams, ProtocolError,
    TASKS_EXTENSION, UpdateTaskRequestParams,
};
use turnbuckle_wire::era::params::raw_param;

use super::options::Tasks;
use super::record::TaskRecord;
use super::service::TaskService;
use crate::error::failure::Result;
use crate::request::context::HandlerContext;
use crate::server::extension::{AcceptedFilter, Extension, UndeclaredPolicy};
use crate::server::subscription::topic_key;

/// The most ids in the filter of one subscription that are looked up.
const MAX_FILTER_IDS: usize = 256;

impl From<Tasks> for Extension {
    fn from(tasks: Tasks) -> Self {
        let mut extension = Self::new(TASKS_EXTENSION)
            .undeclared_policy(UndeclaredPolicy::MissingCapability)
            .result_type("task")
            .method::<GetTask, _, _>(get_task)
            .method::<UpdateTask, _, _>(update_task)
            .method::<CancelTask, _, _>(cancel_task)
            .filter("taskIds", accept_tasks)
            .background(|background| async move {
                let server = background.server();
                let tasks =
                    server.and_then(|server| server.0.tasks.as_ref().map(|it| it.0.clone()));
                if let Some(tasks) = tasks {
                    tasks.keep_leases().await;
                }
            });
        extension.tasks = Some(tasks.options);
        extension
    }
}

impl HandlerContext {
    /// Returns the tasks of the server.
    fn tasks(&self) -> Result<Arc<TaskService>, ProtocolError> {
        let server = self.server();
        let tasks = server.and_then(|server| Some(server.0.tasks.as_ref()?.0.clone()));
        tasks.ok_or_else(|| ProtocolError::internal("the server has been dropped"))
    }
}

async fn get_task(params: GetTaskRequestParams, context: HandlerContext) -> Result<DetailedTask> {
    let tasks = context.tasks()?;
    let record = tasks.get(&params.task_id, context.principal()).await?;
    let details = tasks.details(&params.task_id, &record).await;
    Ok(details.map_err(ProtocolError::from)?)
}

async fn update_task(
    params: UpdateTaskRequestParams,
    context: HandlerContext,
) -> Result<EmptyResult> {
    if raw_param(context.text(), "inputResponses").is_none() {
        let missing = "\"inputResponses\" must be there, as an object";
        return Err(ProtocolError::invalid_params(missing).into());
    }
    let (id, answers) = (&params.task_id, &params.input_responses);
    context
        .tasks()?
        .answer(id, context.principal(), answers)
        .await?;
    Ok(EmptyResult::new())
}

/// Cancels a task. One that has ended is acknowledged like any other: no sentence of the extension names the
/// case, and the official suite expects it.
async fn cancel_task(
    params: CancelTaskRequestParams,
    context: HandlerContext,
) -> Result<EmptyResult> {
    let tasks = context.tasks()?;
    tasks.cancel(&params.task_id, context.principal()).await?;
    Ok(EmptyResult::new())
}

/// Accepts the tasks of a subscription that exist and are the caller's.
async fn accept_tasks(ids: Vec<String>, context: HandlerContext) -> Result<AcceptedFilter> {
    let tasks = context.tasks()?;
    let mut accepted = Vec::new();
    for id in ids.into_iter().take(MAX_FILTER_IDS) {
        if !accepted.contains(&id) && tasks.get(&id, context.principal()).await.is_ok() {
            accepted.push(id);
        }
    }
    let filter = AcceptedFilter::new(&accepted)?;
    Ok(accepted.into_iter().fold(filter, AcceptedFilter::topic))
}

impl TaskService {
    /// Tells the subscribers of a task what it is now.
    pub(super) fn notify_subscribers(self: &Arc<Self>, id: &str, record: &TaskRecord) {
        let Some(server) = self.settings().and_then(|settings| settings.server()) else {
            return;
        };
        if !server
            .0
            .subscriptions
            .has_subscribers(&topic_key(TASKS_EXTENSION, id))
        {
            return;
        }
        let (service, id, record) = (self.clone(), id.to_owned(), record.clone());
        tokio::spawn(async move {
            // A later change may have come first: subscribers see the newest.
            let newest = service.records.get(&id).await.ok().flatten();
            let details = service.details(&id, newest.as_ref().unwrap_or(&record));
            let Ok(details) = details.await else { return };
            if server
                .notify_topic::<TaskNotification>(&id, &details)
                .is_err()
            {
                tracing::warn!("a change of a task was not announced: it does not encode");
            }
        });
    }
}
