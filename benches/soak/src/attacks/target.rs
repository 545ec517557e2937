//! A server process that is attacked, and what it uses.

use std::fs;
use std::path::Path;

use crate::problem::{Problem, to_problem};
use crate::process::ServerProcess;
use crate::route::Route;

/// The environment of a server that is attacked: the setting for glibc that the guide recommends.
pub(super) const VARIABLES: &[(&str, &str)] = &[("MALLOC_TRIM_THRESHOLD_", "131072")];

/// Resident memory that a server may keep after an attack, beside a fifth of the idle size: an allocator
/// keeps pages of small blocks, such as those of the 1,024 requests that one client may have in flight.
pub(super) const KEPT_KIB: usize = 12 << 10;

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

/// Returns what a process uses, with this number of sessions, which only the server knows.
pub(super) fn usage(process: u32, sessions: usize) -> Result<Usage, Problem> {
    let process = format!("/proc/{process}");
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

/// The server over HTTP that is attacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scene {
    /// HTTP/1.1, without tokens. An owner is a connection, and attackers differ by their address.
    Plain,
    /// HTTP/1.1 and HTTP/2, without tokens.
    Http2,
    Tls,
    /// Every request needs a token. All clients come from one address, as from behind a proxy, and
    /// attackers differ by their principal.
    Tokens,
}

impl Scene {
    /// Returns the role in which the server is started.
    fn role(self) -> &'static str {
        match self {
            Self::Plain => "attacked",
            Self::Http2 => "attacked-http2",
            Self::Tls => "attacked-tls",
            Self::Tokens => "attacked-tokens",
        }
    }
}

/// A server process over HTTP that is attacked.
pub(super) struct Target {
    process: ServerProcess,
    id: u32,
    /// The way to it, for anybody.
    pub(super) route: Route,
}

impl Target {
    /// Starts a program of this package in its role for attacks.
    pub(super) async fn start(program: &Path, scene: Scene) -> Result<Self, Problem> {
        let process = ServerProcess::start(program, scene.role(), VARIABLES).await?;
        let words: Vec<&str> = process.first_line.split(' ').collect();
        let address = words.first().and_then(|url| url.split('/').nth(2));
        let address = address.ok_or("the server names no URL")?;
        let mut route = Route::new(address.parse().map_err(to_problem)?);
        if let Some(certificate) = words.get(2) {
            route = route.with_certificate(from_hex(certificate))?;
        }
        Ok(Self {
            id: process.id()?,
            process,
            route,
        })
    }

    /// Returns what the process uses, with this number of sessions, which only the server knows.
    pub(super) fn usage(&self, sessions: usize) -> Result<Usage, Problem> {
        usage(self.id, sessions)
    }

    /// Lets the server end, which it has to by itself.
    pub(super) async fn end(self) -> Result<(), Problem> {
        self.process.end().await
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.filter_map(byte).collect()
}
