//! Waits until a task has ended: asks for its state, and answers its questions meanwhile.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle_types::method::GetTask;
use turnbuckle_types::{DetailedTask, InputRequests, Json, Request, TaskStatus};

use crate::error::Error;
use crate::request::inner::ClientInner;
use crate::request::options::RequestOptions;
use crate::request::task::poll::{PollSchedule, is_transient};

/// The most times that a server may refuse the request for a result before the task has ended.
const MAX_REFUSED_RESULTS: usize = 5;

/// The outcome of a task that has ended.
#[derive(Debug)]
pub(crate) enum TaskEnd {
    /// The result that the request would have had.
    Result(Json),
    /// The error that the request would have had, or the cancellation of the task.
    Error(Error),
}

/// The task that is waited for.
pub(crate) struct TaskWait<'a> {
    pub(crate) client: &'a Arc<ClientInner>,
    pub(crate) id: &'a str,
    /// Timeouts and tag of the requests about the task.
    pub(crate) options: &'a RequestOptions,
    /// Called with each state of the task.
    pub(crate) observer: &'a (dyn Fn(&DetailedTask) + Send + Sync),
}

/// Work that goes on while others are waited for.
type Work<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// The next thing that happens to a task.
enum Event {
    State(Result<DetailedTask, Error>),
    /// The result in the core form.
    Result(Result<Json, Error>),
    /// Questions were answered, and the answers sent.
    Answered(Result<(), Error>),
}

impl TaskWait<'_> {
    /// Waits until the task has ended. The first request for its state is sent after `first`.
    ///
    /// # Errors
    /// Returns an error if the end cannot be waited for: the task may go on.
    pub(crate) async fn run(&self, first: Duration) -> Result<TaskEnd, Error> {
        let mut schedule = PollSchedule::new();
        let mut questions = QuestionFilter::default();
        let mut polling = self.poll_after(first);
        let mut answering: Option<Work<'_, ()>> = None;
        let mut result: Option<Work<'_, Json>> = None;
        let mut refusal = None;
        let mut refused_results = 0;
        let mut has_ended = false;
        loop {
            let event = tokio::select! {
                biased;
                answered = run_optional(&mut answering) => Event::Answered(answered),
                end = run_optional(&mut result) => Event::Result(end),
                state = &mut polling => Event::State(state),
            };
            match event {
                Event::Answered(Ok(())) => answering = None,
                // The task may have ended meanwhile: its state says more than the refusal.
                Event::Answered(Err(error @ Error::ErrorResponse(_))) => {
                    answering = None;
                    refusal = Some(error);
                    polling = self.poll_after(Duration::ZERO);
                }
                Event::Answered(Err(error)) => return Err(error),
                Event::Result(Ok(end)) => return Ok(TaskEnd::Result(end)),
                Event::Result(Err(error)) if is_transient(&error) => {
                    schedule.note_failure(error)?;
                    result = has_ended.then(|| self.result_after(schedule.wait()));
                }
                Event::Result(Err(error)) if has_ended => return Ok(TaskEnd::Error(error)),
                Event::Result(Err(error)) => {
                    refused_results += 1;
                    if refused_results > MAX_REFUSED_RESULTS {
                        return Err(error);
                    }
                    result = None;
                }
                Event::State(Err(error)) => {
                    schedule.note_failure(error)?;
                    polling = self.poll_after(schedule.wait());
                }
                Event::State(Ok(state)) => {
                    schedule.note(&state.task);
                    (self.observer)(&state);
                    polling = self.poll_after(schedule.wait());
                    let has_core_tasks = self.client.has_core_tasks();
                    match (state.task.status, has_core_tasks) {
                        (TaskStatus::Cancelled, _) => {
                            let message = state.task.status_message;
                            return Ok(TaskEnd::Error(Error::TaskCancelled { message }));
                        }
                        (TaskStatus::Completed | TaskStatus::Failed, true) => {
                            has_ended = true;
                            polling = Box::pin(std::future::pending());
                            result.get_or_insert_with(|| self.result_after(Duration::ZERO));
                        }
                        (TaskStatus::Completed | TaskStatus::Failed, false) => {
                            return end_of(state);
                        }
                        // The server asks while it is waited for.
                        (TaskStatus::InputRequired, true) => {
                            result.get_or_insert_with(|| self.result_after(Duration::ZERO));
                        }
                        (TaskStatus::InputRequired, false) => {
                            if let Some(refusal) = refusal.take() {
                                return Err(refusal);
                            }
                            if answering.is_none() {
                                let new = questions.filter(state.input_requests, self.client)?;
                                answering = new.map(|new| self.answer(new));
                            }
                        }
                        (TaskStatus::Working, _) => refusal = None,
                    }
                }
            }
        }
    }

    fn poll_after(&self, wait: Duration) -> Work<'_, DetailedTask> {
        Box::pin(async move {
            tokio::time::sleep(wait).await;
            self.client.task_state(self.id, self.options).await
        })
    }

    fn result_after(&self, wait: Duration) -> Work<'_, Json> {
        Box::pin(async move {
            tokio::time::sleep(wait).await;
            self.client.task_result(self.id, self.options).await
        })
    }

    /// Asks the handlers and sends their answers.
    fn answer(&self, questions: InputRequests) -> Work<'_, ()> {
        Box::pin(async move {
            let Some(connection) = self.client.reconnector.last_connection() else {
                return Err(Error::Closed);
            };
            let tag = self.options.tag.as_ref();
            let asked = self.client.ask_handlers(&connection, &questions, tag);
            let timeouts = self.options.timeouts;
            self.client
                .update_task(self.id, asked.await?, timeouts)
                .await
        })
    }
}

/// Runs work, if there is some, and waits for ever otherwise.
async fn run_optional<T>(work: &mut Option<Work<'_, T>>) -> Result<T, Error> {
    match work {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
}

/// Returns the outcome of a task of the extension that has ended.
fn end_of(state: DetailedTask) -> Result<TaskEnd, Error> {
    match (state.result, state.error) {
        (Some(result), _) => Ok(TaskEnd::Result(result.into())),
        (None, Some(error)) => Ok(TaskEnd::Error(Error::ErrorResponse(error))),
        // A state that was decoded has one of the two.
        (None, None) => Err(Error::InvalidResult {
            method: GetTask::METHOD.to_owned(),
            reason: "it has neither a result nor an error".into(),
        }),
    }
}

/// Finds the questions that were not asked before: a server repeats a question until it has the answer.
///
/// Specification: ext-tasks, tasks, "Task Update Requests".
#[derive(Debug, Default)]
struct QuestionFilter {
    /// Hashes of the keys so far, since keys may be long.
    seen: HashSet<u64>,
    hasher: RandomState,
    rounds: usize,
}

impl QuestionFilter {
    /// Returns the new questions; `None` if there are none.
    fn filter(
        &mut self,
        requests: Option<InputRequests>,
        client: &ClientInner,
    ) -> Result<Option<InputRequests>, Error> {
        let new: InputRequests = requests
            .into_iter()
            .flatten()
            .filter(|(key, _)| !self.seen.contains(&self.hasher.hash_one(key)))
            .collect();
        if new.is_empty() {
            return Ok(None);
        }
        let limit = client.max_input_rounds;
        if self.rounds == limit {
            return Err(Error::TooManyInputRounds { limit });
        }
        self.rounds += 1;
        // More questions than this at once are refused before they are asked.
        let keys = new.keys().take(client.limits.max_input_requests);
        self.seen.extend(keys.map(|key| self.hasher.hash_one(key)));
        Ok(Some(new))
    }
}
