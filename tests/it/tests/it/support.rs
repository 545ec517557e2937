//! Shared parts of the tests of a server's features.

use serde_json::{Map, Value, json};
use std::collections::HashSet;
use turnbuckle_it::harness::{Bind, Case, Client, ClientOptions};
use turnbuckle_server::{RawArguments, Server, Tool};
use turnbuckle_types::{Principal, Schema};
use turnbuckle_wire::revision::Revision;

/// Returns the result of an answer.
#[track_caller]
pub(crate) fn result(answer: &Value) -> &Value {
    assert!(answer.get("result").is_some(), "no result: {answer:#}");
    &answer["result"]
}

/// Returns the code of an answer's error.
#[track_caller]
pub(crate) fn code(answer: &Value) -> i64 {
    let code = answer["error"]["code"].as_i64();
    code.unwrap_or_else(|| panic!("no error: {answer:#}"))
}

/// Returns the error code for a request without its required name: over HTTP the missing header
/// that mirrors the name is noticed first.
pub(crate) fn missing_name_code(case: Case) -> i64 {
    if case.is_modern() && case.binding == Bind::Http {
        -32020
    } else {
        -32602
    }
}

/// Returns the message of an answer's error.
#[track_caller]
pub(crate) fn message(answer: &Value) -> &str {
    let message = answer["error"]["message"].as_str();
    message.unwrap_or_else(|| panic!("no error: {answer:#}"))
}

