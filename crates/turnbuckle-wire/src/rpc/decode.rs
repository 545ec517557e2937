//! Decoding of JSON-RPC messages: a fast pass for the usual spelling, and a strict one for the rest,
//! which also finds out what is wrong.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use turnbuckle_types::{ErrorObject, RequestId};

use super::fast::{self, Capture};
use super::{Message, Notification, Request, Response};

/// A frame that is not a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// The kind of error.
    pub kind: DecodeErrorKind,
    /// The request's id, if it could still be read.
    pub id: Option<RequestId>,
    /// The reason, for the sender.
    pub message: Cow<'static, str>,
}

impl DecodeError {
    /// Returns the error for a frame whose bytes are not UTF-8.
    #[cold]
    pub(crate) fn not_utf8() -> Self {
        let message = "not JSON: the text is not UTF-8";
        Self::new(DecodeErrorKind::ParseError, None, message)
    }

    fn new(
        kind: DecodeErrorKind,
        id: Option<RequestId>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        let message = message.into();
        Self { kind, id, message }
    }
}

/// The reason that a frame is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeErrorKind {
    /// The frame is not JSON.
    ParseError,
    /// The frame is JSON, but no message.
    InvalidRequest,
    /// The frame is a request whose `params` are not an object.
    InvalidParams,
    /// The frame is a notification whose `params` are not an object. It gets no answer by message.
    InvalidNotification,
}

/// Decodes one message; `P` captures the parameters on the way.
///
/// # Errors
/// When `text` is not JSON or not a message. The id is read even then, where there is one.
pub fn decode<'a, P: Capture<'a>>(text: &'a str) -> Result<Message<'a, P>, DecodeError> {
    match fast::decode_fast(text) {
        Some(message) => Ok(message),
        None => decode_strict(text),
    }
}

/// Decodes one message in any spelling that JSON allows.
pub(crate) fn decode_strict<'a, P>(text: &'a str) -> Result<Message<'a, P>, DecodeError>
where
    P: Deserialize<'a> + Default,
{
    let mut json = serde_json::Deserializer::from_str(text);
    let parts: Option<Members<'a, P>> = json
        .deserialize_map(MembersVisitor(PhantomData))
        .ok()
        .filter(|_| json.end().is_ok());
    match parts.map(Members::into_message) {
        Some(Ok(message)) => Ok(message),
        Some(Err(message)) => Err(diagnose(text, Some(message))),
        None => Err(diagnose(text, None)),
    }
}

/// Returns whether a frame is a batch: its JSON is an array.
#[inline]
#[must_use]
pub(crate) fn is_batch(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) == Some(b'[')
}

/// Returns the messages of a batch as raw JSON, at most `limit` of them.
///
/// # Errors
/// When `text` is not a JSON array or longer than `limit`.
pub fn split_batch(text: &str, limit: usize) -> Result<Vec<&str>, DecodeError> {
    struct Elements(usize);

    impl<'de> Visitor<'de> for Elements {
        type Value = Option<Vec<&'de str>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a batch")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut elements = Vec::new();
            while let Some(element) = list.next_element::<&RawValue>()? {
                if elements.len() == self.0 {
                    while list.next_element::<IgnoredAny>()?.is_some() {}
                    return Ok(None);
                }
                elements.push(element.get());
            }
            Ok(Some(elements))
        }
    }

    let mut json = serde_json::Deserializer::from_str(text);
    let found = json
        .deserialize_seq(Elements(limit))
        .and_then(|found| json.end().map(|()| found));
    match found {
        Ok(Some(elements)) => Ok(elements),
        Ok(None) => {
            let message =
                format!("a batch may hold at most {limit} messages (Limits::max_batch_messages)");
            Err(DecodeError::new(
                DecodeErrorKind::InvalidRequest,
                None,
                message,
            ))
        }
        Err(error) => Err(not_json(&error)),
    }
}

struct Members<'a, P> {
    version: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<P>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    has_duplicate: bool,
}

const BAD_VERSION: &str = "\"jsonrpc\" must be \"2.0\"";
const BAD_METHOD: &str = "\"method\" must be a string";
const BAD_ID: &str = "\"id\" must be a string or an integer";
const DUPLICATE_MEMBER: &str = "a message must not name a field twice";
const UNREADABLE_PARAMS: &str =
    "\"params\" could not be read: a field is named twice, or nested deeper than 127 levels";
const NO_CONTENT: &str = "a message has a \"method\", a \"result\" or an \"error\"";
const AMBIGUOUS_CONTENT: &str =
    "a message must not have more than one of \"method\", \"result\" and \"error\"";

