//! The records of tasks in the store: how they are read, and changed by one at a time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use turnbuckle_store::{
    AppendAt, Claim, Condition, Keep, Position, ReadLimit, Store, StoreError, StoreErrorKind,
    StoreKey, Subscription, Versioned,
};
use turnbuckle_types::ProtocolError;
use turnbuckle_types::base::text::Escaped;

use super::clock::Clock;
use super::record::{Caller, TaskCall, TaskRecord};

/// The longest id that is looked up. Ours have 43 characters.
const MAX_ID_BYTES: usize = 64;

/// The most tasks of one caller that a list remembers.
const MAX_LISTED: u64 = 10_000;

/// The tries to change a record that others change at the same time.
const MAX_TRIES: u32 = 64;

/// The tasks in a store.
#[derive(Clone)]
pub(super) struct TaskRecords {
    store: Arc<dyn Store>,
    /// True if other instances use the store, or one after a restart.
    pub(super) is_shared: bool,
    /// The time for which an instance that runs a task is believed to be there without a sign of it.
    pub(super) lease_ttl: Duration,
    clock: Clock,
}

/// The reason that the store did not do something for a task. It is for the log of the server.
#[derive(Debug)]
pub(super) struct RecordError {
    reason: String,
    /// The kind of the error of the store, unless the store did what it should.
    kind: Option<StoreErrorKind>,
}

impl RecordError {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            kind: None,
        }
    }

    /// Returns the kind of the error of the store, unless the store did what it should.
    pub(super) fn kind(&self) -> Option<StoreErrorKind> {
        self.kind
    }
}

impl From<StoreError> for RecordError {
    fn from(error: StoreError) -> Self {
        Self {
            reason: error.to_string(),
            kind: Some(error.kind()),
        }
    }
}

/// Returns the error that a client gets, and logs the reason.
impl From<RecordError> for ProtocolError {
    fn from(error: RecordError) -> Self {
        tracing::error!(error = %Escaped(&error), "a request about tasks was refused: their store has failed");
        let kind = match error.kind {
            Some(kind) => format!(" ({})", kind.name()),
            None => String::new(),
        };
        Self::internal(format!(
            "the store of tasks has failed{kind}: try again later"
        ))
    }
}

impl std::fmt::Display for RecordError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

/// The result of an operation on the store.
pub(super) type RecordResult<T> = Result<T, RecordError>;

/// The outcome of a change of a record.
pub(super) enum Change<T> {
    /// The record is to be written.
    Write(T),
    /// The record stays as it is.
    Keep(T),
}

impl TaskRecords {
    pub(super) fn new(store: Arc<dyn Store>, is_shared: bool, lease_ttl: Duration) -> Self {
        Self {
            store,
            is_shared,
            lease_ttl,
            clock: Clock::new(),
        }
    }

    /// Returns the time of day, in milliseconds since the Unix epoch.
    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Returns the time that is left for a task.
    pub(super) fn time_left(&self, record: &TaskRecord) -> Option<Duration> {
        record.time_left(self.now_ms())
    }

    /// Writes the record of a new task, and its call if a later run needs it.
    pub(super) async fn create(
        &self,
        id: &str,
        record: &TaskRecord,
        call: Option<&TaskCall>,
    ) -> RecordResult<()> {
        let ttl = self.time_left(record).unwrap_or_default();
        if let Some(call) = call {
            self.put_call(id, call, ttl).await?;
        }
        let put = self
            .store
            .put(&key("task", id)?, encode(record)?, Condition::Absent, ttl);
        match put.await? {
            Some(_) => Ok(()),
            None => Err(RecordError::new("the id of the new task is taken")),
        }
    }

    /// Returns the record of a task. `None` if there is none, or its time has passed.
    pub(super) async fn get(&self, id: &str) -> RecordResult<Option<TaskRecord>> {
        let found = self.get_versioned(id).await?;
        let record = found.map(|found| decode::<TaskRecord>(&found.value));
        Ok(record
            .transpose()?
            .filter(|it| self.time_left(it).is_some()))
    }

