//! A server process that is attacked, and what it uses.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::problem::{Problem, to_problem};
use crate::raw::SOON;

/// Resident memory that a server may keep after an attack, beside a fifth of the idle size: an allocator
/// keeps pages in whole.
const KEPT_KIB: usize = 4 << 10;

/// The resources that a server process uses.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    pub(super) resident_kib: usize,
    /// Open descriptors.
    pub(super) files: usize,
    /// Open legacy sessions.
    pub(super) sessions: usize,
}

impl Usage {
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            resident_kib: self.resident_kib.max(other.resident_kib),
            files: self.files.max(other.files),
            sessions: self.sessions.max(other.sessions),
        }
    }

    /// Returns whether the resident memory is within a fifth of `start`.
    pub(super) fn is_near(self, start: Self) -> bool {
        self.resident_kib <= start.resident_kib + start.resident_kib / 5 + KEPT_KIB
    }
}

/// A server process that is attacked. It ends when its input does.
pub(super) struct Target {
    child: Child,
    id: u32,
    pub(super) place: SocketAddr,
}

impl Target {
    /// Starts a program of this package in its role for attacks.
    pub(super) async fn start(program: &Path) -> Result<Self, Problem> {
        let mut command = Command::new(program);
        let command = command.arg("attacked").kill_on_drop(true);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().map_err(to_problem)?;
        let output = child.stdout.take().ok_or("a process without an output")?;
        let mut lines = BufReader::new(output).lines();
        let line = timeout(SOON, lines.next_line()).await;
        let line = line.map_err(|_| "the server does not start".to_owned())?;
        let line = line.map_err(to_problem)?.unwrap_or_default();
        let address = line.split('/').nth(2).ok_or("the server names no URL")?;
        Ok(Self {
            id: child.id().ok_or("the server has ended")?,
            place: address.parse().map_err(to_problem)?,
            child,
        })
    }

    /// Returns what the process uses, with this number of sessions, which only the server knows.
    pub(super) fn usage(&self, sessions: usize) -> Result<Usage, Problem> {
        let process = format!("/proc/{}", self.id);
        let status = fs::read_to_string(format!("{process}/status")).map_err(to_problem)?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.and_then(|line| line.split_whitespace().next()?.parse().ok());
        let files = fs::read_dir(format!("{process}/fd")).map_err(to_problem)?;
        Ok(Usage {
            resident_kib: resident.ok_or("the server has ended")?,
            files: files.count(),
            sessions,
        })
    }

    /// Lets the server end, which it has to by itself.
    pub(super) async fn end(mut self) -> Result<(), Problem> {
        drop(self.child.stdin.take());
        let ended = timeout(SOON, self.child.wait()).await;
        let status = ended.map_err(|_| "the server does not end".to_owned())?;
        match status.map_err(to_problem)?.success() {
            true => Ok(()),
            false => Err("the server did not end well".to_owned()),
        }
    }
}
