//! Limits of one call, and the text of its result.

use std::time::{Duration, Instant};

use super::repository::no_commit_error;
use crate::fault::{Fault, Result};

/// Limits of one call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// The bytes of a result, beyond which it is cut: 1 MiB.
    pub max_output_bytes: usize,
    /// The bytes of a file that is compared, added or shown: 64 MiB. Larger ones are compared as binary files, and neither
    /// added nor shown; no larger object is shown either.
    pub max_file_bytes: u64,
    /// The commits that a log returns: 1,000.
    pub max_commits: usize,
    /// The time after which a call ends between two steps: 30 s. A call whose step does not end is answered 1 s later.
    pub call_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_output_bytes: 1 << 20,
            max_file_bytes: 64 << 20,
            max_commits: 1_000,
            call_timeout: Duration::from_secs(30),
        }
    }
}

impl From<git2::Error> for Fault {
    fn from(error: git2::Error) -> Self {
        match error.code() {
            git2::ErrorCode::UnbornBranch => no_commit_error(),
            _ => Self::new(error.message()),
        }
    }
}

/// The text of a result, which is cut when it is too long or took too long.
pub(super) struct Output {
    text: String,
    max_bytes: usize,
    deadline: Instant,
}

impl Output {
    /// Creates an empty text.
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            text: String::new(),
            max_bytes: limits.max_output_bytes,
            deadline: Instant::now() + limits.call_timeout,
        }
    }

    /// Adds a part of the text. Returns false if no more can be added.
    pub(super) fn push(&mut self, part: &str) -> bool {
        if self.text.len() + part.len() > self.max_bytes {
            let rest = self.max_bytes.saturating_sub(self.text.len());
            let end = (0..=rest).rev().find(|end| part.is_char_boundary(*end));
            self.text.push_str(&part[..end.unwrap_or(0)]);
            return false;
        }
        self.text.push_str(part);
        Instant::now() < self.deadline
    }

    /// Returns the text, with a note if it was cut.
    pub(super) fn finish(mut self, is_whole: bool) -> String {
        if !is_whole {
            let limit = self.max_bytes;
            self.text.push_str(&format!(
                "\n[cut: longer than {limit} bytes, or than the time of a call]\n"
            ));
        }
        self.text
    }

    /// Fails if the time of the call is over.
    pub(super) fn check_time(&self) -> Result<()> {
        match Instant::now() < self.deadline {
            true => Ok(()),
            false => Err("the call took too long: ask for less".into()),
        }
    }
}
