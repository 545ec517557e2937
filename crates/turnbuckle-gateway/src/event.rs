//! An ended request with what the gateway knows about it, for the audit log and the metrics.

use turnbuckle::types::AuditRecord;

use crate::routes::Target;

/// The way in which a request ended, as lines and metrics name it.
pub(crate) type OutcomeName = &'static str;

/// The record of a request with what the gateway knows beside it.
pub(crate) struct Event<'a> {
    pub(crate) record: &'a AuditRecord<'a>,
    pub(crate) target: Option<Target>,
    pub(crate) outcome: OutcomeName,
    /// The limit, the scopes, the code or the error of the outcome.
    pub(crate) detail: Option<String>,
}
