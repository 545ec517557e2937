//! Faults that a test switches on while the server runs.

use std::time::Duration;

use http::StatusCode;

use super::answer::Refusal;

/// The faults of a running test server. All are off by default.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use turnbuckle_auth_testing::{FailedRequests, TestAuthorizationServer};
///
/// let server = TestAuthorizationServer::builder().start().await?;
/// server.set_faults(|faults| {
///     faults.failed_refreshes = FailedRequests::new(2, 503, "temporarily_unavailable");
/// });
/// // … the next two refresh requests fail …
/// server.reset_faults();
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Faults {
    /// Token requests other than refreshes that fail. They have no effect.
    pub failed_token_requests: FailedRequests,
    /// Refresh requests that fail. Their refresh tokens stay valid.
    pub failed_refreshes: FailedRequests,
    /// Requests for a metadata document that fail.
    pub failed_metadata_requests: FailedRequests,
    /// The number of the next token requests other than refreshes whose connection is closed instead
    /// of an answer. The code is spent.
    pub dropped_token_answers: u32,
    /// The number of the next refresh requests whose connection is closed instead of an answer. The
    /// refresh token is spent, and its successor is lost with the answer.
    pub dropped_refresh_answers: u32,
    /// The number of the next authorization requests that are denied as if the user had done so.
    pub denied_authorizations: u32,
    /// The delay of each answer, at most 60 seconds.
    pub delay: Duration,
    /// The size to which metadata documents are padded, in bytes, at most 64 MiB.
    pub metadata_bytes: usize,
    /// Another issuer in metadata documents.
    pub metadata_issuer: Option<String>,
    /// Leaves `code_challenge_methods_supported` out of metadata documents.
    pub omit_pkce_methods: bool,
    /// Leaves `iss` out of authorization responses, though metadata announces it.
    pub omit_response_issuer: bool,
    /// Another `iss` in authorization responses.
    pub response_issuer: Option<String>,
    /// Another `state` in authorization responses.
    pub response_state: Option<String>,
    /// Issues no refresh tokens.
    pub withhold_refresh_tokens: bool,
    /// Leaves `expires_in` out of token answers.
    pub omit_expires_in: bool,
    /// Leaves `scope` out of token answers.
    pub omit_scope: bool,
    /// Leaves `resource` out of the assertions that token exchange issues.
    pub omit_id_jag_resource: bool,
    /// The lifetime of access tokens, instead of the builder's.
    pub token_ttl: Option<Duration>,
    /// The seconds by which the clock of the server is ahead of the system's: codes and tokens expire early.
    pub clock_advance_seconds: u64,
}

/// A number of requests that fail, and their answer.
#[derive(Debug, Clone, Default)]
pub struct FailedRequests {
    count: u32,
    status: StatusCode,
    error: String,
}

impl FailedRequests {
    /// Creates the answer of the next `count` requests: this status and OAuth error. A status that is
    /// no final HTTP status becomes 500.
    #[must_use]
    pub fn new(count: u32, status: u16, error: &str) -> Self {
        let status = StatusCode::from_u16(status).ok();
        let status = status.filter(|status| !status.is_informational());
        Self {
            count,
            status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            error: error.to_owned(),
        }
    }

    /// Returns the refusal of the next request, if it fails.
    pub(super) fn take(&mut self) -> Option<Refusal> {
        take(&mut self.count).then(|| Refusal {
            status: self.status,
            ..Refusal::new(&self.error, "the test server was told to fail")
        })
    }
}

/// Takes one of a number of requests. Returns false if none is left.
pub(super) fn take(count: &mut u32) -> bool {
    let is_left = *count > 0;
    *count = count.saturating_sub(1);
    is_left
}
