//! The requests about one task. The revision of the connection decides their form.

use std::sync::Arc;

use turnbuckle_session::transport::Timeouts;
use turnbuckle_types::method::{
    CancelTask, GetTask, LegacyCancelTask, LegacyGetTask, TaskResult, UpdateTask,
};
use turnbuckle_types::{
    CancelTaskRequestParams, DetailedTask, GetTaskRequestParams, InputResponses, Json, RawObject,
    Request, TaskResultRequestParams, UpdateTaskRequestParams,
};

use crate::error::Error;
use crate::request::inner::ClientInner;
use crate::request::options::RequestOptions;

impl ClientInner {
    /// Returns whether tasks have the form of the core, as the last connection's revision says.
    pub(crate) fn has_core_tasks(&self) -> bool {
        let connection = self.reconnector.last_connection();
        connection.is_some_and(|connection| connection.server.revision.features().core_tasks)
    }

    /// Returns the state of a task, which the server is asked for.
    pub(crate) async fn task_state(
        self: &Arc<Self>,
        id: &str,
        options: &RequestOptions,
    ) -> Result<DetailedTask, Error> {
        let params = GetTaskRequestParams::new(id);
        let state = match self.has_core_tasks() {
            true => {
                let sent = self.request_directly::<LegacyGetTask>(&params, options);
                DetailedTask::new(sent.await?)
            }
            false => {
                self.extension_request::<GetTask>(&params, options.timeouts)
                    .await?
            }
        };
        match state.task.task_id == id {
            true => Ok(state),
            false => Err(Error::InvalidResult {
                method: GetTask::METHOD.to_owned(),
                reason: "it is about another task".into(),
            }),
        }
    }

    /// Sends answers to questions of a task. The core form has no such request: there the server asks while
    /// the client waits for the result.
    pub(crate) async fn update_task(
        self: &Arc<Self>,
        id: &str,
        answers: InputResponses,
        timeouts: Option<Timeouts>,
    ) -> Result<(), Error> {
        let params = UpdateTaskRequestParams::new(id).input_responses(answers);
        let updated = self.extension_request::<UpdateTask>(&params, timeouts);
        updated.await.map(drop)
    }

    /// Cancels a task.
    pub(crate) async fn cancel_task(
        self: &Arc<Self>,
        id: &str,
        timeouts: Option<Timeouts>,
    ) -> Result<(), Error> {
        let params = CancelTaskRequestParams::new(id);
        if !self.has_core_tasks() {
            let cancelled = self.extension_request::<CancelTask>(&params, timeouts);
            return cancelled.await.map(drop);
        }
        let options = RequestOptions {
            timeouts,
            ..RequestOptions::default()
        };
        let cancelled = self.request_directly::<LegacyCancelTask>(&params, &options);
        cancelled.await.map(drop)
    }

    /// Waits for the result of a task in the core form, and returns the result that its request would have had.
    pub(crate) async fn task_result(
        self: &Arc<Self>,
        id: &str,
        options: &RequestOptions,
    ) -> Result<Json, Error> {
        let params = RawObject::encode(&TaskResultRequestParams::new(id))
            .map_err(|error| Error::InvalidRequest(error.to_string()))?;
        self.raw_request_directly(TaskResult::METHOD, Some(params), options)
            .await
    }
}
