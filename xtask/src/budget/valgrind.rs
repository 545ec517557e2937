//! A server's run under one of valgrind's tools, and what the tool counted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::client::{drive, end};
use super::modes::Mode;
use crate::process::{cannot_start, target};

/// What is counted.
#[derive(Clone, Copy)]
pub(super) enum Tool {
    /// Instructions.
    Callgrind,
    /// Heap blocks.
    Dhat,
}

/// What a whole run took.
#[derive(Debug, PartialEq)]
pub(super) struct Counts {
    /// Instructions, or blocks allocated.
    pub(super) amount: f64,
    /// Bytes allocated; 0 where instructions are counted.
    pub(super) bytes: f64,
}

/// Where the details of a mode's last run stay.
pub(super) fn kept(mode: &str, tool: Tool) -> PathBuf {
    let name = match tool {
        Tool::Callgrind => "callgrind",
        Tool::Dhat => "dhat",
    };
    target().join("budget").join(format!("{mode}.{name}"))
}

/// Runs `mode` for `requests` requests.
pub(super) fn count(
    server: &Path,
    mode: &Mode,
    tool: Tool,
    requests: u64,
) -> Result<Counts, String> {
    let details = kept(mode.name, tool);
    let log = details.with_extension("log");
    let folder = target().join("budget");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;

    let mut command = Command::new("valgrind");
    command.arg(format!("--log-file={}", log.display()));
    match tool {
        Tool::Callgrind => {
            command.args([
                "--tool=callgrind",
                "--compress-strings=no",
                "--compress-pos=no",
            ]);
            command.arg(format!("--callgrind-out-file={}", details.display()));
        }
        Tool::Dhat => {
            command
                .arg("--tool=dhat")
                .arg(format!("--dhat-out-file={}", details.display()));
        }
    }
    command
        .arg(server)
        .arg(mode.name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());

    let mut child = command
        .spawn()
        .map_err(|error| cannot_start(&command, &error))?;
    let driven = drive(&mut child, &mode.load, requests);
    let ended = end(&mut child).map_err(|error| format!("{}: {error}", mode.name))?;
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|error| {
            format!(
                "{} left no {} (is valgrind installed?): {error}",
                mode.name,
                path.display()
            )
        })
    };
    driven.map_err(|error| format!("{}: {error}", mode.name))?;
    if !ended.success() {
        return Err(format!(
            "{} ended with {ended}:\n{}",
            mode.name,
            read(&log)?
        ));
    }
    let counts = match tool {
        Tool::Callgrind => instructions(&read(&details)?),
        Tool::Dhat => allocations(&read(&log)?),
    };
    counts.ok_or_else(|| format!("{}: no total in what valgrind wrote", mode.name))
}

/// From callgrind's file: `totals: 123`.
fn instructions(details: &str) -> Option<Counts> {
    let total = details
        .lines()
        .find_map(|line| line.strip_prefix("totals:"))?;
    Some(Counts {
        amount: number(total)?,
        bytes: 0.0,
    })
}

/// From dhat's log: `==1== Total: 1,234 bytes in 56 blocks`.
fn allocations(log: &str) -> Option<Counts> {
    let (_, total) = log.split_once(" Total:")?;
    let (bytes, rest) = total.split_once("bytes in")?;
    let (blocks, _) = rest.split_once("blocks")?;
    Some(Counts {
        amount: number(blocks)?,
        bytes: number(bytes)?,
    })
}

fn number(text: &str) -> Option<f64> {
    text.trim().replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read() {
        let callgrind = "version: 1\nevents: Ir\nfn=main\n0 5\ntotals: 123456\n";
        assert_eq!(
            instructions(callgrind),
            Some(Counts {
                amount: 123_456.0,
                bytes: 0.0
            })
        );
        let dhat = "==7== \n==7== Total:     1,234,567 bytes in 89 blocks\n==7== At t-gmax: 5\n";
        assert_eq!(
            allocations(dhat),
            Some(Counts {
                amount: 89.0,
                bytes: 1_234_567.0
            })
        );
        assert_eq!(instructions("nothing"), None);
        assert_eq!(allocations("==7== Total: many"), None);
    }
}
