//! Failures of requests, as spans, log lines, metrics and audit records show them.

use crate::shared::panic_guard::HandlerPanic;
use turnbuckle_types::{AuditOutcome, ErrorKind, ProtocolError, UpstreamFailure};

/// The cause of a failed request, where its reply does not tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    /// The arguments do not match the parameters.
    InvalidArguments,
    /// The tool or prompt does not exist for the caller.
    UnknownItem,
    /// The handler panicked.
    Panic,
    /// A limit was reached: the setting of that name.
    Limit(&'static str),
    /// Another server, which the request was passed on to, has not served it.
    Upstream(UpstreamFailure),
}

/// The facts about a failed request beside its reply.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FailureFacts {
    pub(crate) cause: Option<FailureCause>,
    /// True if the log has the failure already.
    pub(crate) is_logged: bool,
}

/// The way in which a request failed.
pub(crate) struct TracedFailure<'a> {
    /// The code of the error response, `tool_error`, or a short name of the failure.
    pub(super) error_type: &'a str,
    /// The code, if the failure is an error response.
    pub(super) code: Option<i64>,
    /// True if the log has the failure already.
    pub(super) is_logged: bool,
    /// The outcome for the audit log.
    pub(super) outcome: AuditOutcome<'a>,
    /// The setting of the limit that was reached, if one was.
    pub(super) limit: Option<&'static str>,
}

impl<'a> TracedFailure<'a> {
    pub(crate) const TOOL_ERROR: TracedFailure<'static> =
        TracedFailure::new("tool_error", AuditOutcome::ToolError);
    pub(super) const CANCELLED: TracedFailure<'static> =
        TracedFailure::new("cancelled", AuditOutcome::Cancelled);

    const fn new(error_type: &'a str, outcome: AuditOutcome<'a>) -> Self {
        Self {
            error_type,
            code: None,
            is_logged: false,
            outcome,
            limit: None,
        }
    }

    /// Returns the failure of a request that this side sent.
    pub(crate) const fn from_type(error_type: &'a str) -> Self {
        Self::new(error_type, AuditOutcome::Cancelled)
    }

    /// Returns the failure of a request whose handler took too long.
    pub(crate) const fn timeout(facts: FailureFacts) -> Self {
        let mut failure = Self::new("timeout", AuditOutcome::TimedOut);
        if let Some(FailureCause::Limit(limit)) = facts.cause {
            failure.limit = Some(limit);
        }
        failure
    }

    /// Returns the failure of a request that was answered with an error response of this code.
    pub(super) fn from_code(code: i64, text: &'a str) -> Self {
        Self {
            code: Some(code),
            ..Self::new(text, AuditOutcome::Error { code })
        }
    }

    /// Adds what is known beside the reply.
    pub(super) fn with_facts(mut self, facts: FailureFacts) -> Self {
        self.is_logged |= facts.is_logged;
        match facts.cause {
            Some(FailureCause::InvalidArguments) => self.outcome = AuditOutcome::InvalidArguments,
            Some(FailureCause::UnknownItem) => self.outcome = AuditOutcome::UnknownItem,
            Some(FailureCause::Panic) => self.outcome = AuditOutcome::Panicked,
            Some(FailureCause::Limit(limit)) => {
                self.outcome = AuditOutcome::Refused { limit };
                self.limit = Some(limit);
            }
            Some(FailureCause::Upstream(failure)) => {
                self.outcome = AuditOutcome::Upstream(failure);
            }
            None => {}
        }
        self
    }

    /// Adds what an error says beside its code.
    pub(super) fn with_error(mut self, error: &'a ProtocolError) -> Self {
        match (error.limit(), error.kind()) {
            (Some(limit), _) => {
                self.outcome = AuditOutcome::Refused { limit };
                self.limit = Some(limit);
            }
            (None, ErrorKind::Forbidden(needed)) => {
                self.outcome = AuditOutcome::MissingScopes(needed);
            }
            (None, ErrorKind::MethodNotFound) => self.outcome = AuditOutcome::UnknownMethod,
            (None, ErrorKind::ResourceNotFound) => self.outcome = AuditOutcome::UnknownItem,
            (None, _)
                if error
                    .cause()
                    .is_some_and(|cause| cause.is::<HandlerPanic>()) =>
            {
                self.outcome = AuditOutcome::Panicked;
                self.is_logged = HandlerPanic::is_logged();
            }
            (None, _) => {}
        }
        self
    }

    /// Returns whether the request was answered with a result.
    pub(super) fn has_result(&self) -> bool {
        self.error_type == Self::TOOL_ERROR.error_type
    }
}
