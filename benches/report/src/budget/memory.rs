//! The memory that stays on a server's heap: of a session, of a stream, of a request that is over.
//!
//! dhat tells what is left when a process ends; these processes end in the middle, when their
//! replay time has passed. The difference of two runs is exact. What is resident of a process is
//! asked of the kernel, at a process that valgrind has nothing to do with.

use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, io, thread};

use super::client::{drive, end};

use super::file::Row;
use super::load::{Before, Binding, Era, Load, Request};
use super::modes::Work;
use super::valgrind::{Programs, Run};

/// One row.
pub(super) struct MemoryRow {
    pub(super) name: &'static str,
    /// The number of of that them are there.
    count: u64,
    measure: Measured,
    /// The load before, and the number of requests, for so many of them.
    what: fn(u64) -> (Before, u64),
}

#[derive(Clone, Copy)]
enum Measured {
    Heap,
    Resident,
}

/// The process: it forgets what can be replayed after two seconds.
const PROCESS: &[&str] = &["http-left", "echo"];

/// The time after which it has forgotten everything.
const FORGOTTEN: Duration = Duration::from_secs(4);

pub(super) const MEMORY_ROWS: &[MemoryRow] = &[
    MemoryRow {
        name: "resident-idle-session",
        count: 10_000,
        measure: Measured::Resident,
        what: sessions,
    },
    MemoryRow {
        name: "left-by-idle-session",
        count: 2_000,
        measure: Measured::Heap,
        what: sessions,
    },
    MemoryRow {
        name: "left-by-open-stream",
        count: 200,
        measure: Measured::Heap,
        what: |streams| {
            let before = Before {
                streams,
                ..Before::default()
            };
            (before, 0)
        },
    },
    MemoryRow {
        name: "left-by-request",
        count: 500,
        measure: Measured::Heap,
        what: |requests| (Before::default(), 500 + requests),
    },
];

/// Returns a load of so many sessions without requests.
fn sessions(sessions: u64) -> (Before, u64) {
    let before = Before {
        sessions,
        ..Before::default()
    };
    (before, 0)
}

impl MemoryRow {
    /// Returns the bytes that one of them keeps.
    pub(super) fn measure(&self, programs: &Programs) -> Result<Row, String> {
        let some = self.left(programs, self.count)?;
        let none = self.left(programs, 0)?;
        Ok(Row {
            bytes: Some((some - none) / self.count as f64),
            ..Row::default()
        })
    }

    fn left(&self, programs: &Programs, count: u64) -> Result<f64, String> {
        let (before, requests) = (self.what)(count);
        let load = Load {
            binding: Binding::Http,
            era: Era::Modern,
            before,
            request: Request::echo("echo"),
        };
        if let Measured::Resident = self.measure {
            let resident = resident(programs, &load, requests);
            return resident.map_err(|error| format!("{}: {error}", self.name));
        }
        let run = Run {
            programs,
            name: self.name,
            process: PROCESS,
            work: &Work::Serve(load),
            requests,
            holds: true,
        };
        Ok(run.heap()?.left)
    }
}

/// Returns the resident bytes of a process after its load.
fn resident(programs: &Programs, load: &Load, requests: u64) -> io::Result<f64> {
    let mut child = Command::new(&programs.servers)
        .args(PROCESS)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let held = drive(&mut child, load, requests)?;
    thread::sleep(FORGOTTEN);
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    drop(held);
    end(&mut child)?;
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    kib.map(|kib| kib * 1024.0)
        .ok_or_else(|| io::Error::other("the kernel does not say what is resident"))
}
