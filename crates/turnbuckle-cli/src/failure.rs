//! Why a command could not do its work, and what to do about it.

use std::fmt;

use serde::Serialize;
use turnbuckle::types::ErrorObject;

use crate::exit::Exit;
use crate::output::clean;

/// Something to tell the person, or the program, that ran the command.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    hint: Option<String>,
    exit: Exit,
    refusal: Option<Box<ErrorObject>>,
    silent: bool,
}

impl Failure {
    /// What went wrong, in words that follow "error: ".
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: None,
            exit: Exit::Failed,
            refusal: None,
            silent: false,
        }
    }

    /// The command was called wrongly.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::new(what).exit(Exit::Usage)
    }

    /// Nobody reads what is printed any more: no reason for words.
    pub(crate) fn nobody_reads() -> Self {
        Self {
            silent: true,
            ..Self::new("")
        }
    }

    /// The kind of failure.
    pub(crate) fn exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// Adds what to try next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the error that the server answered with.
    pub(crate) fn refusal(mut self, refusal: ErrorObject) -> Self {
        self.refusal = Some(Box::new(refusal));
        self
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self.silent {
            true => 0,
            false => self.exit.code(),
        }
    }

    /// Tells it on standard error: to a person, or as one line of JSON.
    pub(crate) fn tell(&self, json: bool) {
        if self.silent {
            return;
        }
        match json.then(|| serde_json::to_string(&self.envelope())) {
            Some(Ok(line)) => eprintln!("{line}"),
            _ => eprintln!("{self}"),
        }
    }

    fn envelope(&self) -> Envelope<'_> {
        Envelope {
            error: Told {
                code: self.exit.word(),
                exit_code: self.exit.code(),
                message: &self.what,
                hint: self.hint.as_deref(),
                response: self.refusal.as_deref(),
            },
        }
    }
}

#[derive(Serialize)]
struct Envelope<'a> {
    error: Told<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    code: &'static str,
    exit_code: u8,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    /// The server's error, as it sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<&'a ErrorObject>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", clean(&self.what))?;
        match &self.hint {
            Some(hint) => write!(f, "\n\n  tip: {}", clean(hint)),
            None => Ok(()),
        }
    }
}
