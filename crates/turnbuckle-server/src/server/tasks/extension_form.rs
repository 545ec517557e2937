//! Tasks in the form of the extension `io.modelcontextprotocol/tasks` of 2026-07-28: the record as it is.

use std::sync::Arc;

use turnbuckle_cluster::SharedChange;
use turnbuckle_session::internal::TopicNotification;
use turnbuckle_types::method::{CancelTask, GetTask, TaskNotification, UpdateTask};
use turnbuckle_types::{
    CancelTaskRequestParams, DetailedTask, EmptyResult, GetTaskRequestParams, ProtocolError,
    TASKS_EXTENSION, UpdateTaskRequestParams,
};
use turnbuckle_wire::era::params::raw_param;

use super::options::Tasks;
use super::record::TaskRecord;
use super::service::{TaskHandle, TaskService};
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

impl TaskHandle {
    /// Tells the subscribers of a topic, at this instance, what its task is now.
    pub(crate) fn topic_changed(&self, topic: &str) {
        let topics = topic_key(TASKS_EXTENSION, "");
        if let Some(id) = topic.strip_prefix(&topics) {
            self.0.changes.notify(id);
            self.0.notify_subscribers_here(id, None);
        }
    }
}

impl TaskService {
    /// Tells the subscribers of a task what it is now, also those of other instances.
    pub(super) fn notify_subscribers(self: &Arc<Self>, id: &str, record: &TaskRecord) {
        let server = self.settings().and_then(|settings| settings.server());
        match server.and_then(|server| server.0.cluster.clone()) {
            Some(cluster) => {
                let topic = topic_key(TASKS_EXTENSION, id).into();
                cluster.changes().publish(SharedChange::TopicChanged(topic));
            }
            None => self.notify_subscribers_here(id, Some(record)),
        }
    }

    /// Tells the subscribers of a task, at this instance, what it is now. `record` is used if the store
    /// fails.
    fn notify_subscribers_here(self: &Arc<Self>, id: &str, record: Option<&TaskRecord>) {
        let Some(server) = self.settings().and_then(|settings| settings.server()) else {
            return;
        };
        let topic = topic_key(TASKS_EXTENSION, id);
        if !server.0.subscriptions.has_subscribers(&topic) {
            return;
        }
        let (service, id, record) = (self.clone(), id.to_owned(), record.cloned());
        tokio::spawn(async move {
            // A later change may have come first: subscribers see the newest.
            let newest = service.records.get(&id).await.ok().flatten();
            let Some(record) = newest.or(record) else {
                return;
            };
            let Ok(details) = service.details(&id, &record).await else {
                return;
            };
            let notification = TopicNotification::new::<TaskNotification>(&details);
            match notification {
                Ok(notification) => {
                    let hub = &server.0.subscriptions;
                    hub.publish_to_topic(&topic, &notification);
                }
                Err(_) => {
                    tracing::warn!("a change of a task was not announced: it does not encode")
                }
            }
        });
    }
}
