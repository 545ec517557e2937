//! The task of a courier: it appends what is due, several streams at a time.

use std::sync::{Arc, Weak};

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use turnbuckle_cluster::Cluster;
use turnbuckle_store::{AppendAt, Position, ReadLimit, StoreError, StoreErrorKind};
use turnbuckle_types::base::text::Escaped;

use super::{Courier, GREW};
use crate::streams::stored::owned::{AppendJob, AppendOutcome, NextStep};

/// The most streams that are written at a time.
const MAX_APPENDS: usize = 8;

/// Lets the next stream start another task, if the runtime ended this one.
struct Running(Weak<Courier>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(courier) = self.0.upgrade() {
            courier.state().has_task = false;
        }
    }
}

/// Writes streams for as long as there are any.
pub(super) async fn run(courier: Weak<Courier>, wake: Arc<Notify>) {
    let running = Running(courier);
    let mut appends = JoinSet::new();
    loop {
        let Some(courier) = running.0.upgrade() else {
            return;
        };
        let now = Instant::now();
        while appends.len() < MAX_APPENDS
            && let Some(job) = courier.take_due(now)
        {
            let cluster = courier.cluster.clone();
            appends.spawn(async move {
                let outcome = append(&cluster, &job).await;
                (job.number, outcome)
            });
        }
        let next = {
            let mut state = courier.state();
            if state.owned.is_empty() {
                state.has_task = false;
                courier.idle.notify_waiters();
                return;
            }
            // With all appends taken the next one waits for an outcome.
            let is_full = appends.len() >= MAX_APPENDS;
            state.due.first().filter(|_| !is_full).map(|(at, _)| *at)
        };
        drop(courier);
        tokio::select! {
            biased;
            Some(done) = appends.join_next(), if !appends.is_empty() => {
                if let (Ok((number, outcome)), Some(courier)) = (done, running.0.upgrade()) {
                    courier.finish(number, &outcome);
                }
            }
            () = wake.notified() => {}
            () = sleep_until(next) => {}
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn append(cluster: &Cluster, job: &AppendJob) -> AppendOutcome {
    let appended = async {
        let (at, entries) = (AppendAt::Exactly(job.at), job.entries.clone());
        let store = cluster.store();
        if store
            .append(&job.key, at, entries, job.keep)
            .await?
            .is_some()
        {
            return Ok(AppendOutcome::Appended);
        }
        let limit = ReadLimit {
            entries: job.entries.len(),
            ..ReadLimit::default()
        };
        let before = Position(job.at.0 - 1);
        let found = store.read(&job.key, before, limit).await?;
        Ok::<_, StoreError>(AppendOutcome::Refused(found))
    };
    appended.await.unwrap_or_else(|error| {
        tracing::debug!(error = %Escaped(&error), "events were not written to the store");
        match error.kind() {
            StoreErrorKind::TooLarge | StoreErrorKind::Invalid => AppendOutcome::Impossible,
            _ => AppendOutcome::Failed,
        }
    })
}

impl Courier {
    /// Takes the entries of a stream that is due.
    fn take_due(&self, now: Instant) -> Option<AppendJob> {
        let mut state = self.state();
        loop {
            let (at, number) = *state.due.first()?;
            if at > now {
                return None;
            }
            state.due.pop_first();
            let ttl = self.stream_ttl;
            let job = state.change(number, |owned| {
                owned.due = None;
                let job = owned.next_job(number, now, ttl);
                owned.is_busy = job.is_ok();
                job
            });
            match job {
                Some(Ok(job)) => return Some(job),
                // Never at once again, whatever the time of the next look.
                Some(Err(look)) => state.plan(number, look.max(now + super::COLLECT_TIME)),
                None => {}
            }
        }
    }

    fn finish(&self, number: u64, outcome: &AppendOutcome) {
        let now = Instant::now();
        let mut state = self.state();
        let step = state.change(number, |owned| {
            owned.is_busy = false;
            owned.finish_job(outcome, now)
        });
        let Some(step) = step else {
            return;
        };
        let owned = state.owned.get(&number);
        let followed = owned.and_then(|it| Some((it.follower.clone()?, it.key.clone())));
        let ended = match step {
            NextStep::Look(at) => {
                state.plan(number, at);
                None
            }
            NextStep::Forget => {
                state.remove(number);
                None
            }
            NextStep::End => state.remove(number),
        };
        drop(state);
        if let Some((follower, key)) = followed {
            self.tell_follower(&follower, GREW, key.as_str());
        }
        if let Some(stream) = ended.and_then(|owned| owned.stream.upgrade()) {
            tracing::warn!(
                "another instance has ended a stream of this one, which was taken for ended"
            );
            stream.end();
        }
    }
}
