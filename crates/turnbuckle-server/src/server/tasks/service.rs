//! The tasks of one server: how they are read, answered and cancelled, in either form.

use std::collections::{HashMap, HashSet};
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use turnbuckle_session::handler::{Limits, Peer, Signal};
use turnbuckle_session::internal::OwnerAccount;
use turnbuckle_store::{MemoryStore, Store};
use turnbuckle_types::base::text::Escaped;
use turnbuckle_types::{
    CreateMessageResult, DetailedTask, ElicitResult, ErrorObject, InputRequest, InputRequests,
    Json, ListRootsResult, Map, Principal, ProtocolError, RawObject, TaskStatus,
};

use super::changes::TaskChanges;
use super::clock::to_ms;
use super::counts::TaskCounts;
use super::options::TaskOptions;
use super::record::TaskRecord;
use super::records::{Change, RecordError, RecordResult, TaskRecords};
use crate::request::context::ServerSettings;

/// The tasks of a server.
pub(crate) struct TaskService {
    pub(super) records: TaskRecords,
    pub(super) options: TaskOptions,
    pub(super) counts: TaskCounts,
    pub(super) changes: TaskChanges,
    /// The permits of runs.
    pub(super) permits: Arc<Semaphore>,
    /// The account of runs whose request this instance has not received.
    pub(super) account: OwnerAccount,
    /// Closes when the server ends.
    pub(super) end: Signal,
    /// The runs of this instance, also those that wait for a permit, by the id of their task.
    running: Mutex<HashMap<String, Running>>,
    /// The clients of legacy sessions that are told of their tasks, by the id of the task.
    listeners: Mutex<HashMap<String, Listener>>,
    /// The tasks whose questions are being asked of a legacy client.
    asked: Mutex<HashSet<String>>,
    settings: OnceLock<Weak<ServerSettings>>,
}

/// The tasks of a server, which end when this is dropped.
pub(crate) struct TaskHandle(pub(super) Arc<TaskService>);

impl TaskHandle {
    /// Creates the tasks of a server, in its store or in memory.
    pub(crate) fn new(options: TaskOptions, store: Option<Arc<dyn Store>>) -> Self {
        let records = match store {
            Some(store) => TaskRecords::new(store, true, options.lease_ttl),
            None => TaskRecords::new(Arc::new(MemoryStore::new()), false, options.lease_ttl),
        };
        Self(Arc::new(TaskService::new(records, options)))
    }
}

impl Deref for TaskHandle {
    type Target = Arc<TaskService>;

    fn deref(&self) -> &Arc<TaskService> {
        &self.0
    }
}

impl Drop for TaskHandle {
    fn drop(&mut self) {
        self.0.end.close();
    }
}

/// A client of a legacy session that is told of a task.
pub(super) struct Listener {
    pub(super) peer: Peer,
    until: Instant,
}

/// A run of this instance.
struct Running {
    name: String,
    stop: Signal,
    /// True if another run is to follow: the task was answered before this one was over.
    has_successor: bool,
    /// True if the run has the lease of its task, and is to renew it. A lease that it waits for is another's.
    has_lease: bool,
}

/// The mark of a run of this instance, which is removed when this is dropped.
pub(super) struct RunMark {
    service: Arc<TaskService>,
    pub(super) id: String,
    pub(super) name: String,
    /// Cancelled when the run is not wanted any more.
    pub(super) stop: Signal,
}

impl RunMark {
    /// Lets the lease of the task be renewed while the run goes on.
    pub(super) fn keep_lease(&self) {
        if let Some(running) = self.service.running().get_mut(&self.id) {
            running.has_lease = true;
        }
    }
}

impl Drop for RunMark {
    fn drop(&mut self) {
        let mut running = self.service.running();
        let own = match running.get(&self.id) {
            Some(own) if own.name == self.name => running.remove(&self.id),
            _ => None,
        };
        drop(running);
        if own.is_some_and(|own| own.has_successor) && Handle::try_current().is_ok() {
            self.service.resume(&self.id);
        }
    }
}

impl TaskService {
    fn new(records: TaskRecords, options: TaskOptions) -> Self {
        Self {
            records,
            permits: Arc::new(Semaphore::new(options.max_running)),
            options,
            counts: TaskCounts::default(),
            changes: TaskChanges::default(),
            account: OwnerAccount::new(&Limits::default()),
            end: Signal::new(),
            running: Mutex::default(),
            listeners: Mutex::default(),
            asked: Mutex::default(),
            settings: OnceLock::new(),
        }
    }

