//! A message in the spelling that nearly all peers use: read once, from left to right.

use std::borrow::Cow;

use serde::Deserialize;
use turnbuckle_types::RequestId;

use super::{Message, Notification, Request, Response};
use crate::json::Reader;

/// What is captured of a message's `params` on the way; the default stands for parameters that are
/// absent.
pub trait Capture<'a>: Deserialize<'a> + Default {
    /// Reads them where they are spelled plainly; `None` leaves them to `Deserialize`, which must find
    /// the same.
    fn read(from: &mut Reader<'a>) -> Option<Self>;
}

/// How most messages begin.
const BEGINNING: &str = "{\"jsonrpc\":\"2.0\",";

/// The message, unless something about it is unusual: a name has escapes or stands twice, there is an
/// error, or `text` is no message at all. What is unusual is left to the careful reader.
pub(super) fn read<'a, P: Capture<'a>>(text: &'a str) -> Option<Message<'a, P>> {
    let (mut version, mut id, mut method) = (None, None, None);
    let (mut params, mut result) = (None, None);
    let mut reader = Reader::new(text);
    let begun = reader.skip(BEGINNING);
    if begun {
        version = Some("2.0");
    }
    let member = |reader: &mut Reader<'a>, name| {
        let twice = match name {
            "jsonrpc" => version.replace(reader.string()?).is_some(),
            "id" => id.replace(reader.value()?).is_some(),
            "method" => method.replace(reader.string()?).is_some(),
            "params" => params.replace(P::read(reader)?).is_some(),
            "result" => result.replace(reader.value()?).is_some(),
            "error" => true,
            _ => {
                reader.value()?;
                false
            }
        };
        (!twice).then_some(())
    };
    match begun {
        true => reader.further_members(member)?,
        false => reader.members(member)?,
    }
    reader.end()?;
    if version != Some("2.0") {
        return None;
    }
    let id = match id {
        Some(raw) => Some(RequestId::from_json(raw.as_str())?),
        None => None,
    };
    match (method, id, result) {
        (Some(method), Some(id), None) => Some(Message::Request(Request {
            id,
            method: Cow::Borrowed(method),
            params: params.unwrap_or_default(),
        })),
        (Some(method), None, None) => Some(Message::Notification(Notification {
            method: Cow::Borrowed(method),
            params: params.unwrap_or_default(),
        })),
        (None, Some(id), Some(result)) => Some(Message::Response(Response {
            id: Some(id),
            outcome: Ok(result),
        })),
        _ => None,
    }
}
