//! The error of a command: what went wrong and what to try next.

use std::fmt;

use serde::Serialize;
use turnbuckle::types::ErrorObject;

use crate::exit_status::ExitStatus;
use crate::output::sanitize;

/// An error that is printed to standard error, for a person or as JSON.
#[derive(Debug)]
pub(crate) struct CliError {
    message: String,
    hint: Option<String>,
    status: ExitStatus,
    response: Option<Box<ErrorObject>>,
    silent: bool,
}

impl CliError {
    /// Creates an error. The message follows "error: ".
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self {
            message: what.into(),
            hint: None,
            status: ExitStatus::Failed,
            response: None,
            silent: false,
        }
    }

    /// Creates an error for a wrong use of the command line.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::new(what).status(ExitStatus::Usage)
    }

    /// Creates a silent error for a reader that closed standard output. It prints nothing and exits
    /// with 0.
    pub(crate) fn closed_output() -> Self {
        Self {
            silent: true,
            ..Self::new("")
        }
    }

    /// Sets the exit status.
    pub(crate) fn status(mut self, exit: ExitStatus) -> Self {
        self.status = exit;
        self
    }

    /// Sets what to try next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Attaches the error response of the server.
    pub(crate) fn response(mut self, refusal: ErrorObject) -> Self {
        self.response = Some(Box::new(refusal));
        self
    }

    /// Returns the exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match self.silent {
            true => 0,
            false => self.status.code(),
        }
    }

    /// Prints the error to standard error: as text, or as one line of JSON.
    pub(crate) fn print(&self, json: bool) {
        if self.silent {
            return;
        }
        match json.then(|| serde_json::to_string(&self.report())) {
            Some(Ok(line)) => eprintln!("{line}"),
            _ => eprintln!("{self}"),
        }
    }

    fn report(&self) -> ErrorReport<'_> {
        ErrorReport {
            error: ErrorDetails {
                code: self.status.name(),
                exit_code: self.status.code(),
                message: &self.message,
                hint: self.hint.as_deref(),
                response: self.response.as_deref(),
            },
        }
    }
}

#[derive(Serialize)]
struct ErrorReport<'a> {
    error: ErrorDetails<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorDetails<'a> {
    code: &'static str,
    exit_code: u8,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    /// The error of the server as received.
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<&'a ErrorObject>,
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", sanitize(&self.message))?;
        match &self.hint {
            Some(hint) => write!(f, "\n\n  tip: {}", sanitize(hint)),
            None => Ok(()),
        }
    }
}
