//! Traces: the data that connections carried, and the times.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use super::Toward;

/// Record of the data that each connection carried. Clones share one record.
#[derive(Debug, Clone, Default)]
pub struct Trace(Arc<Mutex<Record>>);

#[derive(Debug, Default)]
struct Record {
    /// True if the data itself is not kept.
    forgets: bool,
    began: Option<Instant>,
    wires: Vec<[Passed; 2]>,
}

/// Data sent over one connection in one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Passed {
    /// The bytes that were sent, whether or not they arrived.
    pub bytes: Vec<u8>,
    /// Number of bytes (in memory: messages) sent so far, and the time, after each write.
    pub steps: Vec<(usize, Duration)>,
}

impl Passed {
    /// Returns every position at which a cut can have a different effect: around each piece that
    /// was sent, and each line if they count; after the first byte of them, in their middle, and
    /// before their last.
    #[must_use]
    pub fn cuts(&self, by_lines: bool) -> Vec<usize> {
        let lines = self.bytes.iter().enumerate();
        let lines = lines.filter(|(_, byte)| by_lines && **byte == b'\n');
        let lines = lines.map(|(at, _)| at + 1);
        let mut ends: Vec<_> = self.steps.iter().map(|step| step.0).chain(lines).collect();
        ends.push(0);
        ends.sort_unstable();
        ends.dedup();
        let mut cuts = ends.clone();
        for pair in ends.windows(2) {
            if let [start, end] = pair
                && end - start > 1
            {
                cuts.extend([start + 1, (start + end) / 2, end - 1]);
            }
        }
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }

    /// Returns the number of messages, of lines or in memory.
    #[must_use]
    pub fn frames(&self) -> usize {
        match self.bytes.len() {
            0 => self.steps.len(),
            _ => self.bytes.iter().filter(|byte| **byte == b'\n').count(),
        }
    }
}

impl Trace {
    /// Creates a trace that does not keep the data.
    pub(super) fn forgetful() -> Self {
        let record = Record {
            forgets: true,
            ..Record::default()
        };
        Self(Arc::new(Mutex::new(record)))
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.0.lock().expect("no panic while it is held")
    }

    /// Records a new connection and returns its number.
    pub(super) fn open(&self) -> usize {
        let mut record = self.record();
        record.began.get_or_insert_with(Instant::now);
        record.wires.push(Default::default());
        record.wires.len() - 1
    }

    /// Records that bytes were sent, or a message that is not kept.
    pub(super) fn pass(&self, wire: usize, toward: Toward, bytes: &[u8]) {
        let mut record = self.record();
        if record.forgets {
            return;
        }
        let at = record
            .began
            .map(|began| began.elapsed())
            .unwrap_or_default();
        let passed = &mut record.wires[wire][toward as usize];
        passed.bytes.extend_from_slice(bytes);
        let sent = match bytes.len() {
            0 => passed.steps.len() + 1,
            _ => passed.bytes.len(),
        };
        passed.steps.push((sent, at));
    }

    /// Returns the number of the next connection.
    pub(super) fn next(&self) -> usize {
        self.record().wires.len()
    }

    /// Returns the data that each connection carried so far, toward the server and toward the
    /// client.
    #[must_use]
    pub fn wires(&self) -> Vec<[Passed; 2]> {
        self.record().wires.clone()
    }

    /// Returns the amounts and times of all writes; equal runs have equal steps.
    #[must_use]
    pub fn steps(&self) -> Vec<[Vec<(usize, Duration)>; 2]> {
        let wires = self.wires();
        let steps = wires
            .into_iter()
            .map(|wire| wire.map(|passed| passed.steps));
        steps.collect()
    }
}
