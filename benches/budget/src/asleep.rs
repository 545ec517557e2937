//! Waiting for a process to sleep, as /proc tells it. What comes before it sleeps it would sometimes
//! find without going to sleep, and what it costs would depend on who is faster.
//!
//! The other end of these processes (`benches/report/src/budget/client.rs`) has this file too.

use std::time::{Duration, Instant};
use std::{fs, io, thread};

/// The time that a process may take to go to sleep.
const PATIENCE: Duration = Duration::from_secs(120);

/// The number of times that one looks.
const GLANCE: Duration = Duration::from_micros(50);

/// Waits until no thread of the process runs.
pub(super) fn wait_until_asleep(process: u32) -> io::Result<()> {
    let began = Instant::now();
    while !asleep(process)? {
        if began.elapsed() > PATIENCE {
            return Err(io::Error::other("the process does not come to rest"));
        }
        thread::sleep(GLANCE);
    }
    Ok(())
}

fn asleep(process: u32) -> io::Result<bool> {
    for task in fs::read_dir(format!("/proc/{process}/task"))? {
        let stat = fs::read_to_string(task?.path().join("stat"))?;
        // The state is the first field after the name, which is in brackets and may hold any.
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
        if !state.is_some_and(|state| state.starts_with('S')) {
            return Ok(false);
        }
    }
    Ok(true)
}
