//! Records of requests to a server, for an audit log.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{Principal, RequiredScopes};

/// A receiver of the records of all requests to a server: those that were served, and those that were
/// refused for any reason. A function that takes a record is one.
pub trait Audit: Send + Sync + 'static {
    /// Records a request that has ended. It is called on the path of the request, so it must not
    /// block: hand the record to a queue or a task if it is written to a disk or a network.
    fn record(&self, record: &AuditRecord<'_>);

    /// Returns a digest of the JSON of the arguments of a request, which its record will have. It is called
    /// on the path of the request, before its handler. Default: none.
    ///
    /// Arguments are often short: a digest without a secret key lets whoever reads it try them out.
    fn digest_arguments(&self, arguments: &str) -> Option<[u8; 16]> {
        let _ = arguments;
        None
    }
}

impl<F: Fn(&AuditRecord<'_>) + Send + Sync + 'static> Audit for F {
    fn record(&self, record: &AuditRecord<'_>) {
        self(record);
    }
}

/// The record of one request that has ended.
///
/// Texts of the peer have 256 characters at most, and hidden characters in them are escaped. Arguments
/// are not in it, since they may be confidential.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AuditRecord<'a> {
    /// The authenticated caller, if there is one.
    pub principal: Option<&'a Principal>,
    /// The network address of the client, if it is known.
    pub client_address: Option<IpAddr>,
    /// The method of the request, such as `tools/call`. `None` if the request was refused before its
    /// message was read, or its message is malformed.
    pub method: Option<&'a str>,
    /// The name of the tool or prompt, or the URI.
    pub target: Option<&'a str>,
    /// The size of the arguments as JSON, in bytes; of a completion, that of its argument with its name.
    pub argument_bytes: usize,
    /// The digest of the arguments, if the receiver of records makes one.
    pub argument_digest: Option<[u8; 16]>,
    /// The way in which the request ended.
    pub outcome: AuditOutcome<'a>,
    /// The time from the receipt of the request to its end, in microseconds.
    pub micros: u64,
}

impl<'a> AuditRecord<'a> {
    /// Creates the record of a request of which only the outcome is known.
    #[must_use]
    pub fn new(outcome: AuditOutcome<'a>) -> Self {
        Self {
            principal: None,
            client_address: None,
            method: None,
            target: None,
            argument_bytes: 0,
            argument_digest: None,
            outcome,
            micros: 0,
        }
    }
}

/// The way in which a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditOutcome<'a> {
    /// The request was answered with a result.
    Completed,
    /// A tool answered with an error result.
    ToolError,
    /// The arguments do not match the parameters of the tool or prompt.
    InvalidArguments,
    /// The tool or prompt does not exist for this caller.
    UnknownItem,
    /// The method does not exist.
    UnknownMethod,
    /// The caller lacks scopes that the item requires.
    MissingScopes(&'a RequiredScopes),
    /// The request was refused because of a limit, or of a host or origin that is not allowed.
    Refused {
        /// The setting of the limit, such as `Limits::call_rate`.
        limit: &'static str,
    },
    /// The request was refused before it reached the server, since its caller may not make it.
    Unauthorized {
        /// The status of the HTTP response: 400, 401, 403 or 503.
        status: u16,
        /// The error of the challenge, such as `invalid_token`, if there is one.
        error: Option<&'static str>,
    },
    /// The request was answered with another error response of this code.
    Error {
        /// The code that the client reads.
        code: i64,
    },
    /// The request was passed on to another server, which has not served it.
    Upstream(UpstreamFailure),
    /// The handler took too long.
    TimedOut,
    /// The client cancelled the request or went away.
    Cancelled,
    /// The handler panicked.
    Panicked,
}

/// The reason why a request that was passed on to another server has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum UpstreamFailure {
    /// The server is not connected, or its connection was lost.
    Unavailable,
    /// The request took too long.
    TimedOut,
    /// The server sent nothing about the request for too long.
    Silent,
    /// The request waited too long for others, or too many wait.
    TooManyInFlight,
    /// The clients of the server have as many connections as they may.
    TooManyConnections,
    /// The result has too many bytes.
    ResultTooLarge,
}
