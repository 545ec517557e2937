//! Faults of skills: what was left out of a server, and why.

use std::fmt;

/// The most faults that are kept.
const MAX_FAULTS: usize = 1000;

/// A fault of a skill, or of something in a folder of skills.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillFault {
    /// The path of the folder or file, or the URI of a skill that is made in code.
    pub place: String,
    /// The rule that is broken, and where.
    pub reason: String,
    /// True if the skill is served nevertheless; false if it is left out.
    pub is_served: bool,
}

impl fmt::Display for SkillFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = if self.is_served {
            "is served, but"
        } else {
            "is left out:"
        };
        write!(f, "{} {outcome} {}", self.place, self.reason)
    }
}

/// The faults that were found, up to a bound.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<SkillFault>);

impl Faults {
    /// Adds a fault for which something is left out.
    pub(super) fn leave_out(&mut self, place: impl Into<String>, reason: impl Into<String>) {
        self.add(place.into(), reason.into(), false);
    }

    /// Adds a fault of a skill that is served.
    pub(super) fn warn(&mut self, place: impl Into<String>, reason: impl Into<String>) {
        self.add(place.into(), reason.into(), true);
    }

    fn add(&mut self, place: String, reason: String, is_served: bool) {
        if self.0.len() < MAX_FAULTS {
            self.0.push(SkillFault {
                place,
                reason,
                is_served,
            });
        }
    }

    pub(super) fn into_vec(self) -> Vec<SkillFault> {
        self.0
    }
}
