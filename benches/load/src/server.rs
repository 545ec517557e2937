//! A server's process: started, watched, and stopped, however the task ends.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use crate::plan::Plan;
use crate::tally::Used;

/// Clock ticks a second in which `stat` counts CPU, which is the same on every Linux.
const TICKS: u64 = 100;

/// A running server. It is killed when this is dropped, or when the plan's limit is over; then its
/// pipes and sockets end, and so does whoever waits for them.
pub(crate) struct Server {
    child: Arc<Mutex<Child>>,
    id: u32,
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
        let server = Self {
            id: child.id(),
            child: Arc::new(Mutex::new(child)),
        };
        let (input, output) = pipes.ok_or_else(|| io::Error::other("no pipes"))?;
        Ok((server, input, output))
    }

    /// Kills the server when so many seconds have passed.
    pub(crate) fn limit(&self, seconds: u64) {
        Limit::new(seconds).holds(self);
    }

    /// Returns the CPU that the server and this process have used so far.
    pub(crate) fn used(&self) -> io::Result<Used> {
        Ok(Used {
            server: cpu(&self.id.to_string())?,
            driver: cpu("self")?,
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

/// The time after which servers are killed. Its thread goes with this process.
pub(crate) struct Limit(Arc<Mutex<Weak<Mutex<Child>>>>);

impl Limit {
    /// Returns a limit of so many seconds from now.
    pub(crate) fn new(seconds: u64) -> Self {
        let held = Arc::new(Mutex::new(Weak::<Mutex<Child>>::new()));
        let limit = Self(held.clone());
        thread::spawn(move || {
            thread::sleep(Duration::from_secs(seconds));
            loop {
                let held = held
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .upgrade();
                if let Some(child) = held {
                    end(&child);
                }
                thread::sleep(Duration::from_millis(100));
            }
        });
        limit
    }

    /// Sets the limit for this server, and no longer for the one before.
    pub(crate) fn holds(&self, server: &Server) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *held = Arc::downgrade(&server.child);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&self.child);
    }
}

fn end(child: &Mutex<Child>) {
    let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = child.kill();
    let _ = child.wait();
}

/// Returns the port that is the first line of a server's stdout. What else it says is read and dropped.
pub(crate) fn port(output: ChildStdout) -> io::Result<u16> {
    let mut output = BufReader::new(output);
    let mut line = String::new();
    output.read_line(&mut line)?;
    thread::spawn(move || io::copy(&mut output, &mut io::sink()));
    line.trim()
        .parse()
        .map_err(|_| io::Error::other(format!("no port of the server, but: {line:?}")))
}

/// Returns the time that a process was on a CPU, in user space and in the kernel.
///
/// The scheduler counts the nanoseconds of each thread; where it does not, there are ticks. A thread
/// that ends takes its nanoseconds with it: servers keep their threads for longer than a slice.
fn cpu(process: &str) -> io::Result<Duration> {
    let mut nanos = 0;
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let counted = fs::read_to_string(thread?.path().join("schedstat"));
        nanos += counted.ok().and_then(|text| on_cpu(&text)).unwrap_or(0);
    }
    match nanos {
        0 => ticks(&fs::read_to_string(format!("/proc/{process}/stat"))?),
        nanos => Ok(Duration::from_nanos(nanos)),
    }
}

/// Returns the first number of a thread's `schedstat`.
fn on_cpu(schedstat: &str) -> Option<u64> {
    schedstat.split(' ').next()?.parse().ok()
}

/// Returns the user and system time in a process's `stat`.
fn ticks(stat: &str) -> io::Result<Duration> {
    // The name, which is in brackets, may hold any; the state follows it as the third field.
    let ticks = stat.rsplit_once(") ").and_then(|(_, rest)| {
        let mut fields = rest.split(' ').skip(11);
        let user: u64 = fields.next()?.parse().ok()?;
        let system: u64 = fields.next()?.parse().ok()?;
        Some(user + system)
    });
    let ticks = ticks.ok_or_else(|| io::Error::other("no times in /proc"))?;
    Ok(Duration::from_millis(ticks * 1000 / TICKS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Dialect, Task};

    #[test]
    fn times_are_the_fourteenth_and_fifteenth_field() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 200 0 0 0 25 17 3 4 20 0 1 0 5 6 7\n";
        assert_eq!(ticks(stat).unwrap(), Duration::from_millis(420));
        assert!(ticks("7 (a) S 1").is_err());
        assert_eq!(on_cpu("463250 79789 2\n"), Some(463_250));
        assert_eq!(on_cpu(""), None);
        assert!(cpu("self").unwrap() > Duration::ZERO);
    }

    fn plan(command: &[&str]) -> Plan {
        Plan {
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            dialect: Dialect::Bare,
            task: Task::Start { times: 1 },
            limit: 1,
        }
    }

    #[test]
    fn a_server_says_its_port_and_is_gone_when_it_is_dropped() {
        let plan = plan(&["sh", "-c", "echo 4711; exec sleep 100"]);
        let (server, _input, output) = Server::start(&plan).unwrap();
        assert_eq!(port(output).unwrap(), 4711);
        assert!(server.resident_kb().unwrap() > 0);
        server.used().unwrap();
        let folder = format!("/proc/{}", server.id);
        drop(server);
        assert!(fs::metadata(folder).is_err());
    }

    #[test]
    fn what_says_no_port_or_is_no_program_is_told() {
        let (_server, _input, output) = Server::start(&plan(&["echo", "ready"])).unwrap();
        assert!(port(output).unwrap_err().to_string().contains("ready"));
        let missing = Server::start(&plan(&["there-is-no-such-program"]));
        assert!(missing.err().unwrap().to_string().contains("cannot start"));
    }
}
