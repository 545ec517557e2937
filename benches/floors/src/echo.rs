//! The answer to an echo with typed serde_json, and nothing else: what comes in is typed, and the
//! answer is the one that a tool with a typed result gives, as data and as text.

use serde::de::Error as _;
use serde::{Deserialize, Serialize};

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

#[derive(Deserialize, Serialize)]
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
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    content: [Text<'a>; 1],
    structured_content: &'a Echo<'a>,
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
pub(crate) fn answer(message: &[u8], out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    let request: Request<'_> = serde_json::from_slice(message)?;
    if request.method != "tools/call" || request.params.name != "echo" {
        return Err(serde_json::Error::custom("only the echo is served"));
    }
    let echo = request.params.arguments;
    let text = serde_json::to_string(&echo)?;
    let text = Text {
        r#type: "text",
        text: &text,
    };
    let result = Outcome {
        content: [text],
        structured_content: &echo,
    };
    let response = Response {
        jsonrpc: "2.0",
        id: request.id,
        result,
    };
    serde_json::to_writer(out, &response)
}

#[cfg(test)]
mod tests {
    use super::answer;

    #[test]
    fn the_answer_is_that_of_a_typed_tool() {
        let call = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}"#;
        let mut out = Vec::new();
        answer(call, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{\"message\":\"hi\"}"}],"structuredContent":{"message":"hi"}}}"#
        );
    }
}
