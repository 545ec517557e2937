//! Runs of the checks against the server of a session, over connections of their own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;
use turnbuckle_check::Checker;
use turnbuckle_check::report::{Report, Verdict};

use crate::api::{CheckRun, CheckRunState, Finding, OpenSource, Severity};
use crate::change::Changes;
use crate::target::OpenServer;
use crate::values::string::cut;

/// The most findings that are kept.
const MAX_FINDINGS: usize = 1_000;

/// The most bytes of the findings that are kept.
const MAX_FINDINGS_BYTES: usize = 4 << 20;

/// The most bytes of a line of a message.
const MAX_LINE_BYTES: usize = 4096;

/// The most lines of messages of one finding.
const MAX_EVIDENCE: usize = 20;

/// The last run of the checks of one session.
pub(crate) struct CheckRuns {
    topic: String,
    changes: Changes,
    state: Mutex<State>,
}

struct State {
    run: CheckRun,
    task: Option<AbortHandle>,
}

impl CheckRuns {
    pub(crate) fn new(session: &str, changes: Changes) -> Arc<Self> {
        Arc::new(Self {
            topic: format!("check/{session}"),
            changes,
            state: Mutex::new(State {
                run: empty_run(CheckRunState::Idle),
                task: None,
            }),
        })
    }

    /// Starts a run, unless one goes on.
    pub(crate) fn start(self: &Arc<Self>, opener: Arc<dyn OpenServer>, source: OpenSource) {
        let mut state = self.lock();
        if state.run.state == CheckRunState::Running {
            return;
        }
        state.run = empty_run(CheckRunState::Running);
        let runs = self.clone();
        let task = tokio::spawn(async move {
            let outcome = runs.run(&*opener, &source).await;
            runs.change(|run| match outcome {
                Ok(report) => *run = read_report(report),
                Err(error) => {
                    run.state = CheckRunState::Failed;
                    run.error = Some(error);
                }
            });
        });
        state.task = Some(task.abort_handle());
        drop(state);
        self.changes.add(&self.topic);
    }

    async fn run(
        self: &Arc<Self>,
        opener: &dyn OpenServer,
        source: &OpenSource,
    ) -> Result<Report, String> {
        let target = opener
            .check_target(source)
            .await
            .map_err(|error| error.to_string())?;
        let runs = Arc::downgrade(self);
        let checker = Checker::new(target).on_progress(move |progress| {
            if let Some(runs) = runs.upgrade() {
                runs.change(|run| {
                    run.done = u32::try_from(progress.done).unwrap_or(u32::MAX);
                    run.total = u32::try_from(progress.total).unwrap_or(u32::MAX);
                });
            }
        });
        Box::pin(checker.run())
            .await
            .map_err(|error| error.to_string())
    }

    /// Returns the last run.
    pub(crate) fn last(&self) -> CheckRun {
        self.lock().run.clone()
    }

    /// Ends the run that goes on.
    pub(crate) fn stop(&self) {
        if let Some(task) = self.lock().task.take() {
            task.abort();
        }
    }

