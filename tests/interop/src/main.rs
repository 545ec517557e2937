//! Our client with every server at hand: those of other SDKs, our own over every transport, and those of other SDKs behind
//! our bridge, in each revision that both sides have. Prints a table of each; what failed stands below it. Then
//! our client, our server and an OpenTelemetry collector, and skills and tasks in both directions.
//!
//! `interop-client --node NODE --turnbuckle BINARY --rmcp-extensions BINARY [PEER]`. `PEER` is the beginning of a name in
//! the tables, or of `collector`, `bridge-python`, `skills` or `tasks`. The exit code is 0 when all is well, 1 when something failed, and 2 when the call was
//! wrong. With `--serve-skills` or `--serve-tasks` it is our server for the others.
#![allow(clippy::print_stdout, reason = "the tables are what it is for")]

mod answers;
mod bridged;
mod collector;
mod left;
mod matrix;
mod pair;
mod peers;
mod problem;
mod scene;
mod skills;
mod start;
mod steps;
mod table;
mod tasks;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use matrix::{Cell, RowResult};
use peers::Peers;
use problem::Problem;
use start::Programs;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

const USAGE: &str =
    "usage: interop-client --node NODE --turnbuckle BINARY --rmcp-extensions BINARY [PEER]";
/// Titles of the tables of servers.
const TABLES: [&str; 3] = [
    "servers of other SDKs",
    "our server",
    "FastMCP, and servers of other SDKs behind our bridge",
];
/// Time limit of the whole run.
const TOTAL: Duration = Duration::from_secs(5 * 60);

