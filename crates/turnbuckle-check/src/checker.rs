//! The run: every check that applies, in every revision over every transport.

mod clients;
mod run;
mod selection;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use turnbuckle_wire::revision::{EraKind, Revision};

use crate::case::{Bind, Case};
use crate::check::Check;
use crate::checks;
use crate::context;
use crate::probe::{Handshake, Probe, ProbeError, ProbeOptions, Transcript};
use crate::report::{CaseReport, Kind, Report};
use crate::target::Target;

pub use clients::{ClientChecker, relay};
pub use selection::Selection;

/// The most cases that are checked side by side.
const MAX_PARALLEL_CASES: usize = 4;

/// A reason why a run cannot begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// No check has such a name.
    #[error("no check or topic is called `{name}`{hint}")]
    NoSuchCheck {
        /// The name as it was given.
        name: String,
        /// A question that names a similar one, or nothing.
        hint: String,
    },
    /// The server cannot be reached, or speaks no revision that is asked for.
    #[error("{0}")]
    Unreachable(String),
    /// The server demands a login.
    #[error("the server demands a login")]
    LoginRequired {
        /// The value of `WWW-Authenticate`, if there was one.
        challenge: Option<String>,
    },
}

/// Progress of a run.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Progress {
    /// The revision and the transport.
    pub case: Case,
    /// The check that begins.
    pub check: &'static Check,
    /// Checks of the case that are done.
    pub done: usize,
    /// Checks of the case in all.
    pub total: usize,
}

type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// Replaces secrets in a text.
type Redact = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Checks one server: in every revision that it speaks, over every transport that reaches it.
#[derive(Clone)]
#[must_use]
pub struct Checker {
    target: Target,
    revisions: Vec<Revision>,
    transports: Vec<Bind>,
    selection: Selection,
    allowed_tools: HashMap<String, Option<Value>>,
    strains_others: bool,
    timeout: Duration,
    time_limit: Duration,
    on_progress: Option<OnProgress>,
    redact: Option<Redact>,
}

