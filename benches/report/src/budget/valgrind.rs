//! A process's run under one of valgrind's tools, and what the tool counted.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::client::{Held, Lines, drive, end, no_pipe};
use super::load::{Before, Binding, Era, Load, Request};
use super::modes::{Mode, Work};
use super::rooms::{self, CostByModule};
use crate::process::{run, target};

/// The allocations of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Heap {
    pub(super) blocks: f64,
    pub(super) bytes: f64,
    /// The bytes that were still there at the end.
    pub(super) left: f64,
}

/// The programs that have all the processes.
pub(super) struct Programs {
    pub(super) servers: PathBuf,
    pub(super) clients: PathBuf,
}

/// One run of a process.
pub(super) struct Run<'a> {
    pub(super) programs: &'a Programs,
    /// The beginning of the names of the kept files.
    pub(super) name: &'a str,
    pub(super) process: &'a [&'a str],
    pub(super) work: &'a Work,
    pub(super) requests: u64,
    /// True if connections stay open until the process has ended.
    pub(super) holds: bool,
}

impl<'a> Run<'a> {
    pub(super) fn new(programs: &'a Programs, mode: &'a Mode, requests: u64) -> Self {
        Self {
            programs,
            name: mode.name,
            process: mode.process,
            work: &mode.work,
            requests,
            holds: false,
        }
    }

    /// Returns the instructions by room.
    pub(super) fn instructions(&self) -> Result<CostByModule, String> {
        let details = output_file(self.name, "callgrind");
        let arguments = [
            "--tool=callgrind".to_owned(),
            "--compress-strings=no".to_owned(),
            "--compress-pos=no".to_owned(),
            format!("--callgrind-out-file={}", details.display()),
        ];
        self.run_with_tool(&arguments)?;
        let rooms = rooms::read(&read(&details)?);
        if rooms.is_empty() {
            return Err(format!("{}: callgrind counted nothing", self.name));
        }
        Ok(rooms)
    }

    /// Returns the allocations.
    pub(super) fn heap(&self) -> Result<Heap, String> {
        let details = output_file(self.name, "dhat");
        let arguments = [
            "--tool=dhat".to_owned(),
            // Totals alone are read.
            "--read-inline-info=no".to_owned(),
            format!("--dhat-out-file={}", details.display()),
        ];
        let log = self.run_with_tool(&arguments)?;
        allocations(&log).ok_or_else(|| format!("{}: no total in what dhat wrote", self.name))
    }

    /// Runs the process to its end; returns valgrind's log.
    fn run_with_tool(&self, arguments: &[String]) -> Result<String, String> {
        let log = output_file(self.name, "log");
        let folder = target().join("budget");
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let program = match self.work {
            Work::Call(_) => &self.programs.clients,
            Work::Serve(_) | Work::Decode(_) | Work::Start => &self.programs.servers,
        };
        let mut valgrind = Command::new("valgrind");
        valgrind
            .arg(format!("--log-file={}", log.display()))
            .args(arguments)
            .arg(program);
        self.drive(valgrind)
            .map_err(|error| match fs::read_to_string(&log) {
                Ok(log) => format!("{}: {error}\n{log}", self.name),
                Err(_) => format!("{}: {error}", self.name),
            })?;
        read(&log)
    }

    /// Starts the process after `command`, which may be valgrind's, and does its work with it.
    fn drive(&self, mut command: Command) -> io::Result<()> {
        command
            .args(self.process)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let requests = self.requests.to_string();
        match self.work {
            Work::Serve(load) => {
                let mut child = command.spawn()?;
                let held = drive(&mut child, load, self.requests);
                self.leave(&mut child, held)
            }
            Work::Start => {
                let load = Load {
                    binding: Binding::Stdio,
                    era: Era::Session,
                    before: Before::default(),
                    request: Request::echo("echo"),
                };
                let mut child = command.spawn()?;
                let held = drive(&mut child, &load, 0);
                self.leave(&mut child, held)
            }
            Work::Decode(request) => {
                let mut child = command.arg(requests).spawn()?;
                let message = request.message(Era::Modern, 100_000);
                let mut input = child.stdin.take().ok_or_else(no_pipe)?;
                input.write_all(message.as_bytes())?;
                drop(input);
                check_end(&mut child)
            }
            Work::Call(Binding::Stdio) => {
                let server = &self.programs.servers;
                check_end(&mut command.arg(server).arg(requests).spawn()?)
            }
            Work::Call(Binding::Http) => {
                let mut server = Command::new(&self.programs.servers)
                    .args(["paced-http", "echo"])
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .spawn()?;
                let called = self.call(&mut server, &mut command);
                drop(server.stdin.take());
                check_end(&mut server).and(called)
            }
        }
    }