    fn change(&self, change: impl FnOnce(&mut CheckRun)) {
        change(&mut self.lock().run);
        self.changes.add(&self.topic);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn empty_run(state: CheckRunState) -> CheckRun {
    CheckRun {
        state,
        done: 0,
        total: 0,
        passed: 0,
        skipped: 0,
        findings: Vec::new(),
        left_out: 0,
        error: None,
    }
}

/// Reads a report: findings of all revisions and transports, the worst first.
fn read_report(report: Report) -> CheckRun {
    let mut run = empty_run(CheckRunState::Done);
    let mut bytes = 0;
    for case in report.cases {
        if let Some(stopped) = case.stopped {
            run.error.get_or_insert(stopped);
        }
        for check in case.checks {
            run.total += 1;
            match check.verdict {
                Verdict::Pass => run.passed += 1,
                Verdict::Skip => run.skipped += 1,
                _ => {}
            }
            let severity = match check.verdict {
                Verdict::Fail => Severity::Error,
                Verdict::Warn => Severity::Warning,
                _ => Severity::Note,
            };
            let topic = check.id.split('.').next().unwrap_or_default().to_owned();
            for finding in check.findings {
                if run.findings.len() == MAX_FINDINGS || bytes > MAX_FINDINGS_BYTES {
                    run.left_out += 1;
                    continue;
                }
                let lines = finding.messages.into_iter().take(MAX_EVIDENCE);
                let citation = finding.requirement.or_else(|| check.requirement.clone());
                let lines = lines.map(|line| {
                    let line = format!("{} {}", line.direction, line.text);
                    cut(line, MAX_LINE_BYTES)
                });
                let evidence: Vec<String> = lines.collect();
                bytes += evidence.iter().map(String::len).sum::<usize>();
                run.findings.push(Finding {
                    check: check.id.clone(),
                    topic: topic.clone(),
                    severity,
                    message: cut(finding.sentence, MAX_LINE_BYTES),
                    evidence,
                    advice: Some(finding.fix).filter(|fix| !fix.is_empty()),
                    requirement: citation.as_ref().map(|citation| citation.gist.clone()),
                    link: citation.map(|citation| citation.link),
                    revision: Some(case.revision.clone()),
                });
            }
        }
    }
    run.done = run.total;
    run.findings.sort_by_key(|finding| finding.severity);
    run
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn report(cases: &[Value]) -> Report {
        let report = json!({"turnbuckle": "1", "target": "t", "kind": "server", "cases": cases});
        serde_json::from_value(report).unwrap()
    }

    fn check(id: &str, verdict: &str, findings: &[Value]) -> Value {
        json!({"id": id, "title": "t", "level": "must", "verdict": verdict, "findings": findings})
    }

    fn finding(sentence: &str, lines: usize) -> Value {
        let line = json!({"direction": "→", "text": "x".repeat(10_000)});
        json!({"sentence": sentence, "messages": vec![line; lines], "fix": "", "repeat": ""})
    }

    #[test]
    fn findings_of_all_cases_are_read_the_worst_first() {
        let mut cited = finding("fails", 1);
        cited["requirement"] = json!({"id": "1", "gist": "a server answers", "level": "MUST",
            "revision": "2026-07-28", "page": "p", "line": 1, "link": "https://example.com"});
        cited["fix"] = "mend it".into();
        let first = json!({"revision": "2025-06-18", "transport": "stdio", "checks": [
            check("a.one", "pass", &[]), check("a.two", "warn", &[finding("warns", 30)])]});
        let second = json!({"revision": "2026-07-28", "transport": "http", "stopped": "it went away",
            "checks": [check("b.one", "fail", &[cited]), check("b.two", "skip", &[])]});
        let run = read_report(report(&[first, second]));
        assert_eq!((run.total, run.done, run.passed, run.skipped), (4, 4, 1, 1));
        assert_eq!(run.error.as_deref(), Some("it went away"));
        let found: Vec<_> = run
            .findings
            .iter()
            .map(|it| (&*it.message, it.severity, &*it.topic))
            .collect();
        let expected = [
            ("fails", Severity::Error, "b"),
            ("warns", Severity::Warning, "a"),
        ];
        assert_eq!(found, expected);
        let [fails, warns] = &run.findings[..] else {
            panic!("{:?}", run.findings);
        };
        assert_eq!(fails.requirement.as_deref(), Some("a server answers"));
        assert_eq!(
            (fails.advice.as_deref(), warns.advice.as_deref()),
            (Some("mend it"), None)
        );
        assert_eq!(
            (warns.evidence.len(), warns.requirement.as_deref()),
            (MAX_EVIDENCE, None)
        );
        assert!(warns.evidence[0].len() < MAX_LINE_BYTES + 8);
    }

    #[test]
    fn findings_are_bounded_and_counted() {
        let many = vec![finding("small", 0); MAX_FINDINGS + 5];
        let case = |findings: &[Value]| json!({"revision": "r", "transport": "stdio", "checks": [check("a.b", "fail", findings)]});
        let run = read_report(report(&[case(&many)]));
        assert_eq!((run.findings.len(), run.left_out), (MAX_FINDINGS, 5));
        let run = read_report(report(&[case(&vec![finding("large", 20); 200])]));
        assert!(
            run.findings.len() < 100 && run.left_out > 100,
            "{}",
            run.left_out
        );
    }
}
