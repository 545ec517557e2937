//! Faults of questions to the client.

use serde_json::json;
use turnbuckle_check::script::Sound;

use crate::harness::{Row, call, remove, row};

const ELICITATION: &str = "test_input_required_result_elicitation";

pub(crate) fn rows() -> Vec<Row> {
    let all = json!({"elicitation": {}, "sampling": {}, "roots": {}});
    let remembering = Sound::new().on_message(move |message| {
        if message["params"]["name"] == "test_input_required_result_capabilities" {
            message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = all.clone();
        }
        None
    });
    let trusting = Sound::new().on_message(|message| {
        let state = &mut message["params"]["requestState"];
        if let Some(changed) = state.as_str().and_then(|it| it.strip_suffix("-changed")) {
            *state = changed.into();
        } else if state.is_null() {
            remove(&mut message["params"], "requestState");
        }
        None
    });
    let careless = Sound::new().on_message(|message| {
        if message["params"]["name"] == ELICITATION {
            remove(&mut message["params"], "requestState");
        }
        None
    });
    let impatient = Sound::new().on_reply(|cause, messages| {
        if cause.message["params"]["inputResponses"]
            .get("check-unknown-key")
            .is_some()
        {
            let id = &cause.message["id"];
            *messages = vec![json!({"jsonrpc": "2.0", "id": id,
                "error": {"code": -32602, "message": "an answer is missing"}})];
        }
    });
    let curious = Sound::new().on_reply(|cause, messages| {
        let is_sampling = cause.message["params"]["name"] == "test_sampling";
        if is_sampling && cause.revision.is_some() && messages[0]["result"]["isError"] == true {
            let params = json!({"maxTokens": 1, "messages": [
                {"role": "user", "content": {"type": "text", "text": "Say it"}}]});
            messages.insert(
                0,
                json!({"jsonrpc": "2.0", "id": "ask",
                "method": "sampling/createMessage", "params": params}),
            );
        }
    });
    vec![
        row(
            "ask.input-required-shape",
            call(ELICITATION, |it| remove(it, "inputRequests")),
        ),
        row("ask.capabilities-per-request", remembering),
        row("ask.state-tampered-refused", trusting),
        row("ask.state-other-arguments", careless),
        row("ask.missing-answer-asked-again", impatient),
        row("ask.only-declared", curious),
    ]
}
