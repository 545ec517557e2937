//! Processes of this program, each in a role, which end when their input does.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::problem::{Problem, Result};

/// The time that a process has for anything that is expected of it.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// The environment of the processes: the setting of the allocator that the guide recommends.
pub(crate) const VARIABLES: [(&str, &str); 1] = [("MIMALLOC_PURGE_DELAY", "0")];

/// A process with pipes.
pub(crate) struct Process {
    child: Child,
    pub(crate) input: ChildStdin,
    pub(crate) output: BufReader<ChildStdout>,
    pub(crate) id: u32,
}

/// Returns the path of this program.
pub(crate) fn itself() -> Result<PathBuf> {
    Ok(env::current_exe()?)
}

/// Waits for `work`; `problem` says what is wrong when it takes too long.
pub(crate) async fn within<T, E: Into<Problem>>(
    time: Duration,
    problem: &'static str,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T> {
    timeout(time, work)
        .await
        .map_err(|_| problem)?
        .map_err(Into::into)
}

impl Process {
    /// Starts a build of this program in a role.
    pub(crate) fn start(program: &Path, role: &str) -> Result<Self> {
        let mut child = Command::new(program)
            .arg(role)
            .envs(VARIABLES)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self {
            input: child.stdin.take().ok_or("a process without an input")?,
            output: BufReader::new(child.stdout.take().ok_or("a process without an output")?),
            id: child.id().ok_or("the process has ended")?,
            child,
        })
    }

    /// Returns the next line of its output.
    pub(crate) async fn line(&mut self, time: Duration) -> Result<String> {
        let mut lines: Lines<_> = (&mut self.output).lines();
        let line = within(time, "a process prints nothing", lines.next_line()).await?;
        Ok(line.ok_or("a process has ended")?)
    }

    /// Waits until the process has ended, whatever its status.
    pub(crate) async fn wait(&mut self) -> Result {
        let ended = within(SOON, "a process does not end", self.child.wait()).await;
        ended.map(drop)
    }

    /// Ends the input; the process has to end by itself, and well.
    pub(crate) async fn end(self) -> Result {
        let Self {
            mut child, input, ..
        } = self;
        drop(input);
        let status = within(SOON, "a process does not end", child.wait()).await?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("a process ended with {status}").into())
        }
    }
}