#[tokio::main]
async fn main() -> ExitCode {
    let served = match std::env::args().nth(1).as_deref() {
        Some(skills::SERVE) => Some(skills::serve().await),
        Some(tasks::SERVE) => Some(tasks::serve().await),
        _ => None,
    };
    if let Some(served) = served {
        return match served {
            Ok(()) => ExitCode::SUCCESS,
            Err(problem) => {
                eprintln!("interop-client: {problem}");
                ExitCode::FAILURE
            }
        };
    }
    let (programs, tables, only) = match arguments() {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("interop-client: {problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mark = programs.mark.clone();
    // Whatever ends this early drops all that runs, and with it the servers.
    let outcome = tokio::select! {
        outcome = run(&programs, &tables, &only) => outcome,
        ended = ending() => Err(ended),
    };
    let left = left::running_processes(&mark).await;
    if !left.is_empty() {
        eprintln!("interop-client: still running: {left:?}");
    }
    match outcome {
        Ok(true) if left.is_empty() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("interop-client: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Result<(Programs, [Peers; 3], String), Problem> {
    let (mut node, mut turnbuckle, mut rmcp_extensions, mut only) = (None, None, None, None);
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--node") => node = arguments.next(),
            Some("--turnbuckle") => turnbuckle = arguments.next(),
            Some("--rmcp-extensions") => rmcp_extensions = arguments.next(),
            Some(name) if !name.starts_with('-') && only.is_none() => only = Some(name.to_owned()),
            _ => return Err(format!("what is {}?", argument.display()).into()),
        }
    }
    let program = |given: Option<std::ffi::OsString>| {
        let given = PathBuf::from(given.ok_or("all programs have to be named")?);
        given
            .canonicalize()
            .map_err(|error| Problem::from(format!("{}: {error}", given.display())))
    };
    let turnbuckle = program(turnbuckle)?;
    let programs = Programs {
        node: program(node)?,
        packages: turnbuckle.with_file_name("python"),
        turnbuckle,
        rmcp_extensions: program(rmcp_extensions)?,
        mark: std::process::id().to_string(),
    };
    let (tables, only) = (Peers::read()?, only.unwrap_or_default());
    let mut all = tables.iter().flat_map(|peers| &peers.all);
    let is_known = |name: &str| name.starts_with(&only);
    match is_known(collector::NAME)
        || is_known(bridged::NAME)
        || is_known(skills::NAME)
        || is_known(tasks::NAME)
        || all.any(|peer| is_known(&peer.name))
    {
        true => Ok((programs, tables, only)),
        false => Err(format!("no server is called {only:?}").into()),
    }
}

/// Resolves when somebody wants this to end.
async fn ending() -> Problem {
    let kinds = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    );
    let (Ok(mut interrupt), Ok(mut terminate)) = kinds else {
        return "cannot catch signals".into();
    };
    tokio::select! {
        _ = interrupt.recv() => "interrupted".into(),
        _ = terminate.recv() => "terminated".into(),
    }
}

/// Prints the tables. Returns whether all is well.
async fn run(programs: &Programs, tables: &[Peers; 3], only: &str) -> Result<bool, Problem> {
    tasks::install(programs).await?;
    let end = Instant::now() + TOTAL;
    let mut problems = 0;
    for (title, peers) in TABLES.into_iter().zip(tables) {
        let began = Instant::now();
        let taken = matrix::run(peers, only, programs, end).await?;
        if taken.is_empty() {
            continue;
        }
        println!(
            "our client with {title} ({:.1} s)\n",
            began.elapsed().as_secs_f64()
        );
        problems += taken.iter().map(|row| row.problems.len()).sum::<usize>();
        print(&taken);
    }
    if collector::NAME.starts_with(only) {
        let began = Instant::now();
        let missing = collector::check(programs).await?;
        let seconds = began.elapsed().as_secs_f64();
        println!("our client and our server with an OpenTelemetry collector ({seconds:.1} s)\n");
        match missing.is_empty() {
            true => println!("traces joined and metrics arrived: ok\n"),
            false => println!("{}\n", missing.join("\n")),
        }
        problems += missing.len();
    }
    if bridged::NAME.starts_with(only) {
        let began = Instant::now();
        let wrong = bridged::check(programs).await?;
        let seconds = began.elapsed().as_secs_f64();
        println!("the Python SDK's client with servers behind our bridge ({seconds:.1} s)\n");
        match wrong.is_empty() {
            true => println!("all as over a direct connection: ok\n"),
            false => println!("{}\n", wrong.join("\n")),
        }
        problems += wrong.len();
    }
    if skills::NAME.starts_with(only) {
        let began = Instant::now();
        let wrong = skills::check(programs).await?;
        let seconds = began.elapsed().as_secs_f64();
        println!("skills of and for other SDKs ({seconds:.1} s)\n");
        match wrong.is_empty() {
            true => println!("every file was read and verified: ok\n"),
            false => println!("{}\n", wrong.join("\n")),
        }
        problems += wrong.len();
    }
    if tasks::NAME.starts_with(only) {
        let began = Instant::now();
        let wrong = tasks::check(programs).await?;
        let seconds = began.elapsed().as_secs_f64();
        println!("tasks of and for other SDKs ({seconds:.1} s)\n");
        match wrong.is_empty() {
            true => println!("every call had its end: ok\n"),
            false => println!("{}\n", wrong.join("\n")),
        }
        problems += wrong.len();
    }
    Ok(problems == 0)
}

fn print(taken: &[RowResult]) {
    let head = ["peer", "revision"].map(str::to_owned).into_iter();
    let head: Vec<String> = head.chain(matrix::columns()).collect();
    let mut reasons = BTreeSet::new();
    let mut rows = Vec::new();
    for row in taken {
        let mut cells = vec![row.peer.clone(), row.revision.clone()];
        for (cell, name) in row.cells.iter().zip(matrix::columns()) {
            cells.push(match cell {
                Cell::Ok => "ok".to_owned(),
                Cell::Failed => "FAILED".to_owned(),
                Cell::Partly(reason) => {
                    reasons.insert(format!("*  {name}: {reason}"));
                    "ok*".to_owned()
                }
                Cell::Lacks(reason) => {
                    reasons.insert(format!("–  {name}: {reason}"));
                    "–".to_owned()
                }
            });
        }
        rows.push(cells);
    }
    println!("{}\n", table::table(&head, &rows));
    for line in reasons
        .iter()
        .chain(taken.iter().flat_map(|row| &row.problems))
    {
        println!("{line}");
    }
    println!();
}
