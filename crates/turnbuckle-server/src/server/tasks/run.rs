//! Runs: a handler works on a task until it has a result, or waits for answers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use turnbuckle_session::handler::RequestContext;
use turnbuckle_session::internal::{DetachedHandler, RestoredRequest};
use turnbuckle_store::StoreErrorKind::{Full, TooLarge};
use turnbuckle_types::base::random;
use turnbuckle_types::base::text::{Escaped, one_line};
use turnbuckle_types::{
    CallToolResult, ContentBlock, ErrorObject, ProtocolError, RequestId, TaskStatus,
};
use turnbuckle_wire::era::{Reply, WriteTarget, write_error};
use turnbuckle_wire::json::Additions;
use turnbuckle_wire::revision::Revision;

use super::outlet::TaskOutlet;
use super::record::{TaskCall, TaskRecord};
use super::records::{Change, RecordError, RecordResult};
use super::service::{RunMark, TaskService};
use crate::request::context::HandlerContext;
use crate::request::input::Leg;

/// The time that a handler has to end after its task was cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// The time between two tries to take the right to run a task that has another holder.
const LEASE_WAIT: Duration = Duration::from_millis(500);

/// The shortest time between two status messages in the record.
const MESSAGE_INTERVAL: Duration = Duration::from_secs(1);

/// The times for which the end of a run is tried to be recorded while the store fails, with a second and
/// more between them.
const RECORD_TRIES: u32 = 30;

/// The most characters of a tool's failure in the status message of its task.
const MAX_FAILURE_CHARS: usize = 200;

/// A handler that works on a task.
pub(super) struct Run {
    pub(super) mark: RunMark,
    pub(super) handler: DetachedHandler,
    pub(super) leg: Arc<Leg>,
    pub(super) outlet: Arc<TaskOutlet>,
    /// The call, if it is to be kept once the task waits: later runs begin with it.
    pub(super) call: Option<TaskCall>,
    /// The time that is left for the task.
    pub(super) time_left: Duration,
    pub(super) permit: OwnedSemaphorePermit,
}

/// The way in which a run ends.
enum RunEnd {
    /// The handler is done, or waits for answers.
    Replied(Reply),
    /// The task was cancelled, or goes on elsewhere.
    Stopped,
    /// The time of the task has passed.
    Expired,
    /// The server ends.
    Closed,
}

impl TaskService {
    /// Runs a handler in a task of the runtime until its run ends, and records how.
    pub(super) fn spawn_run(self: &Arc<Self>, run: Run) {
        let service = self.clone();
        tokio::spawn(async move { service.run(run).await });
    }

    async fn run(self: &Arc<Self>, run: Run) {
        let Run {
            mark,
            mut handler,
            leg,
            outlet,
            call,
            time_left,
            permit,
        } = run;
        let end = tokio::select! {
            biased;
            () = mark.stop.cancelled() => RunEnd::Stopped,
            () = self.end.closing() => RunEnd::Closed,
            reply = handler.run() => RunEnd::Replied(reply),
            () = tokio::time::sleep(time_left) => RunEnd::Expired,
            () = self.record_messages(&mark, &outlet) => RunEnd::Stopped,
        };
        // A handler that is done is told so, too: nothing of it should go on.
        handler.cancel(CANCEL_TIMEOUT).await;
        let id = mark.id.as_str();
        let recorded = match end {
            RunEnd::Stopped | RunEnd::Closed => Ok(None),
            RunEnd::Expired => {
                let error = ProtocolError::internal("the time to live of the task has passed");
                self.record_end(&mark, Reply::Error(error)).await
            }
            RunEnd::Replied(reply) => match (leg.take_questions(), reply) {
                (Some(questions), Reply::InputRequired(_)) => {
                    let parked = Parked { questions, call };
                    self.record_questions(&mark, parked).await
                }
                (_, reply) => self.record_end(&mark, reply).await,
            },
        };
        if let Err(error) = self.records.release_lease(id).await {
            tracing::warn!(error = %Escaped(&error), "the lease of a task was not released");
        }
        drop(permit);
        let id = id.to_owned();
        drop(mark);
        match recorded {
            Ok(Some(record)) => self.changed(&id, &record),
            Ok(None) => {}
            Err(error) => tracing::error!(
                error = %Escaped(&error),
                "how a task has ended could not be recorded: it counts as one whose process has ended"
            ),
        }
    }

    /// Writes status messages into the record, until the task is no longer this run's.
    async fn record_messages(self: &Arc<Self>, mark: &RunMark, outlet: &TaskOutlet) {
        loop {
            let message = outlet.next_message().await;
            let changed = self.records.change(&mark.id, |record| {
                if !record.is_run_by(&mark.name) {
                    return Change::Keep(false);
                }
                record.message = Some(message.clone());
                Change::Write(true)
            });
            match changed.await {
                Ok(Some((record, true))) => self.changed(&mark.id, &record),
                Ok(Some((_, false)) | None) => return,
                // The next message may be kept.
                Err(error) => {
                    tracing::debug!(error = %Escaped(&error), "a status message was lost")
                }
            }
            tokio::time::sleep(MESSAGE_INTERVAL).await;
        }
    }

