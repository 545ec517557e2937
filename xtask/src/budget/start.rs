//! `cargo xtask budget start`: from the start of a process to its answered handshake, in time.
//!
//! Times depend on the machine, so nothing fails here; the budget has the instructions.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::client::{Lines, end, no_pipe};
use super::load::INITIALIZE;
use super::valgrind::Programs;

/// How often each is started, in turns.
const STARTS: usize = 60;

const PROCESSES: &[(&str, &[&str])] = &[
    ("a bare process", &["floor-start"]),
    ("ours, 3 tools", &["stdio", "3"]),
    ("ours, 1,000 tools", &["stdio", "1000"]),
];

/// Prints the median, the quickest and the slowest of each.
pub(super) fn compare(programs: &Programs) -> Result<(), String> {
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); PROCESSES.len()];
    for _ in 0..STARTS {
        for ((_, process), times) in PROCESSES.iter().zip(&mut times) {
            let time = start(programs, process).map_err(|error| format!("{process:?}: {error}"))?;
            times.push(time);
        }
    }
    println!("exec to `initialize` answered, {STARTS} starts each in turns; ms");
    println!("{:<20} {:>8} {:>8} {:>8}", "", "median", "least", "most");
    for ((name, _), mut times) in PROCESSES.iter().zip(times) {
        times.sort_unstable();
        let ms = |index: usize| {
            let time = times.get(index).copied().unwrap_or_default();
            format!("{:.2}", time.as_secs_f64() * 1e3)
        };
        let (median, least, most) = (ms(times.len() / 2), ms(0), ms(times.len() - 1));
        println!("{name:<20} {median:>8} {least:>8} {most:>8}");
    }
    Ok(())
}

fn start(programs: &Programs, process: &[&str]) -> io::Result<Duration> {
    let mut command = Command::new(&programs.servers);
    command
        .args(process)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let began = Instant::now();
    let mut child = command.spawn()?;
    let mut input = child.stdin.take().ok_or_else(no_pipe)?;
    let lines = Lines::of(child.stdout.take().ok_or_else(no_pipe)?);
    input.write_all(format!("{INITIALIZE}\n").as_bytes())?;
    let answer = lines.next()?;
    let time = began.elapsed();
    drop(input);
    end(&mut child)?;
    match answer.contains("protocolVersion") {
        true => Ok(time),
        false => Err(io::Error::other(format!("no handshake: {answer}"))),
    }
}
