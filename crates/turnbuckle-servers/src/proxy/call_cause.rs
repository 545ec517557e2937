//! Causes of failed requests to a server, as audit records name them.

use serde::{Deserialize, Serialize};
use turnbuckle_server::HandlerContext;
use turnbuckle_session::internal::FailureCause;

/// The cause of a failed request to a server, which the records of an audit have as the limit of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum CallCause {
    /// The request took longer than [`UpstreamOptions::total_timeout`](crate::UpstreamOptions::total_timeout).
    TotalTimeout,
    /// The server sent nothing about the request for too long.
    IdleTimeout,
    /// The request waited too long for others, or too many wait.
    TooManyInFlight,
    /// The result has too many bytes.
    ResultTooLarge,
    /// The server is not connected, or its connection was lost.
    Unavailable,
}

impl CallCause {
    const ALL: [Self; 5] = [
        Self::TotalTimeout,
        Self::IdleTimeout,
        Self::TooManyInFlight,
        Self::ResultTooLarge,
        Self::Unavailable,
    ];

    /// Returns the name of the cause in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TotalTimeout => "UpstreamOptions::total_timeout",
            Self::IdleTimeout => "Timeouts::idle_timeout",
            Self::TooManyInFlight => "UpstreamOptions::max_in_flight",
            Self::ResultTooLarge => "UpstreamOptions::max_result_bytes",
            Self::Unavailable => "the connection to the server",
        }
    }

    /// Returns the cause of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Records the cause of a request that fails.
    pub(super) fn record(self, context: &HandlerContext) {
        context.set_failure_cause(FailureCause::Limit(self.name()));
    }
}
