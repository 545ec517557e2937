//! The operations of a document that become no tools.

use std::fmt::{self, Display};

use turnbuckle_types::base::text::one_line;

/// The operations that are shown with their reasons.
const MAX_SHOWN: usize = 20;

/// The characters of an operation, and of a reason.
const MAX_PART_CHARS: usize = 200;

/// The operations of a document that become no tools since they need what is not supported.
///
/// `Display` writes a line for each: the method, the path and the reason. Of more than 20, it writes the first 20,
/// and how many more there are.
#[derive(Debug, Clone, Default)]
pub struct LeftOut {
    lines: Vec<String>,
    count: usize,
}

impl LeftOut {
    /// Returns true if every operation becomes a tool.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn add(&mut self, operation: impl Display, reason: &str) {
        self.count += 1;
        if self.lines.len() < MAX_SHOWN {
            let operation = one_line(&operation.to_string(), MAX_PART_CHARS);
            let reason = one_line(reason, MAX_PART_CHARS);
            self.lines
                .push(format!("{operation} is left out: {reason}"));
        }
    }
}

impl Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))?;
        match self.count - self.lines.len() {
            0 => Ok(()),
            more => write!(f, "\n{more} more operations are left out"),
        }
    }
}
