//! The `check` command: judges a server by the specification.

mod client;
mod files;
mod list;
mod reports;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use clap::{Args, ValueEnum};
use serde_json::Value;
use turnbuckle::client::EraPreference;
use turnbuckle_check::report::{Level, Report};
use turnbuckle_check::{Bind, Checker, Progress};

use super::TargetArgs;
use crate::args::CommonArgs;
use crate::connection::{CheckTarget, TargetLogin};
use crate::error::CliError;
use crate::observe::KnownSecrets;
use crate::output::Console;
use reports::ReportFile;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) target_args: TargetArgs,
    #[command(flatten)]
    args: CheckArgs,
}

#[derive(Args)]
#[command(next_help_heading = "Checks")]
struct CheckArgs {
    /// List all checks, and make none
    #[arg(long)]
    list: bool,

    /// Check a client: the command after `--` is one. `{url}` in it stands for the URL of a server,
    /// `{command}` for the words of a command that is one; without either the URL comes last
    #[arg(long, conflicts_with_all = [
        "transport",
        "protocol_version",
        "allow_tool",
        "hostile",
        "lock",
        "update_lock",
    ])]
    client: bool,

    /// Relay standard input and output to a scripted server, as the client under check needs it
    #[arg(long, value_name = "PLACE", hide = true)]
    relay: Option<String>,

    /// Make this check only, or those of this topic
    #[arg(long, value_name = "CHECK|TOPIC", value_delimiter = ',')]
    only: Vec<String>,

    /// Leave out this check, or those of this topic
    #[arg(long, value_name = "CHECK|TOPIC", value_delimiter = ',')]
    skip: Vec<String>,

    /// Leave out checks that are milder than this
    #[arg(long, value_enum, default_value_t = LevelChoice::Note)]
    level: LevelChoice,

    /// Fail also if a SHOULD is broken
    #[arg(long)]
    strict: bool,

    /// Use this transport only
    #[arg(long, value_enum, value_delimiter = ',')]
    transport: Vec<TransportChoice>,

    /// Allow calls of a tool that may change something, with these arguments or with some that are made
    /// from its schema
    #[arg(long, value_name = "NAME[=JSON]", value_parser = parse_tool)]
    allow_tool: Vec<(String, Option<Value>)>,

    /// Strain the server also if it is on another machine
    #[arg(long)]
    hostile: bool,

    /// Write a report to a file, or to standard output instead of the text: json, junit, sarif, html, md,
    /// badge (an image) or shield (JSON for shields.io)
    #[arg(long = "report", value_name = "KIND=PATH", value_delimiter = ',', value_parser = ReportFile::parse)]
    reports: Vec<ReportFile>,

    /// Take the findings that this file lists as known: they do not fail. Also an expected-failures file
    /// (.yml) of the official suite
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Write all findings to the baseline
    #[arg(long, requires = "baseline")]
    update_baseline: bool,

    /// Report what has changed in the interface of the server since this file was written; writes it the
    /// first time
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,

    /// Write the interface of the server to the lock
    #[arg(long, requires = "lock")]
    update_lock: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LevelChoice {
    Must,
    Should,
    Note,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TransportChoice {
    Stdio,
    Http,
    Sse,
}

impl From<LevelChoice> for Level {
    fn from(choice: LevelChoice) -> Self {
        match choice {
            LevelChoice::Must => Self::Must,
            LevelChoice::Should => Self::Should,
            LevelChoice::Note => Self::Note,
        }
    }
}

impl From<TransportChoice> for Bind {
    fn from(choice: TransportChoice) -> Self {
        match choice {
            TransportChoice::Stdio => Self::Stream,
            TransportChoice::Http => Self::Http,
            TransportChoice::Sse => Self::Sse,
        }
    }
}

/// Parses `NAME` or `NAME=JSON`.
fn parse_tool(text: &str) -> Result<(String, Option<Value>), String> {
    let Some((name, json)) = text.split_once('=') else {
        return Ok((text.to_owned(), None));
    };
    match serde_json::from_str(json) {
        Ok(arguments @ Value::Object(_)) => Ok((name.to_owned(), Some(arguments))),
        Ok(_) => Err("the arguments of a tool are a JSON object".to_owned()),
        Err(error) => Err(format!("the arguments are no JSON: {error}")),
    }
}

pub(crate) async fn run(mut options: Options) -> Result<(), CliError> {
    if options.args.list {
        return list::print(&options.target_args.common);
    }
    if let Some(place) = &options.args.relay {
        return client::relay_to(place).await;
    }
    refuse_options_of_clients(&options.target_args.common)?;
    let files = files::Files::read(&options.args)?;
    if options.args.client {
        return client::run(&options, &files).await;
    }
    let (target, words) = options.target_args.target()?;
    words.expect_end()?;
    let (common, args) = (&options.target_args.common, &options.args);
    let login = TargetLogin::new(common, &target)?;
    login.confirm_target().await?;
    login
        .repeat(async || {
            let sse = args.transport == [TransportChoice::Sse];
            let target = CheckTarget::prepare(&login, sse).await?;
            let checker = checker(&target, common, args, &login.console, &login.secrets);
            let run = async { checker.run().await.map_err(|it| target.to_cli_error(it)) };
            let run = login.unless_interrupted(run).await;
            login.console.clear_progress();
            let mut report = run?;
            report.target.clone_from(&target.name);
            files.apply(&mut report)?;
            reports::write(&report, &args.reports, &login.console)?;
            judge(&report, args.strict)
        })
        .await
}

fn checker(
    target: &CheckTarget,
    common: &CommonArgs,
    args: &CheckArgs,
    console: &Console,
    secrets: &KnownSecrets,
) -> Checker {
    let secrets = secrets.clone();
    let mut checker = Checker::new(target.server.clone())
        .level(args.level.into())
        .strain_others(args.hostile)
        .redact(move |text| secrets.redact_text(text));
    if let EraPreference::Only(revision) = common.protocol.era() {
        checker = checker.revisions([revision]);
    }
    if let Some(timeout) = common.protocol.timeout {
        checker = checker.timeout(timeout);
    }
    if !args.transport.is_empty() {
        checker = checker.transports(args.transport.iter().map(|choice| (*choice).into()));
    }
    checker = args.only.iter().fold(checker, Checker::only);
    checker = args.skip.iter().fold(checker, Checker::skip);
    for (name, arguments) in &args.allow_tool {
        checker = checker.allow_tool(name, arguments.clone());
    }
    let (console, cases) = (console.clone(), Mutex::new(HashMap::new()));
    checker.on_progress(move |progress| draw(&console, &cases, progress))
}

/// Draws how many checks of all cases that have begun are done.
fn draw(console: &Console, cases: &Mutex<HashMap<String, (usize, usize)>>, progress: Progress) {
    let case = progress.case.to_string();
    let message = format!("{} in {case}", progress.check.id);
    let mut cases = cases.lock().unwrap_or_else(PoisonError::into_inner);
    cases.insert(case, (progress.done, progress.total));
    let (done, total) = cases
        .values()
        .fold((0, 0), |sum, case| (sum.0 + case.0, sum.1 + case.1));
    console.draw_progress(done as f64, Some(total as f64), Some(&message));
}

/// Refuses options that say how a client behaves: a checker is none.
fn refuse_options_of_clients(common: &CommonArgs) -> Result<(), CliError> {
    let protocol = &common.protocol;
    let given = [
        ("--trace", protocol.trace.is_some()),
        ("--caps", protocol.caps.is_some()),
        ("--answer", !protocol.answers.is_empty()),
        ("--answer-command", protocol.answer_command.is_some()),
        ("--root", !protocol.roots.is_empty()),
        ("--log", protocol.log.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(CliError::usage(format!("check has no {option}"))
            .hint("`-v` shows the messages of each finding")),
        None => Ok(()),
    }
}

/// Ends the command with an error if the report has findings that are not known.
fn judge(report: &Report, strict: bool) -> Result<(), CliError> {
    let mildest = match strict {
        true => Level::Should,
        false => Level::Must,
    };
    let totals = report.totals();
    if totals.checks == 0 {
        return Err(CliError::usage(
            "the options leave no check for this server",
        ));
    }
    if report.is_clean(mildest) {
        return Ok(());
    }
    let plural = if totals.failed == 1 { "" } else { "s" };
    let mut faults = vec![format!("{} check{plural} failed", totals.failed)];
    if strict && totals.warned > 0 {
        faults.push(format!("{} warned", totals.warned));
    }
    let stopped = report.cases.iter().filter(|case| case.stopped.is_some());
    if let count @ 1.. = stopped.count() {
        faults.push(format!(
            "{count} of {} cases were not finished",
            report.cases.len()
        ));
    }
    Err(CliError::new(faults.join(", ")))
}
