//! Why a request to a server has no result.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use turnbuckle_session::{AskError, Late, LinkError};
use turnbuckle_types::{CallToolResult, ContentBlock, ErrorObject, Json};
use turnbuckle_wire::era::code;
use turnbuckle_wire::revision::Revision;

/// Why there is no result. Every request ends in its result or in one of these.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// The server answered with an error of its own.
    Refused(ErrorObject),
    /// The server could not be reached at all.
    Unreachable {
        /// Which server.
        server: String,
        /// Why not.
        reason: LinkError,
    },
    /// The server wants to know on whose behalf it is asked (401), or does not allow it (403).
    Unauthorized {
        /// The HTTP status.
        status: u16,
        /// The challenge that came with it.
        challenge: Option<String>,
    },
    /// Client and server have no revision in common.
    Incompatible {
        /// What the server speaks, in its own words.
        server: Vec<String>,
    },
    /// The server's revision has no such request, or the server did not declare it.
    Unsupported {
        /// The method.
        method: String,
        /// What is missing.
        reason: &'static str,
        /// The revision that is spoken with the server.
        revision: Revision,
    },
    /// No answer came in time. The request was taken back.
    TimedOut(Late),
    /// The connection was not ready in time
    /// ([`ClientBuilder::connect_timeout`](crate::ClientBuilder::connect_timeout)).
    NotReady {
        /// How long it may take.
        within: Duration,
    },
    /// The connection was lost before the answer came.
    ///
    /// Requests that are safe to repeat were repeated already where another connection could be
    /// had. This one may have been acted upon if `sent` says so; [`Call::send`](crate::Call::send)
    /// makes it again, under a new id.
    Lost {
        /// Whether the server may have acted upon the request.
        sent: bool,
        /// What happened to the connection.
        reason: LinkError,
    },
    /// The server's result is not what its method's page says, or of a type that is not known here.
    InvalidResult {
        /// The method.
        method: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The tool says that it failed; its content tells how.
    ToolFailed(Box<CallToolResult>),
    /// The tool's structured result does not fit the output schema that the tool declared.
    OutputMismatch {
        /// The tool.
        tool: String,
        /// What does not fit.
        reason: String,
    },
    /// The tool declared an output schema that its result cannot be held against: it is not valid, of
    /// a dialect that is not supported, too large, or refers to another document. Nothing is fetched,
    /// and nothing is taken to be valid unseen.
    UnusableOutputSchema {
        /// The tool.
        tool: String,
        /// What is wrong with its schema.
        reason: String,
    },
    /// A list of the server leads back into itself, or has more pages or items than are read.
    EndlessList {
        /// The method.
        method: String,
    },
    /// The server asked for input more often than this client answers for one request
    /// ([`ClientBuilder::max_rounds`](crate::ClientBuilder::max_rounds)).
    TooManyRounds {
        /// How often it may.
        limit: usize,
    },
    /// A question of the server could not be answered.
    Unanswered {
        /// What it asked for.
        method: String,
        /// Why there is no answer.
        reason: String,
    },
    /// Too many requests wait already
    /// ([`ConversationLimits::outgoing`](turnbuckle_session::ConversationLimits::outgoing)).
    TooMany {
        /// How many may.
        limit: usize,
    },
    /// The request has no form in which it could be sent.
    Unwritable(String),
    /// The server had to be connected to again too often
    /// ([`ClientBuilder::reconnects`](crate::ClientBuilder::reconnects)). Requests fail with this until
    /// that time has passed; then the next one connects again.
    GivenUp {
        /// How many connections were opened.
        attempts: usize,
        /// Within which time.
        within: Duration,
        /// What became of the last.
        last: String,
    },
    /// The client was closed.
    Closed,
}