impl<'a, P: Default> Members<'a, P> {
    fn into_message(self) -> Result<Message<'a, P>, &'static str> {
        if self.version.map(RawValue::get) != Some("\"2.0\"") {
            return Err(BAD_VERSION);
        }
        if self.has_duplicate {
            return Err(DUPLICATE_MEMBER);
        }
        match (self.method, self.result, self.error) {
            (Some(method), None, None) => {
                let method = read_method(method)?;
                let params = self.params.unwrap_or_default();
                Ok(match self.id {
                    Some(id) => Message::Request(Request {
                        id: read_id(id)?,
                        method,
                        params,
                    }),
                    None => Message::Notification(Notification { method, params }),
                })
            }
            (None, Some(result), None) => {
                let id = Some(read_id(self.id.ok_or(BAD_ID)?)?);
                Ok(Message::Response(Response {
                    id,
                    outcome: Ok(result.into()),
                }))
            }
            (None, None, Some(error)) => {
                let id = match self.id {
                    None => None,
                    Some(id) if id.get() == "null" => None,
                    Some(id) => Some(read_id(id)?),
                };
                let error: ErrorObject = serde_json::from_str(error.get())
                    .map_err(|_| "\"error\" must have an integer \"code\" and a \"message\"")?;
                Ok(Message::Response(Response {
                    id,
                    outcome: Err(error),
                }))
            }
            (None, None, None) => Err(NO_CONTENT),
            _ => Err(AMBIGUOUS_CONTENT),
        }
    }
}

fn read_id(raw: &RawValue) -> Result<RequestId, &'static str> {
    RequestId::from_json(raw.get()).ok_or(BAD_ID)
}

fn read_method(raw: &RawValue) -> Result<Cow<'_, str>, &'static str> {
    let method: Text<'_> = serde_json::from_str(raw.get()).map_err(|_| BAD_METHOD)?;
    Ok(method.0)
}

struct MembersVisitor<P>(PhantomData<P>);

impl<'de, P: Deserialize<'de>> Visitor<'de> for MembersVisitor<P> {
    type Value = Members<'de, P>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut parts = Members {
            version: None,
            id: None,
            method: None,
            params: None,
            result: None,
            error: None,
            has_duplicate: false,
        };
        while let Some(field) = map.next_key()? {
            let before = match field {
                Field::Version => parts.version.replace(map.next_value()?).is_some(),
                Field::Id => parts.id.replace(map.next_value()?).is_some(),
                Field::Method => parts.method.replace(map.next_value()?).is_some(),
                Field::Params => parts.params.replace(map.next_value()?).is_some(),
                Field::Result => parts.result.replace(map.next_value()?).is_some(),
                Field::Error => parts.error.replace(map.next_value()?).is_some(),
                Field::Other => {
                    map.next_value::<IgnoredAny>()?;
                    false
                }
            };
            parts.has_duplicate |= before;
        }
        Ok(parts)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Field {
    #[serde(rename = "jsonrpc")]
    Version,
    Id,
    Method,
    Params,
    Result,
    Error,
    #[serde(other)]
    Other,
}

/// A string, borrowed where it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn not_json(error: &serde_json::Error) -> DecodeError {
    let message = format!("not JSON: line {}, column {}", error.line(), error.column());
    DecodeError::new(DecodeErrorKind::ParseError, None, message)
}

/// Reads a frame that failed step by step, for the right kind, id and message.
#[cold]
fn diagnose(text: &str, known: Option<&'static str>) -> DecodeError {
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return not_json(&error);
    }
    let not_a_message =
        |id, message: &'static str| DecodeError::new(DecodeErrorKind::InvalidRequest, id, message);
    let mut json = serde_json::Deserializer::from_str(text);
    let parts: Members<'_, &RawValue> = match json.deserialize_map(MembersVisitor(PhantomData)) {
        Ok(parts) => parts,
        Err(_) => return not_a_message(None, "a message is a JSON object"),
    };
    let is_request = parts.method.is_some();
    // A response whose id is known is still no request of the sender's: nothing to answer by id.
    let id = parts
        .id
        .filter(|_| is_request && !parts.has_duplicate)
        .and_then(|id| read_id(id).ok());
    let unreadable = || parts.method.and_then(|method| read_method(method).err());
    if let Some(message) = known.or_else(unreadable) {
        return not_a_message(id, message);
    }
    let kind = if is_request && parts.id.is_none() {
        DecodeErrorKind::InvalidNotification
    } else {
        DecodeErrorKind::InvalidParams
    };
    match parts.params {
        Some(params) if is_request && !params.get().starts_with('{') => {
            DecodeError::new(kind, id, "\"params\" must be an object")
        }
        Some(_) => DecodeError::new(kind, id, UNREADABLE_PARAMS),
        None => not_a_message(id, NO_CONTENT),
    }
}

#[cfg(test)]
mod tests;