    async fn get_versioned(&self, id: &str) -> RecordResult<Option<Versioned>> {
        // No id of ours is longer, and a key must not be.
        if id.is_empty() || id.len() > MAX_ID_BYTES {
            return Ok(None);
        }
        Ok(self.store.get(&key("task", id)?).await?)
    }

    /// Applies a change to a record. `change` runs again if another change came in between. Returns the record after the
    /// change with what `change` returned; `None` if there is no such task.
    pub(super) async fn change<T>(
        &self,
        id: &str,
        mut change: impl FnMut(&mut TaskRecord) -> Change<T>,
    ) -> RecordResult<Option<(TaskRecord, T)>> {
        for _ in 0..MAX_TRIES {
            let Some(found) = self.get_versioned(id).await? else {
                return Ok(None);
            };
            let mut record: TaskRecord = decode(&found.value)?;
            let Some(ttl) = self.time_left(&record) else {
                return Ok(None);
            };
            let outcome = match change(&mut record) {
                Change::Keep(outcome) => return Ok(Some((record, outcome))),
                Change::Write(outcome) => outcome,
            };
            record.updated_ms = self.now_ms().max(record.updated_ms);
            let when = Condition::Version(found.version);
            let put = self
                .store
                .put(&key("task", id)?, encode(&record)?, when, ttl);
            if put.await?.is_some() {
                return Ok(Some((record, outcome)));
            }
        }
        let reason = "the record of a task is changed too often to be changed here";
        Err(RecordError::new(reason))
    }

    /// Keeps the call that made a task.
    pub(super) async fn put_call(
        &self,
        id: &str,
        call: &TaskCall,
        ttl: Duration,
    ) -> RecordResult<()> {
        let put = self.store.put(
            &key("task-call", id)?,
            encode(call)?,
            Condition::Always,
            ttl,
        );
        put.await?;
        Ok(())
    }

    /// Returns the call that made a task.
    pub(super) async fn call(&self, id: &str) -> RecordResult<Option<TaskCall>> {
        let found = self.store.get(&key("task-call", id)?).await?;
        found.map(|found| decode(&found.value)).transpose()
    }

    /// Removes the record of a task that was not created after all.
    pub(super) async fn remove(&self, id: &str) -> RecordResult<()> {
        for kind in ["task", "task-call"] {
            self.store
                .remove(&key(kind, id)?, Condition::Always)
                .await?;
        }
        self.release_lease(id).await
    }

    /// Keeps the result of a task.
    pub(super) async fn put_result(
        &self,
        id: &str,
        result: Vec<u8>,
        ttl: Duration,
    ) -> RecordResult<()> {
        let put = self.store.put(
            &key("task-result", id)?,
            result.into(),
            Condition::Always,
            ttl,
        );
        put.await?;
        Ok(())
    }

    /// Returns the result of a task as JSON.
    pub(super) async fn result(&self, id: &str) -> RecordResult<Option<Bytes>> {
        let found = self.store.get(&key("task-result", id)?).await?;
        Ok(found.map(|found| found.value))
    }

    /// Claims the right to run a task, unless an instance has it.
    pub(super) async fn take_lease(&self, id: &str) -> RecordResult<bool> {
        if !self.is_shared {
            return Ok(true);
        }
        let put = self.store.put(
            &key("task-lease", id)?,
            Bytes::new(),
            Condition::Absent,
            self.lease_ttl,
        );
        Ok(put.await?.is_some())
    }

    /// Returns whether an instance runs a task, or has until a moment ago.
    pub(super) async fn has_lease(&self, id: &str) -> RecordResult<bool> {
        Ok(self.is_shared && self.store.get(&key("task-lease", id)?).await?.is_some())
    }

    /// Renews the right to run tasks.
    pub(super) async fn renew_leases(&self, ids: &[String]) -> RecordResult<()> {
        for ids in ids.chunks(turnbuckle_store::bounds::MAX_TOUCH_KEYS) {
            let keys: Vec<_> = ids
                .iter()
                .map(|id| key("task-lease", id))
                .collect::<Result<_, _>>()?;
            self.store.touch(keys, self.lease_ttl).await?;
        }
        Ok(())
    }

