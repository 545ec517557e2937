//! The work of the tools.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::asks::Pending;
use super::call::Call;
use super::change::Change;
use super::items;
use super::questions::{self, Ask};
use super::refusal::{Answer, Refusal};
use super::resources::PIXEL;

/// A sound of no length, in the format of WAV.
const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// Time between two steps of a tool.
const STEP: Duration = Duration::from_millis(20);

/// Calls a tool.
pub(super) async fn call(call: &Call) -> Answer {
    let features = call.features();
    let Some(tool) = items::tool_named(&call.params["name"], features) else {
        return Err(Refusal::new(-32602, "no such tool"));
    };
    let arguments = call.params.get("arguments").cloned();
    let arguments = arguments.unwrap_or_else(|| json!({}));
    if !jsonschema::is_valid(&(tool.input)(), &arguments) {
        // Since this revision the model is told what it did wrong.
        return match features.elicitation_url {
            true => Ok(error_result("the arguments are not what the tool takes")),
            false => Err(Refusal::new(
                -32602,
                "the arguments are not what the tool takes",
            )),
        };
    }
    let missing = tool
        .needs
        .filter(|needed| call.capabilities.get(*needed).is_none());
    if let Some(needed) = missing {
        return missing_capability(call, needed);
    }
    run(call, tool.name, &arguments).await
}

/// Answers a call that needs a capability which the client did not declare.
fn missing_capability(call: &Call, needed: &str) -> Answer {
    let text = "the client cannot answer questions";
    match call.is_modern() {
        true => {
            let data = json!({"requiredCapabilities": {needed: {}}});
            Err(Refusal::new(-32021, text).with(data))
        }
        false => Ok(error_result(text)),
    }
}

async fn run(call: &Call, name: &str, arguments: &Value) -> Answer {
    Ok(match name {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => content(json!([image()])),
        "test_audio_content" => {
            content(json!([{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}]))
        }
        "test_embedded_resource" => content(json!([resource()])),
        "test_multiple_content_types" => {
            content(json!([{"type": "text", "text": "several"}, image(), resource()]))
        }
        "test_resource_link" => content(json!([{"type": "resource_link",
            "uri": "test://static-text", "name": "static-text", "mimeType": "text/plain"}])),
        "test_error_handling" => error_result("This tool always fails."),
        "test_tool_with_logging" => {
            for line in [
                "Tool execution started",
                "Tool processing data",
                "Tool execution completed",
            ] {
                call.log("info", line);
                sleep(STEP).await;
            }
            text("logged")
        }
        "test_logging_tool" => {
            call.log("info", "called");
            text("logged")
        }
        "test_tool_with_progress" => {
            for progress in [0, 50, 100] {
                call.progress(progress, 100);
                sleep(STEP).await;
            }
            text("done")
        }
        "slow_compute" => {
            let seconds = arguments["seconds"].as_f64().unwrap_or_default();
            call.progress(0, 2);
            sleep(Duration::from_secs_f64(seconds)).await;
            call.progress(1, 2);
            text("computed")
        }
        "add_numbers" => {
            let [a, b] = ["a", "b"].map(|name| arguments[name].as_i64().unwrap_or_default());
            let Some(sum) = a.checked_add(b) else {
                return Ok(error_result("the sum is too large"));
            };
            let mut result = text(&json!({"sum": sum}).to_string());
            if call.features().structured_output {
                result["structuredContent"] = json!({"sum": sum});
            }
            result
        }
        "greet" => text(&format!(
            "Hello, {}!",
            arguments["name"].as_str().unwrap_or_default()
        )),
        "test_header_argument" | "test_header_number" => text(&arguments.to_string()),
        "test_reconnection" => {
            sleep(STEP).await;
            text("reconnected")
        }
        "test_trigger_tool_change" => {
            call.sound.publish(&Change::Tools);
            text("announced")
        }
        "test_trigger_prompt_change" => {
            call.sound.publish(&Change::Prompts);
            text("announced")
        }
        "test_trigger_resource_update" => {
            let uri = arguments["uri"].as_str().unwrap_or_default();
            call.sound.publish(&Change::Resource(uri.to_owned()));
            text("announced")
        }
        _ => return asking(call, name, arguments).await,
    })
}

