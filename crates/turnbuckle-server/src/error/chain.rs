//! An error with its sources: as text, and the meaning for the protocol of one among them.

use std::error::Error;
use std::fmt;

use turnbuckle_types::{ErrorKind, ProtocolError};

use crate::error::failure::FailureKind;
use crate::error::{AskError, NeedsInput};

/// The most errors of a chain that are looked at: a source could lead back to its error.
const MAX_SOURCES: usize = 64;

/// An error and its sources. [`Display`](fmt::Display) writes them in one line, without those that
/// the error before repeats in its own text.
pub(crate) struct Chain<'a>(pub(crate) &'a (dyn Error + 'static));

impl<'a> Chain<'a> {
    fn iter(&self) -> impl Iterator<Item = &'a (dyn Error + 'static)> + use<'a> {
        std::iter::successors(Some(self.0), |&error| error.source()).take(MAX_SOURCES)
    }
}

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = String::new();
        for error in self.iter() {
            let text = error.to_string();
            if last.is_empty() {
                f.write_str(&text)?;
            } else if !last.contains(&text) {
                write!(f, ": {text}")?;
            }
            last = text;
        }
        Ok(())
    }
}

/// Finds the first error in a chain that means something in the protocol.
///
/// Wrappers such as `anyhow::Error` may hide the error itself, but not its sources. So each of these
/// errors has a source that stands for it.
pub(crate) fn find_meaning(error: &(dyn Error + 'static)) -> Option<FailureKind> {
    let mut before = error;
    for error in Chain(error).iter() {
        if let Some(error) = ProtocolError::from_link(error) {
            // A client that cannot be asked is answered as if the handler had asked now.
            return Some(match error.kind() {
                ErrorKind::MissingRequiredClientCapability(_) => {
                    FailureKind::NeedsInput(NeedsInput::for_unsupported(error))
                }
                _ => FailureKind::Protocol {
                    error,
                    source: None,
                },
            });
        }
        if let Some(needs) = NeedsInput::from_link(error) {
            return Some(FailureKind::NeedsInput(needs));
        }
        if let Some(kind) = AskError::meaning_of_link(error, before) {
            return Some(kind);
        }
        before = error;
    }
    None
}
