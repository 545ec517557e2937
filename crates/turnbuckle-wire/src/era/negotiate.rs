//! The choice of a revision: in the legacy handshake, and by the answer to a probe.
//!
//! Specification: basic/lifecycle, "Version Negotiation" (2025-11-25); basic/versioning
//! (2026-07-28).

use serde::Deserialize;
use turnbuckle_types::ErrorObject;

use super::error::{HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION};
use crate::revision::{EraKind, Revision};

/// The kind of server that answered a modern probe with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// A server that supports this revision.
    Supports(Revision),
    /// A modern server without a revision in common; it supports these.
    NoCommonRevision(Vec<String>),
    /// A modern server that objects to something else in the request.
    Modern,
    /// A server that does not know the modern era.
    Legacy,
}

/// Returns the newest revision that both sides know, for a server that supports these.
#[must_use]
pub fn newest_common_revision(supported: &[String]) -> Option<Revision> {
    let known = |revision: &Revision| supported.iter().any(|text| text == revision.as_str());
    Revision::ALL.into_iter().rev().find(known)
}

/// Returns the kind of server that answers a modern request with this error.
///
/// Only the codes of the modern era count: legacy servers refuse an unknown request in many ways.
#[must_use]
pub fn probe_outcome(error: &ErrorObject) -> ProbeOutcome {
    #[derive(Deserialize)]
    struct Supported {
        supported: Vec<String>,
    }
    match error.code {
        UNSUPPORTED_VERSION => {
            let supported = error
                .data
                .as_ref()
                .and_then(|data| data.decode::<Supported>().ok());
            match supported {
                Some(Supported { supported }) => match newest_common_revision(&supported) {
                    Some(revision) => ProbeOutcome::Supports(revision),
                    None => ProbeOutcome::NoCommonRevision(supported),
                },
                None => ProbeOutcome::Modern,
            }
        }
        HEADER_MISMATCH | MISSING_CAPABILITY => ProbeOutcome::Modern,
        _ => ProbeOutcome::Legacy,
    }
}

/// Returns whether only a modern server answers with such an error.
#[must_use]
pub fn is_modern_error(error: &ErrorObject) -> bool {
    probe_outcome(error) != ProbeOutcome::Legacy
}

/// Returns the revision that a server offers to a client that asked for `requested` in its
/// handshake: that one if a handshake can select it, else the newest that it can.
#[must_use]
pub fn negotiate_revision(requested: &str) -> Revision {
    Revision::parse(requested)
        .filter(|revision| revision.features().era == EraKind::Legacy)
        .unwrap_or(Revision::NEWEST_LEGACY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_never_selects_a_modern_revision() {
        for revision in Revision::ALL {
            let offered = negotiate_revision(revision.as_str());
            assert_eq!(offered.features().era, EraKind::Legacy);
            if revision.features().era == EraKind::Legacy {
                assert_eq!(offered, revision);
            }
        }
        assert_eq!(negotiate_revision("1999-01-01"), Revision::NEWEST_LEGACY);
        assert_eq!(negotiate_revision(""), Revision::NEWEST_LEGACY);
    }

    fn error(json: &str) -> ErrorObject {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn only_the_answer_of_a_modern_server_selects_the_modern_era() {
        let named = |list: &str| {
            error(&format!(
                r#"{{"code":-32022,"message":"","data":{{"supported":{list},"requested":"x"}}}}"#
            ))
        };
        let newest = Revision::NEWEST.as_str();
        assert_eq!(
            probe_outcome(&named(&format!(r#"["1900-01-01","{newest}"]"#))),
            ProbeOutcome::Supports(Revision::NEWEST)
        );
        assert_eq!(
            probe_outcome(&named(r#"["2025-06-18"]"#)),
            ProbeOutcome::Supports(Revision::V2025_06_18)
        );
        assert_eq!(
            probe_outcome(&named(r#"["2999-01-01"]"#)),
            ProbeOutcome::NoCommonRevision(vec!["2999-01-01".into()])
        );
        for modern in [-32020, -32021, -32022] {
            let bare = error(&format!(r#"{{"code":{modern},"message":""}}"#));
            assert_eq!(probe_outcome(&bare), ProbeOutcome::Modern);
            assert!(is_modern_error(&bare));
        }
        for legacy in [-32601, -32602, -32600, -32000, -32603, 0, 404] {
            let plain = error(&format!(r#"{{"code":{legacy},"message":"no"}}"#));
            assert_eq!(probe_outcome(&plain), ProbeOutcome::Legacy, "{legacy}");
        }
    }
}
