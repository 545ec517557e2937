//! The fast decoder: reads a message in the spelling that nearly all peers use, once, from left to
//! right.

use std::borrow::Cow;

use serde::Deserialize;
use turnbuckle_types::RequestId;

use super::{Message, Notification, Request, Response};
use crate::json::Reader;

/// The parameters that are captured while a message is read; the default stands for absent
/// parameters.
pub trait Capture<'a>: Deserialize<'a> + Default {
    /// Reads the parameters in their usual spelling; `None` leaves them to `Deserialize`, which must
    /// capture the same.
    fn read(from: &mut Reader<'a>) -> Option<Self>;
}

/// The beginning of most messages.
const BEGINNING: &str = "{\"jsonrpc\":\"2.0\",";

/// Returns the message, or `None` for the strict decoder: a name has escapes or occurs twice, the
/// message is an error response, or `text` is no message.
pub(super) fn decode_fast<'a, P: Capture<'a>>(text: &'a str) -> Option<Message<'a, P>> {
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
