//! Processes, seen from outside.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use super::SOON;

/// The program that plays every role.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_turnbuckle-soak");

/// Starts the program with pipes.
pub(crate) fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(PROGRAM);
    let command = command.args(arguments).stdin(Stdio::piped());
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Reads a line. Further output is kept in the reader.
pub(crate) fn first_line<R: Read>(output: R) -> (String, BufReader<R>) {
    let mut line = String::new();
    let mut output = BufReader::new(output);
    output.read_line(&mut line).unwrap();
    (line, output)
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Returns the processes that `pid` has started and that still run.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let lines = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let pids = lines.collect::<Vec<_>>().join(" ");
    pids.split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

/// Returns the only child of a process that is a server, and not a helper that watches one.
pub(crate) fn server_of(pid: u32) -> u32 {
    let name = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut children = children(pid);
    children.retain(|child| name(child).starts_with(PROGRAM));
    let [server] = children[..] else {
        panic!("{children:?}")
    };
    server
}

/// Waits until a process has ended. One that is a zombie has.
pub(crate) fn ends(pid: u32) {
    let deadline = Instant::now() + SOON;
    let runs = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
        !matches!(state.chars().next(), None | Some('Z' | 'X'))
    };
    while runs() {
        assert!(Instant::now() < deadline, "process {pid} stays");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Waits for the turn of a test: the children of this process are counted.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a test while no other runs.
pub(crate) fn alone(test: impl Future<Output = ()>) {
    let _turn = turn();
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap().block_on(test);
}
