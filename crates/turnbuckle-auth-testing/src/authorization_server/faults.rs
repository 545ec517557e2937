//! Faults that a test switches on while the server runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::StatusCode;

use super::answer::Refusal;

/// The longest delay of an answer.
const MAX_DELAY: Duration = Duration::from_secs(60);

/// The largest metadata document, in bytes.
const MAX_DOCUMENT_BYTES: usize = 64 * 1024 * 1024;

/// The fault switches of a running test server. Clones switch the same server.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use turnbuckle_auth_testing::TestAuthorizationServer;
///
/// let server = TestAuthorizationServer::builder().start().await?;
/// server.faults().fail_refresh_requests(2, 503, "temporarily_unavailable");
/// // … the next two refresh requests fail …
/// server.faults().reset();
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Mutex<FaultState>>);

#[derive(Debug, Default)]
struct FaultState {
    token_failures: Option<Failures>,
    refresh_failures: Option<Failures>,
    metadata_failures: Option<Failures>,
    dropped_token_answers: u32,
    dropped_refresh_answers: u32,
    denied_authorizations: u32,
    delay: Duration,
    document_bytes: usize,
    metadata_issuer: Option<String>,
    response_issuer: Option<String>,
    response_state: Option<String>,
    is_issuer_omitted: bool,
    is_pkce_unannounced: bool,
    is_refresh_token_withheld: bool,
    is_expiry_omitted: bool,
    is_scope_omitted: bool,
    is_resource_omitted_in_id_jag: bool,
    token_ttl: Option<Duration>,
    clock_advance: Duration,
}

#[derive(Debug)]
struct Failures {
    left: u32,
    status: StatusCode,
    error: String,
}

impl Failures {
    fn new(count: u32, status: u16, error: &str) -> Self {
        let status = StatusCode::from_u16(status).ok();
        // A status below 200 would announce another answer.
        let status = status.filter(|status| !status.is_informational());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self {
            left: count,
            status,
            error: error.to_owned(),
        }
    }
}

fn take_failure(failures: &mut Option<Failures>) -> Option<Refusal> {
    let found = failures.as_mut().filter(|failures| failures.left > 0)?;
    found.left -= 1;
    Some(Refusal::with_status(found.status, found.error.clone()))
}

fn take(count: &mut u32) -> bool {
    let is_left = *count > 0;
    *count = count.saturating_sub(1);
    is_left
}

impl Faults {
    fn lock(&self) -> MutexGuard<'_, FaultState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Switches all faults off.
    pub fn reset(&self) {
        *self.lock() = FaultState::default();
    }

    /// Fails the next `count` token requests that are no refresh, with this status and OAuth error.
    ///
    /// The request has no effect. A status that is no final HTTP status becomes 500.
    pub fn fail_token_requests(&self, count: u32, status: u16, error: &str) {
        self.lock().token_failures = Some(Failures::new(count, status, error));
    }

    /// Fails the next `count` refresh requests with this status and OAuth error.
    ///
    /// The refresh token stays valid. A status that is no final HTTP status becomes 500.
    pub fn fail_refresh_requests(&self, count: u32, status: u16, error: &str) {
        self.lock().refresh_failures = Some(Failures::new(count, status, error));
    }

    /// Fails the next `count` requests for a metadata document with this status.
    pub fn fail_metadata_requests(&self, count: u32, status: u16) {
        self.lock().metadata_failures = Some(Failures::new(count, status, "server_error"));
    }

    /// Closes the connection instead of sending the answers to the next `count` token requests that
    /// are no refresh. The code is spent.
    pub fn drop_token_answers(&self, count: u32) {
        self.lock().dropped_token_answers = count;
    }

    /// Closes the connection instead of sending the answers to the next `count` refresh requests.
    ///
    /// The refresh token is spent, and its successor is lost with the answer.
    pub fn drop_refresh_answers(&self, count: u32) {
        self.lock().dropped_refresh_answers = count;
    }

    /// Denies the next `count` authorization requests as if the user had done so.
    pub fn deny_authorizations(&self, count: u32) {
        self.lock().denied_authorizations = count;
    }

    /// Delays each answer by this time, at most 60 seconds. Zero ends the delays.
    pub fn delay_answers(&self, delay: Duration) {
        self.lock().delay = delay.min(MAX_DELAY);
    }

    /// Pads metadata documents to this many bytes, at most 64 MiB. Zero ends the padding.
    pub fn pad_metadata(&self, document_bytes: usize) {
        self.lock().document_bytes = document_bytes.min(MAX_DOCUMENT_BYTES);
    }

