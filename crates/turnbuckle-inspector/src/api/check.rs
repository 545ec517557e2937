//! Findings of the checks of a server.

use serde::{Deserialize, Serialize};

/// A run of all checks against the server of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct CheckRun {
    /// The state of the run.
    pub state: CheckRunState,
    /// The number of checks that have ended.
    pub done: u32,
    /// The number of checks to run.
    pub total: u32,
    /// The number of checks that passed.
    pub passed: u32,
    /// The number of checks that do not apply to the server.
    pub skipped: u32,
    /// The findings, the worst first.
    pub findings: Vec<Finding>,
    /// The number of findings that are left out of the list.
    pub left_out: u32,
    /// The reason why the run failed.
    pub error: Option<String>,
}

/// The phase of a run of checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum CheckRunState {
    /// No run was started.
    Idle,
    /// Checks run.
    Running,
    /// All checks have ended.
    Done,
    /// The server could not be checked.
    Failed,
}

/// A breach of the specification that a check found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The id of the check.
    pub check: String,
    /// The topic of the check.
    pub topic: String,
    /// The severity of the breach.
    pub severity: Severity,
    /// The fault, in a sentence.
    pub message: String,
    /// The parts of the exchange that show the fault.
    pub evidence: Vec<String>,
    /// The advice for the author of the server.
    pub advice: Option<String>,
    /// The sentence of the specification.
    pub requirement: Option<String>,
    /// The address of the page of the specification.
    pub link: Option<String>,
    /// The revision in which the fault was found.
    pub revision: Option<String>,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// A requirement (MUST) is broken.
    Error,
    /// A recommendation (SHOULD) is not followed.
    Warning,
    /// A remark.
    Note,
}
