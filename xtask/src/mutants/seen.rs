//! `cargo xtask mutants --seen-by-check`: proof that `turnbuckle check` finds the faults that can be seen
//! from outside.
//!
//! The judge is built of the checkout. The checked servers are those of `tests/check-target`, built of the
//! copy with the mutations, several at a time if their checks differ: each server is judged over each
//! transport, and a mutation is found if one of the checks that it names fails, warns or notes
//! something that is right without mutations. What is missed among others is tried again alone.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::scratch::{Scratch, run_for};
use super::{List, Mutation};
use crate::process::{self, target};

/// The package of the checked servers.
const PACKAGE: &str = "turnbuckle-check-target";

/// The runs of the judge: a server, a transport, and the checks that the server is made for, if it is not
/// made for all.
const RUNS: [(&str, Transport, &str); 13] = [
    ("demo", Transport::Stdio, ""),
    ("demo", Transport::Http, ""),
    ("demo", Transport::Sse, ""),
    ("provoking", Transport::Stdio, ""),
    ("provoking", Transport::Http, ""),
    ("provoking", Transport::Sse, ""),
    ("limited", Transport::Stdio, "start.ping-while-busy"),
    ("limited", Transport::Http, "start.ping-while-busy"),
    ("crowded", Transport::Http, "http.disconnect-cancels"),
    (
        "users",
        Transport::Http,
        "ask.state-other-principal,tasks.foreign-principal",
    ),
    ("clients", Transport::Http, "auth.answer-of-other"),
    ("claims", Transport::Http, "auth.answer-of-other"),
    ("stateless", Transport::Http, "http.version-header-absent"),
];

/// The environment variables with the token of the judge and that of another caller.
const TOKENS: [&str; 2] = ["CHECK_TOKEN", "CHECK_OTHER_TOKEN"];

/// Mutations that are judged together.
const BATCH: usize = 6;

/// The longest run of the judge.
const JUDGE_TIMEOUT: Duration = Duration::from_secs(300);

/// Findings that are none of a check: the judge reaches no server, or cannot finish with one.
pub(super) const OUTCOMES: [&str; 2] = ["unreachable", "stopped"];

/// Transports of a run of the judge.
#[derive(Debug, Clone, Copy)]
enum Transport {
    Stdio,
    Http,
    Sse,
}

/// The judge and the servers that it judges.
struct Judge<'a> {
    scratch: &'a Scratch,
    program: PathBuf,
    reports: PathBuf,
    /// The checks with findings at servers without mutations.
    usual: BTreeSet<String>,
}

/// Judges the named mutations, or all that can be seen; an error counts those that were missed.
pub(super) fn run(scratch: &Scratch, list: &List, wanted: &[String]) -> Result<(), String> {
    scratch.update()?;
    let judge = Judge::build(scratch)?;
    let is_chosen = |it: &&Mutation| match wanted.is_empty() {
        true => !it.check.is_empty(),
        false => wanted.contains(&it.id),
    };
    let (mut found, mut missed) = (0, 0);
    for batch in batches(list.mutations.iter().filter(is_chosen)) {
        let findings = match &batch[..] {
            [_] => None,
            _ => judge.findings(&batch)?,
        };
        for mutation in batch {
            let by = findings.as_ref().map(|all| matching_checks(mutation, all));
            let is_found = match by {
                Some(by) if !by.is_empty() => {
                    println!("found  {:<40} {}", mutation.id, by.join(", "));
                    true
                }
                _ => judge.judge_alone(mutation)?,
            };
            match is_found {
                true => found += 1,
                false => missed += 1,
            }
        }
    }
    if wanted.is_empty() {
        print_sum(list, found, missed);
    }
    expect_none(missed)
}

/// Prints what is not looked for, with the reasons, and how much of what can be seen is found.
fn print_sum(list: &List, found: usize, missed: usize) {
    let mut unseen = 0;
    for mutation in &list.mutations {
        if let Some(reason) = &mutation.unseen {
            println!("unseen {:<40} {reason}", mutation.id);
            unseen += 1;
        }
    }
    let visible = found + missed + unseen;
    println!(
        "{found} of {visible} visible mutations are found ({} %)",
        100 * found / visible.max(1)
    );
}

fn expect_none(missed: usize) -> Result<(), String> {
    match missed {
        0 => Ok(()),
        _ => Err(format!(
            "{missed} mutations are not found by the checks that they name"
        )),
    }
}

/// Returns the checks of a mutation that are among the findings.
fn matching_checks<'m>(mutation: &'m Mutation, findings: &BTreeSet<String>) -> Vec<&'m str> {
    let checks = mutation.check.iter().filter(|id| findings.contains(*id));
    checks.map(String::as_str).collect()
}

