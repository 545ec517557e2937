//! The error of a file that a person keeps beside the tests: a baseline or a lock.

use std::fmt;

/// An error in the text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The line, counted from 1, where one is to blame.
    pub line: Option<usize>,
    /// The fault, in words for the reader of the file.
    pub reason: String,
}

impl FileError {
    pub(crate) fn new(line: Option<usize>, reason: impl Into<String>) -> Self {
        Self {
            line,
            reason: reason.into(),
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl std::error::Error for FileError {}

/// Returns the line in which an offset of a text lies, counted from 1.
pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    before.filter(|byte| **byte == b'\n').count() + 1
}