impl Checker {
    /// Creates a run of every check, in every revision and over every transport of the target.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            revisions: Revision::ALL.to_vec(),
            transports: vec![Bind::Stream, Bind::Http, Bind::Sse],
            selection: Selection::new(),
            allowed_tools: HashMap::new(),
            strains_others: false,
            timeout: Duration::from_secs(5),
            time_limit: Duration::from_secs(300),
            on_progress: None,
            redact: None,
        }
    }

    /// Limits the run to these revisions.
    pub fn revisions(mut self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.revisions = revisions.into_iter().collect();
        self
    }

    /// Limits the run to these transports.
    pub fn transports(mut self, transports: impl IntoIterator<Item = Bind>) -> Self {
        self.transports = transports.into_iter().collect();
        self
    }

    /// Limits the run to the chosen checks. Default: all.
    pub fn selection(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    /// Limits the run to a check or a topic; repeated calls add to it.
    pub fn only(mut self, name: impl Into<String>) -> Self {
        self.selection = self.selection.only(name);
        self
    }

    /// Leaves a check or a topic out; repeated calls add to it.
    pub fn skip(mut self, name: impl Into<String>) -> Self {
        self.selection = self.selection.skip(name);
        self
    }

    /// Allows to call a tool that may change something, with these arguments or with some that are made from
    /// its schema.
    pub fn allow_tool(mut self, name: impl Into<String>, arguments: Option<Value>) -> Self {
        self.allowed_tools.insert(name.into(), arguments);
        self
    }

    /// Sets whether a server on another machine is strained too. Default: no.
    pub fn strain_others(mut self, strains_others: bool) -> Self {
        self.strains_others = strains_others;
        self
    }

    /// Sets the time limit of each wait. Default: 5 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the time limit of the run; what is not checked by then is skipped. Default: 5 minutes.
    pub fn time_limit(mut self, time_limit: Duration) -> Self {
        self.time_limit = time_limit;
        self
    }

    /// Sets a function that is called when a check begins.
    pub fn on_progress(mut self, on_progress: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(on_progress));
        self
    }

    /// Sets a function that replaces secrets in messages and sentences of the report.
    pub fn redact(mut self, redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.redact = Some(Arc::new(redact));
        self
    }

    /// Returns every check of servers.
    #[must_use]
    pub fn checks() -> Vec<&'static Check> {
        checks::all().collect()
    }

    /// Runs the checks.
    ///
    /// # Errors
    /// Fails if a name is wrong, if the server cannot be reached, or if it demands a login.
    pub async fn run(self) -> Result<Report, CheckError> {
        let begun = Instant::now();
        let selected = self.selection.select(checks::all())?;
        let (cases, unreachable) = self.cases().await?;
        let end = tokio::time::Instant::now() + self.time_limit;
        let permits = Arc::new(Semaphore::new(MAX_PARALLEL_CASES));
        let checker = Arc::new(self);
        let mut running = JoinSet::new();
        // The newest first: it has the most checks.
        for (index, case) in cases.iter().copied().enumerate().rev() {
            let checker = Arc::clone(&checker);
            let checks = checks_of(case, &cases, &selected);
            let permits = Arc::clone(&permits);
            running.spawn(async move {
                let _permit = permits.acquire_owned().await;
                (index, checker.run_case(case, &checks, end).await)
            });
        }
        let mut reports: Vec<Option<CaseReport>> = cases.iter().map(|_| None).collect();
        while let Some(done) = running.join_next().await {
            if let Ok((index, report)) = done {
                reports[index] = Some(report);
            }
        }
        let reports = reports.into_iter().zip(&cases).map(|(report, case)| {
            report.unwrap_or_else(|| CaseReport {
                stopped: Some("a check failed by a fault of its own".into()),
                ..run::empty_report(*case)
            })
        });
        let mut report = Report {
            turnbuckle: env!("CARGO_PKG_VERSION").into(),
            target: checker.target.name().into(),
            kind: Kind::Server,
            cases: reports.chain(unreachable).collect(),
            notes: Vec::new(),
            millis: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        report.bound();
        Ok(report)
    }

    /// Finds out which revisions the server speaks over each transport. Returns the cases, and reports of
    /// transports over which the first look failed each time.
    async fn cases(&self) -> Result<(Vec<Case>, Vec<CaseReport>), CheckError> {
        let mut cases: Vec<Case> = Vec::new();
        let mut reasons = Vec::new();
        let mut unreachable = Vec::new();
        let reaching = self.target.transports();
        for binding in reaching {
            if !self.transports.contains(&binding) {
                continue;
            }
            let mut failed = None;
            for revision in &self.revisions {
                let case = Case {
                    revision: *revision,
                    binding,
                };
                if !is_defined(case) {
                    continue;
                }
                match self.speaks(case).await {
                    Ok(true) => cases.push(case),
                    Ok(false) => {}
                    Err(ProbeError::Status {
                        status: 401,
                        challenge,
                        ..
                    }) => return Err(CheckError::LoginRequired { challenge }),
                    Err(error) => {
                        reasons.push(format!("{case}: {error}"));
                        failed = failed.or(Some((case, error.to_string())));
                    }
                }
            }
            if let Some((case, error)) = failed.filter(|_| !is_reached(&cases, binding)) {
                unreachable.push(CaseReport {
                    stopped: Some(
                        self.without_secrets(format!("the server cannot be checked: {error}")),
                    ),
                    ..run::empty_report(case)
                });
            }
        }
        if !cases.is_empty() {
            return Ok((cases, unreachable));
        }
        reasons.dedup();
        Err(CheckError::Unreachable(match reasons.first() {
            Some(reason) => self.without_secrets(format!("the server cannot be checked: {reason}")),
            None => "the server speaks none of the revisions over none of the transports".into(),
        }))
    }

    /// Returns whether the server speaks a revision over a transport.
    async fn speaks(&self, case: Case) -> Result<bool, ProbeError> {
        let options = ProbeOptions::new()
            .timeout(self.timeout * 2)
            .handshake(Handshake::WithoutInitialized);
        let mut probe = connect(&self.target, case, options, Transcript::default()).await?;
        if case.revision.features().era == EraKind::Legacy {
            let handshake = probe.handshake().cloned().unwrap_or_default();
            return Ok(handshake["protocolVersion"] == case.revision.as_str());
        }
        let answer = probe
            .request("server/discover", serde_json::json!({}))
            .await;
        match probe.explain(answer).await {
            Ok(answer) => {
                let versions = answer["result"]["supportedVersions"].as_array();
                Ok(versions.is_some_and(|all| all.iter().any(|it| it == case.revision.as_str())))
            }
            Err(error @ ProbeError::Status { status: 401, .. }) => Err(error),
            Err(ProbeError::Status { .. } | ProbeError::NotJson { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether one of the cases is over a transport.
fn is_reached(cases: &[Case], binding: Bind) -> bool {
    cases.iter().any(|case| case.binding == binding)
}

/// Returns the checks of a case: those whose rules exist in it, and of those that are made once the ones for
/// which it is the newest revision over its transport.
fn checks_of(case: Case, cases: &[Case], selected: &[&'static Check]) -> Vec<&'static Check> {
    let is_newest = |check: &Check| {
        let mut newer = cases.iter().filter(|it| it.binding == case.binding);
        !newer.any(|it| it.revision.as_str() > case.revision.as_str() && check.exists_in(*it))
    };
    let belongs =
        |check: &&&'static Check| check.exists_in(case) && (!check.is_once || is_newest(check));
    selected.iter().filter(belongs).copied().collect()
}

/// Returns whether a revision defines a transport. HTTP+SSE belongs to the first one.
fn is_defined(case: Case) -> bool {
    let is_first = case.revision == Revision::ALL[0];
    match case.binding {
        Bind::Pipe | Bind::Stream => true,
        Bind::Http => !is_first,
        Bind::Sse => is_first,
    }
}

async fn connect(
    target: &Target,
    case: Case,
    options: ProbeOptions,
    transcript: Transcript,
) -> Result<Probe, ProbeError> {
    let link = context::open(target, case, options.timeout).await?;
    Probe::connect(case.revision, link, options, transcript).await
}