    /// Lets the client call a server that waits for the client's number.
    fn call(&self, server: &mut Child, client: &mut Command) -> io::Result<()> {
        let lines = Lines::new(server.stdout.take().ok_or_else(no_pipe)?);
        let port = lines.next()?;
        let mut client = client
            .arg(port.trim())
            .arg(self.requests.to_string())
            .spawn()?;
        let input = server.stdin.as_mut().ok_or_else(no_pipe)?;
        writeln!(input, "{}", client.id())?;
        check_end(&mut client)
    }

    fn leave(&self, child: &mut Child, held: io::Result<Held>) -> io::Result<()> {
        match held {
            Ok(mut held) if self.holds => {
                held.end_input();
                check_end(child)
            }
            Ok(held) => {
                drop(held);
                check_end(child)
            }
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }
}

fn check_end(child: &mut Child) -> io::Result<()> {
    let status = end(child)?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("ended with {status}")))
    }
}

/// Returns where what a tool wrote of the last run stays.
pub(super) fn output_file(name: &str, kind: &str) -> PathBuf {
    target().join("budget").join(format!("{name}.{kind}"))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads dhat's log: `==1== Total: 1,234 bytes in 56 blocks`, and `At t-end:` likewise.
fn allocations(log: &str) -> Option<Heap> {
    let amounts = |label: &str| {
        let (_, total) = log.split_once(label)?;
        let (bytes, rest) = total.split_once("bytes in")?;
        let (blocks, _) = rest.split_once("blocks")?;
        Some((number(bytes)?, number(blocks)?))
    };
    let (bytes, blocks) = amounts(" Total:")?;
    let (left, _) = amounts(" At t-end:")?;
    Some(Heap {
        blocks,
        bytes,
        left,
    })
}

fn number(text: &str) -> Option<f64> {
    text.trim().replace(',', "").parse().ok()
}

/// Installs valgrind where that can be done and it is missing; returns its version.
pub(super) fn ensure_installed() -> Result<String, String> {
    if let Some(version) = version() {
        return Ok(version);
    }
    println!("installing valgrind (apt-get)");
    let install = "test \"$(id -u)\" = 0 || root='sudo -n'
        $root apt-get update -qq && $root apt-get install -y -qq --no-install-recommends valgrind";
    let tried = run(Command::new("sh")
        .args(["-c", install])
        .stdout(Stdio::null()));
    version().ok_or_else(|| {
        let why = tried
            .err()
            .unwrap_or_else(|| "it does not start".to_owned());
        format!(
            "valgrind is missing and could not be installed ({why}); install the package valgrind"
        )
    })
}

fn version() -> Option<String> {
    first_line_of("valgrind", &["--version"])
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
    fn totals_and_what_was_left_are_read() {
        let log = "==7== Total:     1,234,567 bytes in 89 blocks\n==7== At t-gmax: 5 bytes in 1 blocks\n\
                   ==7== At t-end:  1,024 bytes in 3 blocks\n";
        let expected = Heap {
            blocks: 89.0,
            bytes: 1_234_567.0,
            left: 1_024.0,
        };
        assert_eq!(allocations(log), Some(expected));
        assert_eq!(allocations("==7== Total: many"), None);
    }

    #[test]
    fn a_program_that_is_not_there_says_nothing() {
        assert_eq!(first_line_of("no-such-program-at-all", &[]), None);
        assert_eq!(first_line_of("echo", &["one"]), Some("one".to_owned()));
    }
}