/// Puts mutations together whose checks and files differ.
fn batches<'m>(mutations: impl Iterator<Item = &'m Mutation>) -> Vec<Vec<&'m Mutation>> {
    let mut batches: Vec<Vec<&Mutation>> = Vec::new();
    for mutation in mutations {
        let differs = |other: &&Mutation| {
            other.file != mutation.file && !other.check.iter().any(|id| mutation.check.contains(id))
        };
        // Without a server there is nothing to find the others at.
        let is_alone = |batch: &[&Mutation]| {
            let all = batch.iter().chain([&mutation]).flat_map(|it| &it.check);
            all.into_iter().any(|id| OUTCOMES.contains(&id.as_str()))
        };
        let fits = |batch: &&mut Vec<&Mutation>| {
            batch.len() < BATCH && batch.iter().all(differs) && !is_alone(batch)
        };
        match batches.iter_mut().find(fits) {
            Some(batch) => batch.push(mutation),
            None => batches.push(vec![mutation]),
        }
    }
    batches
}

impl<'a> Judge<'a> {
    /// Builds the judge, and judges the servers without mutations.
    fn build(scratch: &'a Scratch) -> Result<Self, String> {
        process::run(&mut process::cargo([
            "build",
            "--package",
            "turnbuckle-cli",
        ]))?;
        let reports = scratch.logs().join("reports");
        fs::create_dir_all(&reports).map_err(|error| format!("{}: {error}", reports.display()))?;
        // Aside, so that another build does not change it meanwhile.
        let program = scratch.logs().join("judge");
        fs::copy(target().join("debug/turnbuckle"), &program)
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let mut judge = Self {
            scratch,
            program,
            reports,
            usual: BTreeSet::new(),
        };
        judge.usual = judge
            .findings(&[])?
            .ok_or("the servers do not compile without mutations")?;
        for outcome in OUTCOMES {
            if judge.usual.contains(outcome) {
                return Err(format!("without mutations a server is {outcome}"));
            }
        }
        if !judge.usual.is_empty() {
            let usual: Vec<_> = judge.usual.iter().map(String::as_str).collect();
            println!("without mutations: {}", usual.join(", "));
        }
        Ok(judge)
    }

    /// Judges one mutation and says which checks have findings. Returns whether one of its own has.
    fn judge_alone(&self, mutation: &Mutation) -> Result<bool, String> {
        let Some(findings) = self.findings(&[mutation])? else {
            println!("WRONG  {:<40} does not compile", mutation.id);
            return Ok(false);
        };
        let by = matching_checks(mutation, &findings);
        let is_found = !by.is_empty();
        let all: Vec<_> = findings.iter().map(String::as_str).collect();
        match is_found {
            true => println!("found  {:<40} {}", mutation.id, by.join(", ")),
            false => println!(
                "missed {:<40} other findings: {}",
                mutation.id,
                all.join(", ")
            ),
        }
        Ok(is_found)
    }

