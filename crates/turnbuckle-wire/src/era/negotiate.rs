//! The pure choice of a revision: in the legacy handshake, and by what a probe learns of a server.
//!
//! Specification: basic/lifecycle, "Version Negotiation" (2025-11-25); basic/versioning
//! (2026-07-28).

use serde::Deserialize;
use turnbuckle_types::ErrorObject;

use super::error::{HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION};
use crate::revision::{EraKind, Revision};

/// What an error says of the server that answered a probe with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// It speaks this revision.
    Speaks(Revision),
    /// It is modern, but speaks no revision that is spoken here; these it said.
    NothingInCommon(Vec<String>),
    /// It is modern, and something else is wrong with the request.
    Modern,
    /// It knows nothing of the modern era.
    Legacy,
}

/// The revision to speak with a server that supports these: the newest that both know.
#[must_use]
pub fn select(supported: &[String]) -> Option<Revision> {
    let known = |revision: &Revision| supported.iter().any(|text| text == revision.as_str());
    Revision::ALL.into_iter().rev().find(known)
}

/// Judges a server by the error with which it answered a modern request. Nothing rests on one
/// number alone: legacy servers refuse what they do not know in many ways.
#[must_use]
pub fn judge(error: &ErrorObject) -> Judgement {
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
                Some(Supported { supported }) => match select(&supported) {
                    Some(revision) => Judgement::Speaks(revision),
                    None => Judgement::NothingInCommon(supported),
                },
                None => Judgement::Modern,
            }
        }
        HEADER_MISMATCH | MISSING_CAPABILITY => Judgement::Modern,
        _ => Judgement::Legacy,
    }
}

/// Whether only a modern server answers with such an error.
#[must_use]
pub fn is_modern_error(error: &ErrorObject) -> bool {
    judge(error) != Judgement::Legacy
}

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

    fn error(json: &str) -> ErrorObject {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn only_what_a_modern_server_says_is_taken_for_one() {
        let named = |list: &str| {
            error(&format!(
                r#"{{"code":-32022,"message":"","data":{{"supported":{list},"requested":"x"}}}}"#
            ))
        };
        let newest = Revision::NEWEST.as_str();
        assert_eq!(
            judge(&named(&format!(r#"["1900-01-01","{newest}"]"#))),
            Judgement::Speaks(Revision::NEWEST)
        );
        assert_eq!(
            judge(&named(r#"["2025-06-18"]"#)),
            Judgement::Speaks(Revision::V2025_06_18)
        );
        assert_eq!(
            judge(&named(r#"["2999-01-01"]"#)),
            Judgement::NothingInCommon(vec!["2999-01-01".into()])
        );
        for modern in [-32020, -32021, -32022] {
            let bare = error(&format!(r#"{{"code":{modern},"message":""}}"#));
            assert_eq!(judge(&bare), Judgement::Modern);
            assert!(is_modern_error(&bare));
        }
        for legacy in [-32601, -32602, -32600, -32000, -32603, 0, 404] {
            let plain = error(&format!(r#"{{"code":{legacy},"message":"no"}}"#));
            assert_eq!(judge(&plain), Judgement::Legacy, "{legacy}");
        }
    }
}