    /// Sets the settings of the server whose tools run.
    pub(crate) fn set_settings(&self, settings: &Arc<ServerSettings>) {
        self.settings.get_or_init(|| Arc::downgrade(settings));
    }

    /// Returns the settings of the server, unless it has ended.
    pub(super) fn settings(&self) -> Option<Arc<ServerSettings>> {
        self.settings.get()?.upgrade()
    }

    /// Marks a task as one that this instance runs. `None` if it does already: then another run follows, if the
    /// task still needs one.
    pub(super) fn mark_run(self: &Arc<Self>, id: &str, name: String) -> Option<RunMark> {
        let mut running = self.running();
        if let Some(running) = running.get_mut(id) {
            running.has_successor = true;
            return None;
        }
        let stop = Signal::new();
        let entry = Running {
            name: name.clone(),
            stop: stop.clone(),
            has_successor: false,
            has_lease: false,
        };
        running.insert(id.to_owned(), entry);
        Some(RunMark {
            service: self.clone(),
            id: id.to_owned(),
            name,
            stop,
        })
    }

    /// Returns the ids of the tasks whose leases this instance has.
    pub(super) fn leased_ids(&self) -> Vec<String> {
        let running = self.running();
        let leased = running.iter().filter(|(_, running)| running.has_lease);
        leased.map(|(id, _)| id.clone()).collect()
    }

    /// Waits until no task runs. None begins to run from then on.
    pub(crate) async fn join_runs(&self) {
        let all = u32::try_from(self.options.max_running).unwrap_or(u32::MAX);
        if let Ok(permits) = self.permits.acquire_many(all).await {
            permits.forget();
        }
    }

