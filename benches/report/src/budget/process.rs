//! The processes that are counted, under a tool of valgrind or alone.
//!
//! `gungraun` and its like count whole programs, or functions of a benchmark that they build themselves. A
//! request to a server is neither: its other end must be in a process that is not counted, and send each
//! request when the server sleeps. So valgrind is started here, and its totals are read from its log.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use super::client::{Lines, Opened, drive, end, no_pipe};
use super::load::{Before, Binding, Era, Load, Request};
use super::rows::{Counter, Held, Work};
use crate::process::target;
use crate::result::Result;

/// The programs that have all the processes.
pub(super) struct Programs {
    pub(super) servers: PathBuf,
    pub(super) clients: PathBuf,
    pub(super) bridges: PathBuf,
}

/// The allocations of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Heap {
    pub(super) blocks: f64,
    pub(super) bytes: f64,
    /// The bytes that were still there at the end.
    pub(super) left: f64,
}

/// The time after which a server has forgotten what can be replayed.
const FORGOTTEN: Duration = Duration::from_secs(4);

/// Returns the file of a tool about the last run of a row.
pub(super) fn output_file(row: &str, tool: &str) -> PathBuf {
    target().join("budget").join(format!("{row}.{tool}"))
}

impl Programs {
    /// Returns the instructions of a run with so many requests.
    pub(super) fn instructions(&self, row: &Counter, requests: u64) -> Result<f64> {
        let log = self.run_with(row, requests, "callgrind", &[])?;
        Ok(number_after(&log, "Collected :").ok_or_else(|| format!("no total in {log}"))?)
    }

    /// Returns the allocations of a run with so many requests.
    pub(super) fn heap(&self, row: &Counter, requests: u64) -> Result<Heap> {
        // Totals alone are read.
        let log = self.run_with(row, requests, "dhat", &["--read-inline-info=no"])?;
        Ok(allocations(&log).ok_or_else(|| format!("no total in {log}"))?)
    }

    /// Runs a process to its end under a tool; returns the log.
    fn run_with(
        &self,
        row: &Counter,
        requests: u64,
        tool: &str,
        options: &[&str],
    ) -> Result<String> {
        let (log, details) = (output_file(row.name, "log"), output_file(row.name, tool));
        fs::create_dir_all(target().join("budget"))?;
        let mut valgrind = Command::new("valgrind");
        valgrind
            .arg(format!("--tool={tool}"))
            .arg(format!("--log-file={}", log.display()))
            .arg(format!("--{tool}-out-file={}", details.display()))
            .args(options);
        let run = self.run(valgrind, row, requests);
        let log = fs::read_to_string(log).unwrap_or_default();
        match run {
            Ok(()) => Ok(log),
            Err(error) => Err(format!("{}: {error}\n{log}", row.name).into()),
        }
    }

    /// Starts the process behind the words of `command` and does its work with it.
    fn run(&self, mut command: Command, row: &Counter, requests: u64) -> Result {
        command
            .arg(match row.work {
                Work::Call(_) => &self.clients,
                Work::Bridge(_) => &self.bridges,
                _ => &self.servers,
            })
            .args(row.process.split(' '))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        match &row.work {
            Work::Serve(load) => serve(&mut command.spawn()?, load, requests, false),
            Work::Hold(held, _) => {
                let (load, requests) = load_of(*held, requests);
                serve(&mut command.spawn()?, &load, requests, true)
            }
            Work::Start => {
                let load = Load {
                    binding: Binding::Stdio,
                    era: Era::Session,
                    before: Before::default(),
                    request: Request::echo("echo"),
                };
                serve(&mut command.spawn()?, &load, 0, false)
            }
            Work::Decode(request) => {
                let mut child = command.arg(requests.to_string()).spawn()?;
                let message = request.message(Era::Modern, 100_000);
                let mut input = child.stdin.take().ok_or_else(no_pipe)?;
                input.write_all(message.as_bytes())?;
                drop(input);
                ends_well(&mut child)
            }
            Work::Bridge(load) => {
                command.arg(&self.servers);
                serve(&mut command.spawn()?, load, requests, false)
            }
            Work::Call(Binding::Stdio) => {
                command.arg(&self.servers).arg(requests.to_string());
                ends_well(&mut command.spawn()?)
            }
            Work::Call(Binding::Http) => {
                let mut server = start(&self.servers, "paced-http echo")?;
                let called = call(&mut server, &mut command, requests);
                drop(server.stdin.take());
                ends_well(&mut server).and(called)
            }
        }
    }

