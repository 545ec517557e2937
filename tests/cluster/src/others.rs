//! The work of clients of other SDKs, each in a process of its own that prints one outcome a line.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::time::{Instant, timeout_at};

use crate::outcome::{Outcome, Tally};
use crate::problem::Problem;

/// The time after the end of the work in which a client must have ended.
const GRACE: Duration = Duration::from_secs(40);

const TYPESCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../js/cluster.mjs");
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../interop/python/cluster.py");

/// One line of a client.
#[derive(Deserialize)]
struct Line {
    client: String,
    action: String,
    outcome: Kind,
    #[serde(default)]
    text: String,
    /// The duration of the action.
    millis: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Done,
    Named,
    Cut,
    Silence,
    Missed,
    Repeated,
    Wrong,
}

/// Returns the commands of the clients whose SDKs are at hand.
pub(crate) fn commands(
    node: Option<&Path>,
    python: Option<&Path>,
    url: &str,
    seconds: u64,
) -> Vec<Command> {
    let mut commands = Vec::new();
    let work = [url.to_owned(), seconds.to_string()];
    if let Some(node) = node {
        for era in ["legacy", "modern"] {
            let mut command = Command::new(node);
            command.arg(TYPESCRIPT).arg(era);
            command.args(&work);
            commands.push(command);
        }
    }
    if let Some(python) = python {
        for era in ["legacy", "modern"] {
            let mut command = Command::new("python3");
            command.env("PYTHONPATH", python);
            command.arg(PYTHON).arg(era);
            command.args(&work);
            commands.push(command);
        }
    }
    commands
}

/// Runs a client, and counts the outcomes that it prints.
pub(crate) async fn work(
    mut command: Command,
    tally: Arc<Tally>,
    end: Instant,
) -> Result<(), Problem> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let output = child.stdout.take().ok_or("no standard output")?;
    let mut lines = BufReader::new(output).lines();
    let read = async {
        while let Some(line) = lines.next_line().await? {
            let Line {
                client,
                action,
                outcome,
                text,
                millis,
            } = serde_json::from_str(&line)?;
            let now = Instant::now();
            let began = now
                .checked_sub(Duration::from_millis(millis))
                .unwrap_or(now);
            let outcome = match outcome {
                Kind::Done => Outcome::Done,
                Kind::Named => Outcome::Named(text),
                Kind::Cut => Outcome::Cut(text),
                Kind::Silence => Outcome::Silence(text),
                Kind::Missed => Outcome::Missed(text),
                Kind::Repeated => Outcome::Repeated(text),
                Kind::Wrong => Outcome::Wrong(text),
            };
            tally.count(&client, &action, began, outcome);
        }
        let status = child.wait().await?;
        match status.success() {
            true => Ok(()),
            false => Err(Problem::from(format!("a client ended with {status}"))),
        }
    };
    timeout_at(end + GRACE, read)
        .await
        .map_err(|_| "a client did not end")?
}
