//! Why a document was not read.

use std::fmt;

use saphyr_parser::ScanError;

/// Why a document was not read, with its line, counted from 1.
#[derive(Debug, Clone, thiserror::Error)]
pub struct Error {
    line: Option<usize>,
    reason: String,
}

impl Error {
    pub(crate) fn syntax(error: &ScanError) -> Self {
        Self::new(error.marker().line(), format!("not YAML: {}", error.info()))
    }

    pub(crate) fn new(line: usize, reason: String) -> Self {
        Self {
            line: Some(line),
            reason,
        }
    }

    pub(crate) fn empty() -> Self {
        Self {
            line: None,
            reason: "it is empty".to_owned(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}
