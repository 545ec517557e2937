//! The error of a command: what went wrong and what to try next.

mod exit_status;

use std::fmt;
use std::io::{self, Write as _};

use serde::Serialize;
use turnbuckle::auth::client::TranscriptStep;
use turnbuckle::auth::{AuthError, AuthErrorKind};
use turnbuckle::types::ErrorObject;

use crate::json::one_line;
use turnbuckle_types::base::terminal::sanitize;

pub(crate) use exit_status::{ExitStatus, replace_settings};

/// An error that is printed to standard error, for a person or as JSON.
#[derive(Debug)]
pub(crate) struct CliError {
    message: String,
    hint: Option<String>,
    status: ExitStatus,
    response: Option<Box<ErrorObject>>,
    authorization: Option<Box<AuthorizationDetails>>,
    /// True if the JSON error has the steps of the login.
    has_steps: bool,
    silent: bool,
    /// True if the text was printed already.
    is_printed: bool,
}

/// The answer of a server that demands authorization, and why the tool has none.
#[derive(Debug, Clone, Default)]
pub(crate) struct AuthorizationDetails {
    /// The HTTP status of the answer, if there was one.
    pub(crate) status: Option<u16>,
    /// The value of its `WWW-Authenticate`.
    pub(crate) challenge: Option<String>,
    /// The error of the login.
    pub(crate) failure: Option<AuthError>,
}

impl CliError {
    /// Creates an error. The message follows "error: ".
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self {
            message: what.into(),
            hint: None,
            status: ExitStatus::Failed,
            response: None,
            authorization: None,
            has_steps: false,
            silent: false,
            is_printed: false,
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

    /// Adds the number of the line of a script that failed.
    pub(crate) fn at_line(mut self, number: u64) -> Self {
        self.message = format!("line {number}: {}", self.message);
        self
    }

    /// Marks the error as printed: it sets the exit code alone.
    pub(crate) fn mark_printed(mut self) -> Self {
        self.is_printed = true;
        self
    }

    /// Returns whether a script ends with this error, whatever its options say: a signal came, or
    /// nobody reads the output.
    pub(crate) fn ends_script(&self) -> bool {
        self.silent || self.status == ExitStatus::Interrupted
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

    /// Attaches the server's demand for authorization.
    pub(crate) fn authorization(mut self, details: AuthorizationDetails) -> Self {
        self.authorization = Some(Box::new(details));
        self
    }

    /// Sets whether the JSON error has the steps of the login.
    pub(crate) fn steps(mut self, has_steps: bool) -> Self {
        self.has_steps = has_steps;
        self
    }

    /// Returns the error of the login, if one was tried.
    pub(crate) fn auth_error(&self) -> Option<&AuthError> {
        self.authorization.as_ref()?.failure.as_ref()
    }

    /// Returns the value of `WWW-Authenticate` of the server that demands authorization.
    pub(crate) fn challenge(&self) -> Option<&str> {
        self.authorization.as_ref()?.challenge.as_deref()
    }

    /// Returns whether a login of the user can mend this.
    pub(crate) fn needs_login(&self) -> bool {
        self.auth_error().is_some_and(is_login_required)
    }

    /// Returns whether the server answered 401.
    pub(crate) fn is_unauthorized(&self) -> bool {
        self.http_status() == Some(401)
    }

    /// Returns whether the server answered 403.
    pub(crate) fn is_forbidden(&self) -> bool {
        self.http_status() == Some(403)
    }

    fn http_status(&self) -> Option<u16> {
        self.authorization.as_ref()?.status
    }

    /// Returns the words of the server's error response, if there is one.
    pub(crate) fn response_text(&self) -> Option<String> {
        let response = self.response.as_ref()?;
        let data = response.data.as_ref().map(ToString::to_string);
        Some(format!("{} {}", response.message, data.unwrap_or_default()))
    }

    /// Returns the text of the error with what to try next, in one line.
    pub(crate) fn sentence(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{} ({hint})", self.message),
            None => self.message.clone(),
        }
    }

    /// Returns the text of the error.
    pub(crate) fn text(&self) -> &str {
        &self.message
    }

    /// Sets the text of the error.
    pub(crate) fn message(mut self, text: impl Into<String>) -> Self {
        self.message = text.into();
        self
    }

    /// Returns the exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        if self.silent { 0 } else { self.status.code() }
    }

    /// Prints the error to standard error: as text, or as one line of JSON.
    pub(crate) fn print(&self, json: bool) {
        if self.silent || self.is_printed {
            return;
        }
        let text = match json.then(|| serde_json::to_string(&self.report())) {
            Some(Ok(line)) => one_line(&line),
            _ => self.to_string(),
        };
        // `eprintln!` would panic if standard error is closed or full.
        let _ = writeln!(io::stderr(), "{text}");
    }

    fn report(&self) -> ErrorReport<'_> {
        let failure = self.auth_error().filter(|_| self.has_steps);
        ErrorReport {
            error: ErrorDetails {
                code: self.status.name(),
                exit_code: self.status.code(),
                message: &self.message,
                hint: self.hint.as_deref(),
                response: self.response.as_deref(),
                steps: failure.map(|failure| &*failure.transcript().steps),
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
    /// The steps of a login that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<&'a [TranscriptStep]>,
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

impl From<serde_json::Error> for CliError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(format!("the result cannot be written: {error}"))
    }
}

/// Returns whether an error means that the user has to log in.
pub(crate) fn is_login_required(error: &AuthError) -> bool {
    error.kind() == AuthErrorKind::LoginRequired
}
