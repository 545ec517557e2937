//! Starting servers, and ending them.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, ChildStdout};
use tokio::time::timeout;
use turnbuckle::stdio::{Command, ShutdownTimeouts, StderrMode};

use crate::left::MARK;
use crate::peers::{Binding, Peer};
use crate::problem::Problem;

/// Working directory for the commands of `peers.json`.
const HOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../js");
/// Time within which a server must announce its address.
const STARTUP: Duration = Duration::from_secs(15);
/// Time that a server may run on after the end of its input before it is killed.
const GRACE: Duration = Duration::from_millis(500);
/// Bytes of a server's standard error that are kept.
const KEPT: usize = 4 << 10;

/// The programs that commands name by a word.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    pub(crate) node: PathBuf,
    pub(crate) turnbuckle: PathBuf,
    /// The servers and clients of rmcp with extensions.
    pub(crate) rmcp_extensions: PathBuf,
    /// The folder of the Python packages.
    pub(crate) packages: PathBuf,
    /// Mark of the processes that this run started.
    pub(crate) mark: String,
}

impl Programs {
    /// Returns the command of a peer: the program, and its arguments.
    fn words(&self, peer: &Peer) -> Result<(PathBuf, Vec<PathBuf>), Problem> {
        let python = || {
            let path = format!("PYTHONPATH={}", self.packages.display());
            ["env".into(), path.into(), "python3".into()]
        };
        let mut words = peer.start.iter().flat_map(|word| match word.as_str() {
            "node" => vec![self.node.clone()],
            "turnbuckle" => vec![self.turnbuckle.clone()],
            "python" => python().into(),
            other => vec![other.into()],
        });
        let program = words.next().ok_or("no command")?;
        Ok((program, words.collect()))
    }

    /// Returns the command of a server that the client itself starts.
    pub(crate) fn command(&self, peer: &Peer, stderr: &StderrTail) -> Result<Command, Problem> {
        let (program, arguments) = self.words(peer)?;
        let stderr = stderr.clone();
        Ok(Command::new(program)
            .args(arguments)
            .current_dir(HOME)
            .env(MARK, &self.mark)
            .stderr(StderrMode::lines(move |line| stderr.line(line)))
            .shutdown(
                ShutdownTimeouts::new()
                    .close_timeout(GRACE)
                    .term_timeout(GRACE),
            ))
    }

    /// Starts a server that listens, and waits until it says where.
    pub(crate) async fn start(&self, peer: &Peer, stderr: &StderrTail) -> Result<Started, Problem> {
        let (program, arguments) = self.words(peer)?;
        let mut child = tokio::process::Command::new(program)
            .args(arguments)
            .current_dir(HOME)
            .env(MARK, &self.mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        if let Some(errors) = child.stderr.take() {
            tokio::spawn(stderr.clone().listen(errors));
        }
        let output = child.stdout.take().ok_or("no standard output")?;
        let announced = timeout(STARTUP, announcement(output, peer.binding)).await;
        let Announcement { url, ready } =
            announced.map_err(|_| format!("no address within {STARTUP:?}"))??;
        Ok(Started { child, url, ready })
    }
}

/// A server that listens. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Started {
    child: Child,
    /// URL at which the server listens.
    pub(crate) url: String,
    /// True for a fixture, which ends when its input ends.
    ready: bool,
}

impl Started {
    /// Ends it, and waits until it has ended.
    pub(crate) async fn end(mut self) -> Result<(), Problem> {
        let died = self.child.try_wait()?;
        if let Some(status) = died {
            return Err(format!("the server ended by itself: {status}").into());
        }
        drop(self.child.stdin.take());
        if self.ready && timeout(GRACE, self.child.wait()).await.is_ok() {
            return Ok(());
        }
        Ok(self.child.kill().await?)
    }
}

struct Announcement {
    url: String,
    ready: bool,
}

/// Reads a server's output up to its address; the rest is read as well, so that it never blocks.
async fn announcement(output: ChildStdout, binding: Binding) -> Result<Announcement, Problem> {
    let mut lines = BufReader::new(output).lines();
    while let Some(line) = lines.next_line().await? {
        if let Some(announced) = parse_announcement(line.trim(), binding)? {
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Ok(announced);
        }
    }
    Err("the server ended before it said where it listens".into())
}

/// Parses the address in a line: `READY {"url": …}` of a fixture, or the line itself, as our demo
/// prints one for each of its transports.
fn parse_announcement(line: &str, binding: Binding) -> Result<Option<Announcement>, Problem> {
    #[derive(Deserialize)]
    struct Ready {
        url: String,
    }
    if let Some(ready) = line.strip_prefix("READY ") {
        let Ready { url } = serde_json::from_str(ready)?;
        return Ok(Some(Announcement { url, ready: true }));
    }
    let is_url = line.starts_with("http://") && !line.contains(' ');
    let fits = line.ends_with("/sse") == (binding == Binding::Sse);
    Ok((is_url && fits).then(|| Announcement {
        url: line.to_owned(),
        ready: false,
    }))
}

/// The last of what a server said on its standard error.
#[derive(Debug, Clone, Default)]
pub(crate) struct StderrTail(Arc<Mutex<String>>);

impl StderrTail {
    fn line(&self, line: &str) {
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text.push_str(line);
        text.push('\n');
        let surplus = text.len().saturating_sub(KEPT);
        let cut = (surplus..text.len()).find(|at| text.is_char_boundary(*at));
        text.drain(..cut.unwrap_or(0));
    }

    async fn listen(self, errors: impl AsyncRead + Unpin) {
        let mut lines = BufReader::new(errors).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            self.line(&line);
        }
    }

    /// Returns the whole text.
    pub(crate) fn text(&self) -> String {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text.trim().to_owned()
    }
}
