//! Replies as bytes, in the revision of their reader.

use bytes::Bytes;
use serde::Serialize;
use turnbuckle_types::meta as meta_key;
use turnbuckle_types::{ProtocolError, RequestId};

use super::body::{ResultBody, WriteTarget};
use super::project::ProjectedResult;
use super::{Project, write_error};
use crate::json::{Additions, WriteError};
use crate::revision::Features;
use crate::rpc;

/// The outcome of a request, made of a result by [`Reply::complete`] or of a [`ProtocolError`].
pub enum Reply {
    /// The result.
    Complete(Box<dyn ResultBody>),
    /// Questions to the client that have to be answered first.
    InputRequired(Box<dyn ResultBody>),
    /// A result of a type that an extension defines.
    Extension(&'static str, Box<dyn ResultBody>),
    /// An error.
    Error(ProtocolError),
}

impl Reply {
    /// Returns the reply with a complete result of the vocabulary.
    pub fn complete<T>(result: T) -> Self
    where
        T: Serialize + Project + Clone + Send + 'static,
    {
        Self::Complete(Box::new(ProjectedResult(result)))
    }

    /// Returns the bytes behind the head of the response, if they are encoded already.
    #[must_use]
    pub fn encoded_bytes(&self) -> Option<&Bytes> {
        match self {
            Self::Complete(body) => body.encoded_bytes(),
            _ => None,
        }
    }

    /// Returns whether the reply is an error, or a result that reports one.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match self {
            Self::Complete(body) | Self::InputRequired(body) | Self::Extension(_, body) => {
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
            Self::InputRequired(_) => f.write_str("NeedsInput(..)"),
            Self::Extension(kind, _) => f.debug_tuple("Extension").field(kind).finish(),
            Self::Error(error) => f.debug_tuple("Error").field(error).finish(),
        }
    }
}

impl From<ProtocolError> for Reply {
    fn from(error: ProtocolError) -> Self {
        Self::Error(error)
    }
}

/// A body that was encoded before, envelope included, for the revision that it now goes to, with
/// the brace that ends its response. Many responses share the bytes.
#[derive(Debug, Clone)]
pub struct EncodedResult(Bytes);

impl ResultBody for EncodedResult {
    fn write(&self, _: &WriteTarget<'_>, out: &mut Vec<u8>) -> Result<(), WriteError> {
        let object = self.0.strip_suffix(b"}").unwrap_or_default();
        out.extend_from_slice(object);
        Ok(())
    }

    fn encoded_bytes(&self) -> Option<&Bytes> {
        Some(&self.0)
    }
}

/// Appends the response to the request `id`, for a peer with `features`; `server_info` is the
/// JSON of the server's name and version, which goes into every modern result.
pub fn write_reply(
    out: &mut Vec<u8>,
    id: &RequestId,
    reply: &Reply,
    features: &'static Features,
    server_info: Option<&[u8]>,
) {
    let (result_type, body) = match reply {
        Reply::Complete(body) => ("complete", body),
        Reply::InputRequired(body) => ("input_required", body),
        Reply::Extension(result_type, body) => (*result_type, body),
        Reply::Error(error) => return write_error(out, id, error, features),
    };
    let start = out.len();
    rpc::write_result_head(out, id);
    let written = with_envelope(result_type, features, server_info, |additions| {
        body.write(
            &WriteTarget {
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
            let error =
                ProtocolError::internal(format!("the result could not be written: {error}"));
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
    let meta = server_info.map(|info| (meta_key::SERVER_INFO, info));
    write(Additions {
        members: &[("resultType", result_type)],
        meta: meta.as_slice(),
    })
}

impl EncodedResult {
    /// Returns a body with this JSON object.
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
    ) -> Result<Self, WriteError>
    where
        T: Serialize + Project + Clone + Send + 'static,
    {
        let mut out = Vec::with_capacity(1024);
        with_envelope("complete", features, server_info, |additions| {
            ProjectedResult(result).write(
                &WriteTarget {
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

#[cfg(test)]
mod tests {
    use turnbuckle_types::ListToolsResult;

    use super::*;
    use crate::revision::Revision;

    #[test]
    fn an_encoded_result_follows_the_head_unchanged() {
        let info = br#"{"name":"s","version":"1"}"#;
        for revision in Revision::ALL {
            let features = revision.features();
            let list = || ListToolsResult::new(vec![]).ttl_ms(1u64);
            let mut whole = Vec::new();
            let reply = Reply::complete(list());
            write_reply(&mut whole, &"a".into(), &reply, features, Some(info));

            let encoded = EncodedResult::complete(list(), features, Some(info)).unwrap();
            let reply = Reply::Complete(Box::new(encoded));
            let mut parts = Vec::new();
            rpc::write_result_head(&mut parts, &"a".into());
            parts.extend_from_slice(reply.encoded_bytes().unwrap());
            assert_eq!(parts, whole, "{revision}");

            let mut at_once = Vec::new();
            write_reply(&mut at_once, &"a".into(), &reply, features, Some(info));
            assert_eq!(at_once, whole, "{revision}");
        }
    }
}
