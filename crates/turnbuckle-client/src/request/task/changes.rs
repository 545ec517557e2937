//! The states of a task, one after the other.

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_types::DetailedTask;
use turnbuckle_types::base::debug_fields;

use crate::error::Error;
use crate::request::inner::ClientInner;
use crate::request::options::RequestOptions;
use crate::request::task::poll::PollSchedule;

/// The states of a task. The client asks for the state in the interval that the server names, and skips a
/// state that equals the one before it. The last one is final.
pub struct TaskChanges {
    inner: Arc<ClientInner>,
    id: String,
    options: RequestOptions,
    schedule: PollSchedule,
    last: Option<DetailedTask>,
    has_failed: bool,
}

impl TaskChanges {
    pub(crate) fn new(inner: Arc<ClientInner>, id: String, options: RequestOptions) -> Self {
        Self {
            inner,
            id,
            options,
            schedule: PollSchedule::new(),
            last: None,
            has_failed: false,
        }
    }

    /// Returns the next state: the current one at first, and `None` after the final one or an error.
    pub async fn next(&mut self) -> Option<Result<DetailedTask, Error>> {
        let mut wait = match &self.last {
            Some(last) if last.task.status.is_final() => return None,
            Some(_) => self.schedule.wait(),
            None => Duration::ZERO,
        };
        while !self.has_failed {
            tokio::time::sleep(wait).await;
            match self.inner.task_state(&self.id, &self.options).await {
                Ok(state) => {
                    self.schedule.note(&state.task);
                    if self.last.as_ref() != Some(&state) {
                        self.last = Some(state.clone());
                        return Some(Ok(state));
                    }
                }
                Err(error) => {
                    if let Err(error) = self.schedule.note_failure(error) {
                        self.has_failed = true;
                        return Some(Err(error));
                    }
                }
            }
            wait = self.schedule.wait();
        }
        None
    }
}

debug_fields!(TaskChanges { id });
