//! Errors of connecting: what happened during the handshake, and the end of the server's standard error.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use turnbuckle::client::{EraPreference, Error};
use turnbuckle::session::transport::LinkError;

use crate::error::{CliError, ExitStatus, replace_settings};
use crate::observe::Trace;

/// The most lines, and the most characters of each, that are kept of a server's standard error.
const MAX_TAIL_LINES: usize = 8;
const MAX_TAIL_LINE_CHARS: usize = 300;

/// The last lines of a server's standard error.
#[derive(Clone, Default)]
pub(crate) struct StderrTail(Arc<Mutex<Tail>>);

#[derive(Default)]
struct Tail {
    lines: VecDeque<String>,
    /// The trace that has every line.
    trace: Option<Arc<Trace>>,
}

impl StderrTail {
    /// Creates a tail whose lines are written to the trace, too.
    pub(super) fn new(trace: Option<Arc<Trace>>) -> Self {
        let lines = VecDeque::new();
        Self(Arc::new(Mutex::new(Tail { lines, trace })))
    }

    /// Adds a line; the oldest one goes.
    pub(crate) fn push(&self, line: &str) {
        let mut tail = self.lock();
        if let Some(trace) = &tail.trace {
            trace.on_stderr(line);
        }
        if tail.lines.len() == MAX_TAIL_LINES {
            tail.lines.pop_front();
        }
        let start = line.chars().take(MAX_TAIL_LINE_CHARS).collect();
        tail.lines.push_back(start);
    }

    /// Returns the lines with their introduction; empty without lines.
    fn describe(&self) -> String {
        describe_lines(self.lock().lines.iter().map(String::as_str).collect())
    }

    fn lock(&self) -> MutexGuard<'_, Tail> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the last lines of a server's standard error with their introduction; empty without lines.
fn describe_lines(lines: Vec<&str>) -> String {
    if lines.is_empty() {
        String::new()
    } else {
        format!("; its standard error ends with:\n  {}", lines.join("\n  "))
    }
}

/// Returns the end of the standard error of one process. A server that ends at its first message is
/// started again, for a handshake of the legacy era, if it may have read the message: its lines would stand
/// twice in the tail.
fn describe_process(stderr: &str) -> String {
    let lines: Vec<&str> = stderr.lines().collect();
    let last = lines.len().saturating_sub(MAX_TAIL_LINES);
    let cut = |line: &&str| match line.char_indices().nth(MAX_TAIL_LINE_CHARS) {
        Some((end, _)) => end,
        None => line.len(),
    };
    let lines = lines.into_iter().skip(last);
    describe_lines(
        lines
            .map(|line| line.get(..cut(&line)).unwrap_or(line))
            .collect(),
    )
}

/// Returns the error of an attempt to connect. `is_silent` is true if something was sent and nothing
/// came back.
pub(super) fn handshake_error(
    error: Error,
    is_silent: bool,
    tail: &StderrTail,
    era: EraPreference,
) -> CliError {
    let text = match &error {
        Error::ConnectTimedOut { timeout } if is_silent => format!(
            "the server did not answer the handshake within {timeout:?} (--connect-timeout){}",
            tail.describe()
        ),
        Error::ConnectTimedOut { timeout } => format!(
            "the handshake was not complete within {timeout:?} (--connect-timeout){}",
            tail.describe()
        ),
        Error::ConnectionLost {
            reason: LinkError::ProcessExited { status, stderr, .. },
            ..
        } => format!(
            "the server ended during the handshake ({status}){}",
            describe_process(stderr)
        ),
        Error::ConnectionLost { reason, .. } => {
            let reason = replace_settings(&reason.to_string());
            format!("the handshake failed: {reason}{}", tail.describe())
        }
        _ => return explain_tls(error),
    };
    let is_refusal = matches!(
        &error,
        Error::ConnectionLost {
            reason: LinkError::HttpStatus { .. } | LinkError::ProtocolViolation { .. },
            ..
        }
    );
    let failure = CliError::from(error).message(text);
    match era {
        // A server of one era answers the other's first request with an error of its own.
        EraPreference::Auto | EraPreference::StartWith(_) => failure,
        _ if is_refusal => {
            failure.hint("`--era` and `--protocol-version` fix the era: does the server speak it? Without them the tool finds out")
        }
        _ => failure,
    }
}

/// Returns the error for a program that is no server: during the handshake it did what `conduct` says.
pub(super) fn foreign_program_error(error: Error, conduct: &str, tail: &StderrTail) -> CliError {
    let end = match &error {
        Error::ConnectTimedOut { timeout } => {
            format!(", and the handshake was not complete within {timeout:?} (--connect-timeout)")
        }
        Error::ConnectionLost {
            reason: LinkError::ProcessExited { status, .. },
            ..
        } => format!(", and ended ({status})"),
        _ => String::new(),
    };
    let text = format!(
        "the program is no MCP server: {conduct}{end}{}",
        tail.describe()
    );
    CliError::new(text)
        .status(ExitStatus::ProtocolViolation)
        .hint(
            "does the command need an argument that starts its server? A server writes nothing but \
             messages to standard output",
        )
}

/// Returns the error of a connection that was not made, with a hint if the server does not speak TLS.
fn explain_tls(error: Error) -> CliError {
    let failure = CliError::from(error);
    let text = failure.text();
    let hint = "try `http://` instead of `https://`";
    // The words of rustls for bytes that are no TLS record.
    if text.contains("InvalidContentType") {
        let text = format!("the server does not speak TLS at this port: {text}");
        return failure.message(text).hint(hint);
    }
    if text.contains("tls handshake eof") {
        failure.hint(format!(
            "if the server does not speak TLS at this port, {hint}"
        ))
    } else {
        failure
    }
}
