//! Exit codes: one number for each kind of failure.

use turnbuckle::auth::{AuthError, AuthErrorKind};
use turnbuckle::client::Error;
use turnbuckle::session::transport::LinkError;
use turnbuckle::skills::client::SkillError;

use super::{AuthorizationDetails, CliError};
use crate::args::limits;

/// The kind of a failure, and the exit code of the process. Scripts rely on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// A local failure.
    Failed = 1,
    /// A wrong use of the command line, or a file, a variable or a configuration that it names and that cannot be used.
    Usage = 2,
    /// The server demands authorization.
    AuthNeeded = 3,
    /// The server cannot be reached, or the connection was lost.
    Unreachable = 4,
    /// A tool failed, or the server answered with an error, for example for an unknown name.
    Refused = 5,
    /// The server violated the protocol, or content of it failed verification.
    ProtocolViolation = 6,
    /// The result was printed, but a part of it could not be shown or saved.
    Incomplete = 7,
    /// The server did not answer in time.
    TimedOut = 8,
    /// The user interrupted the command.
    Interrupted = 130,
}

impl ExitStatus {
    /// Returns the exit code.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// Returns the name of the kind in JSON errors.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::AuthNeeded => "auth_required",
            Self::Unreachable => "unreachable",
            Self::Refused => "tool_error",
            Self::ProtocolViolation => "protocol_violation",
            Self::Incomplete => "incomplete",
            Self::TimedOut => "timeout",
            Self::Interrupted => "interrupted",
        }
    }

    /// Classifies an error of the client.
    fn of_error(error: &Error) -> Self {
        match error {
            Error::ErrorResponse(_)
            | Error::ToolFailed(_)
            | Error::TaskCancelled { .. }
            | Error::Unsupported { .. } => Self::Refused,
            Error::Unauthorized { .. } => Self::AuthNeeded,
            Error::TimedOut(_) | Error::ConnectTimedOut { .. } => Self::TimedOut,
            Error::Incompatible { .. }
            | Error::NeedsHandshake
            | Error::InvalidResult { .. }
            | Error::OutputMismatch { .. }
            | Error::UnusableOutputSchema { .. }
            | Error::EndlessList { .. }
            | Error::ListTooLarge { .. }
            | Error::TooManyBytes { .. }
            | Error::ResultTooLarge { .. }
            | Error::TooManyInputRounds { .. }
            | Error::ConnectionLost {
                reason: LinkError::ProtocolViolation { .. } | LinkError::MessageTooLarge { .. },
                ..
            } => Self::ProtocolViolation,
            Error::Unreachable { .. }
            | Error::ConnectionLost { .. }
            | Error::ReconnectsExhausted { .. } => Self::Unreachable,
            Error::InvalidRequest(_) => Self::Usage,
            _ => Self::Failed,
        }
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        let text = match &error {
            // The words of the server stay as they are.
            Error::ErrorResponse(_) | Error::ToolFailed(_) => error.to_string(),
            _ => replace_settings(&error.to_string()),
        };
        let failure = Self::new(text).status(ExitStatus::of_error(&error));
        match error {
            Error::ErrorResponse(refusal) => failure.response(refusal),
            Error::Unauthorized {
                status,
                challenge,
                failure: reason,
                ..
            } => {
                let details = AuthorizationDetails {
                    status: Some(status),
                    challenge,
                    failure: reason.and_then(|reason| reason.downcast_ref().cloned()),
                };
                let failure = failure.authorization(details);
                match status {
                    status if failure.needs_login() => failure.message(describe_demand(status)),
                    401 => failure.hint(
                        "`--bearer-env VAR` sends the token in the variable VAR, `-H` any header",
                    ),
                    _ => failure,
                }
            }
            Error::TimedOut(_) => failure.hint("`--timeout 5m` waits longer"),
            Error::ConnectTimedOut { .. } => failure.hint("`--connect-timeout 2m` waits longer"),
            Error::ConnectionLost {
                reason:
                    LinkError::HttpStatus {
                        status: 404 | 405, ..
                    },
                ..
            } => failure.hint("is the path right? Many servers are at /mcp"),
            Error::InputUnanswered { .. } => failure
                .hint("`--caps` chooses what a server may ask, `--yes` answers with defaults"),
            _ => failure,
        }
    }
}

/// The settings that errors of the library name, and the options of the command that set them, beside
/// those of `--limit`.
const SETTINGS: [(&str, &str); 12] = [
    ("Timeouts::idle_timeout", "--timeout"),
    ("Timeouts::total_timeout", "--timeout"),
    ("ClientBuilder::connect_timeout", "--connect-timeout"),
    ("HttpClientOptions::connect_timeout", "--connect-timeout"),
    (
        "Command::max_message_bytes, HttpClientOptions::max_message_bytes",
        "--max-message-bytes",
    ),
    (
        "ClientLimits::max_list_pages, max_list_items",
        "ClientLimits::max_list_pages, ClientLimits::max_list_items",
    ),
    ("try EraPreference::Auto", "try `--era auto`"),
    (
        "set HttpClientOptions::allow_unencrypted_headers",
        "pass `--insecure-http`",
    ),
    ("ClientBuilder::on_sampling", "--caps sampling"),
    (", or choose a directory by FileStore::open", ""),
    ("SkillReader::allow_dynamic", "`--allow-dynamic`"),
    (" (LoadedSkill::refresh)", ""),
];

