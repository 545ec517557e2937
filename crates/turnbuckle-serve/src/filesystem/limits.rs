//! Limits of one call.

use std::time::{Duration, Instant};

use crate::fault::{Fault, Result};

/// Limits of one call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// The bytes that a call reads from files and returns: 8 MiB.
    pub max_read_bytes: usize,
    /// The entries of directories that a call looks at: 100,000.
    pub max_entries: usize,
    /// The directories inside of each other that a call looks into: 64.
    pub max_depth: usize,
    /// The time that a call takes: 30 s.
    pub call_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_read_bytes: 8 << 20,
            max_entries: 100_000,
            max_depth: 64,
            call_timeout: Duration::from_secs(30),
        }
    }
}

impl Limits {
    /// Starts to count for one call.
    pub(super) fn start(&self) -> Budget {
        Budget {
            limits: self.clone(),
            deadline: Instant::now() + self.call_timeout,
            bytes: self.max_read_bytes,
            entries: self.max_entries,
            advice: "ask for less",
        }
    }
}

/// The bytes, entries and time that one call may still use.
pub(super) struct Budget {
    pub(super) limits: Limits,
    pub(super) deadline: Instant,
    /// The bytes that may still be read.
    pub(super) bytes: usize,
    entries: usize,
    /// Advice for a call that would read more bytes than it may.
    pub(super) advice: &'static str,
}

impl Budget {
    /// Fails if the time of the call is over.
    pub(super) fn check_time(&self) -> Result<()> {
        if Instant::now() < self.deadline {
            return Ok(());
        }
        Err(self.too_late())
    }

    /// Returns the error of a call whose time is over.
    pub(super) fn too_late(&self) -> Fault {
        let limit = self.limits.call_timeout;
        Fault::new(format!(
            "the call took longer than {limit:?}, the longest that a call may take: ask for less"
        ))
    }

    /// Takes one entry of a directory.
    pub(super) fn take_entry(&mut self) -> Result<()> {
        self.check_time()?;
        self.entries = self.entries.checked_sub(1).ok_or_else(|| {
            let limit = self.limits.max_entries;
            Fault::new(format!(
                "there are more than {limit} entries, the most that a call looks at: name a directory further down, or leave some out if the tool has `excludePatterns`"
            ))
        })?;
        Ok(())
    }

    /// Takes bytes that were read.
    pub(super) fn take_bytes(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self
            .bytes
            .checked_sub(bytes)
            .ok_or_else(|| self.too_many_bytes())?;
        Ok(())
    }

    /// Returns the error of a call that would read more than it may.
    pub(super) fn too_many_bytes(&self) -> Fault {
        let (limit, advice) = (self.limits.max_read_bytes, self.advice);
        Fault::new(format!(
            "this is more than {limit} bytes (--max-read-bytes): {advice}"
        ))
    }

    /// Fails if a directory is too deep.
    pub(super) fn check_depth(&self, depth: usize) -> Result<()> {
        let limit = self.limits.max_depth;
        if depth < limit {
            return Ok(());
        }
        Err(Fault::new(format!(
            "there are more than {limit} directories inside of each other, the most that a call looks into: name one further down"
        )))
    }
}