    /// Records the result of a task. Returns the record, unless the task is no longer this run's.
    async fn record_end(&self, mark: &RunMark, reply: Reply) -> RecordResult<Option<TaskRecord>> {
        let is_error = reply.is_error();
        let mut outcome = match reply {
            Reply::Complete(body) => {
                let target = WriteTarget {
                    features: Revision::NEWEST.features(),
                    additions: Additions::default(),
                };
                let mut json = Vec::new();
                let written = body.write(&target, &mut json);
                written.map(|()| json).map_err(|error| {
                    error_object(&ProtocolError::internal(format!(
                        "the result of the task could not be written: {error}"
                    )))
                })
            }
            Reply::Error(error) => Err(error_object(&error)),
            Reply::Extension(..) | Reply::InputRequired(_) => Err(error_object(
                &ProtocolError::internal("the tool has no result that a task can have"),
            )),
        };
        if let Ok(result) = &outcome
            && let Some(refusal) = self.keep_result(&mark.id, result).await?
        {
            outcome = Err(error_object(&ProtocolError::internal(refusal)));
        }
        let failure = outcome.as_ref().ok().filter(|_| is_error);
        let failure = failure.and_then(|result| failure_message(result));
        let changed = self.retry(|| {
            self.records.change(&mark.id, |record| {
                if !record.is_run_by(&mark.name) {
                    return Change::Keep(false);
                }
                match &outcome {
                    Ok(_) => record.complete(is_error, failure.clone()),
                    Err(error) => record.fail(error.clone()),
                }
                Change::Write(true)
            })
        });
        Ok(changed
            .await?
            .filter(|(_, is_ours)| *is_ours)
            .map(|it| it.0))
    }

    /// Keeps the result of a task beside its record. Returns the reason if it cannot be kept.
    async fn keep_result(&self, id: &str, result: &[u8]) -> RecordResult<Option<String>> {
        let (bytes, most) = (result.len(), self.options.result_bytes);
        let too_large = format!(
            "the result of the task has {bytes} bytes, more than the server keeps (Tasks::result_bytes: {most})"
        );
        if bytes > most {
            return Ok(Some(too_large));
        }
        let put = self.retry(|| async {
            let Some(record) = self.records.get(id).await? else {
                return Ok(Ok(()));
            };
            let ttl = self.records.time_left(&record).unwrap_or(MESSAGE_INTERVAL);
            let put = self.records.put_result(id, result.to_owned(), ttl).await;
            match put {
                Err(error) if matches!(error.kind(), Some(Full | TooLarge)) => Ok(Err(error)),
                put => put.map(Ok),
            }
        });
        Ok(match put.await? {
            Ok(()) => None,
            Err(error) if error.kind() == Some(Full) => Some(format!(
                "the result of the task has {bytes} bytes, and the store of the server has no room for it"
            )),
            Err(_) => Some(too_large),
        })
    }

    /// Records the questions that a task waits for. Returns the record, unless the task is no longer this
    /// run's.
    async fn record_questions(
        &self,
        mark: &RunMark,
        parked: Parked,
    ) -> RecordResult<Option<TaskRecord>> {
        if let Some(call) = &parked.call {
            self.retry(|| self.records.put_call(&mark.id, call, self.options.max_ttl))
                .await?;
        }
        let changed = self.retry(|| {
            self.records.change(&mark.id, |record| {
                if !record.is_run_by(&mark.name) {
                    return Change::Keep(false);
                }
                record.park(&parked.questions);
                Change::Write(true)
            })
        });
        Ok(changed
            .await?
            .filter(|(_, is_ours)| *is_ours)
            .map(|it| it.0))
    }

    /// Removes a task that nobody knows of: its call goes on as a plain one, or was refused. Another instance
    /// would run a resumable one.
    pub(super) fn discard(self: &Arc<Self>, id: &str) {
        let (service, id) = (self.clone(), id.to_owned());
        let remove = async move {
            // The store has just failed: it is left in peace for a while.
            tokio::time::sleep(Duration::from_secs(1)).await;
            if let Err(error) = service.retry(|| service.records.remove(&id)).await {
                tracing::warn!(error = %Escaped(&error), "a task that nobody knows of may be left");
            }
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(remove);
        }
    }

    /// Tries an operation again while the store fails, for a while.
    async fn retry<T, Fut>(&self, operation: impl Fn() -> Fut) -> RecordResult<T>
    where
        Fut: Future<Output = RecordResult<T>>,
    {
        let mut tries = 1;
        loop {
            match operation().await {
                Err(error) if tries < RECORD_TRIES && !self.end.is_closing() => {
                    tracing::debug!(error = %Escaped(&error), "the store of tasks is tried again");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    tries += 1;
                }
                result => return result,
            }
        }
    }

