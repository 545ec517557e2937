//! The error for arguments that do not match a handler's parameters.

use std::fmt;

use turnbuckle_schema::Violations;

/// The mismatches between arguments and a handler's parameters. The text is meant for the model
/// that sent the arguments.
///
/// Specification: server/tools, Error Handling (2026-07-28).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArgumentError(Violations);

impl<V: Into<Violations>> From<V> for ArgumentError {
    fn from(violations: V) -> Self {
        Self(violations.into())
    }
}

impl ArgumentError {
    /// Returns whether the arguments were not checked because of the cost.
    pub(crate) fn is_too_costly(&self) -> bool {
        self.0.is_too_costly()
    }
}

/// The text for the model, which names no setting.
impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_too_costly() {
            return f.write_str(
                "they are too costly to check against the schema: send less, or in smaller parts",
            );
        }
        self.0.describe("arguments").fmt(f)
    }
}

impl std::error::Error for ArgumentError {}
