//! Audit records of messages that are refused before they are served.

use std::net::IpAddr;
use std::sync::Arc;

use turnbuckle_types::{Audit, AuditOutcome, AuditRecord, Principal, ProtocolError, RawJson};
use turnbuckle_wire::era::code_of;
use turnbuckle_wire::revision::Features;

use super::cut;
use super::failure::TracedFailure;
use crate::shared::panic_guard::guard_callback;
use crate::shared::transport::TransportContext;

/// The sender of a message that is refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct RefusedSender<'a> {
    /// The authenticated caller, if there is one.
    pub principal: Option<&'a Principal>,
    /// The network address of the client, if it is known.
    pub address: Option<IpAddr>,
}

impl<'a> From<&'a TransportContext> for RefusedSender<'a> {
    fn from(context: &'a TransportContext) -> Self {
        Self {
            principal: context.principal.as_deref(),
            address: context.address,
        }
    }
}

/// Passes the record of a message that was refused after `micros` to the audit log, if there is one.
/// `method` is that of a request, if it was read.
#[cold]
pub(crate) fn audit_refusal(
    audit: Option<&Arc<dyn Audit>>,
    sender: RefusedSender<'_>,
    method: Option<&str>,
    outcome: AuditOutcome<'_>,
    micros: u64,
) {
    let Some(audit) = audit else {
        return;
    };
    let method = method.map(cut);
    let mut record = AuditRecord::new(outcome);
    record.principal = sender.principal;
    record.client_address = sender.address;
    record.method = method.as_deref();
    record.micros = micros;
    guard_callback(|| audit.record(&record));
}

/// Returns the outcome of a request that an error refuses.
pub(crate) fn refusal_outcome<'a>(
    error: &'a ProtocolError,
    features: &Features,
) -> AuditOutcome<'a> {
    let failure = TracedFailure::from_code(code_of(error.kind(), features), "");
    failure.with_error(error).outcome
}

/// Returns the digest of arguments that the receiver of records makes, if it makes one.
pub(super) fn digest_arguments(
    audit: &Arc<dyn Audit>,
    arguments: Option<RawJson<'_>>,
) -> Option<[u8; 16]> {
    let arguments = arguments?.as_str();
    let mut digest = None;
    guard_callback(|| digest = audit.digest_arguments(arguments));
    digest
}