    pub(super) fn is_running(&self, id: &str) -> bool {
        self.running().contains_key(id)
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells a legacy client of the changes of a task, for as long as the task is kept.
    pub(super) fn listen(&self, id: &str, peer: Peer, ttl: Duration) {
        let now = Instant::now();
        let mut listeners = self.listeners();
        listeners.retain(|_, listener| listener.until > now);
        let until = now + ttl;
        listeners.insert(id.to_owned(), Listener { peer, until });
    }

    pub(super) fn listeners(&self) -> MutexGuard<'_, HashMap<String, Listener>> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the tasks whose questions are being asked.
    pub(super) fn asked_tasks(&self) -> MutexGuard<'_, HashSet<String>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the record of a task of a caller.
    ///
    /// # Errors
    /// When there is no such task for this caller, or the store fails.
    pub(super) async fn get(
        self: &Arc<Self>,
        id: &str,
        principal: Option<&Principal>,
    ) -> Result<TaskRecord, ProtocolError> {
        let record = self.records.get(id).await?;
        let record = record.filter(|it| it.belongs_to(principal));
        let record = record.ok_or_else(|| unknown_task(id))?;
        if record.status != TaskStatus::Working || self.is_running(id) {
            return Ok(record);
        }
        Ok(self.recover(id, record).await?)
    }

    /// Goes on with a task whose instance has ended, or ends it.
    async fn recover(
        self: &Arc<Self>,
        id: &str,
        record: TaskRecord,
    ) -> Result<TaskRecord, RecordError> {
        // Nothing is lost of a task whose next run has not begun.
        if record.is_between_runs() {
            self.resume(id);
            return Ok(record);
        }
        // A run that is about to begin has no mark and no lease yet.
        let age_ms = self.records.now_ms().saturating_sub(record.updated_ms);
        let is_new = age_ms < to_ms(self.records.lease_ttl);
        if is_new || self.records.has_lease(id).await? {
            return Ok(record);
        }
        if record.is_resumable {
            self.resume(id);
            return Ok(record);
        }
        let run = record.run.clone();
        let ended = self.records.change(id, |record| {
            if record.status != TaskStatus::Working || record.run != run {
                return Change::Keep(());
            }
            record.fail(ErrorObject::new(
                -32603,
                "the process of the server that ran this task has ended, and the task with it: call the \
                 tool again",
            ));
            Change::Write(())
        });
        match ended.await? {
            Some((record, ())) => {
                self.changed(id, &record);
                Ok(record)
            }
            None => Ok(record),
        }
    }

    /// Gives a task the answers to its questions. Answers to others are ignored. The task goes on when no
    /// question is left.
    ///
    /// # Errors
    /// When there is no such task for this caller, an answer does not have the form of one, or the store
    /// fails. The task then waits on.
    pub(super) async fn answer(
        self: &Arc<Self>,
        id: &str,
        principal: Option<&Principal>,
        answers: &Map<Json>,
    ) -> Result<(), ProtocolError> {
        let record = self.get(id, principal).await?;
        for (key, answer) in answers.iter() {
            if let Some(question) = record.questions.get(key) {
                check_answer(key, question, answer)?;
            }
        }
        let changed = self.records.change(id, |record| {
            let mut left = InputRequests::new();
            let mut is_new = false;
            for (key, question) in record.questions.iter() {
                match answers.get(key) {
                    Some(answer) => {
                        record.answers.insert(key, answer.clone());
                        is_new = true;
                    }
                    None => {
                        left.insert(key, question.clone());
                    }
                }
            }
            if record.status != TaskStatus::InputRequired || !is_new {
                return Change::Keep(false);
            }
            record.questions = left;
            let goes_on = record.questions.is_empty();
            if goes_on {
                record.status = TaskStatus::Working;
                record.message = None;
            }
            Change::Write(goes_on)
        });
        if let Some((record, goes_on)) = changed.await? {
            if goes_on {
                self.resume(id);
            }
            self.changed(id, &record);
        }
        Ok(())
    }

    /// Cancels a task. Returns its record, and whether it had not ended before.
    ///
    /// # Errors
    /// When there is no such task for this caller, or the store fails.
    pub(super) async fn cancel(
        self: &Arc<Self>,
        id: &str,
        principal: Option<&Principal>,
    ) -> Result<(TaskRecord, bool), ProtocolError> {
        self.get(id, principal).await?;
        let changed = self.records.change(id, |record| {
            if record.status.is_final() {
                return Change::Keep(false);
            }
            record.end(
                TaskStatus::Cancelled,
                Some("cancelled by the client".to_owned()),
            );
            Change::Write(true)
        });
        let (record, is_new) = changed.await?.ok_or_else(|| unknown_task(id))?;
        if is_new {
            let stop = self.running().get(id).map(|running| running.stop.clone());
            match stop {
                Some(stop) => stop.cancel(),
                None => self.stop_elsewhere(id).await,
            }
            self.changed(id, &record);
        }
        Ok((record, is_new))
    }

    /// Stops the run of a task by the name of its record.
    pub(super) fn stop_here(&self, id: &str) {
        if let Some(running) = self.running().get(id) {
            running.stop.cancel();
        }
    }

    /// Tells those that wait for it of a change of a task.
    pub(super) fn changed(self: &Arc<Self>, id: &str, record: &TaskRecord) {
        self.changes.notify(id);
        if record.status.is_final() {
            self.counts.end(id);
            tracing::debug!(
                tool = &*record.tool,
                status = record.status.as_str(),
                "a task has ended"
            );
        }
        self.notify_listener(id, record);
        self.notify_subscribers(id, record);
    }

    /// Returns the task with what its status shows: questions, the result, or the error.
    pub(super) async fn details(
        &self,
        id: &str,
        record: &TaskRecord,
    ) -> RecordResult<DetailedTask> {
        let mut details = DetailedTask::new(record.to_task(id));
        match record.status {
            TaskStatus::InputRequired => details.input_requests = Some(record.questions.clone()),
            TaskStatus::Completed => details.result = Some(self.result(id).await?),
            TaskStatus::Failed => details.error.clone_from(&record.error),
            _ => {}
        }
        Ok(details)
    }

    /// Returns the result of a task that has completed.
    pub(super) async fn result(&self, id: &str) -> RecordResult<RawObject> {
        let found = self.records.result(id).await?;
        let result = found.and_then(|json| serde_json::from_slice(&json).ok());
        result.ok_or_else(|| RecordError::new("the result of the task is not there any more"))
    }
}

/// Returns the error for a task that does not exist for a caller. It does not tell whether it exists for
/// others.
pub(super) fn unknown_task(id: &str) -> ProtocolError {
    let shown: String = id.chars().take(64).collect();
    ProtocolError::invalid_params(format!(
        "there is no task \"{}\": it may have expired",
        Escaped(&shown)
    ))
}

/// Checks that an answer is one to the kind of its question. Its content is checked by the handler, which can
/// ask again.
fn check_answer(key: &str, question: &InputRequest, answer: &Json) -> Result<(), ProtocolError> {
    let decoded = match question {
        InputRequest::Elicit(_) => answer.decode::<ElicitResult>().map(drop),
        InputRequest::CreateMessage(_) => answer.decode::<CreateMessageResult>().map(drop),
        InputRequest::ListRoots(_) => answer.decode::<ListRootsResult>().map(drop),
        _ => Ok(()),
    };
    decoded.map_err(|error| {
        let reason = turnbuckle_types::describe_decode_error(&error);
        ProtocolError::invalid_params(format!(
            "the answer to {key:?} is malformed, and the question still waits: {reason}"
        ))
    })
}
