//! Faults of questions to the client.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use turnbuckle_check::script::Sound;

use crate::harness::{Row, call, code, error, remove, row};

const ELICITATION: &str = "test_input_required_result_elicitation";

/// Returns a server that changes the retries of the tool that asks; a code refuses the retry.
fn retries(change: impl Fn(&mut Value) -> Option<i64> + Send + Sync + 'static) -> Sound {
    Sound::new().on_message(move |message| {
        let is_call = message["params"]["name"] == ELICITATION;
        let answers = message.pointer_mut("/params/inputResponses");
        let refused = answers.filter(|_| is_call).and_then(&change)?;
        Some(vec![error(message, refused)])
    })
}

/// Returns a server that answers no ping after the roots have changed.
fn without_pong() -> Sound {
    let is_stunned = Arc::new(AtomicBool::new(false));
    Sound::new().on_message(move |message| {
        if message["method"] == "notifications/roots/list_changed" {
            is_stunned.store(true, Ordering::Relaxed);
        }
        let is_ping = message["method"] == "ping";
        (is_ping && is_stunned.swap(false, Ordering::Relaxed)).then(Vec::new)
    })
}

/// Returns whether a message is a request of the server.
fn is_question(message: &Value) -> bool {
    message["method"].is_string() && message.get("id").is_some()
}

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
                json!({"jsonrpc": "2.0", "id": format!("curious-{}", cause.message["id"]),
                "method": "sampling/createMessage", "params": params}),
            );
        }
    });
    let silent = Sound::new().on_reply(|cause, messages| {
        if let Some(at) = messages.iter().position(is_question) {
            messages.insert(
                at + 1,
                json!({"jsonrpc": "2.0", "id": cause.message["id"],
                "result": {"content": [], "isError": true}}),
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
        row(
            "ask.surplus-answer-ignored",
            retries(|answers| answers.get("check-surplus").map(|_| -32602)),
        ),
        row(
            "ask.malformed-answers-refused",
            retries(|answers| {
                if !answers.is_object() {
                    *answers = json!({});
                }
                None
            }),
        ),
        row(
            "ask.declined-handled",
            retries(|answers| (answers["user_name"]["action"] == "decline").then_some(-32603)),
        ),
        row(
            "ask.answers-validated",
            retries(|answers| {
                if answers["user_name"]["content"]["name"] == 5 {
                    answers["user_name"]["content"]["name"] = "check".into();
                }
                None
            }),
        ),
        row(
            "ask.legacy-answers-validated",
            Sound::new().on_message(|message| {
                if message["result"]["content"]["username"] == 5 {
                    message["result"]["content"]["username"] = "check".into();
                }
                None
            }),
        ),
        row("ask.missing-capability-32021", code(-32021, -32602)),
        row("ask.roots-change-survived", without_pong()),
        row("ask.withdrawn", silent),
    ]
}

/// Returns the row of a server whose requests have one id: only one that asks often shows it.
pub(crate) fn further_rows() -> Vec<Row> {
    let forgetful = Sound::new().on_reply(|_, messages| {
        for message in messages.iter_mut().filter(|it| is_question(it)) {
            message["id"] = "ask-1".into();
        }
    });
    vec![row("rpc.own-ids-unique", forgetful)]
}
