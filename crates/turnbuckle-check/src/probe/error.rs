//! The ways in which a conversation with a server breaks.

use std::time::Duration;

use turnbuckle_types::base::text::one_line;

/// Lines of the standard error of a program that an error shows: the last ones.
const LAST_LINES: usize = 3;

/// Characters of each of these lines.
const LINE_CHARS: usize = 160;

/// A conversation with a server that broke.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// Something did not come in time.
    #[error("{what} did not come within {limit:?}")]
    TimedOut {
        /// The thing that was waited for.
        what: String,
        /// The time limit.
        limit: Duration,
    },
    /// The server closed the connection.
    #[error("the server closed the connection instead of {what}")]
    Closed {
        /// The thing that was waited for.
        what: String,
    },
    /// The program of the server ended.
    #[error(
        "the program of the server ended ({status}) instead of {what}{}",
        stderr_part(stderr)
    )]
    Ended {
        /// The thing that was waited for.
        what: String,
        /// The exit status, in words.
        status: String,
        /// The end of what the program wrote to its standard error.
        stderr: String,
    },
    /// The server sent something that is not JSON.
    #[error(
        "the server sent something that is not JSON: {}",
        one_line(beginning, 80)
    )]
    NotJson {
        /// The beginning of what was sent.
        beginning: String,
    },
    /// A message, or all messages together, are larger than the limit.
    #[error("the server sent more than {limit} {unit}")]
    TooMuch {
        /// The most that is taken.
        limit: usize,
        /// Name of the things that are counted.
        unit: &'static str,
    },
    /// An HTTP response that carries no answer to its request.
    #[error("HTTP status {status} without an answer{}", body_part(beginning))]
    Status {
        /// HTTP status of the response.
        status: u16,
        /// The beginning of the body.
        beginning: String,
        /// The value of `WWW-Authenticate`.
        challenge: Option<String>,
    },
    /// The connection cannot be opened, or broke.
    #[error("{0}")]
    Io(String),
}

/// Returns the last lines of a standard error, as part of a sentence.
fn stderr_part(stderr: &str) -> String {
    let mut lines: Vec<_> = stderr.lines().filter(|it| !it.trim().is_empty()).collect();
    let surplus = lines.len().saturating_sub(LAST_LINES);
    lines.drain(..surplus);
    if lines.is_empty() {
        return "; it wrote nothing to its standard error".into();
    }
    let lines: Vec<_> = lines.iter().map(|it| one_line(it, LINE_CHARS)).collect();
    format!("; the end of its standard error: {}", lines.join(" | "))
}

fn body_part(beginning: &str) -> String {
    match beginning.is_empty() {
        true => String::new(),
        false => format!(": {}", one_line(beginning, 80)),
    }
}

impl ProbeError {
    /// Returns whether the server cost much time: it did not answer, or sent too much.
    #[must_use]
    pub fn is_costly(&self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::TooMuch { .. })
    }
}

impl From<std::io::Error> for ProbeError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error.to_string())
    }
}
