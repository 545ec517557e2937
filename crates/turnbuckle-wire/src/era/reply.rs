//! The way back: a reply becomes the bytes that its peer's revision knows.

use bytes::Bytes;
use serde::Serialize;
use turnbuckle_types::meta as meta_key;
use turnbuckle_types::{Error, RequestId};

use super::project::Projected;
use super::{Project, write_error};
use crate::json::{self, Additions, Unwritable};
use crate::revision::Features;
use crate::rpc;

/// The JSON object of one result, written once, for one peer.
pub trait Body: Send {
    /// Appends the object. `target` says what its reader knows, and what to add.
    ///
    /// # Errors
    /// When it has no JSON form.
    fn write(&self, target: &Target<'_>, out: &mut Vec<u8>) -> Result<(), Unwritable>;

    /// Whether it says that what was asked for failed.
    fn is_error(&self) -> bool {
        false
    }

    /// The object and the brace that ends its response, if they are encoded already for whoever
    /// reads them.
    fn encoded(&self) -> Option<&Bytes> {
        None
    }
}

/// For whom a body is written.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// What the reader's revision knows.
    pub features: &'static Features,
    /// What the envelope adds to the object.
    pub additions: Additions<'a>,
}

/// What a handler ends in: made of a result by [`Reply::complete`], or of an [`Error`]. What else
/// there is to end in is between turnbuckle's own crates.
pub enum Reply {
    /// The result.
    #[doc(hidden)]
    Complete(Box<dyn Body>),
    /// Questions to the client that have to be answered first.
    #[doc(hidden)]
    NeedsInput(Box<dyn Body>),
    /// A result of a type that an extension defines.
    #[doc(hidden)]
    Extension(&'static str, Box<dyn Body>),
    /// An error.
    #[doc(hidden)]
    Error(Error),
}

impl Reply {
    /// A complete result from a type of the vocabulary.
    pub fn complete<T>(result: T) -> Self
    where
        T: Serialize + Project + Clone + Send + 'static,
    {
        Self::Complete(Box::new(Projected(result)))
    }

    /// What follows the head of its response, if that is encoded already.
    #[doc(hidden)]
    #[must_use]
    pub fn encoded(&self) -> Option<&Bytes> {
        match self {
            Self::Complete(body) => body.encoded(),
            _ => None,
        }
    }

    /// Whether it is an error, or a result that says so.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match self {
            Self::Complete(body) | Self::NeedsInput(body) | Self::Extension(_, body) => {
                body.is_error()
            }
            Self::Error(_) => true,
        }
    }
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Complete(_) => f.write_str("Complete(..)"),
            Self::NeedsInput(_) => f.write_str("NeedsInput(..)"),
            Self::Extension(kind, _) => f.debug_tuple("Extension").field(kind).finish(),
            Self::Error(error) => f.debug_tuple("Error").field(error).finish(),
        }
    }
}

impl From<Error> for Reply {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// A body that was encoded before, envelope and all, for the very revision it now goes to, and
/// behind it the brace that ends its response: many responses share the bytes.
#[derive(Debug, Clone)]
pub struct Encoded(Bytes);

impl Body for Encoded {
    fn write(&self, _: &Target<'_>, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        let object = self.0.strip_suffix(b"}").unwrap_or_default();
        out.extend_from_slice(object);
        Ok(())
    }

    fn encoded(&self) -> Option<&Bytes> {
        Some(&self.0)
    }
}

/// Appends the response that carries `reply` to the request `id`, for a peer that knows
/// `features`; `server_info` is the JSON of who answers, put into every modern result.
pub fn write_reply(
    out: &mut Vec<u8>,
    id: &RequestId,
    reply: &Reply,
    features: &'static Features,
    server_info: Option<&[u8]>,
) {
    let (result_type, body) = match reply {
        Reply::Complete(body) => ("complete", body),
        Reply::NeedsInput(body) => ("input_required", body),
        Reply::Extension(result_type, body) => (*result_type, body),
        Reply::Error(error) => return write_error(out, id, error, features),
    };
    let start = out.len();
    rpc::result_head(out, id);
    let written = with_envelope(result_type, features, server_info, |additions| {
        body.write(
            &Target {
                features,
                additions,
            },
            out,
        )
    });
    match written {
        Ok(()) => out.push(b'}'),
        Err(error) => {
            out.truncate(start);
            let error = Error::internal(format!("the result could not be written: {error}"));
            write_error(out, id, &error, features);
        }
    }
}

/// Encodes `body` with its envelope, to be sent more than once.
///
/// # Errors
/// When it has no JSON form.
pub(crate) fn with_envelope<T>(
    result_type: &str,
    features: &'static Features,
    server_info: Option<&[u8]>,
    write: impl FnOnce(Additions<'_>) -> T,
) -> T {
    if !features.result_envelope {
        return write(Additions::default());
    }
    let mut quoted = [0u8; 64];
    let text = result_type.as_bytes();
    let result_type: &[u8] = match quoted.get_mut(..text.len() + 2) {
        Some(space) => {
            space[0] = b'"';
            space[1..=text.len()].copy_from_slice(text);
            space[text.len() + 1] = b'"';
            space
        }
        None => b"\"complete\"",
    };
    let said = server_info.map(|info| (meta_key::SERVER_INFO, info));
    write(Additions {
        members: &[("resultType", result_type)],
        meta: said.as_slice(),
    })
}

impl Encoded {
    /// A JSON object as it is.
    #[must_use]
    pub fn object(json: &str) -> Self {
        Self([json, "}"].concat().into())
    }

    /// Encodes a complete result for every peer of one revision.
    ///
    /// # Errors
    /// When the result has no JSON form.
    pub fn complete<T>(
        result: T,
        features: &'static Features,
        server_info: Option<&[u8]>,
    ) -> Result<Self, Unwritable>
    where
        T: Serialize + Project + Clone + Send + 'static,
    {
        let mut out = Vec::with_capacity(1024);
        with_envelope("complete", features, server_info, |additions| {
            Projected(result).write(
                &Target {
                    features,
                    additions,
                },
                &mut out,
            )
        })?;
        out.push(b'}');
        Ok(Self(out.into()))
    }
}

/// Appends `value` as an object with the target's additions.
///
/// # Errors
/// When it has no JSON form.
pub(crate) fn write_value<T: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    value: &T,
    target: &Target<'_>,
) -> Result<(), Unwritable> {
    if target.features.result_envelope {
        json::write_object(out, value, target.additions)
    } else {
        json::write(out, value)
    }
}

#[cfg(test)]
mod tests {
    use turnbuckle_types::ListToolsResult;

    use super::*;
    use crate::revision::Revision;

    #[test]
    fn what_is_encoded_already_follows_the_head_as_it_is() {
        let info = br#"{"name":"s","version":"1"}"#;
        for revision in Revision::ALL {
            let features = revision.features();
            let list = || ListToolsResult::new(vec![]).ttl_ms(1u64);
            let mut whole = Vec::new();
            let reply = Reply::complete(list());
            write_reply(&mut whole, &"a".into(), &reply, features, Some(info));

            let encoded = Encoded::complete(list(), features, Some(info)).unwrap();
            let reply = Reply::Complete(Box::new(encoded));
            let mut parts = Vec::new();
            rpc::result_head(&mut parts, &"a".into());
            parts.extend_from_slice(reply.encoded().unwrap());
            assert_eq!(parts, whole, "{revision}");

            let mut at_once = Vec::new();
            write_reply(&mut at_once, &"a".into(), &reply, features, Some(info));
            assert_eq!(at_once, whole, "{revision}");
        }
    }
}