    /// Returns the bytes of one of the things that a server holds: the difference between many and none.
    pub(super) fn bytes_of_one(&self, row: &Counter, held: Held, count: u64) -> Result<f64> {
        let bytes = |count| match held {
            Held::SessionsResident => self.resident(row, held, count),
            _ => Ok(self.heap(row, count)?.left),
        };
        Ok((bytes(count)? - bytes(0)?) / count as f64)
    }

    /// Returns the resident bytes of a server after its load.
    fn resident(&self, row: &Counter, held: Held, count: u64) -> Result<f64> {
        let mut child = start(&self.servers, row.process)?;
        let (load, requests) = load_of(held, count);
        let opened = drive(&mut child, &load, requests)?;
        thread::sleep(FORGOTTEN);
        let status = fs::read_to_string(format!("/proc/{}/status", child.id()))?;
        drop(opened);
        end(&mut child)?;
        let kib = number_after(&status, "VmRSS:").ok_or("no resident set in /proc")?;
        Ok(kib * 1024.0)
    }
}

/// Returns the load that opens so many of them.
fn load_of(held: Held, count: u64) -> (Load, u64) {
    let mut before = Before::default();
    let mut requests = 0;
    match held {
        Held::SessionsResident | Held::Sessions => before.sessions = count,
        Held::Streams => before.streams = count,
        Held::Requests => requests = 500 + count,
    }
    let load = Load {
        binding: Binding::Http,
        era: Era::Modern,
        before,
        request: Request::echo("echo"),
    };
    (load, requests)
}

fn start(program: &Path, process: &str) -> Result<Child> {
    let mut command = Command::new(program);
    command.args(process.split(' '));
    Ok(command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?)
}

/// Sends the load to a server and lets it end. Its connections stay open until then if it `holds` them.
fn serve(server: &mut Child, load: &Load, requests: u64, holds: bool) -> Result {
    match drive(server, load, requests) {
        Ok(Opened { input, connections }) => {
            drop(input);
            let _held = holds.then_some(connections);
            ends_well(server)
        }
        Err(error) => {
            let _ = server.kill();
            let _ = server.wait();
            Err(error.into())
        }
    }
}

/// Lets a client call a server that waits for the client's number.
fn call(server: &mut Child, client: &mut Command, requests: u64) -> Result {
    let lines = Lines::new(server.stdout.take().ok_or_else(no_pipe)?);
    let port = lines.next()?;
    let mut client = client.args([port.trim(), &requests.to_string()]).spawn()?;
    let input = server.stdin.as_mut().ok_or_else(no_pipe)?;
    writeln!(input, "{}", client.id())?;
    ends_well(&mut client)
}

fn ends_well(child: &mut Child) -> Result {
    let status = end(child)?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("ended with {status}").into())
    }
}

/// Reads the log of dhat: `==1== Total: 1,234 bytes in 56 blocks`, and `At t-end:` likewise.
fn allocations(log: &str) -> Option<Heap> {
    let (_, total) = log.split_once(" Total:")?;
    Some(Heap {
        blocks: number_after(total, "bytes in")?,
        bytes: number_after(log, " Total:")?,
        left: number_after(log, " At t-end:")?,
    })
}

/// Returns the first number after a label.
fn number_after(text: &str, label: &str) -> Option<f64> {
    let (_, rest) = text.split_once(label)?;
    let number = rest.split_whitespace().next()?;
    number.replace(',', "").parse().ok()
}

/// Returns the first line that a program prints, if it is there.
pub(super) fn first_line_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(printed.lines().next()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_and_the_rest_at_the_end_are_read() {
        let log = "==7== Total:     1,234,567 bytes in 89 blocks\n==7== At t-gmax: 5 bytes in 1 blocks\n\
                   ==7== At t-end:  1,024 bytes in 3 blocks\n";
        let expected = Heap {
            blocks: 89.0,
            bytes: 1_234_567.0,
            left: 1_024.0,
        };
        assert_eq!(allocations(log), Some(expected));
        assert_eq!(allocations("==7== Total: many"), None);
        assert_eq!(
            number_after("==7== Collected : 1234\n", "Collected :"),
            Some(1234.0)
        );
    }
}
