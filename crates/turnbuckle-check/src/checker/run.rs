//! The checks of one revision over one transport.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use turnbuckle_types::base::text::one_line;

use super::{Checker, Progress, connect};
use crate::case::{Bind, Case};
use crate::check::{Check, Stop};
use crate::checks::CheckOrder;
use crate::context::{CheckContext, Fault, JudgedMessages};
use crate::probe::{Direction, Probe, ProbeError, Transcript};
use crate::report::{CaseReport, CheckReport, Finding, MAX_MESSAGES, MessageLine, Verdict};
use crate::requirement::Requirement;
use crate::survey::Survey;

/// Checks in a row without an answer in time after which a case ends.
const MAX_TIMEOUTS: usize = 3;

/// Waits of one check, each as long as the timeout, after which it ends.
const MAX_WAITS: u32 = 6;

/// Characters of the name of a server, and of its version, that a report keeps.
const MAX_NAME_CHARS: usize = 200;

/// Returns the report of a case in which nothing was checked.
pub(super) fn empty_report(case: Case) -> CaseReport {
    CaseReport {
        revision: case.revision.as_str().into(),
        transport: case.binding.as_str().into(),
        server: None,
        stopped: None,
        checks: Vec::new(),
        interface: None,
    }
}

impl Checker {
    /// Runs the checks of one case.
    pub(super) async fn run_case(
        self: &Arc<Self>,
        case: Case,
        checks: &[&'static Check],
        end: Instant,
    ) -> CaseReport {
        let mut report = empty_report(case);
        let mut run = CaseRun::new(self, case);
        let survey = match timeout(self.timeout * 8, run.survey()).await {
            Ok(Ok(survey)) => survey,
            Ok(Err(error)) => {
                report.stopped = Some(format!("the server cannot be looked at: {error}"));
                return report;
            }
            Err(_) => {
                report.stopped = Some("the lists of the server do not end".into());
                return report;
            }
        };
        report.server = survey.server_info().map(|info| self.identity(info));
        let interface = survey.interface();
        report.interface = Some(interface.map_texts(&|text| self.without_secrets(text)));
        let order = CheckOrder::new(checks);
        let made = AtomicUsize::new(0);
        let schedule = Schedule {
            made: &made,
            total: checks.len(),
            end,
        };
        let mut beside = [(); 2].map(|()| CaseRun::new(self, case));
        let [one, other] = &mut beside;
        let (first, second, third) = tokio::join!(
            run.make(&order.in_turn, &survey, &schedule),
            one.make(&order.beside[0], &survey, &schedule),
            other.make(&order.beside[1], &survey, &schedule),
        );
        for run_beside in beside {
            run.judged.add(run_beside.judged);
        }
        let mut made = vec![first, second, third];
        if made.iter().all(|made| made.stopped.is_none()) {
            made.push(run.make(&order.last, &survey, &schedule).await);
        }
        for made in made {
            report.checks.extend(made.checks);
            report.stopped = report.stopped.or(made.stopped);
        }
        report
    }

    /// Returns the command that repeats a check.
    fn repeat(&self, check: &Check, case: Case) -> String {
        format!(
            "turnbuckle check --only {} --protocol-version {} --transport {} -v {}",
            check.id,
            case.revision,
            case.binding.as_str(),
            self.target.name()
        )
    }

    /// Returns the name and the version of a server; nothing else of what it says about itself is kept.
    fn identity(&self, server_info: &Value) -> Value {
        let text = |key: &str| {
            let text = server_info.get(key).and_then(Value::as_str)?;
            let text = one_line(&self.without_secrets(text.to_owned()), MAX_NAME_CHARS);
            Some((key.to_owned(), Value::from(text)))
        };
        Value::Object(["name", "version"].into_iter().filter_map(text).collect())
    }

    pub(super) fn without_secrets(&self, text: String) -> String {
        match &self.redact {
            Some(redact) => redact(&text),
            None => text,
        }
    }
}

/// The progress of a case, and its end.
struct Schedule<'a> {
    /// The number of checks that were begun.
    made: &'a AtomicUsize,
    total: usize,
    end: Instant,
}

/// Checks that were made, and the reason why no more were.
#[derive(Default)]
struct MadeChecks {
    checks: Vec<CheckReport>,
    stopped: Option<String>,
}

/// Checks of a case that are made one after the other.
struct CaseRun<'r> {
    checker: &'r Checker,
    case: Case,
    shared: Option<Probe>,
    transcript: Transcript,
    judged: JudgedMessages,
}

impl<'r> CaseRun<'r> {
    fn new(checker: &'r Checker, case: Case) -> Self {
        Self {
            checker,
            case,
            shared: None,
            transcript: Transcript::default(),
            judged: JudgedMessages::default(),
        }
    }

