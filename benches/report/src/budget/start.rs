//! `cargo xtask budget start`: from the start of a process to its answered handshake, in time.
//!
//! Times depend on the machine, so nothing fails here; the budget has the instructions.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::client::{PATIENCE, no_pipe};
use super::load::INITIALIZE;
use super::valgrind::Programs;

/// The number of times that each is started, in turns.
const STARTS: usize = 60;

const PROCESSES: &[(&str, &[&str])] = &[
    ("a bare process", &["floor-start"]),
    ("ours, 3 tools", &["stdio", "3"]),
    ("ours, 1,000 tools", &["stdio", "1000"]),
];

/// The process that is timed, for whoever ends one that never answers.
type Timed = Arc<Mutex<Option<Child>>>;

/// Prints the median, the quickest and the slowest of each.
pub(super) fn compare(programs: &Programs) -> Result<(), String> {
    let timed = Timed::default();
    watch(timed.clone());
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); PROCESSES.len()];
    for _ in 0..STARTS {
        for ((_, process), times) in PROCESSES.iter().zip(&mut times) {
            let time = start(programs, process, &timed)
                .map_err(|error| format!("{process:?}: {error}"))?;
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

/// Kills what is timed when all of it takes too long. The thread goes with this process.
fn watch(timed: Timed) {
    thread::spawn(move || {
        thread::sleep(PATIENCE);
        loop {
            let mut timed = timed.lock().unwrap_or_else(PoisonError::into_inner);
            // One that has ended is no error.
            let _ = timed.as_mut().map(Child::kill);
            drop(timed);
            thread::sleep(Duration::from_millis(100));
        }
    });
}

/// Times one start. Nothing else is between the two looks at the clock: no thread is started there.
fn start(programs: &Programs, process: &[&str], timed: &Timed) -> io::Result<Duration> {
    let timed = || timed.lock().unwrap_or_else(PoisonError::into_inner);
    let mut answer = String::new();
    let handshake = format!("{INITIALIZE}\n");
    let mut command = Command::new(&programs.servers);
    command
        .args(process)
        // Cargo sets it for this process: every library would be looked for in its folders first.
        .env_remove("LD_LIBRARY_PATH")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let began = Instant::now();
    let mut child = command.spawn()?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    *timed() = Some(child);
    let mut input = input.ok_or_else(no_pipe)?;
    input.write_all(handshake.as_bytes())?;
    let mut output = BufReader::new(output.ok_or_else(no_pipe)?);
    output.read_line(&mut answer)?;
    let time = began.elapsed();
    if let Some(mut child) = timed().take() {
        child.kill()?;
        child.wait()?;
    }
    if answer.contains("protocolVersion") {
        Ok(time)
    } else {
        Err(io::Error::other(format!("no handshake: {answer}")))
    }
}
