//! The audit log: one line of JSON for each call, and for each refusal of any request.
//!
//! The records are those of the server ([`Audit`]): each request has one, also those that were refused for a
//! token, a scope, a limit, or a name that does not exist. Here they get the upstream, and count for the
//! metrics.

mod line;
mod writer;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use turnbuckle::types::{Audit, AuditOutcome, AuditRecord, UpstreamFailure};
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::method::{
    CallTool, Complete, GetPrompt, ReadResource, Request as _, Subscribe,
};

use crate::event::{Event, OutcomeName};
use crate::metrics::Metrics;
use crate::routes::{Routes, Target};
pub(crate) use writer::{AuditPlace, AuditWriter};

/// Receives the records of a gateway: writes lines, and counts.
pub(crate) struct AuditLog {
    writer: Option<AuditWriter>,
    metrics: Arc<Metrics>,
    /// The key of the digests of arguments.
    key: [u8; 32],
    /// The ways to the upstreams, once they are started.
    routes: OnceLock<Routes>,
}

debug_fields!(AuditLog { writer });

impl AuditLog {
    pub(crate) fn new(writer: Option<AuditWriter>, metrics: Arc<Metrics>, key: [u8; 32]) -> Self {
        Self {
            writer,
            metrics,
            key,
            routes: OnceLock::new(),
        }
    }

    /// Sets the ways to the upstreams.
    pub(crate) fn set_routes(&self, routes: Routes) {
        self.routes.get_or_init(|| routes);
    }

    /// Waits until the lines that were recorded before are written.
    pub(crate) fn flush(&self, timeout: Duration) {
        if let Some(writer) = &self.writer {
            writer.flush(timeout);
        }
    }

    /// Writes the line of an event and counts it.
    pub(crate) fn add(&self, event: &Event<'_>) {
        self.metrics.count(event);
        if let Some(writer) = &self.writer
            && is_written(event)
        {
            writer.write(line::format(event, std::time::SystemTime::now()));
        }
    }
}

impl Audit for AuditLog {
    fn record(&self, record: &AuditRecord<'_>) {
        let has_failed = record.outcome != AuditOutcome::Completed;
        let named = self.routes.get().zip(record.method.zip(record.target));
        let target =
            named.and_then(|(routes, (method, name))| routes.find(method, name, has_failed));
        let (outcome, detail) = outcome(record, target.as_ref());
        self.add(&Event {
            record,
            target,
            outcome,
            detail,
        });
    }

    fn digest_arguments(&self, arguments: &str) -> Option<[u8; 16]> {
        self.writer.as_ref()?;
        // Half of the hash, from which nobody can go on to the hash of longer arguments.
        let hash = Sha256::new().chain_update(self.key).chain_update(arguments);
        let hash = hash.finalize();
        hash.first_chunk().copied()
    }
}

/// The methods of calls, each of which has a line.
const CALLS: [&str; 5] = [
    CallTool::METHOD,
    GetPrompt::METHOD,
    ReadResource::METHOD,
    Complete::METHOD,
    Subscribe::METHOD,
];

/// Returns whether an event has a line: each call and each refusal, but not lists and signs of life that
/// succeed.
fn is_written(event: &Event<'_>) -> bool {
    let is_call = event.record.method.is_some_and(|it| CALLS.contains(&it));
    is_call || event.record.outcome != AuditOutcome::Completed
}

/// Returns the outcome of a request that its upstream has not served. The detail is the key of the file.
fn of_upstream(failure: UpstreamFailure) -> (OutcomeName, Option<String>) {
    let (outcome, detail) = match failure {
        UpstreamFailure::TimedOut => ("timed_out", "limits.timeout"),
        UpstreamFailure::Silent => ("timed_out", "the upstream was silent"),
        UpstreamFailure::TooManyInFlight => ("refused", "limits.in_flight"),
        UpstreamFailure::TooManyConnections => ("refused", "connections"),
        UpstreamFailure::ResultTooLarge => ("refused", "limits.result_bytes"),
        _ => ("upstream_unavailable", "not connected"),
    };
    (outcome, Some(detail.to_owned()))
}

/// Returns the name of an outcome, and what else is to say about it.
fn outcome(record: &AuditRecord<'_>, target: Option<&Target>) -> (OutcomeName, Option<String>) {
    let is_down = target.is_some_and(|it| !it.is_ready);
    let is_denied = target.is_some_and(|it| it.is_denied);
    match record.outcome {
        AuditOutcome::Completed => ("completed", None),
        AuditOutcome::UnknownItem if is_denied => ("denied", None),
        AuditOutcome::UnknownItem | AuditOutcome::ToolError | AuditOutcome::Error { .. }
            if is_down =>
        {
            ("upstream_unavailable", None)
        }
        AuditOutcome::UnknownItem => ("unknown_item", None),
        AuditOutcome::UnknownMethod => ("unknown_method", None),
        AuditOutcome::ToolError => ("tool_error", None),
        AuditOutcome::InvalidArguments => ("invalid_arguments", None),
        AuditOutcome::MissingScopes(needed) => ("missing_scopes", Some(needed.scopes.join(" "))),
        AuditOutcome::Refused { limit } => ("refused", Some(limit.to_owned())),
        AuditOutcome::Upstream(UpstreamFailure::Unavailable) if is_denied => ("denied", None),
        AuditOutcome::Upstream(failure) => of_upstream(failure),
        AuditOutcome::Unauthorized { status, error } => (
            "unauthorized",
            Some(error.map_or_else(|| status.to_string(), ToOwned::to_owned)),
        ),
        AuditOutcome::Error { code } => ("error", Some(code.to_string())),
        AuditOutcome::TimedOut => ("timed_out", None),
        AuditOutcome::Cancelled => ("cancelled", None),
        AuditOutcome::Panicked => ("panicked", None),
        _ => ("other", None),
    }
}
