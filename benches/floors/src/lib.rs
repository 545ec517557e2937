//! What the floors share: the answer to an echo with typed serde_json, and nothing else.

use std::io::{self, Write};

use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

/// A `tools/call`; what is not named here is skipped.
#[derive(Deserialize)]
struct Request<'a> {
    id: u64,
    method: &'a str,
    #[serde(borrow)]
    params: Call<'a>,
}

#[derive(Deserialize)]
struct Call<'a> {
    name: &'a str,
    #[serde(borrow)]
    arguments: Echo<'a>,
}

#[derive(Deserialize)]
struct Echo<'a> {
    message: &'a str,
}

#[derive(Serialize)]
struct Response<'a> {
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

/// Appends the answer to a `tools/call` of the echo.
///
/// # Errors
/// When it is no such call.
pub fn answer(message: &[u8], out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    let request: Request<'_> = serde_json::from_slice(message)?;
    if request.method != "tools/call" || request.params.name != "echo" {
        return Err(serde_json::Error::custom("only the echo is served"));
    }
    let text = Text {
        r#type: "text",
        text: request.params.arguments.message,
    };
    let response = Response {
        jsonrpc: "2.0",
        id: request.id,
        result: Outcome { content: [text] },
    };
    serde_json::to_writer(out, &response)
}

/// Any free port of the loopback, which is the first line of stdout.
///
/// # Errors
/// When there is none, or stdout is closed.
pub async fn listen() -> io::Result<TcpListener> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    writeln!(io::stdout(), "{}", listener.local_addr()?.port())?;
    Ok(listener)
}