/// Replaces settings of the library by the options of the command.
pub(crate) fn replace_settings(text: &str) -> String {
    let text = SETTINGS
        .iter()
        .fold(text.to_owned(), |text, (setting, flag)| {
            text.replace(setting, flag)
        });
    limits::replace_settings(text)
}

/// Describes why a user has to log in, by the HTTP status of the server's answer.
fn describe_demand(status: u16) -> String {
    match status {
        403 => format!("the server asks for a login with more scopes (HTTP {status})"),
        _ => format!("the server asks for a login (HTTP {status})"),
    }
}

impl From<SkillError> for CliError {
    fn from(error: SkillError) -> Self {
        let error = match error {
            SkillError::Request { what, error } => {
                let failure = Self::from(*error);
                let text = format!("{what}: {}", failure.text());
                return failure.message(text);
            }
            error => error,
        };
        let status = match &error {
            SkillError::Missing { .. } => ExitStatus::Refused,
            SkillError::InvalidUri { .. } | SkillError::Unlisted { .. } => ExitStatus::Usage,
            SkillError::InvalidEntry { .. } | SkillError::EndlessList { .. } => {
                ExitStatus::ProtocolViolation
            }
            error if error.is_verification_failure() => ExitStatus::ProtocolViolation,
            _ => ExitStatus::Failed,
        };
        Self::new(replace_settings(&error.to_string())).status(status)
    }
}

impl From<AuthError> for CliError {
    fn from(error: AuthError) -> Self {
        let status = match error.kind() {
            AuthErrorKind::Network => ExitStatus::Unreachable,
            kind if kind.is_store() => ExitStatus::Failed,
            _ => ExitStatus::AuthNeeded,
        };
        let details = AuthorizationDetails {
            failure: Some(error.clone()),
            ..AuthorizationDetails::default()
        };
        Self::new(replace_settings(&error.to_string()))
            .status(status)
            .authorization(details)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use turnbuckle::session::transport::TimeoutKind;
    use turnbuckle::types::ErrorObject;

    use super::*;

    #[test]
    fn exit_codes_never_change() {
        let all = [
            (ExitStatus::Failed, 1),
            (ExitStatus::Usage, 2),
            (ExitStatus::AuthNeeded, 3),
            (ExitStatus::Unreachable, 4),
            (ExitStatus::Refused, 5),
            (ExitStatus::ProtocolViolation, 6),
            (ExitStatus::Incomplete, 7),
            (ExitStatus::TimedOut, 8),
            (ExitStatus::Interrupted, 130),
        ];
        assert!(all.iter().all(|(exit, code)| exit.code() == *code));
    }

    #[test]
    fn errors_name_options_of_the_command() {
        let second = Duration::from_secs(1);
        let lost = |reason| Error::ConnectionLost { sent: true, reason };
        for (error, flag) in [
            (Error::TimedOut(TimeoutKind::Idle(second)), "--timeout"),
            (Error::TimedOut(TimeoutKind::Total(second)), "--timeout"),
            (
                Error::ConnectTimedOut { timeout: second },
                "--connect-timeout",
            ),
            (
                lost(LinkError::MessageTooLarge { limit: 1 }),
                "--max-message-bytes",
            ),
            (Error::NeedsHandshake, "--era auto"),
            (Error::EndlessList { method: "m".into() }, "m"),
            (Error::TooManyInputRounds { limit: 1 }, "1"),
            (Error::TooManyRequests { limit: 1 }, "1"),
            (
                Error::ReconnectsExhausted {
                    attempts: 1,
                    window: second,
                    last_error: String::new(),
                },
                "1",
            ),
        ] {
            let text = CliError::from(error).to_string();
            assert!(text.contains(flag) && !text.contains("::"), "{text}");
        }
        let refusal = ErrorObject::new(
            -32000,
            "see Timeouts::idle_timeout (Timeouts::idle_timeout)",
        );
        let text = CliError::from(Error::ErrorResponse(refusal)).to_string();
        assert!(text.contains("(Timeouts::idle_timeout)"), "{text}");
    }

    #[test]
    fn a_protocol_violation_is_not_a_lost_connection() {
        let lost = |reason| ExitStatus::of_error(&Error::ConnectionLost { sent: true, reason });
        let reason = "half a message".to_owned();
        assert_eq!(
            lost(LinkError::ProtocolViolation { reason }),
            ExitStatus::ProtocolViolation
        );
        assert_eq!(lost(LinkError::Closed), ExitStatus::Unreachable);
    }
}
