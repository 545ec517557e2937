//! The errors of a soak, for people.

/// A sentence about something that is not as it should be.
pub(crate) type Problem = String;

/// Returns an error as a sentence.
pub(crate) fn to_problem(error: impl std::fmt::Display) -> Problem {
    error.to_string()
}
