//! A frame becomes a message in one pass, or in a second and careful one where its spelling is unusual
//! or something is wrong with it.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use turnbuckle_types::{ErrorObject, RequestId};

use super::plain::{self, Capture};
use super::{Message, Notification, Request, Response};

/// Why a frame is not a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// In which way.
    pub kind: RefusalKind,
    /// The request's id, where it could still be read.
    pub id: Option<RequestId>,
    /// What is wrong, for the sender.
    pub message: Cow<'static, str>,
}

/// In which way a frame is not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// It is not JSON.
    Malformed,
    /// It is JSON, but no message.
    NotAMessage,
    /// It is a request whose `params` are not an object.
    Params,
    /// It is a notification whose `params` are not an object: not to be answered by a message.
    Notification,
}

/// Decodes one message; `P` is what to capture of `params` on the way.
///
/// # Errors
/// When `text` is not JSON or not a message. The id is read even then, where there is one.
pub fn decode<'a, P: Capture<'a>>(text: &'a str) -> Result<Message<'a, P>, Refusal> {
    match plain::read(text) {
        Some(message) => Ok(message),
        None => decode_carefully(text),
    }
}

/// The same for every spelling.
fn decode_carefully<'a, P>(text: &'a str) -> Result<Message<'a, P>, Refusal>
where
    P: Deserialize<'a> + Default,
{
    let mut json = serde_json::Deserializer::from_str(text);
    let parts: Option<Parts<'a, P>> = json
        .deserialize_map(PartsVisitor(PhantomData))
        .ok()
        .filter(|_| json.end().is_ok());
    match parts.map(Parts::into_message) {
        Some(Ok(message)) => Ok(message),
        Some(Err(message)) => Err(diagnose(text, Some(message))),
        None => Err(diagnose(text, None)),
    }
}

/// Whether a frame is a batch: a JSON array.
#[must_use]
pub fn is_batch(text: &str) -> bool {
    text.bytes().find(|byte| !byte.is_ascii_whitespace()) == Some(b'[')
}

/// The messages of a batch as raw JSON, at most `limit` of them.
///
/// # Errors
/// When `text` is not a JSON array or longer than `limit`.
pub fn elements(text: &str, limit: usize) -> Result<Vec<&str>, Refusal> {
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
        Ok(None) => Err(Refusal {
            kind: RefusalKind::NotAMessage,
            id: None,
            message: format!("a batch may hold at most {limit} messages (Limits::batch)").into(),
        }),
        Err(error) => Err(malformed(&error)),
    }
}

struct Parts<'a, P> {
    version: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<P>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    twice: bool,
}

const NOT_VERSION_2: &str = "\"jsonrpc\" must be \"2.0\"";
const BAD_METHOD: &str = "\"method\" must be a string";
const BAD_ID: &str = "\"id\" must be a string or an integer";
const TWICE: &str = "a message must not name a field twice";
const NEITHER: &str = "a message has a \"method\", a \"result\" or an \"error\"";
const BOTH: &str = "a message must not have more than one of \"method\", \"result\" and \"error\"";

impl<'a, P: Default> Parts<'a, P> {
    fn into_message(self) -> Result<Message<'a, P>, &'static str> {
        if self.version.map(RawValue::get) != Some("\"2.0\"") {
            return Err(NOT_VERSION_2);
        }
        if self.twice {
            return Err(TWICE);
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
            (None, None, None) => Err(NEITHER),
            _ => Err(BOTH),
        }
    }
}

fn read_id(raw: &RawValue) -> Result<RequestId, &'static str> {
    RequestId::from_json(raw.get()).ok_or(BAD_ID)
}

fn read_method(raw: &RawValue) -> Result<Cow<'_, str>, &'static str> {
    let mut json = serde_json::Deserializer::from_str(raw.get());
    json.deserialize_str(Text).map_err(|_| BAD_METHOD)
}

struct PartsVisitor<P>(PhantomData<P>);

impl<'de, P: Deserialize<'de>> Visitor<'de> for PartsVisitor<P> {
    type Value = Parts<'de, P>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut parts = Parts {
            version: None,
            id: None,
            method: None,
            params: None,
            result: None,
            error: None,
            twice: false,
        };
        while let Some(field) = map.next_key_seed(FieldSeed)? {
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
            parts.twice |= before;
        }
        Ok(parts)
    }
}

enum Field {
    Version,
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

struct FieldSeed;

impl<'de> DeserializeSeed<'de> for FieldSeed {
    type Value = Field;

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<Field, D::Error> {
        key.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldSeed {
    type Value = Field;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_str<E>(self, key: &str) -> Result<Field, E> {
        Ok(match key {
            "jsonrpc" => Field::Version,
            "id" => Field::Id,
            "method" => Field::Method,
            "params" => Field::Params,
            "result" => Field::Result,
            "error" => Field::Error,
            _ => Field::Other,
        })
    }
}

/// A string, borrowed where it has no escapes.
struct Text;

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

fn malformed(error: &serde_json::Error) -> Refusal {
    Refusal {
        kind: RefusalKind::Malformed,
        id: None,
        message: format!("not JSON: line {}, column {}", error.line(), error.column()).into(),
    }
}

/// Reads a frame that failed step by step, for the right kind, id and message.
#[cold]
fn diagnose(text: &str, known: Option<&'static str>) -> Refusal {
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return malformed(&error);
    }
    let not_a_message = |id, message: &'static str| Refusal {
        kind: RefusalKind::NotAMessage,
        id,
        message: message.into(),
    };
    let mut json = serde_json::Deserializer::from_str(text);
    let parts: Parts<'_, &RawValue> = match json.deserialize_map(PartsVisitor(PhantomData)) {
        Ok(parts) => parts,
        Err(_) => return not_a_message(None, "a message is a JSON object"),
    };
    let is_request = parts.method.is_some();
    // A response whose id is known is still no request of the sender's: nothing to answer by id.
    let id = parts
        .id
        .filter(|_| is_request && !parts.twice)
        .and_then(|id| read_id(id).ok());
    let unreadable = || parts.method.and_then(|method| read_method(method).err());
    if let Some(message) = known.or_else(unreadable) {
        return not_a_message(id, message);
    }
    let kind = if is_request && parts.id.is_none() {
        RefusalKind::Notification
    } else {
        RefusalKind::Params
    };
    match parts.params {
        Some(params) if is_request && !params.get().starts_with('{') => Refusal {
            kind,
            id,
            message: "\"params\" must be an object".into(),
        },
        Some(_) => Refusal {
            kind,
            id,
            message: "\"params\" could not be read: a field is named twice, or nested deeper than 127 levels"
                .into(),
        },
        None => not_a_message(id, NEITHER),
    }
}

#[cfg(test)]
mod tests;