    /// Begins the next run of a task on this instance, unless one has begun already.
    pub(super) fn resume(self: &Arc<Self>, id: &str) {
        let Ok(name) = random::id() else { return };
        let Some(mark) = self.mark_run(id, name) else {
            return;
        };
        let service = self.clone();
        tokio::spawn(async move {
            let id = mark.id.clone();
            match service.clone().resume_run(mark).await {
                Ok(Some(run)) => service.run(run).await,
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(error = %Escaped(&error), task = id, "a task does not go on for now");
                }
            }
        });
    }

    /// Prepares the next run of a task. `None` if it is not to run here.
    async fn resume_run(self: Arc<Self>, mark: RunMark) -> RecordResult<Option<Run>> {
        let permit = tokio::select! {
            permit = self.permits.clone().acquire_owned() => permit,
            () = mark.stop.cancelled() => return Ok(None),
            () = self.end.closing() => return Ok(None),
        };
        let Ok(permit) = permit else { return Ok(None) };
        if !self.take_lease(&mark.id).await? {
            return Ok(None);
        }
        mark.keep_lease();
        let taken = self.retry(|| {
            self.records.change(&mark.id, |record| {
                if record.status != TaskStatus::Working {
                    return Change::Keep(false);
                }
                record.run = Some(mark.name.clone());
                Change::Write(true)
            })
        });
        let Some((record, true)) = taken.await? else {
            self.records.release_lease(&mark.id).await?;
            return Ok(None);
        };
        let outlet = Arc::new(TaskOutlet::new(None));
        let leg = Arc::new(Leg::default());
        leg.enter_task();
        match self.restore(&mark, &record, &outlet, &leg).await {
            Ok(handler) => Ok(Some(Run {
                handler,
                leg,
                outlet,
                call: None,
                time_left: self.records.time_left(&record).unwrap_or_default(),
                permit,
                mark,
            })),
            Err(error) => {
                if let Some(record) = self.record_end(&mark, Reply::Error(error)).await? {
                    self.changed(&mark.id, &record);
                }
                self.records.release_lease(&mark.id).await?;
                Ok(None)
            }
        }
    }

    /// Takes the right to run a task. The run before may not have given it up yet.
    async fn take_lease(&self, id: &str) -> RecordResult<bool> {
        // Longer than the right of an instance lasts that has ended.
        let until = Instant::now() + self.options.lease_ttl * 2;
        while Instant::now() < until {
            if self.retry(|| self.records.take_lease(id)).await? {
                return Ok(true);
            }
            tokio::time::sleep(LEASE_WAIT).await;
            let record = self.retry(|| self.records.get(id)).await?;
            // A run has begun elsewhere, or there is nothing to run any more.
            if record.is_none_or(|it| it.status != TaskStatus::Working || it.run.is_some()) {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Returns the handler of a task from its record.
    async fn restore(
        &self,
        mark: &RunMark,
        record: &TaskRecord,
        outlet: &Arc<TaskOutlet>,
        leg: &Arc<Leg>,
    ) -> Result<DetachedHandler, ProtocolError> {
        let call = self.retry(|| self.records.call(&mark.id)).await?;
        let call = call.ok_or_else(|| RecordError::new("the call of the task is gone"))?;
        let dropped = || ProtocolError::internal("the server has been dropped");
        let settings = self.settings().ok_or_else(dropped)?;
        let server = settings.server().ok_or_else(dropped)?;
        let principal = call.principal.map(|principal| Arc::new(principal.into()));
        let request = RestoredRequest {
            frame: Bytes::from(call.message),
            capabilities: call.capabilities,
            client_info: call.client_info,
            principal,
        };
        let request = RequestContext::restore(request, &self.account, outlet.clone())?;
        let round = settings.input_rounds.unpark(
            &record.state,
            &record.answers,
            record.identity.clone(),
        )?;
        let round = round.in_leg(leg.clone());
        let context = HandlerContext::new(request.clone(), settings, Some(round));
        let outcome = server.run_tool(&record.tool, context).await?;
        Ok(DetachedHandler::new(outcome, request))
    }
}

/// The questions with which a run ended, and the call that later runs begin with.
struct Parked {
    questions: crate::request::input::LegQuestions,
    call: Option<TaskCall>,
}

/// Returns the first text of a result that reports a failure.
fn failure_message(result: &[u8]) -> Option<String> {
    let result: CallToolResult = serde_json::from_slice(result).ok()?;
    let text = result.content.iter().find_map(|block| match block {
        ContentBlock::Text(text) => Some(&text.text),
        _ => None,
    });
    Some(one_line(text?, MAX_FAILURE_CHARS))
}

/// Returns an error as a client of the newest revision gets it.
fn error_object(error: &ProtocolError) -> ErrorObject {
    #[derive(serde::Deserialize)]
    struct Response {
        error: ErrorObject,
    }
    let mut response = Vec::new();
    let features = Revision::NEWEST.features();
    write_error(&mut response, &RequestId::from(0), error, features);
    match serde_json::from_slice::<Response>(&response) {
        Ok(response) => response.error,
        Err(_) => ErrorObject::new(-32603, error.message()),
    }
}