/// Calls a tool that asks the client for something.
async fn asking(call: &Call, name: &str, arguments: &Value) -> Answer {
    let asked = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
    let given = match name {
        "test_sampling" => {
            call.ask([questions::sampling("reply", &asked("prompt"))])
                .await
        }
        "test_elicitation" => {
            call.ask([questions::form(
                "user",
                &asked("message"),
                questions::user(),
            )])
            .await
        }
        "test_streaming_elicitation" | "test_missing_capability" => {
            call.ask([first_of(call)]).await
        }
        "test_elicitation_sep1034_defaults" => {
            call.ask([questions::form(
                "defaults",
                "Fill in",
                questions::defaults(),
            )])
            .await
        }
        "test_elicitation_sep1330_enums" => {
            call.ask([questions::form("choices", "Choose", questions::choices())])
                .await
        }
        "test_list_roots" => call.ask([questions::roots("client_roots")]).await,
        "test_input_required_result_elicitation" => {
            call.ask([questions::form(
                "user_name",
                "Your name?",
                questions::name(),
            )])
            .await
        }
        "test_input_required_result_sampling" => {
            call.ask([questions::sampling(
                "capital_question",
                "What is the capital of France?",
            )])
            .await
        }
        "test_input_required_result_list_roots" => {
            call.ask([questions::roots("client_roots")]).await
        }
        "test_input_required_result_multiple_inputs" => call.ask_with_state(three()).await,
        "test_input_required_result_multi_round" => call.ask_twice().await,
        "test_input_required_result_capabilities" => {
            let declared = three()
                .into_iter()
                .filter(|ask| call.capabilities.get(ask.needs).is_some());
            call.ask(declared).await
        }
        _ => {
            call.ask_with_state([questions::form(
                "confirm",
                "Go on?",
                questions::confirmation(),
            )])
            .await
        }
    };
    let given = match given {
        Ok(given) => given,
        Err(Pending::Refused(refusal)) => return Err(refusal),
        Err(Pending::Required(result)) => return Ok(result),
        Err(Pending::Failed(why)) => return Ok(error_result(&why)),
    };
    if name == "test_input_required_result_elicitation" {
        let name = given["user_name"]["content"]["name"].as_str();
        return Ok(text(&format!("Hello, {}!", name.unwrap_or("nobody"))));
    }
    if name == "test_input_required_result_request_state" {
        return Ok(text("state-ok"));
    }
    Ok(text(&format!("The client answered: {given}")))
}

fn three() -> [Ask; 3] {
    [
        questions::form("user_name", "Your name?", questions::name()),
        questions::sampling("greeting", "Greet the user"),
        questions::roots("client_roots"),
    ]
}

/// Returns a question that the client can answer.
fn first_of(call: &Call) -> Ask {
    match call.capabilities.get("elicitation") {
        Some(_) => questions::form("user", "Who are you?", questions::user()),
        None => questions::sampling("reply", "Say something"),
    }
}

fn content(content: Value) -> Value {
    json!({"content": content})
}

fn text(text: &str) -> Value {
    content(json!([{"type": "text", "text": text}]))
}

fn error_result(why: &str) -> Value {
    let mut result = text(why);
    result["isError"] = true.into();
    result
}

fn image() -> Value {
    json!({"type": "image", "data": PIXEL, "mimeType": "image/png"})
}

fn resource() -> Value {
    json!({"type": "resource", "resource": {
        "uri": "test://embedded-resource", "mimeType": "text/plain", "text": "embedded",
    }})
}
