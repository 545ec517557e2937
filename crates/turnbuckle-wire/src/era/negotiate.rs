//! The pure choice of a revision in the legacy handshake.
//!
//! Specification: basic/lifecycle, "Version Negotiation" (2025-11-25).

use crate::revision::{EraKind, Revision};

/// What a server offers to a client that asked for `requested` in its handshake: that revision if
/// a handshake can select it, else the newest one that it can.
#[must_use]
pub fn offer(requested: &str) -> Revision {
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
            let offered = offer(revision.as_str());
            assert_eq!(offered.features().era, EraKind::Legacy);
            if revision.features().era == EraKind::Legacy {
                assert_eq!(offered, revision);
            }
        }
        assert_eq!(offer("1999-01-01"), Revision::NEWEST_LEGACY);
        assert_eq!(offer(""), Revision::NEWEST_LEGACY);
    }
}
