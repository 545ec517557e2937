//! The computing that a first build takes: the CPU seconds of cargo and all that it starts.

use std::process::{Command, Stdio};
use std::{fs, io};

use super::peer::{OURS, Peer, THEIRS};
use crate::process::{cannot_start, command_line, target};

/// Runs a command, then prints what it and all its children took; in POSIX, so any shell has it.
const TIMED: &str = r#""$@" || exit; times"#;

/// Returns the CPU seconds of each run, ours and theirs, taken in turns.
pub(super) fn compare(runs: usize) -> Result<[Vec<f64>; 2], String> {
    let mut seconds = [Vec::new(), Vec::new()];
    for _ in 0..runs {
        for (peer, seconds) in [OURS, THEIRS].into_iter().zip(&mut seconds) {
            seconds.push(cold(peer)?);
        }
    }
    Ok(seconds)
}

/// Returns one check of a hello world into an empty folder.
fn cold(peer: Peer) -> Result<f64, String> {
    let folder = target().join("weigh/cold");
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(format!("{}: {error}", folder.display()));
        }
        _ => {}
    }
    let mut check = peer.cargo("check");
    check
        .args(["--offline", "--quiet", "--target-dir"])
        .arg(folder);
    // No cache in between, and ours treated as the registry's crates are: never incrementally.
    check.env("RUSTC_WRAPPER", "").env("CARGO_INCREMENTAL", "0");
    cpu_seconds(&check)
}

/// Returns the CPU seconds of `command` and of all that it starts, until they end.
fn cpu_seconds(command: &Command) -> Result<f64, String> {
    let mut shell = Command::new("sh");
    shell.args(["-c", TIMED, "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    let output = shell
        .env("LC_ALL", "C")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| cannot_start(&shell, &error))?;
    if !output.status.success() {
        return Err(format!("{}: {}", command_line(command), output.status));
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    children(&printed).ok_or_else(|| format!("no times of the shell: {printed}"))
}

/// Returns the user and system time of the children, which `times` prints in its second, the last line.
fn children(times: &str) -> Option<f64> {
    let (user, system) = times.trim_end().lines().last()?.split_once(' ')?;
    Some(duration(user)? + duration(system)?)
}

/// Returns the seconds of a duration such as `1m2.34s`.
fn duration(text: &str) -> Option<f64> {
    let (minutes, seconds) = text.strip_suffix('s')?.split_once('m')?;
    Some(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_children_are_read_and_the_shell_itself_is_not() {
        let times = "9m9.000s 9m9.000s\n1m2.500s 0m3.25s\n";
        assert_eq!(children(times), Some(65.75));
        assert_eq!(children(""), None);
        assert_eq!(children("a b"), None);
    }

    #[test]
    fn what_a_command_burns_is_counted_in_its_grandchildren_too() {
        let mut busy = Command::new("sh");
        let burn = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        busy.args(["-c", &format!("sh -c '{burn}'; true")]);
        assert!(cpu_seconds(&busy).unwrap() > 0.02);
        busy = Command::new("sh");
        busy.args(["-c", "exit 3"]);
        assert!(cpu_seconds(&busy).unwrap_err().contains("exit 3"));
    }
}
