//! The prompts of the server, and completion.

use serde_json::{Value, json};
use turnbuckle_wire::revision::{EraKind, Features};

use super::asks::Pending;
use super::call::Call;
use super::questions;
use super::refusal::{Answer, Refusal};
use super::resources::PIXEL;

/// Values that are completed.
const VALUES: [&str; 4] = ["paris", "park", "party", "testValue1"];

/// A prompt: its name, the names of its arguments, and a function that tells if a revision can have it.
type Prompt = (&'static str, &'static [&'static str], fn(&Features) -> bool);

const PROMPTS: [Prompt; 5] = [
    ("test_simple_prompt", &[], |_| true),
    ("test_prompt_with_arguments", &["arg1", "arg2"], |_| true),
    (
        "test_prompt_with_embedded_resource",
        &["resourceUri"],
        |_| true,
    ),
    ("test_prompt_with_image", &[], |_| true),
    ("test_input_required_result_prompt", &[], |it| {
        it.era == EraKind::Modern
    }),
];

/// Returns the prompts that are listed.
pub(super) fn list(features: &Features) -> Vec<Value> {
    let definition = |(name, arguments, _): &Prompt| {
        let arguments: Vec<_> = arguments
            .iter()
            .map(|name| json!({"name": name, "description": "An argument", "required": true}))
            .collect();
        let mut definition =
            json!({"name": name, "description": "A prompt", "arguments": arguments});
        if features.titles {
            definition["title"] = "Prompt".into();
        }
        definition
    };
    let existing = PROMPTS.iter().filter(|(_, _, exists)| exists(features));
    existing.map(definition).collect()
}

fn find(name: &Value, features: &Features) -> Result<&'static Prompt, Refusal> {
    let mut existing = PROMPTS.iter().filter(|(_, _, exists)| exists(features));
    let found = existing.find(|(known, ..)| name == known);
    found.ok_or_else(|| Refusal::new(-32602, "no such prompt"))
}

/// Returns the messages of a prompt.
pub(super) async fn get(call: &Call) -> Answer {
    let (name, arguments, _) = find(&call.params["name"], call.features())?;
    let given = &call.params["arguments"];
    if let Some(missing) = arguments.iter().find(|name| !given[**name].is_string()) {
        let message = format!("the argument {missing} is missing or no string");
        return Err(Refusal::new(-32602, &message));
    }
    let argument = |name: &str| given[name].as_str().unwrap_or_default();
    let text = |text: &str| json!({"type": "text", "text": text});
    let content = match *name {
        "test_prompt_with_arguments" => {
            text(&format!("{} and {}", argument("arg1"), argument("arg2")))
        }
        "test_prompt_with_embedded_resource" => json!({"type": "resource", "resource": {
            "uri": argument("resourceUri"), "mimeType": "text/plain", "text": "embedded"}}),
        "test_prompt_with_image" => {
            json!({"type": "image", "data": PIXEL, "mimeType": "image/png"})
        }
        "test_input_required_result_prompt" => {
            if call.capabilities.get("elicitation").is_none() {
                let data = json!({"requiredCapabilities": {"elicitation": {}}});
                return Err(Refusal::new(-32021, "the client lacks a capability").with(data));
            }
            match call
                .ask([questions::form(
                    "user_context",
                    "What for?",
                    questions::name(),
                )])
                .await
            {
                Ok(given) => text(&format!("For {}", given["user_context"])),
                Err(Pending::Required(result)) => return Ok(result),
                Err(Pending::Refused(refusal)) => return Err(refusal),
                Err(Pending::Failed(why)) => return Err(Refusal::new(-32603, &why)),
            }
        }
        _ => text("This is a simple prompt for testing."),
    };
    Ok(json!({"description": "A prompt", "messages": [{"role": "user", "content": content}]}))
}

/// Completes an argument of a prompt or of a template.
pub(super) fn complete(call: &Call) -> Answer {
    let reference = &call.params["ref"];
    let argument = &call.params["argument"];
    let (Some(name), Some(value)) = (argument["name"].as_str(), argument["value"].as_str()) else {
        return Err(Refusal::new(-32602, "there is no argument to complete"));
    };
    let is_known = match reference["type"].as_str() {
        Some("ref/prompt") => {
            let (_, arguments, _) = find(&reference["name"], call.features())?;
            arguments.contains(&name)
        }
        Some("ref/resource") if reference["uri"] == "test://template/{id}/data" => name == "id",
        _ => return Err(Refusal::new(-32602, "no such reference")),
    };
    let values: Vec<_> = VALUES
        .into_iter()
        .filter(|known| is_known && known.starts_with(value))
        .collect();
    let total = values.len();
    Ok(json!({"completion": {"values": values, "total": total, "hasMore": false}}))
}
