//! Faults of prompts and of completion.

use serde_json::json;
use turnbuckle_check::script::Sound;

use crate::harness::{Row, error, list, renaming, result, row};

pub(crate) fn rows() -> Vec<Row> {
    let broken = Sound::new().on_message(|message| {
        let is_it = message["params"]["name"] == "test_simple_prompt";
        (is_it && message["method"] == "prompts/get").then(|| vec![error(message, -32603)])
    });
    let careless = Sound::new().on_message(|message| {
        let params = message.get_mut("params")?;
        if params["name"] == "test_prompt_with_arguments" && params.get("arguments").is_none() {
            params["arguments"] = json!({"arg1": "", "arg2": ""});
        }
        None
    });
    let prompt = |name: &'static str, change: fn(&mut serde_json::Value)| {
        Sound::new().on_reply(move |cause, messages| {
            let is_it = cause.message["method"] == "prompts/get";
            if is_it
                && cause.message["params"]["name"] == name
                && let Some(message) = messages[0].pointer_mut("/result/messages/0")
            {
                change(message);
            }
        })
    };
    let of_templates = Sound::new().on_message(|message| {
        let is_it = message["params"]["ref"]["type"] == "ref/resource";
        is_it.then(|| vec![error(message, -32603)])
    });
    let of_numbers = Sound::new().on_message(|message| {
        let value = message.pointer_mut("/params/argument/value")?;
        if value.is_number() {
            *value = "".into();
        }
        None
    });
    let strange = Sound::new().on_message(|message| {
        let is_complete = message["method"] == "completion/complete";
        let is_it = is_complete && message["params"].get("argument").is_none();
        is_it.then(|| vec![error(message, -32603)])
    });
    let any_prompt = Sound::new().on_message(|message| {
        let name = message.pointer_mut("/params/ref/name")?;
        if name == "check_no_such_prompt" {
            *name = "test_prompt_with_arguments".into();
        }
        None
    });
    vec![
        row(
            "prompts.unique",
            list("prompts/list", |prompts| prompts.push(prompts[0].clone())),
        ),
        row("prompts.get", broken),
        row(
            "prompts.roles",
            prompt("test_simple_prompt", |it| it["role"] = "system".into()),
        )
        .also(&["rpc.schema-valid"]),
        row(
            "prompts.content",
            prompt("test_prompt_with_image", |it| {
                it["content"]["data"] = "a picture".into()
            }),
        ),
        row("prompts.missing-argument", careless),
        row(
            "prompts.unknown",
            renaming("name", "check_no_such_prompt", "test_simple_prompt"),
        ),
        row("completion.answers", of_templates),
        row(
            "completion.at-most-100",
            result("completion/complete", |result| {
                if result["completion"]["total"] == 4 {
                    result["completion"]["total"] = 3.into();
                }
            }),
        ),
        row("completion.bad-inputs", of_numbers),
        row("completion.missing-argument", strange),
        row("completion.unknown-ref", any_prompt),
    ]
}
