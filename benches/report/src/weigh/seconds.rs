//! The computing that a first build takes: the CPU seconds of cargo and all that it starts.

use std::process::Command;
use std::{fs, io};

use super::peer::{OURS, Peer, THEIRS};
use crate::process::{run, target};
use crate::result::Result;

/// Clock ticks a second in which the kernel counts CPU, which is the same on every Linux.
const TICKS: f64 = 100.0;

/// Returns the CPU seconds of each run, ours and theirs, taken in turns.
pub(super) fn compare(runs: usize) -> Result<[Vec<f64>; 2]> {
    let mut seconds = [Vec::new(), Vec::new()];
    for _ in 0..runs {
        for (peer, seconds) in [OURS, THEIRS].into_iter().zip(&mut seconds) {
            seconds.push(cold(peer)?);
        }
    }
    Ok(seconds)
}

/// Returns one check of a hello world into an empty folder.
fn cold(peer: Peer) -> Result<f64> {
    let folder = target().join("weigh/cold");
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(format!("{}: {error}", folder.display()).into());
        }
        _ => {}
    }
    let mut check = peer.cargo("check");
    check
        .args(["--offline", "--quiet", "--target-dir"])
        .arg(folder);
    // No cache in between, and ours treated as the registry's crates are: never incrementally.
    check.env("RUSTC_WRAPPER", "").env("CARGO_INCREMENTAL", "0");
    cpu_seconds(&mut check)
}

/// Runs a command to its end. Returns the CPU seconds of it and of all that it started.
fn cpu_seconds(command: &mut Command) -> Result<f64> {
    let before = children_ticks()?;
    run(command)?;
    Ok((children_ticks()? - before) as f64 / TICKS)
}

/// Returns the user and system time of the processes that this one waited for, in clock ticks.
fn children_ticks() -> Result<u64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name, which is in brackets, may hold any; the state follows it as the third field.
    let (_, fields) = stat.rsplit_once(") ").ok_or("no times in /proc")?;
    let ticks: Result<Vec<u64>, _> = fields.split(' ').skip(13).take(2).map(str::parse).collect();
    Ok(ticks?.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_grandchildren_is_counted() {
        let mut busy = Command::new("sh");
        let burn = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        busy.args(["-c", &format!("sh -c '{burn}'; true")]);
        assert!(cpu_seconds(&mut busy).unwrap() > 0.02);
    }
}
