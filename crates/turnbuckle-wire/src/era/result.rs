//! The type that a result states.
//!
//! Specification: basic/index, "Responses" (2026-07-28).

use std::borrow::Cow;

use serde::Deserialize;

use turnbuckle_types::Json;

use crate::revision::Features;

/// The meaning of a result, as its `resultType` says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultType {
    /// The answer. So is a result that does not state its type.
    Complete,
    /// Questions that have to be answered first.
    InputRequired,
    /// A type of an extension, with its name.
    Other(String),
}

/// The member of a result that names its type.
pub const RESULT_TYPE: &str = "resultType";

/// Returns whether a result whose `resultType` is `said` is the answer, for a peer with `features`.
#[must_use]
pub fn is_complete(result_type: Option<&Json>, features: &Features) -> bool {
    !features.result_envelope
        || result_type.is_none_or(|result_type| result_type.as_str() == "\"complete\"")
}

/// The most characters of a type's name that are kept.
const SHOWN: usize = 64;

/// Returns the type of the result `json` from a server with `features`; `None` when it is no object.
#[must_use]
pub fn result_type(json: &str, features: &Features) -> Option<ResultType> {
    if !json.starts_with('{') {
        return None;
    }
    if !features.result_envelope {
        return Some(ResultType::Complete);
    }
    let stated: StatedType<'_> = serde_json::from_str(json).ok()?;
    Some(match &*stated.result_type {
        "complete" => ResultType::Complete,
        "input_required" => ResultType::InputRequired,
        other => ResultType::Other(other.chars().take(SHOWN).collect()),
    })
}

#[derive(Deserialize)]
struct StatedType<'a> {
    #[serde(borrow, default = "complete", rename = "resultType")]
    result_type: Cow<'a, str>,
}

fn complete() -> Cow<'static, str> {
    "complete".into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revision::Revision;

    #[test]
    fn absent_is_complete_and_unknown_is_named() {
        let modern = Revision::NEWEST.features();
        let of = |json| result_type(json, modern);
        assert_eq!(of("{}"), Some(ResultType::Complete));
        assert_eq!(
            of(r#"{"resultType":"complete"}"#),
            Some(ResultType::Complete)
        );
        assert_eq!(
            of(r#"{"x":[1,{}],"resultType":"input_required"}"#),
            Some(ResultType::InputRequired)
        );
        assert_eq!(
            of(r#"{"resultType":"task"}"#),
            Some(ResultType::Other("task".into()))
        );
        assert_eq!(of(r#"{"resultType":1}"#), None);
        assert_eq!(of("[]"), None);
        let legacy = Revision::NEWEST_LEGACY.features();
        assert_eq!(
            result_type(r#"{"resultType":"task"}"#, legacy),
            Some(ResultType::Complete)
        );
    }
}
