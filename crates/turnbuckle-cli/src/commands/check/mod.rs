//! The `check` command: judges a server by the specification.

mod args;
mod client;
mod files;
mod list;
mod reports;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use clap::Args;
use turnbuckle::client::EraPreference;
use turnbuckle_check::report::{Level, Report};
use turnbuckle_check::{Checker, OtherToken, Progress};

use super::TargetArgs;
use crate::args::CommonArgs;
use crate::connection::{CheckTarget, TargetLogin};
use crate::error::CliError;
use crate::observe::KnownSecrets;
use crate::output::Console;
use args::{CheckArgs, TransportChoice};

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) target_args: TargetArgs,
    #[command(flatten)]
    args: CheckArgs,
}

pub(crate) async fn run(mut options: Options) -> Result<(), CliError> {
    if options.args.list {
        return list::print(&options.target_args.common, &options.args);
    }
    if let Some(place) = &options.args.relay {
        return client::relay_to(place).await;
    }
    if let Some(url) = &options.args.visit {
        return client::visit_page(url).await;
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
    let tokens = other_tokens(args, &login.secrets)?;
    login.confirm_target().await?;
    login
        .repeat(async || {
            let sse = args.transport == [TransportChoice::Sse];
            let mut target = CheckTarget::prepare(&login, sse).await?;
            for (kind, token) in &tokens {
                target.server = target.server.clone().other_token(*kind, token);
            }
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
        .selection(args.selection())
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
    for (name, arguments) in &args.allow_tool {
        checker = checker.allow_tool(name, arguments.clone());
    }
    let (console, cases) = (console.clone(), Mutex::new(HashMap::new()));
    checker.on_progress(move |progress| draw(&console, &cases, progress))
}

/// Reads the tokens that the options name from the environment; no report shows them.
fn other_tokens(
    args: &CheckArgs,
    secrets: &KnownSecrets,
) -> Result<Vec<(OtherToken, String)>, CliError> {
    let read = |(kind, variable): &(OtherToken, String)| {
        let token = std::env::var(variable)
            .ok()
            .filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| {
            CliError::usage(format!("the environment variable {variable} has no token"))
        })?;
        secrets.add([token.clone()]);
        Ok((*kind, token))
    };
    args.other_tokens.iter().map(read).collect()
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
