//! The record of a task: one for both forms of tasks, kept in the store.
//!
//! The record changes with each step of the task. The call that made the task and its result are values of
//! their own, which are written once.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{
    ClientCapabilities, ErrorObject, Implementation, InputRequests, Json, Map, Principal,
    RawObject, Task, TaskStatus,
};

use super::clock::to_date;
use crate::request::input::{LegQuestions, RequestIdentity};

/// The state of a task.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct TaskRecord {
    /// The caller whose task it is. `None` if nobody was identified.
    pub(super) caller: Option<Caller>,
    pub(super) tool: String,
    pub(super) is_resumable: bool,
    pub(super) created_ms: u64,
    pub(super) updated_ms: u64,
    pub(super) ttl_ms: u64,
    pub(super) poll_ms: u64,
    pub(super) status: TaskStatus,
    pub(super) message: Option<String>,
    /// The questions that wait for answers.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) questions: InputRequests,
    /// The answers since the last run, which the next one gets.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) answers: Map<Json>,
    /// The rest of what the next run gets: the answers and values of the runs before.
    #[serde(default)]
    pub(super) state: String,
    pub(super) identity: RequestIdentity,
    /// The run that goes on with the task. Another one must not change it any more.
    pub(super) run: Option<String>,
    /// The error with which the call ended.
    pub(super) error: Option<ErrorObject>,
    /// True if the result reports a failure of the tool.
    #[serde(default)]
    pub(super) is_error: bool,
}

/// The identity of a caller.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Caller {
    issuer: String,
    subject: String,
    client: Option<String>,
}

/// The call that made a task, for runs after the first one.
#[derive(Serialize, Deserialize)]
pub(super) struct TaskCall {
    /// The whole message.
    pub(super) message: String,
    pub(super) capabilities: ClientCapabilities,
    pub(super) client_info: Option<Implementation>,
    pub(super) principal: Option<StoredPrincipal>,
}

/// A principal with what it may do.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredPrincipal {
    caller: Caller,
    scopes: Vec<String>,
    claims: Option<RawObject>,
}

debug_fields!(TaskRecord { status, tool });
debug_fields!(TaskCall {});

impl From<&Principal> for Caller {
    fn from(principal: &Principal) -> Self {
        let (issuer, subject, client) = principal.identity();
        Self {
            issuer: issuer.to_owned(),
            subject: subject.to_owned(),
            client: client.map(str::to_owned),
        }
    }
}

impl Caller {
    /// Returns a text that no other caller has.
    pub(super) fn key(&self) -> String {
        let client = self.client.as_deref();
        Json::encode(&(&self.issuer, &self.subject, client))
            .map_or_else(|_| self.subject.clone(), |key| key.as_str().to_owned())
    }
}

impl From<&Principal> for StoredPrincipal {
    fn from(principal: &Principal) -> Self {
        Self {
            caller: Caller::from(principal),
            scopes: principal.scopes.clone(),
            claims: principal.claims.clone(),
        }
    }
}

impl From<StoredPrincipal> for Principal {
    fn from(stored: StoredPrincipal) -> Self {
        let Caller {
            issuer,
            subject,
            client,
        } = stored.caller;
        let mut principal = Self::new(issuer, subject).scopes(stored.scopes);
        principal.client = client;
        principal.claims = stored.claims;
        principal
    }
}

impl TaskRecord {
    /// Returns whether a caller may see the task.
    pub(super) fn belongs_to(&self, principal: Option<&Principal>) -> bool {
        self.caller == principal.map(Caller::from)
    }

    /// Returns whether a run of this name goes on with the task.
    pub(super) fn is_run_by(&self, run: &str) -> bool {
        self.status == TaskStatus::Working && self.run.as_deref() == Some(run)
    }

    /// Returns whether a run has ended with questions that are answered, and the next one has not begun.
    pub(super) fn is_between_runs(&self) -> bool {
        self.status == TaskStatus::Working && self.run.is_none()
    }

    /// Returns the time for which the record is kept from `now_ms` on; `None` if it has passed.
    pub(super) fn time_left(&self, now_ms: u64) -> Option<Duration> {
        let end = self.created_ms.saturating_add(self.ttl_ms);
        let left = end.saturating_sub(now_ms);
        (left > 0).then(|| Duration::from_millis(left))
    }

    /// Ends the task.
    pub(super) fn end(&mut self, status: TaskStatus, message: Option<String>) {
        self.status = status;
        self.message = message;
        self.questions = Map::new();
        self.answers = Map::new();
        self.state = String::new();
        self.run = None;
    }

    /// Ends the task with an error.
    pub(super) fn fail(&mut self, error: ErrorObject) {
        self.end(TaskStatus::Failed, Some(error.message.clone()));
        self.error = Some(error);
    }

    /// Ends the task with a result, which is kept beside the record. `failure` is the message of a result that
    /// reports one.
    pub(super) fn complete(&mut self, is_error: bool, failure: Option<String>) {
        self.end(TaskStatus::Completed, failure);
        self.is_error = is_error;
    }

    /// Lets the task wait for answers.
    pub(super) fn park(&mut self, questions: &LegQuestions) {
        self.status = TaskStatus::InputRequired;
        self.questions = questions.requests.clone();
        self.state.clone_from(&questions.state);
        self.answers = Map::new();
        self.run = None;
    }

    /// Returns the task as clients see it.
    pub(super) fn to_task(&self, id: &str) -> Task {
        let mut task = Task::new(
            id,
            self.status,
            to_date(self.created_ms),
            to_date(self.updated_ms),
        );
        task.status_message.clone_from(&self.message);
        task.ttl_ms = Some(self.ttl_ms);
        task.poll_interval_ms = Some(self.poll_ms);
        task
    }
}