    /// Gives up the right to run a task.
    pub(super) async fn release_lease(&self, id: &str) -> RecordResult<()> {
        if self.is_shared {
            let remove = self
                .store
                .remove(&key("task-lease", id)?, Condition::Always);
            remove.await?;
        }
        Ok(())
    }

    /// Lets other instances go on with a task if its instance ends.
    pub(super) async fn push_job(&self, id: &str, ttl: Duration) -> RecordResult<()> {
        let job = Bytes::copy_from_slice(id.as_bytes());
        Ok(self.store.push(&queue()?, job, ttl).await?)
    }

    /// Returns a task that may have lost its instance. Other instances do not get it for a while.
    pub(super) async fn claim_job(&self) -> RecordResult<Option<Claim>> {
        Ok(self.store.claim(&queue()?, self.lease_ttl * 2).await?)
    }

    /// Removes the job of a task that has ended.
    pub(super) async fn complete_job(&self, claim: Claim) -> RecordResult<()> {
        self.store.complete(claim).await?;
        Ok(())
    }

    /// Returns the ids of tasks that were cancelled, as they are.
    pub(super) async fn stops(&self) -> RecordResult<Subscription> {
        Ok(self.store.subscribe(&StoreKey::new("task-stops")?).await?)
    }

    /// Tells all instances that a task was cancelled.
    pub(super) async fn publish_stop(&self, id: Bytes) -> RecordResult<()> {
        Ok(self
            .store
            .publish(&StoreKey::new("task-stops")?, id)
            .await?)
    }

    /// Adds a task to the list of its caller.
    pub(super) async fn add_to_list(
        &self,
        id: &str,
        caller: &Caller,
        ttl: Duration,
    ) -> RecordResult<()> {
        let keep = Keep {
            entries: MAX_LISTED,
            ttl,
        };
        let entry = vec![Bytes::copy_from_slice(id.as_bytes())];
        let append = self
            .store
            .append(&list(caller)?, AppendAt::End, entry, keep);
        append.await?;
        Ok(())
    }

    /// Returns ids of tasks of a caller behind a position of the list, and the position behind them, unless
    /// they are the last ones.
    pub(super) async fn list(
        &self,
        caller: &Caller,
        after: u64,
        most: usize,
    ) -> RecordResult<(Vec<String>, Option<u64>)> {
        let limit = ReadLimit {
            entries: most,
            bytes: most * MAX_ID_BYTES,
        };
        let slice = self
            .store
            .read(&list(caller)?, Position(after), limit)
            .await?;
        let end = slice
            .start
            .0
            .saturating_add(slice.entries.len() as u64)
            .saturating_sub(1);
        let ids = slice
            .entries
            .iter()
            .map(|id| String::from_utf8_lossy(id).into_owned());
        let ids: Vec<_> = ids.collect();
        let next = (!ids.is_empty() && end < slice.last.0).then_some(end);
        Ok((ids, next))
    }
}

fn key(kind: &str, id: &str) -> RecordResult<StoreKey> {
    Ok(StoreKey::new(format!("{kind}/{id}"))?)
}

fn queue() -> RecordResult<StoreKey> {
    Ok(StoreKey::new("tasks")?)
}

/// Returns the log of a caller's tasks. Its name has a digest, since a caller's name may be long.
fn list(caller: &Caller) -> RecordResult<StoreKey> {
    let digest = crate::request::input::mac(&[0; 32], caller.key().as_bytes());
    key(
        "task-list",
        &format!("{:032x}", u128::from_be_bytes(digest)),
    )
}

fn encode<T: Serialize>(value: &T) -> RecordResult<Bytes> {
    let json = serde_json::to_vec(value);
    json.map(Bytes::from)
        .map_err(|error| RecordError::new(format!("a record has no JSON form: {error}")))
}

fn decode<T: DeserializeOwned>(json: &[u8]) -> RecordResult<T> {
    serde_json::from_slice(json)
        .map_err(|error| RecordError::new(format!("a record is not one of this version: {error}")))
}
