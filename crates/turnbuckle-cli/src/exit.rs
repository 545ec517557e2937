//! How the tool ends: one number per kind of failure.

use turnbuckle::client::Error;
use turnbuckle::session::LinkError;

use crate::failure::Failure;

/// Why the tool did not do what it was asked to. The numbers are a promise to scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Something here went wrong.
    Failed = 1,
    /// It was called wrongly.
    Usage = 2,
    /// The server wants to know on whose behalf it is asked.
    AuthNeeded = 3,
    /// The server cannot be reached, or was lost.
    Unreachable = 4,
    /// A tool failed, or the server refused: what was asked for is not there, for one.
    Refused = 5,
    /// The server broke the protocol.
    Violation = 6,
    /// The server did not answer in time.
    TimedOut = 8,
    /// The user ended it.
    Interrupted = 130,
}

impl Exit {
    /// The exit code.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// The kind in a word, for programs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::AuthNeeded => "auth_required",
            Self::Unreachable => "unreachable",
            Self::Refused => "tool_error",
            Self::Violation => "protocol_violation",
            Self::TimedOut => "timeout",
            Self::Interrupted => "interrupted",
        }
    }

    fn of(error: &Error) -> Self {
        match error {
            Error::Refused(_) | Error::ToolFailed(_) | Error::Unsupported { .. } => Self::Refused,
            Error::Unauthorized { .. } => Self::AuthNeeded,
            Error::TimedOut(_) | Error::NotReady { .. } => Self::TimedOut,
            Error::Incompatible { .. }
            | Error::InvalidResult { .. }
            | Error::OutputMismatch { .. }
            | Error::UnusableOutputSchema { .. }
            | Error::EndlessList { .. }
            | Error::TooManyRounds { .. }
            | Error::Lost {
                reason: LinkError::Violation { .. } | LinkError::TooLarge { .. },
                ..
            } => Self::Violation,
            Error::Unreachable { .. } | Error::Lost { .. } | Error::GivenUp { .. } => {
                Self::Unreachable
            }
            Error::Unwritable(_) => Self::Usage,
            _ => Self::Failed,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = Self::new(error.to_string()).exit(Exit::of(&error));
        match error {
            Error::Refused(refusal) => failure.refusal(refusal),
            Error::Unauthorized { status: 401, .. } => failure.hint(
                "`--bearer-env VAR` sends the token that the variable VAR holds, `-H` any header",
            ),
            Error::TimedOut(_) => failure.hint("`--timeout 5m` waits longer"),
            Error::NotReady { .. } => failure.hint("`--connect-timeout 2m` waits longer"),
            Error::Lost {
                reason:
                    LinkError::Status {
                        status: 404 | 405, ..
                    },
                ..
            } => failure.hint("is the path right? Many servers are at /mcp"),
            Error::Unanswered { .. } => failure
                .hint("`--caps` chooses what a server may ask, `--yes` answers with defaults"),
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_as_they_were_promised() {
        let all = [
            (Exit::Failed, 1),
            (Exit::Usage, 2),
            (Exit::AuthNeeded, 3),
            (Exit::Unreachable, 4),
            (Exit::Refused, 5),
            (Exit::Violation, 6),
            (Exit::TimedOut, 8),
            (Exit::Interrupted, 130),
        ];
        assert!(all.iter().all(|(exit, code)| exit.code() == *code));
    }

    #[test]
    fn a_server_that_breaks_the_protocol_is_not_one_that_is_gone() {
        let lost = |reason| Exit::of(&Error::Lost { sent: true, reason });
        let reason = "half a message".to_owned();
        assert_eq!(lost(LinkError::Violation { reason }), Exit::Violation);
        assert_eq!(lost(LinkError::Closed), Exit::Unreachable);
    }
}