    /// Returns the checks that have findings at servers with these mutations and none without; `None` if
    /// they do not compile.
    fn findings(&self, mutations: &[&Mutation]) -> Result<Option<BTreeSet<String>>, String> {
        // The program is copied, so that it can be judged while the sources are as before.
        let program = self.scratch.logs().join("check-target");
        let compiles = self.scratch.with_changes(mutations, || {
            if !self.scratch.build(PACKAGE)? {
                return Ok(false);
            }
            fs::copy(self.scratch.target().join("debug/check-target"), &program)
                .map_err(|error| format!("{}: {error}", program.display()))?;
            Ok::<_, String>(true)
        })??;
        if !compiles {
            return Ok(None);
        }
        let judged: Vec<_> = thread::scope(|scope| {
            let mut runs = Vec::new();
            for (server, transport, only) in RUNS {
                let program = &program;
                runs.push(scope.spawn(move || self.judge(program, server, transport, only)));
            }
            let join = |run: thread::ScopedJoinHandle<'_, _>| {
                run.join()
                    .unwrap_or_else(|_| Err("a run of the judge has panicked".to_owned()))
            };
            runs.into_iter().map(join).collect()
        });
        let mut all = BTreeSet::new();
        for findings in judged {
            all.extend(findings?);
        }
        Ok(Some(all.difference(&self.usual).cloned().collect()))
    }

    /// Judges one server over one transport; returns the checks that have findings.
    fn judge(
        &self,
        program: &Path,
        server: &str,
        transport: Transport,
        only: &str,
    ) -> Result<BTreeSet<String>, String> {
        let report = self.reports.join(format!("{server}-{transport:?}.json"));
        let _ = fs::remove_file(&report);
        let mut command = Command::new(&self.program);
        command
            .args(["check", "--yes", "--quiet", "--report"])
            .arg(format!("json={}", report.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if !only.is_empty() {
            command.args(["--only", only]);
        }
        let mut running = None;
        match transport {
            Transport::Stdio => {
                command.arg("--").arg(program).arg(server);
            }
            Transport::Http | Transport::Sse => {
                let server = HttpServer::start(program, server)?;
                match transport {
                    Transport::Sse => command.args(["--transport", "sse"]).arg(&server.sse_url),
                    _ => command.arg(&server.url),
                };
                if !server.tokens[0].is_empty() {
                    let [own, other] = TOKENS;
                    command.args(["--bearer-env", own, "--other-token"]);
                    command.arg(format!("user={other}"));
                    command.envs(TOKENS.iter().zip(&server.tokens));
                }
                running = Some(server);
            }
        }
        run_for(&mut command, JUDGE_TIMEOUT)
            .map_err(|error| format!("running the judge: {error}"))?;
        drop(running);
        let report = fs::read_to_string(&report).ok();
        let report = report.and_then(|text| serde_json::from_str(&text).ok());
        Ok(report.map_or_else(
            || BTreeSet::from(["unreachable".to_owned()]),
            |it| findings_of(&it),
        ))
    }
}

/// Returns the checks of a report that have findings.
fn findings_of(report: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for case in report["cases"].as_array().into_iter().flatten() {
        if !case["stopped"].is_null() {
            found.insert("stopped".to_owned());
        }
        let checks = case["checks"].as_array().into_iter().flatten();
        let with_findings =
            checks.filter(|it| it["findings"].as_array().is_some_and(|all| !all.is_empty()));
        found.extend(with_findings.filter_map(|it| it["id"].as_str().map(str::to_owned)));
    }
    found
}

/// A checked server on HTTP, which ends when it is dropped.
struct HttpServer {
    child: Child,
    url: String,
    sse_url: String,
    /// The tokens of two callers; empty if the server demands none.
    tokens: [String; 2],
}

impl HttpServer {
    fn start(program: &Path, server: &str) -> Result<Self, String> {
        let mut command = Command::new(program);
        command
            .args([server, "--http", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let child = command
            .spawn()
            .map_err(|error| process::cannot_start(&command, &error))?;
        let mut server = Self {
            child,
            url: String::new(),
            sse_url: String::new(),
            tokens: Default::default(),
        };
        let output = server.child.stdout.take().ok_or("a server has no output")?;
        let mut lines = BufReader::new(output.take(1 << 16)).lines();
        let [own, other] = &mut server.tokens;
        for part in [&mut server.url, &mut server.sse_url, own, other] {
            *part = match lines.next() {
                Some(Ok(line)) => line,
                _ => return Err(format!("the server {} ends at once", program.display())),
            };
        }
        Ok(server)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mutation(id: &str, file: &str, check: &[&str]) -> Mutation {
        Mutation {
            id: id.into(),
            requirement: None,
            file: file.into(),
            find: "a".into(),
            replace: "b".into(),
            package: "sample".into(),
            test: "t".into(),
            check: check.iter().map(|id| (*id).to_owned()).collect(),
            unseen: None,
        }
    }

    #[test]
    fn mutations_of_one_check_or_file_are_not_judged_together() {
        let all = [
            mutation("1", "a.rs", &["cats.purr"]),
            mutation("2", "b.rs", &["cats.hiss", "cats.purr"]),
            mutation("3", "a.rs", &["dogs.bark"]),
            mutation("4", "c.rs", &["unreachable"]),
            mutation("5", "d.rs", &["birds.fly"]),
        ];
        let batches = batches(all.iter());
        let ids: Vec<Vec<&str>> = batches
            .iter()
            .map(|batch| batch.iter().map(|it| it.id.as_str()).collect())
            .collect();
        assert_eq!(ids, [vec!["1", "5"], vec!["2", "3"], vec!["4"]]);
    }

    #[test]
    fn a_finding_of_any_verdict_counts_and_one_of_another_check_does_not() {
        let report = json!({"cases": [
            {"checks": [
                {"id": "cats.purr", "verdict": "note", "findings": [{"sentence": "it hisses"}]},
                {"id": "cats.hiss", "verdict": "pass", "findings": []},
            ]},
            {"stopped": "no answer", "checks": []},
        ]});
        let found = findings_of(&report);
        assert_eq!(
            found,
            BTreeSet::from(["cats.purr".to_owned(), "stopped".to_owned()])
        );
        assert_eq!(
            matching_checks(&mutation("1", "a", &["cats.hiss", "cats.purr"]), &found),
            ["cats.purr"]
        );
        assert!(matching_checks(&mutation("1", "a", &["cats.hiss"]), &found).is_empty());
    }
}
