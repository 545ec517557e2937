//! A server process over HTTP that is attacked, and the resources of any process.

use std::fs;
use std::path::Path;

use crate::problem::Result;
use crate::process::{Process, SOON};
use crate::route::Route;

/// Resident memory that a server may keep after an attack, beside a fifth of the idle size: an allocator
/// keeps pages of small blocks, such as those of the 1,024 requests that one client may have in flight.
pub(super) const KEPT_KIB: usize = 12 << 10;

/// The resources that a process uses.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    pub(super) resident_kib: usize,
    /// Open descriptors.
    pub(super) files: usize,
}

impl Usage {
    /// Reads the usage of a process.
    pub(super) fn read(process: u32) -> Result<Self> {
        let process = format!("/proc/{process}");
        let status = fs::read_to_string(format!("{process}/status"))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.and_then(|line| line.split_whitespace().next()?.parse().ok());
        Ok(Self {
            resident_kib: resident.ok_or("the process has ended")?,
            files: fs::read_dir(format!("{process}/fd"))?.count(),
        })
    }

    pub(super) fn max(self, other: Self) -> Self {
        Self {
            resident_kib: self.resident_kib.max(other.resident_kib),
            files: self.files.max(other.files),
        }
    }

    /// Returns whether the resident memory is within a fifth of `start`.
    pub(super) fn is_near(self, start: Self) -> bool {
        self.resident_kib <= start.resident_kib + start.resident_kib / 5 + KEPT_KIB
    }
}

/// The server over HTTP that is attacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scene {
    /// HTTP/1.1, without tokens. An owner is a connection, and attackers differ by their address.
    Plain,
    /// HTTP/1.1 and HTTP/2, without tokens.
    Http2,
    Tls,
    /// HTTP/1.1 and HTTP/2 over TLS.
    Http2Tls,
    /// Every request needs a token. All clients come from one address, as from behind a proxy, and
    /// attackers differ by their principal.
    Tokens,
}

impl Scene {
    /// Starts the server of the scene. Returns its process and the way to it.
    pub(super) async fn start(self, program: &Path) -> Result<(Process, Route)> {
        let role = match self {
            Self::Plain => "plain",
            Self::Http2 => "http2",
            Self::Tls => "tls",
            Self::Http2Tls => "http2-tls",
            Self::Tokens => "tokens",
        };
        let mut process = Process::start(program, role)?;
        let line = process.line(SOON).await?;
        let (url, certificate) = line.split_once(' ').unwrap_or((&line, ""));
        let address = url.split('/').nth(2).ok_or("the server names no URL")?;
        let mut route = Route::new(address.parse()?);
        if !certificate.is_empty() {
            route = route.with_certificate(from_hex(certificate))?;
        }
        Ok((process, route))
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.filter_map(byte).collect()
}
