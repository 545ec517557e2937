//! Processes, seen from outside.

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::point::SOON;

/// The program that plays every part.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_turnbuckle-soak");

pub(crate) fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Returns the processes that `pid` has started and that still run.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    tasks
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|line| {
            let pids = line.split_whitespace().map(|pid| pid.parse().unwrap());
            pids.collect::<Vec<u32>>()
        })
        .collect()
}

/// Returns the children of a process that are servers, without the helpers that watch them.
pub(crate) fn servers(pid: u32) -> Vec<u32> {
    let name = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut children = children(pid);
    children.retain(|child| name(child).starts_with(PROGRAM));
    children
}

/// Returns whether it runs: one that has ended and that nobody has asked for does not.
pub(crate) fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
    !matches!(state.chars().next(), None | Some('Z' | 'X'))
}

/// Waits for it to have ended.
pub(crate) fn ends(pid: u32) {
    let deadline = Instant::now() + SOON;
    while runs(pid) {
        assert!(Instant::now() < deadline, "process {pid} stays");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A lock for the tests: the children of this process are counted.
static TURN: Mutex<()> = Mutex::new(());

/// Waits for the turn of a test.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a test while no other runs.
pub(crate) fn alone(test: impl Future<Output = ()>) {
    let _turn = turn();
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap().block_on(test);
}