    /// Makes these checks, until too many in a row had no answer or the time is over.
    async fn make(
        &mut self,
        checks: &[&'static Check],
        survey: &Survey,
        schedule: &Schedule<'_>,
    ) -> MadeChecks {
        let mut made = MadeChecks::default();
        let mut timeouts = 0;
        for (done, check) in checks.iter().enumerate() {
            if let Some(on_progress) = &self.checker.on_progress {
                on_progress(Progress {
                    case: self.case,
                    check,
                    done: schedule.made.fetch_add(1, Ordering::Relaxed),
                    total: schedule.total,
                });
            }
            let reason = match timeouts >= MAX_TIMEOUTS {
                true => format!(
                    "{MAX_TIMEOUTS} checks in a row had no answer in time, or too much of it"
                ),
                false => "the time of the run was over".into(),
            };
            if timeouts >= MAX_TIMEOUTS || Instant::now() >= schedule.end {
                made.stopped = Some(format!("{reason}; {} were not made", checks.len() - done));
                break;
            }
            let begun = Instant::now();
            let (mut report, timed_out) = self.check(check, survey).await;
            report.millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            timeouts = match (timed_out, report.verdict) {
                (true, _) => timeouts + 1,
                // A check that was not made says nothing.
                (false, Verdict::Skip) => timeouts,
                (false, _) => 0,
            };
            made.checks.push(report);
        }
        made
    }

    async fn survey(&mut self) -> Result<Survey, ProbeError> {
        let checker = self.checker;
        let options = crate::probe::ProbeOptions::new().timeout(checker.timeout);
        let transcript = self.transcript.clone();
        let mut probe = connect(&checker.target, self.case, options, transcript).await?;
        let handshake = match probe.handshake() {
            Some(handshake) => handshake.clone(),
            None => {
                let mut answer = probe.request("server/discover", json!({})).await?;
                answer["result"].take()
            }
        };
        let mut survey = Survey::read(&mut probe, handshake).await?;
        survey.allowed_tools = checker.allowed_tools.clone();
        self.shared = Some(probe);
        self.keep_judged_messages();
        Ok(survey)
    }

    fn keep_judged_messages(&mut self) {
        self.judged.add(JudgedMessages {
            schema_faults: self.transcript.take_faults(),
            rule_faults: self.transcript.take_rule_faults(),
        });
    }

    /// Makes one check; true if it had no answer in time.
    async fn check(&mut self, check: &Check, survey: &Survey) -> (CheckReport, bool) {
        let checker = self.checker;
        let mut report = CheckReport {
            id: check.id.into(),
            title: check.title.into(),
            level: check.level,
            verdict: Verdict::Pass,
            reason: None,
            requirement: Requirement::cite(check.requirements, self.case.revision),
            findings: Vec::new(),
            millis: 0,
        };
        let has_process = self.case.binding == Bind::Stream && checker.target.has_process();
        let needs = check.needs.iter();
        let missing = needs
            .filter_map(|need| survey.missing(*need, has_process))
            .next();
        let strains = check.is_hostile && !checker.target.is_local() && !checker.strains_others;
        let reason = match strains {
            true => Some(
                "it strains the server, which is on another machine; --hostile makes it".into(),
            ),
            false => missing,
        };
        if let Some(reason) = reason {
            report.verdict = Verdict::Skip;
            report.reason = Some(checker.without_secrets(reason));
            return (report, false);
        }
        self.transcript.clear();
        let mut context = CheckContext::new(
            self.case,
            &checker.target,
            survey,
            checker.timeout,
            self.transcript.clone(),
            &mut self.shared,
            &self.judged,
        );
        let limit = checker.timeout * MAX_WAITS;
        let outcome = timeout(limit, check.run(&mut context)).await;
        let outcome = outcome.unwrap_or_else(|_| {
            Err(Stop::Broken(ProbeError::TimedOut {
                what: "the end of the check".into(),
                limit,
            }))
        });
        let mut faults = context.into_faults();
        let mut timed_out = false;
        match outcome {
            Ok(()) => {}
            Err(Stop::Skip(reason)) => {
                if faults.is_empty() {
                    report.verdict = Verdict::Skip;
                    report.reason = Some(checker.without_secrets(reason));
                }
            }
            Err(Stop::Broken(error)) => {
                timed_out = error.is_costly();
                // What broke may be the shared connection.
                self.shared = None;
                faults.push(Fault {
                    sentence: error.to_string(),
                    item: None,
                    evidence: None,
                });
            }
        }
        self.keep_judged_messages();
        if !faults.is_empty() {
            report.verdict = check.level.verdict();
            let lines = self.evidence();
            report.findings = faults
                .into_iter()
                .map(|fault| self.finding(check, &report, fault, &lines))
                .collect();
        }
        (report, timed_out)
    }

    /// Returns the last messages of the check.
    fn evidence(&self) -> Vec<MessageLine> {
        let lines = self.transcript.lines();
        let surplus = lines.len().saturating_sub(MAX_MESSAGES);
        let line = |line: crate::probe::Line| MessageLine {
            direction: match line.direction {
                Direction::Sent => "→".into(),
                Direction::Received => "←".into(),
            },
            text: self.checker.without_secrets(line.text),
        };
        lines.into_iter().skip(surplus).map(line).collect()
    }

    fn finding(
        &self,
        check: &Check,
        report: &CheckReport,
        fault: Fault,
        lines: &[MessageLine],
    ) -> Finding {
        let messages = match fault.evidence {
            None => lines.to_vec(),
            Some(text) => vec![MessageLine {
                direction: "←".into(),
                text: self.checker.without_secrets(text),
            }],
        };
        Finding {
            sentence: one_line(&self.checker.without_secrets(fault.sentence), 600),
            item: fault.item.map(|item| self.checker.without_secrets(item)),
            requirement: report.requirement.clone(),
            messages,
            fix: check.fix.into(),
            repeat: self.checker.repeat(check, self.case),
            known: false,
        }
    }
}