impl Error {
    /// Whether the connection was lost before the answer came.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// Whether no answer, or no connection, came in time.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::TimedOut(_) | Self::NotReady { .. })
    }

    /// The error with which the server answered, if it did.
    #[must_use]
    pub fn refusal(&self) -> Option<&ErrorObject> {
        match self {
            Self::Refused(error) => Some(error),
            _ => None,
        }
    }

    /// Whether the server says that there is no such resource: by the code that older revisions have
    /// for that, or by that of invalid parameters with the resource's URI.
    ///
    /// Specification: server/resources, "Error Handling" (2026-07-28).
    #[must_use]
    pub fn is_resource_not_found(&self) -> bool {
        self.refusal().is_some_and(|refusal| match refusal.code {
            code::RESOURCE_NOT_FOUND => true,
            code::INVALID_PARAMS => {
                let data = refusal
                    .data
                    .as_ref()
                    .map(Json::decode::<HashMap<String, Json>>);
                data.is_some_and(|data| data.is_ok_and(|data| data.contains_key("uri")))
            }
            _ => false,
        })
    }

    pub(crate) fn of_ask(error: AskError, server: &str) -> Self {
        match error {
            AskError::Refused(error) => Self::Refused(error),
            AskError::TimedOut(late) => Self::TimedOut(late),
            AskError::TooMany { limit } => Self::TooMany { limit },
            AskError::Unwritable(reason) => Self::Unwritable(reason),
            AskError::Link { error, sent } => Self::of_link(error, sent, server),
            other => Self::Unwritable(format!("{other:?}")),
        }
    }

    pub(crate) fn of_link(error: LinkError, sent: bool, server: &str) -> Self {
        match error {
            LinkError::Unauthorized { status, challenge } => {
                Self::Unauthorized { status, challenge }
            }
            LinkError::Closed if !sent => Self::Closed,
            reason @ LinkError::Unreachable { .. } => Self::Unreachable {
                server: server.to_owned(),
                reason,
            },
            reason => Self::Lost { sent, reason },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => {
                write!(f, "the server refused: {} ({})", error.message, error.code)
            }
            Self::Unreachable { server, reason } => write!(f, "{server}: {reason}"),
            Self::Unauthorized {
                status: 401,
                challenge,
            } => {
                f.write_str("the server asks for authorization (HTTP 401)")?;
                match challenge {
                    Some(challenge) => write!(f, ": {challenge}"),
                    None => Ok(()),
                }
            }
            Self::Unauthorized { status, .. } => {
                write!(f, "the server does not allow this (HTTP {status})")
            }
            Self::Incompatible { server } => write!(
                f,
                "no revision in common: the server speaks {}",
                match server.is_empty() {
                    true => "none that it names".to_owned(),
                    false => shown(server),
                }
            ),
            Self::Unsupported {
                method,
                reason,
                revision,
            } => write!(
                f,
                "{method} cannot be asked for: {reason} (revision {revision})"
            ),
            Self::TimedOut(Late::Silent(silence)) => {
                write!(
                    f,
                    "no answer within {silence:?} of silence (Patience::silence)"
                )
            }
            Self::TimedOut(Late::InAll(total)) => {
                write!(f, "no answer within {total:?} (Patience::total)")
            }
            Self::NotReady { within } => {
                write!(
                    f,
                    "the connection was not ready within {within:?} (ClientBuilder::connect_timeout)"
                )
            }
            Self::Lost { sent, reason } => {
                let sent = match sent {
                    true => "the server may have acted upon the request",
                    false => "the request was not acted upon",
                };
                write!(f, "{reason}; {sent}")
            }
            Self::InvalidResult { method, reason } => {
                write!(f, "the server's result of {method} is not valid: {reason}")
            }
            Self::ToolFailed(result) => {
                let text = result.content.iter().find_map(|block| match block {
                    ContentBlock::Text(text) => Some(text.text.as_str()),
                    _ => None,
                });
                write!(
                    f,
                    "the tool failed: {}",
                    text.unwrap_or("it does not say how")
                )
            }
            Self::OutputMismatch { tool, reason } => write!(
                f,
                "the result of the tool {tool:?} does not fit its output schema: {reason}"
            ),
            Self::UnusableOutputSchema { tool, reason } => write!(
                f,
                "the result of the tool {tool:?} cannot be held against its output schema: {reason}"
            ),
            Self::EndlessList { method } => {
                write!(
                    f,
                    "the list of {method} does not come to an end (ConversationLimits::list_pages, \
                     list_items)"
                )
            }
            Self::TooManyRounds { limit } => {
                write!(
                    f,
                    "the server asked for input more than {limit} times (ClientBuilder::max_rounds)"
                )
            }
            Self::Unanswered { method, reason } => {
                write!(
                    f,
                    "the server's question ({method}) was not answered: {reason}"
                )
            }
            Self::TooMany { limit } => {
                write!(
                    f,
                    "more than {limit} requests wait for the server (ConversationLimits::outgoing)"
                )
            }
            Self::Unwritable(reason) => write!(f, "the request cannot be sent: {reason}"),
            Self::GivenUp {
                attempts,
                within,
                last,
            } => write!(
                f,
                "given up after {attempts} connections within {within:?} \
                 (ClientBuilder::reconnects); the last one: {last}"
            ),
            Self::Closed => f.write_str("the client was closed"),
        }
    }
}

/// The first of a server's words, as long as revisions are.
fn shown(words: &[String]) -> String {
    let short = words
        .iter()
        .take(8)
        .map(|word| word.chars().take(32).collect());
    let mut shown = short.collect::<Vec<String>>().join(", ");
    if words.len() > 8 {
        shown.push_str(", …");
    }
    shown
}

impl std::error::Error for Error {}
