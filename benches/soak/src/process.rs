//! A server in a process of its own, which ends when its input does.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::problem::{Problem, to_problem};
use crate::raw::SOON;

/// A server process over HTTP.
pub(crate) struct ServerProcess {
    child: Child,
    /// The line that it prints first: where its endpoints are.
    pub(crate) first_line: String,
}

/// Returns the path of this program, which plays every role.
pub(crate) fn itself() -> Result<PathBuf, Problem> {
    env::current_exe().map_err(to_problem)
}

/// Starts a program of this package in a role, with pipes for its input and output, and with these
/// environment variables.
pub(crate) fn spawn(
    program: &Path,
    role: &str,
    variables: &[(&str, &str)],
    errors: Stdio,
) -> Result<Child, Problem> {
    let mut command = Command::new(program);
    let command = command.arg(role).envs(variables.iter().copied());
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let piped = piped.stderr(errors).kill_on_drop(true);
    piped.spawn().map_err(to_problem)
}

impl ServerProcess {
    /// Starts a server over HTTP and waits until it listens.
    pub(crate) async fn start(
        program: &Path,
        role: &str,
        variables: &[(&str, &str)],
    ) -> Result<Self, Problem> {
        let mut child = spawn(program, role, variables, Stdio::inherit())?;
        let output = child.stdout.take().ok_or("a process without an output")?;
        let mut lines = BufReader::new(output).lines();
        let line = timeout(SOON, lines.next_line()).await;
        let line = line.map_err(|_| "the server does not start".to_owned())?;
        let first_line = line.map_err(to_problem)?.unwrap_or_default();
        Ok(Self { child, first_line })
    }

    /// Returns the id of the process.
    pub(crate) fn id(&self) -> Result<u32, Problem> {
        self.child
            .id()
            .ok_or_else(|| "the server has ended".to_owned())
    }

    /// Lets the server end, which it has to by itself.
    pub(crate) async fn end(mut self) -> Result<(), Problem> {
        drop(self.child.stdin.take());
        wait_for_end(&mut self.child).await
    }
}

/// Waits until a server whose input has ended has ended too.
pub(crate) async fn wait_for_end(child: &mut Child) -> Result<(), Problem> {
    let ended = timeout(SOON, child.wait()).await;
    let ended = ended.map_err(|_| "the server does not end".to_owned())?;
    let status = ended.map_err(to_problem)?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("the server ended with {status}"))
    }
}
