//! A server's process: started, measured, and stopped, however the task ends.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::plan::{Latency, Plan, Slice};

/// The running server: there is one at a time.
static RUNNING: Mutex<Option<Child>> = Mutex::new(None);

fn running() -> MutexGuard<'static, Option<Child>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills each server that runs when so many seconds have passed. Then its pipes and sockets end.
pub(crate) fn limit(seconds: u64) {
    thread::spawn(move || {
        thread::sleep(Duration::from_secs(seconds));
        loop {
            let _ = running().as_mut().map(Child::kill);
            thread::sleep(Duration::from_millis(100));
        }
    });
}

/// A server, which is killed when this is dropped.
pub(crate) struct Server {
    id: u32,
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = running().take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Server {
    /// Starts the plan's command, with pipes for its stdin and stdout.
    pub(crate) fn start(plan: &Plan) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        let [program, arguments @ ..] = &plan.command[..] else {
            return Err(io::Error::other("no command"));
        };
        let mut child = Command::new(program)
            .args(arguments)
            // Cargo sets it: every library would be looked for in its folders first.
            .env_remove("LD_LIBRARY_PATH")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| io::Error::other(format!("cannot start {program}: {error}")))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let server = Self { id: child.id() };
        *running() = Some(child);
        let (input, output) = pipes.ok_or_else(|| io::Error::other("no pipes"))?;
        Ok((server, input, output))
    }

    /// Begins to measure the CPU of the server and of this process.
    pub(crate) fn measure(&self) -> io::Result<Measurement> {
        let process = self.id.to_string();
        Ok(Measurement {
            used: [cpu(&process)?, cpu("self")?],
            process,
            began: Instant::now(),
        })
    }

    /// Returns the server's resident set, in kB.
    pub(crate) fn resident_kb(&self) -> io::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok())
            .ok_or_else(|| io::Error::other("no resident set in /proc"))
    }
}

/// Returns the port that is the first line of a server's stdout. Its further output is read and dropped.
pub(crate) fn port(output: ChildStdout) -> io::Result<u16> {
    let mut output = BufReader::new(output);
    let mut line = String::new();
    output.read_line(&mut line)?;
    thread::spawn(move || io::copy(&mut output, &mut io::sink()));
    line.trim()
        .parse()
        .map_err(|_| io::Error::other(format!("no port of the server, but: {line:?}")))
}

/// The CPU that two processes had used, and the time, when a slice began.
pub(crate) struct Measurement {
    process: String,
    used: [Duration; 2],
    pub(crate) began: Instant,
}

impl Measurement {
    /// Ends the measurement.
    pub(crate) fn end(self) -> io::Result<Measured> {
        let [server, driver] = self.used;
        Ok(Measured {
            time: self.began.elapsed(),
            server: cpu(&self.process)?.saturating_sub(server),
            driver: cpu("self")?.saturating_sub(driver),
        })
    }
}

/// The time of a slice, and the CPU that two processes used in it.
pub(crate) struct Measured {
    time: Duration,
    server: Duration,
    driver: Duration,
}

impl Measured {
    /// Returns the figures of so many calls. `latencies` are in nanoseconds, of all calls or of none.
    pub(crate) fn slice(self, width: usize, calls: usize, mut latencies: Vec<u32>) -> Slice {
        let each = |used: Duration| used.as_secs_f64() * 1e6 / calls.max(1) as f64;
        latencies.sort_unstable();
        Slice {
            width,
            calls_per_second: calls as f64 / self.time.as_secs_f64(),
            server_us: each(self.server),
            driver_us: each(self.driver),
            latency: (!latencies.is_empty()).then(|| Latency {
                p50: percentile(&latencies, 50),
                p99: percentile(&latencies, 99),
            }),
        }
    }
}

/// Returns the latency that so many of a hundred calls do not exceed, in microseconds.
fn percentile(sorted: &[u32], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    f64::from(sorted[rank - 1]) / 1e3
}

/// Returns a latency in nanoseconds.
pub(crate) fn nanos(time: Duration) -> u32 {
    u32::try_from(time.as_nanos()).unwrap_or(u32::MAX)
}

/// Returns the time that a process was on a CPU, in user space and in the kernel: the scheduler counts the
/// nanoseconds of each thread. A thread that ends takes its nanoseconds with it; servers keep their
/// threads for longer than a slice.
fn cpu(process: &str) -> io::Result<Duration> {
    let mut nanos = 0;
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let counted = fs::read_to_string(thread?.path().join("schedstat"))?;
        let on_cpu = counted.split(' ').next().and_then(|text| text.parse().ok());
        nanos += on_cpu.unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Dialect, Task};

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let hundred: Vec<u32> = (1..=100).map(|number| number * 1000).collect();
        assert_eq!(percentile(&hundred, 50), 50.0);
        assert_eq!(percentile(&hundred, 99), 99.0);
        assert_eq!(percentile(&[7000], 99), 7.0);
    }

    #[test]
    fn a_server_prints_its_port_and_is_gone_when_it_is_dropped() {
        let mut plan = Plan {
            command: ["sh", "-c", "echo 4711; exec sleep 100"]
                .map(str::to_owned)
                .to_vec(),
            dialect: Dialect::Bare,
            task: Task::Start { times: 1 },
            limit: 1,
        };
        let (server, _input, output) = Server::start(&plan).unwrap();
        assert_eq!(port(output).unwrap(), 4711);
        assert!(server.resident_kb().unwrap() > 0);
        let slice = server
            .measure()
            .unwrap()
            .end()
            .unwrap()
            .slice(1, 10, vec![5]);
        assert!(slice.calls_per_second > 0.0 && slice.latency.is_some());
        let folder = format!("/proc/{}", server.id);
        drop(server);
        assert!(fs::metadata(folder).is_err());
        plan.command = vec!["there-is-no-such-program".to_owned()];
        let error = Server::start(&plan).err().unwrap().to_string();
        assert!(error.contains("cannot start"), "{error}");
    }
}
