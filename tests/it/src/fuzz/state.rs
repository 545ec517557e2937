//! Request states: any text and any JSON in place of one, with any answers, goes on or is refused.

use serde::de::IgnoredAny;
use turnbuckle_wire::rpc::code;

use super::converse::{answer, converse, request};
use super::server::ASKING;
use super::written::cut;

/// The input, in two lines: a state as text, or any JSON in its place; the input responses as
/// JSON, none if it is no JSON.
pub fn state(input: &[u8]) {
    let (state, responses) = cut(input, b'\n');
    let (Ok(state), Ok(responses)) = (std::str::from_utf8(state), std::str::from_utf8(responses))
    else {
        return;
    };
    ask(
        &serde_json::to_string(state).expect("a text has a JSON form"),
        responses,
    );
    if is_json(state) {
        ask(state, responses);
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn ask(state: &str, responses: &str) {
    let mut params = format!(r#""name":"{ASKING}","requestState":{state},"#);
    if is_json(responses) {
        params.push_str(&format!(r#""inputResponses":{responses},"#));
    }
    let request = request(0, "tools/call", &params);
    let answers = converse([request.as_slice()]);
    match answer(&answers, 0) {
        Ok(result) if result["resultType"] == "input_required" => {
            assert!(result["requestState"].is_string());
        }
        Ok(result) => assert!(result["content"].is_array(), "{result}"),
        Err(failure) => assert_eq!(failure, code::INVALID_PARAMS),
    }
}
