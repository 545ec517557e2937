//! The start and the memory of the released tool: of servers that it serves, and of a bridge.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::servers::{initialize, initialized, list_servers, request};
use crate::process::target;

/// The starts of which the shortest counts, since other programs only make them longer.
const STARTS: usize = 40;

/// The calls before memory is measured again.
const CALLS: u64 = 100;

/// The time after which a server has nothing left to do.
const REST: Duration = Duration::from_millis(300);

/// Prints all figures.
pub(super) fn run(program: &Path) -> Result<(), String> {
    let bare = shortest_run(&mut Command::new("/bin/true"))?;
    let tool = shortest_run(Command::new(program).args(["serve", "time", "--stdio"]))?;
    println!(
        "start and end of `serve time`: {:.2} ms; of /bin/true: {:.2} ms",
        tool.as_secs_f64() * 1e3,
        bare.as_secs_f64() * 1e3
    );
    println!(
        "{:<22}{:>10}{:>10}{:>10}   kB, before and after {CALLS} calls",
        "memory", "resident", "its share", "its own"
    );
    for server in list_servers(&target().join("dist/measure"))? {
        measure_pipe(server.name, &mut server.command(program), &server.call)?;
    }
    measure_bridge(program)
}

/// Returns the shortest time from the start of a program to its end.
fn shortest_run(command: &mut Command) -> Result<Duration, String> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut shortest = Duration::MAX;
    for _ in 0..STARTS {
        let begun = Instant::now();
        command
            .status()
            .map_err(|error| format!("{command:?}: {error}"))?;
        shortest = shortest.min(begun.elapsed());
    }
    Ok(shortest)
}

/// Measures a server on pipes.
fn measure_pipe(name: &str, command: &mut Command, call: &Value) -> Result<(), String> {
    let (child, input, output) = start(command)?;
    let (mut input, mut output) = (input, BufReader::new(output));
    let mut exchange = |message: &Value| -> Result<(), String> {
        writeln!(input, "{message}").map_err(|error| format!("{name}: {error}"))?;
        // A notification has no answer.
        let mut line = String::new();
        while message.get("id").is_some() && read_answer(&line).is_none() {
            line.clear();
            match output.read_line(&mut line) {
                Ok(bytes) if bytes > 0 => {}
                _ => return Err(format!("{name} has ended")),
            }
        }
        check_answer(name, &line)
    };
    exchange(&initialize())?;
    exchange(&initialized())?;
    let before = Memory::of_resting(child.0.id())?;
    for id in 1..=CALLS {
        exchange(&request(id, "tools/call", call))?;
    }
    before.print(name);
    Memory::of_resting(child.0.id())?.print("");
    Ok(())
}

/// Measures a bridge from HTTP to a server on pipes.
fn measure_bridge(program: &Path) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(["bridge", "--port", "0", "--"]).arg(program);
    command.args(["serve", "time", "--stdio"]);
    let (child, _input, output) = start(&mut command)?;
    let mut lines = BufReader::new(output).lines().map_while(Result::ok);
    let address = lines.find_map(|line| {
        let address = line.trim().strip_prefix("http://")?.strip_suffix("/mcp")?;
        Some(address.to_owned())
    });
    let address = address.ok_or("the bridge printed no address")?;
    let head = post(&address, "", &initialize())?;
    let session = head
        .lines()
        .find(|line| line.to_lowercase().starts_with("mcp-session-id:"));
    let session = format!("{}\r\n", session.ok_or("the bridge opened no session")?);
    post(&address, &session, &initialized())?;
    let before = Memory::of_resting(child.0.id())?;
    let call = json!({ "name": "get_current_time", "arguments": { "timezone": "UTC" } });
    for id in 1..=CALLS {
        check_answer(
            "bridge",
            &post(&address, &session, &request(id, "tools/call", &call))?,
        )?;
    }
    before.print("bridge");
    Memory::of_resting(child.0.id())?.print("");
    Ok(())
}

/// A program that ends with its owner.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(command: &mut Command) -> Result<(Program, ChildStdin, ChildStdout), String> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command
        .spawn()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let pipes = child.stdin.take().zip(child.stdout.take());
    let (input, output) = pipes.ok_or("no pipes")?;
    Ok((Program(child), input, output))
}

/// Returns the answer in a line.
fn read_answer(line: &str) -> Option<Value> {
    let message: Value = serde_json::from_str(line).ok()?;
    (message.get("result").is_some() || message.get("error").is_some()).then_some(message)
}

/// Refuses answers that are errors.
fn check_answer(name: &str, answer: &str) -> Result<(), String> {
    match answer.contains(r#""error":"#) || answer.contains(r#""isError":true"#) {
        true => Err(format!("{name}: {answer}")),
        false => Ok(()),
    }
}

/// Sends a message over a connection of its own, and returns the response, with its head.
fn post(address: &str, headers: &str, message: &Value) -> Result<String, String> {
    let body = message.to_string();
    let send = || {
        let mut stream = TcpStream::connect(address)?;
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        Ok(response)
    };
    send().map_err(|error: std::io::Error| format!("{address}: {error}"))
}

/// The memory of a process, in kB.
struct Memory {
    /// All pages, those of the program's file included.
    resident: u64,
    /// The resident pages, with shared ones divided among the processes that have them.
    share: u64,
    /// The pages that are of no file: what the process has allocated or changed.
    own: u64,
}

impl Memory {
    /// Measures a process that has nothing to do any more.
    fn of_resting(process: u32) -> Result<Self, String> {
        thread::sleep(REST);
        let file = format!("/proc/{process}/smaps_rollup");
        let text = fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
        let figure = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let figure = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
            figure.ok_or_else(|| format!("{file} has no {name}"))
        };
        Ok(Self {
            resident: figure("Rss:")?,
            share: figure("Pss:")?,
            own: figure("Anonymous:")?,
        })
    }

    fn print(&self, name: &str) {
        let Self {
            resident,
            share,
            own,
        } = self;
        println!("{name:<22}{resident:>10}{share:>10}{own:>10}");
    }
}
