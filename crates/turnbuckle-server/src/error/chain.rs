//! The meaning for the protocol of an error among the sources of another.

use std::error::Error;

use turnbuckle_types::base::error_chain::ErrorChain;
use turnbuckle_types::{ErrorKind, ProtocolError};

use crate::error::failure::FailureKind;
use crate::error::{AskError, NeedsInput};

/// Finds the first error in a chain that means something in the protocol.
///
/// Wrappers such as `anyhow::Error` may hide the error itself, but not its sources. So each of these
/// errors has a source that stands for it.
pub(crate) fn find_meaning(error: &(dyn Error + 'static)) -> Option<FailureKind> {
    let mut before = error;
    for error in ErrorChain(error).errors() {
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
