//! The error of an invalid skill.

use std::fmt;

use turnbuckle_types::base::text::shorten_to;

/// The longest reason, in characters: it may quote text of a peer or of a file.
const MAX_CHARS: usize = 400;

/// The reason why a skill, an entry, a URI, a name, a digest or frontmatter is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSkill(String);

impl InvalidSkill {
    pub(crate) fn new(reason: impl fmt::Display) -> Self {
        Self(shorten_to(&reason.to_string(), MAX_CHARS))
    }
}

impl From<InvalidSkill> for String {
    fn from(error: InvalidSkill) -> Self {
        error.0
    }
}