/// Returns the text of a tool's successful result.
#[track_caller]
pub(crate) fn text(answer: &Value) -> &str {
    assert_ne!(result(answer)["isError"], true, "{answer:#}");
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {answer:#}"))
}

/// Returns the text of a tool's error result.
#[track_caller]
pub(crate) fn error_text(answer: &Value) -> &str {
    assert_eq!(result(answer)["isError"], true, "{answer:#}");
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {answer:#}"))
}

/// Asserts that a tool's error result says that the handler panicked, with a reference to the log.
#[track_caller]
pub(crate) fn assert_panicked(answer: &Value, case: Case) {
    let text = error_text(answer);
    let reference = text
        .strip_prefix("the handler failed unexpectedly (reference ")
        .and_then(|rest| rest.strip_suffix(')'));
    assert_eq!(reference.map(str::len), Some(8), "{case}: {text}");
}

/// Returns the values under `key` of the items in a list.
#[track_caller]
pub(crate) fn list_values(answer: &Value, list: &str, key: &str) -> Vec<String> {
    let items = result(answer)[list].as_array();
    let items = items.unwrap_or_else(|| panic!("no {list}: {answer:#}"));
    let name = |item: &Value| item[key].as_str().expect("a string").to_owned();
    items.iter().map(name).collect()
}

/// Calls a tool.
pub(crate) async fn call(client: &mut Client, name: &str, arguments: Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    client.request("tools/call", params).await
}

/// Returns a schema that is written by hand.
#[track_caller]
pub(crate) fn schema(schema: Value) -> Schema {
    Schema::encode(&schema).expect("an object")
}

/// Returns a tool that accepts what `input` allows and returns nothing.
pub(crate) fn taking(name: &str, input: Value) -> Tool {
    Tool::builder(name.to_owned())
        .handler(async |_: RawArguments| ())
        .input_schema(schema(input))
}

/// Returns the error of building a server with that tool.
#[track_caller]
pub(crate) fn build_error(tool: Tool) -> String {
    let built = Server::new("s", "1").tool(tool).build();
    built.expect_err("the tool must be refused").to_string()
}

/// Returns a principal of that name.
pub(crate) fn principal(name: &str) -> Principal {
    Principal::new("https://issuer.example", name)
}

/// Asserts that ids of 128 bits in hexadecimal differ as random ones do. The steps of a counter, plain
/// or multiplied by a constant, repeat; a counter that is only padded leaves bits unset.
pub(crate) fn assert_random(ids: &[String]) {
    let values: Vec<u128> = ids
        .iter()
        .map(|id| u128::from_str_radix(id, 16).expect("128 bits in hexadecimal"))
        .collect();
    let distinct: HashSet<u128> = values.iter().copied().collect();
    assert_eq!(distinct.len(), values.len(), "an id came twice");
    let steps: HashSet<u128> = values
        .windows(2)
        .map(|pair| pair[1].wrapping_sub(pair[0]))
        .collect();
    assert_eq!(steps.len(), values.len() - 1, "the ids are counted");
    let set: u32 = values.iter().map(|value| value.count_ones()).sum();
    let share = f64::from(set) / (values.len() as f64 * 128.0);
    assert!((0.4..0.6).contains(&share), "{share} of the bits are set");
}

/// Connects somebody.
pub(crate) async fn connect_as(case: Case, server: &Server, name: &str) -> Client {
    let options = ClientOptions::new().principal(principal(name));
    Client::connect_with(case, server, options).await
}

/// Connects a client that can do that.
pub(crate) async fn connect_able(case: Case, server: &Server, capabilities: Value) -> Client {
    let options = ClientOptions::new().capabilities(capabilities);
    Client::connect_with(case, server, options).await
}

/// Returns all capabilities that a client of some revision can declare.
pub(crate) fn able(revision: Revision) -> Value {
    let features = revision.features();
    let mut able = json!({"roots": {}, "sampling": {}});
    if features.elicitation {
        able["elicitation"] = json!({});
    }
    if features.elicitation_url {
        able["elicitation"] = json!({"form": {}, "url": {}});
    }
    if features.sampling_tools {
        able["sampling"] = json!({"tools": {}, "context": {}});
    }
    able
}

/// A question as it came to the client: under its key in the modern era, without one before.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    pub(crate) key: Option<String>,
    pub(crate) method: String,
    pub(crate) params: Value,
}

/// Makes a request and answers every question in the way of the client's era, until there is a
/// response: that, and the questions.
pub(crate) async fn converse(
    client: &mut Client,
    method: &str,
    params: Value,
    answer: impl Fn(&Question) -> Value,
) -> (Value, Vec<Question>) {
    let mut asked = Vec::new();
    if client.case().is_modern() {
        let mut again = params.clone();
        for _ in 0..32 {
            let response = client.request(method, again).await;
            if response["result"]["resultType"] != "input_required" {
                return (response, asked);
            }
            again = retry(&params, &response["result"], |question| {
                asked.push(question.clone());
                answer(question)
            });
        }
        panic!("asked without an end: {asked:?}");
    }
    let id = client.start(method, params).await;
    for _ in 0..600 {
        for message in client.messages().await {
            let question = Question {
                key: None,
                method: message["method"].as_str().unwrap_or_default().to_owned(),
                params: message["params"].clone(),
            };
            if !message["id"].is_null() {
                client.answer(&message["id"], answer(&question)).await;
                asked.push(question);
            }
        }
        if client.is_answered(id).await {
            return (client.response(id).await, asked);
        }
    }
    panic!("no response: {asked:?}");
}

/// Returns the parameters of a request that is tried again, with the answers to the questions of a
/// round.
pub(crate) fn retry(
    params: &Value,
    required: &Value,
    mut answer: impl FnMut(&Question) -> Value,
) -> Value {
    let mut again = params.clone();
    let mut responses = Map::new();
    for (key, request) in required["inputRequests"].as_object().into_iter().flatten() {
        let question = Question {
            key: Some(key.clone()),
            method: request["method"].as_str().expect("a method").to_owned(),
            params: request["params"].clone(),
        };
        responses.insert(key.clone(), answer(&question));
    }
    if !responses.is_empty() {
        again["inputResponses"] = responses.into();
    }
    if let Some(state) = required.get("requestState") {
        again["requestState"] = state.clone();
    }
    again
}
