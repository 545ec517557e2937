//! Why a command could not do its work, and what to do about it.

use std::fmt;

/// Something to tell the person who ran the command.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    hint: Option<String>,
}

impl Failure {
    /// What went wrong, in words that follow "error: ".
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: None,
        }
    }

    /// Adds what to try next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\n\n  tip: {hint}"),
            None => Ok(()),
        }
    }
}
