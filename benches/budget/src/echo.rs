//! The echo call and its answer as plain serde types.

use serde::de::Error;
use serde::{Deserialize, Serialize};

/// A `tools/call`; what is not named here is skipped.
#[derive(Deserialize)]
struct Call<'a> {
    id: u64,
    method: &'a str,
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    name: &'a str,
    #[serde(borrow)]
    arguments: Arguments<'a>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    message: &'a str,
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: u64,
    result: Outcome<'a>,
}

#[derive(Serialize)]
struct Outcome<'a> {
    content: [Text<'a>; 1],
}

#[derive(Serialize)]
struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// Appends the answer to `message` to `out`.
pub(crate) fn answer(message: &[u8], out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    let call: Call<'_> = serde_json::from_slice(message)?;
    if call.method != "tools/call" || call.params.name != "echo" {
        return Err(serde_json::Error::custom("only the echo tool is served"));
    }
    let text = Text {
        r#type: "text",
        text: call.params.arguments.message,
    };
    let result = Outcome { content: [text] };
    serde_json::to_writer(
        out,
        &Answer {
            jsonrpc: "2.0",
            id: call.id,
            result,
        },
    )
}
