//! Request states: any text and any JSON in place of one, with any answers, goes on or is refused;
//! one of the server's own goes on, and none that was changed does.

use serde::de::IgnoredAny;
use serde_json::{Value, json};
use turnbuckle_wire::rpc::code;

use super::converse::{CAPABILITIES, Then, answer, converse, converse_on, request};
use super::server::{ASKING, AWAITING, GATHERING};
use super::written::cut;

/// The tools that ask.
const TOOLS: [&str; 3] = [ASKING, AWAITING, GATHERING];

/// Runs the target on `input`, which has two lines: a state as text, or any JSON in its place; and
/// the input responses as JSON, none if the line is no JSON. A state that begins with `@` stands
/// for one of the server's own, in which the following pairs of bytes change something: the
/// position, and the new byte. In the legacy era there is no state: the responses answer the
/// server's requests, in the order of their names.
pub fn state(input: &[u8]) {
    let (state, responses) = cut(input, b'\n');
    let Ok(responses) = std::str::from_utf8(responses) else {
        return;
    };
    if let Some(changes) = state.strip_prefix(b"@") {
        for tool in TOOLS {
            own(tool, changes, responses);
            legacy(tool, responses);
        }
        return;
    }
    let Ok(state) = std::str::from_utf8(state) else {
        return;
    };
    for tool in TOOLS {
        let text = serde_json::to_string(state).expect("a text has a JSON form");
        ask(tool, &text, responses);
        if is_json(state) {
            ask(tool, state, responses);
        }
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Sends a state that the server issued, unchanged and changed.
fn own(tool: &str, changes: &[u8], responses: &str) {
    let mut given = first(tool);
    for _ in 0..2 {
        let mut changed = given.clone().into_bytes();
        for change in changes.chunks_exact(2) {
            let at = usize::from(change[0]) * changed.len() / 256;
            changed[at] = change[1];
        }
        let Ok(changed) = String::from_utf8(changed) else {
            return;
        };
        let text = serde_json::to_string(&changed).expect("a text has a JSON form");
        let went_on = ask(tool, &text, responses);
        if changed != given {
            assert!(went_on.is_none(), "a state that was changed is taken");
        } else if !is_json(responses) {
            assert!(went_on.is_some(), "a state that was given is refused");
        }
        // The next round, if there is one.
        match went_on.as_ref().and_then(|it| it["requestState"].as_str()) {
            Some(next) => next.clone_into(&mut given),
            None => return,
        }
    }
}

/// Returns the state that comes with the first question.
fn first(tool: &str) -> String {
    let request = request(0, "tools/call", &format!(r#""name":"{tool}","#));
    let answers = converse([request.as_slice()]);
    let result = answer(&answers, 0).expect("a question");
    let state = result["requestState"].as_str();
    state.expect("a question has a state").to_owned()
}

/// Returns the result for a state and responses, if they are not refused.
fn ask(tool: &str, state: &str, responses: &str) -> Option<Value> {
    let mut params = format!(r#""name":"{tool}","requestState":{state},"#);
    if is_json(responses) {
        params.push_str(&format!(r#""inputResponses":{responses},"#));
    }
    let request = request(0, "tools/call", &params);
    let answers = converse([request.as_slice()]);
    match answer(&answers, 0) {
        Ok(result) if result["resultType"] == "input_required" => {
            assert!(result["requestState"].is_string());
            Some(result)
        }
        Ok(result) => {
            assert!(result["content"].is_array(), "{result}");
            Some(result)
        }
        Err(failure) => {
            assert_eq!(failure, code::INVALID_PARAMS);
            None
        }
    }
}

/// Makes a call in a session, where questions are requests; a response that is no object refuses
/// its question.
fn legacy(tool: &str, responses: &str) {
    let Ok(Value::Object(responses)) = serde_json::from_str(responses) else {
        return;
    };
    let mut responses = responses.into_iter();
    let opening = format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25",
        "capabilities":{CAPABILITIES},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    );
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}});
    let frames = [
        opening,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        call.to_string(),
    ];
    let mut hears = |message: &str| {
        let message: Value = serde_json::from_str(message).expect("what is sent is JSON");
        if message["method"].is_null() {
            return match message["id"] == 1 {
                true => Then::Leave,
                false => Then::Listen,
            };
        }
        match (responses.next(), &message["id"]) {
            (_, Value::Null) => Then::Listen,
            (None, _) => Then::Leave,
            (Some((_, response)), id) => {
                let (kind, response) = match response.is_object() {
                    true => ("result", response),
                    false => (
                        "error",
                        json!({"code": -1, "message": response.to_string()}),
                    ),
                };
                let answer = json!({"jsonrpc": "2.0", "id": id, kind: response});
                Then::Say(answer.to_string().into_bytes())
            }
        }
    };
    let answers = converse_on(frames.iter().map(String::as_bytes), &mut hears);
    assert!(answers.len() >= 2, "a question or an answer");
}
