//! The right of one instance to run a task, and the tasks of instances that have ended.
//!
//! An instance that runs tasks says so every few seconds. Whoever looks at a task without such a sign ends it,
//! or goes on with it if its tool is resumable; there is no sweep over all tasks. A queue offers resumable
//! tasks again, so that they go on even if nobody looks.

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_store::{Bytes, TopicEvent};
use turnbuckle_types::TaskStatus;
use turnbuckle_types::base::text::Escaped;

use super::records::RecordResult;
use super::service::TaskService;

/// The time after which an instance subscribes again to the tasks that are cancelled elsewhere.
const SUBSCRIBE_INTERVAL: Duration = Duration::from_secs(3);

/// The most tasks of other instances that are looked at in one turn.
const MAX_JOBS: usize = 64;

impl TaskService {
    /// Shows other instances that this one is there, takes over tasks of those that have ended, and stops
    /// tasks that were cancelled elsewhere, until the server ends.
    pub(super) async fn keep_leases(self: Arc<Self>) {
        if !self.records.is_shared {
            return;
        }
        // Apart from each other: a slow store must not keep one of them from the others' time.
        tokio::select! {
            () = self.end.closing() => {}
            () = self.watch_stops() => {}
            () = self.renew_leases() => {}
            () = self.take_over_tasks() => {}
        }
    }

    async fn renew_leases(&self) {
        loop {
            tokio::time::sleep(self.records.lease_ttl / 3).await;
            if let Err(error) = self.records.renew_leases(&self.leased_ids()).await {
                tracing::warn!(error = %Escaped(&error), "the leases of tasks were not renewed");
            }
        }
    }

    async fn take_over_tasks(self: &Arc<Self>) {
        loop {
            tokio::time::sleep(self.records.lease_ttl / 3).await;
            if let Err(error) = self.take_over_jobs().await {
                tracing::warn!(error = %Escaped(&error), "tasks of other instances were not looked at");
            }
        }
    }

    async fn take_over_jobs(self: &Arc<Self>) -> RecordResult<()> {
        for _ in 0..MAX_JOBS {
            let Some(claim) = self.records.claim_job().await? else {
                break;
            };
            let id = String::from_utf8_lossy(&claim.job).into_owned();
            match self.records.get(&id).await? {
                Some(record) if !record.status.is_final() => {
                    let is_lost = record.status == TaskStatus::Working
                        && !self.is_running(&id)
                        && !self.records.has_lease(&id).await?;
                    if is_lost {
                        self.resume(&id);
                    }
                }
                _ => self.records.complete_job(claim).await?,
            }
        }
        Ok(())
    }

    /// Stops runs whose tasks were cancelled at another instance.
    async fn watch_stops(&self) {
        loop {
            if let Ok(mut stops) = self.records.stops().await {
                while let Some(event) = std::future::poll_fn(|cx| stops.poll_next(cx)).await {
                    if let TopicEvent::Message(id) = event {
                        self.stop_here(&String::from_utf8_lossy(&id));
                    }
                }
            }
            tokio::time::sleep(SUBSCRIBE_INTERVAL).await;
        }
    }

    /// Tells the other instances that a task was cancelled.
    pub(super) async fn stop_elsewhere(&self, id: &str) {
        if !self.records.is_shared {
            return;
        }
        let id = Bytes::copy_from_slice(id.as_bytes());
        if let Err(error) = self.records.publish_stop(id).await {
            // The run finds its record changed when it next writes to it.
            tracing::warn!(error = %Escaped(&error), "a cancelled task may run on for a while");
        }
    }
}