    /// Sets another issuer in metadata documents. `None` names the right one.
    pub fn set_metadata_issuer(&self, issuer: Option<&str>) {
        self.lock().metadata_issuer = issuer.map(str::to_owned);
    }

    /// Leaves `code_challenge_methods_supported` out of metadata documents.
    pub fn omit_pkce_methods(&self, is_omitted: bool) {
        self.lock().is_pkce_unannounced = is_omitted;
    }

    /// Leaves `iss` out of authorization responses, which metadata announces nevertheless.
    pub fn omit_response_issuer(&self, is_omitted: bool) {
        self.lock().is_issuer_omitted = is_omitted;
    }

    /// Sends another `iss` in authorization responses. `None` sends the right one.
    pub fn set_response_issuer(&self, issuer: Option<&str>) {
        self.lock().response_issuer = issuer.map(str::to_owned);
    }

    /// Sends another `state` in authorization responses. `None` sends the right one.
    pub fn set_response_state(&self, state: Option<&str>) {
        self.lock().response_state = state.map(str::to_owned);
    }

    /// Issues no refresh tokens.
    pub fn withhold_refresh_tokens(&self, is_withheld: bool) {
        self.lock().is_refresh_token_withheld = is_withheld;
    }

    /// Leaves `expires_in` out of token answers.
    pub fn omit_expires_in(&self, is_omitted: bool) {
        self.lock().is_expiry_omitted = is_omitted;
    }

    /// Leaves `scope` out of token answers.
    pub fn omit_scope(&self, is_omitted: bool) {
        self.lock().is_scope_omitted = is_omitted;
    }

    /// Leaves `resource` out of the assertions that token exchange issues.
    pub fn omit_resource_in_id_jag(&self, is_omitted: bool) {
        self.lock().is_resource_omitted_in_id_jag = is_omitted;
    }

    /// Issues access tokens that live this long. `None` returns to the setting of the builder.
    pub fn set_token_ttl(&self, ttl: Option<Duration>) {
        self.lock().token_ttl = ttl;
    }

    /// Puts the server's clock ahead of the system's by this time: codes and tokens expire early there.
    pub fn advance_clock(&self, by: Duration) {
        self.lock().clock_advance = by;
    }

    pub(super) fn clock_advance(&self) -> Duration {
        self.lock().clock_advance
    }

    pub(super) fn take_token_failure(&self) -> Option<Refusal> {
        take_failure(&mut self.lock().token_failures)
    }

    pub(super) fn take_refresh_failure(&self) -> Option<Refusal> {
        take_failure(&mut self.lock().refresh_failures)
    }

    pub(super) fn take_metadata_failure(&self) -> Option<Refusal> {
        take_failure(&mut self.lock().metadata_failures)
    }

    pub(super) fn take_token_drop(&self) -> bool {
        take(&mut self.lock().dropped_token_answers)
    }

    pub(super) fn take_refresh_drop(&self) -> bool {
        take(&mut self.lock().dropped_refresh_answers)
    }

    pub(super) fn take_denial(&self) -> bool {
        take(&mut self.lock().denied_authorizations)
    }

    pub(super) fn delay(&self) -> Duration {
        self.lock().delay
    }

    pub(super) fn document_bytes(&self) -> usize {
        self.lock().document_bytes
    }

    pub(super) fn metadata_issuer(&self) -> Option<String> {
        self.lock().metadata_issuer.clone()
    }

    pub(super) fn is_pkce_unannounced(&self) -> bool {
        self.lock().is_pkce_unannounced
    }

    /// Returns the `iss` of an authorization response, or `None` to leave it out.
    pub(super) fn response_issuer(&self, issuer: &str) -> Option<String> {
        let state = self.lock();
        if state.is_issuer_omitted {
            return None;
        }
        Some(
            state
                .response_issuer
                .clone()
                .unwrap_or_else(|| issuer.to_owned()),
        )
    }

    pub(super) fn response_state(&self) -> Option<String> {
        self.lock().response_state.clone()
    }

    pub(super) fn is_refresh_token_withheld(&self) -> bool {
        self.lock().is_refresh_token_withheld
    }

    pub(super) fn is_expiry_omitted(&self) -> bool {
        self.lock().is_expiry_omitted
    }

    pub(super) fn is_scope_omitted(&self) -> bool {
        self.lock().is_scope_omitted
    }

    pub(super) fn is_resource_omitted_in_id_jag(&self) -> bool {
        self.lock().is_resource_omitted_in_id_jag
    }

    pub(super) fn token_ttl(&self) -> Option<Duration> {
        self.lock().token_ttl
    }
}
