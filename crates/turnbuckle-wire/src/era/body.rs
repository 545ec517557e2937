//! The body of a result, which is written once, for one reader.

use std::any::Any;

use bytes::Bytes;
use serde::Serialize;

use crate::json::{self, Additions, WriteError};
use crate::revision::Features;

/// The JSON object of one result, written once, for one peer.
pub trait ResultBody: Send {
    /// Appends the object for the reader that `target` describes.
    ///
    /// # Errors
    /// When it has no JSON form.
    fn write(&self, target: &WriteTarget<'_>, out: &mut Vec<u8>) -> Result<(), WriteError>;

    /// Returns whether the result reports a failure.
    fn is_error(&self) -> bool {
        false
    }

    /// Returns the object and the brace that ends its response, if they are encoded already for any
    /// reader.
    fn encoded_bytes(&self) -> Option<&Bytes> {
        None
    }

    /// Returns the value of the vocabulary that the body is written from, for code that looks at
    /// results. `None` for a body that has only its JSON form.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

/// The reader that a body is written for.
#[derive(Debug, Clone, Copy)]
pub struct WriteTarget<'a> {
    /// The facts of the reader's revision.
    pub features: &'static Features,
    /// The members that the envelope adds to the object.
    pub additions: Additions<'a>,
}

/// Appends `value` as an object with the target's additions.
///
/// # Errors
/// When it has no JSON form.
pub(crate) fn write_value<T: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    value: &T,
    target: &WriteTarget<'_>,
) -> Result<(), WriteError> {
    if target.features.result_envelope || !target.additions.members.is_empty() {
        json::write_object(out, value, target.additions)
    } else {
        json::write(out, value)
    }
}
