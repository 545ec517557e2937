//! Counting rows, two at a time: counts do not mind what else the machine does.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::{fs, thread};

use super::file::Row;
use super::memory::{MEMORY_ROWS, MemoryRow};
use super::modes::{Mode, Work, modes};
use super::valgrind::{Programs, Run, first_line_of};

/// The number of rows that are counted at a time.
const AT_A_TIME: usize = 2;

/// Something that a row comes of.
pub(super) enum Counter {
    Mode(Mode),
    MemoryRow(&'static MemoryRow),
}

/// Returns all there are, floors before what is compared with them.
pub(super) fn all() -> Vec<Counter> {
    let modes = modes().into_iter().map(Counter::Mode);
    modes
        .chain(MEMORY_ROWS.iter().map(Counter::MemoryRow))
        .collect()
}

impl Counter {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Mode(mode) => mode.name,
            Self::MemoryRow(rest) => rest.name,
        }
    }

    pub(super) fn floor(&self) -> Option<&'static str> {
        match self {
            Self::Mode(mode) => mode.floor,
            Self::MemoryRow(_) => None,
        }
    }

    /// Returns whether much has to be opened before anything is measured.
    fn is_heavy(&self) -> bool {
        match self {
            Self::Mode(mode) => !mode.heap,
            Self::MemoryRow(_) => true,
        }
    }

    fn count(&self, programs: &Programs) -> Result<Row, String> {
        match self {
            Self::Mode(mode) => per_request(programs, mode),
            Self::MemoryRow(rest) => rest.measure(programs),
        }
    }
}

/// Counts them all.
pub(super) fn count(
    programs: &Programs,
    mut counters: Vec<Counter>,
) -> Result<BTreeMap<String, Row>, String> {
    // The long ones first, or one of them would be left alone at the end.
    counters.sort_by_key(|counter| !counter.is_heavy());
    let waiting = Mutex::new(VecDeque::from(counters));
    let next = || {
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.pop_front()
    };
    let work = || {
        let mut rows = Vec::new();
        while let Some(counter) = next() {
            rows.push((counter.name().to_owned(), counter.count(programs)?));
        }
        Ok::<_, String>(rows)
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(work)).collect();
        let mut rows = BTreeMap::new();
        for worker in workers {
            let counted = worker.join().map_err(|_| "a count panicked".to_owned())?;
            rows.extend(counted?);
        }
        Ok(rows)
    })
}

/// Returns what one request of `mode` adds to the tools' counts, or what a whole start is.
fn per_request(programs: &Programs, mode: &Mode) -> Result<Row, String> {
    let (shorter, longer) = (mode.requests, 2 * mode.requests);
    let whole = matches!(mode.work, Work::Start);
    let requests = if whole { 1.0 } else { mode.requests as f64 };
    let run = |requests| Run::new(programs, mode, requests);

    let once = if whole {
        BTreeMap::new()
    } else {
        run(shorter).instructions()?
    };
    let mut rooms = run(longer).instructions()?;
    for (room, cost) in &mut rooms {
        *cost = (*cost - once.get(room).unwrap_or(&0.0)) / requests;
    }
    let mut row = Row {
        instructions: Some(rooms.values().sum()),
        rooms,
        ..Row::default()
    };
    if mode.heap {
        let twice = run(longer).heap()?;
        let (blocks, bytes) = if whole {
            (0.0, 0.0)
        } else {
            run(shorter).heap().map(|once| (once.blocks, once.bytes))?
        };
        row.allocations = Some((twice.blocks - blocks) / requests);
        row.bytes = Some((twice.bytes - bytes) / requests);
    }
    Ok(row)
}

/// Returns what counts depend on beside the code and its lock file.
pub(super) fn counted_with(valgrind: &str) -> BTreeMap<String, String> {
    let unknown = || "unknown".to_owned();
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let vectors = if cpu.split_whitespace().any(|flag| flag == "avx2") {
        " with avx2"
    } else {
        ""
    };
    [
        ("cpu", format!("{}{vectors}", std::env::consts::ARCH)),
        (
            "libc",
            first_line_of("ldd", &["--version"]).unwrap_or_else(unknown),
        ),
        (
            "rustc",
            first_line_of("rustc", &["--version"]).unwrap_or_else(unknown),
        ),
        ("valgrind", valgrind.to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}
