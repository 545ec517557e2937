//! The floors' answers, as plain serde types. What a message says beside them is skipped.

use std::error::Error;

use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::Error as JsonError;

use super::echo;
use crate::texts;

/// Appends the answer to a message.
pub(super) type Answer = fn(&[u8], &mut Vec<u8>) -> Result<(), JsonError>;

/// Returns the answer of that name; without one, the echo.
pub(super) fn answer_of(words: &[String]) -> Result<Answer, Box<dyn Error>> {
    Ok(match words.first().map_or("echo", String::as_str) {
        "echo" => echo::answer,
        "prose" => |message, out| text(message, "prose", texts::prose(), out),
        "escapes" => |message, out| text(message, "escapes", texts::escapes(), out),
        "document" => document,
        _ => return Err("there is no such answer".into()),
    })
}

#[derive(Deserialize)]
struct Request<'a, P> {
    id: u64,
    method: &'a str,
    params: P,
}

#[derive(Serialize)]
struct Response<R> {
    jsonrpc: &'static str,
    id: u64,
    result: R,
}

impl<R: Serialize> Response<R> {
    fn write(id: u64, result: R, out: &mut Vec<u8>) -> Result<(), JsonError> {
        let jsonrpc = "2.0";
        let response = Self {
            jsonrpc,
            id,
            result,
        };
        serde_json::to_writer(out, &response)
    }
}

#[derive(Deserialize)]
struct Call<'a, A> {
    name: &'a str,
    #[allow(dead_code, reason = "decoded for its own sake")]
    arguments: A,
}

#[derive(Deserialize)]
struct Nothing {}

#[derive(Serialize)]
struct Outcome<'a> {
    content: [Text<'a>; 1],
}

#[derive(Serialize)]
struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
}

fn outcome(text: &str) -> Outcome<'_> {
    let r#type = "text";
    Outcome {
        content: [Text { r#type, text }],
    }
}

fn unless(fits: bool) -> Result<(), JsonError> {
    let wrong = || JsonError::custom("that is not served here");
    fits.then_some(()).ok_or_else(wrong)
}

fn text(message: &[u8], tool: &str, text: String, out: &mut Vec<u8>) -> Result<(), JsonError> {
    let request: Request<'_, Call<'_, Nothing>> = serde_json::from_slice(message)?;
    unless(request.method == "tools/call" && request.params.name == tool)?;
    out.reserve(2 * text.len());
    Response::write(request.id, outcome(&text), out)
}

#[derive(Deserialize)]
struct Read<'a> {
    uri: &'a str,
}

#[derive(Serialize)]
struct Contents<'a> {
    contents: [Content<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Content<'a> {
    uri: &'a str,
    mime_type: &'static str,
    text: &'a str,
}

fn document(message: &[u8], out: &mut Vec<u8>) -> Result<(), JsonError> {
    let request: Request<'_, Read<'_>> = serde_json::from_slice(message)?;
    let uri = request.params.uri;
    unless(request.method == "resources/read" && uri == texts::DOCUMENT_URI)?;
    let text = texts::document();
    out.reserve(2 * text.len());
    let content = Content {
        uri,
        mime_type: "text/plain",
        text: &text,
    };
    let contents = [content];
    Response::write(request.id, Contents { contents }, out)
}

/// A call whose arguments are owned, as a handler takes them.
#[derive(Deserialize)]
pub(super) struct Owned {
    #[allow(dead_code, reason = "decoded for its own sake")]
    text: String,
}

/// Decodes a call with one text.
pub(super) fn decode(message: &[u8]) -> Result<impl Sized, JsonError> {
    serde_json::from_slice::<Request<'_, Call<'_, Owned>>>(message)
}
