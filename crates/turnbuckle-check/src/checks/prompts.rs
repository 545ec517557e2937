//! Prompts.
//!
//! Specification: server/prompts.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::formats::block_faults;
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;
use crate::survey::Answered;

/// The prompt of the official conformance suite that asks the client for something first.
const ASKING: &str = "test_input_required_result_prompt";

/// A name that no prompt has.
const UNKNOWN: &str = "check_no_such_prompt";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "prompts.unique",
        Level::Note,
        "a name stands once in the list of prompts",
        |cx| Box::pin(unique(cx)),
    )
    .needs(&[Need::Prompt])
    .fix("give each prompt a name of its own"),
    Check::new(
        "prompts.get",
        Level::Note,
        "a listed prompt without required arguments can be got",
        |cx| Box::pin(get(cx)),
    )
    .needs(&[Need::Prompt])
    .fix("mark the arguments that a prompt needs as `required`, and list only prompts that can be got"),
    Check::new(
        "prompts.roles",
        Level::Note,
        "the messages of a prompt are those of the user or of the assistant",
        |cx| Box::pin(roles(cx)),
    )
    .needs(&[Need::Prompt])
    .fix("use the role `user` or `assistant`: there is none for the system"),
    Check::new(
        "prompts.content",
        Level::Must,
        "images, audio and resources in a prompt have valid data, media types and URIs",
        |cx| Box::pin(content(cx)),
    )
    .needs(&[Need::Prompt])
    .requires(&[
        "23ff5de39d7c",
        "6c8704f19cfc",
        "ee3e7ee5efaa",
        "9fa38b2fea1c",
        "757c8a9550dd",
    ])
    .fix("encode binary data as Base64, and name the media type and the URI of what is embedded"),
    Check::new(
        "prompts.missing-argument",
        Level::Should,
        "a prompt without an argument that it requires is refused with -32602",
        |cx| Box::pin(missing_argument(cx)),
    )
    .needs(&[Need::Prompt])
    .requires(&["eba52b45c2dd", "e3aff1c9d429"])
    .fix("compare the arguments with those that the prompt requires before it is made, and answer with -32602"),
    Check::new(
        "prompts.unknown",
        Level::Should,
        "an unknown prompt is refused with -32602",
        |cx| Box::pin(unknown(cx)),
    )
    .needs(&[Need::Capability("prompts")])
    .requires(&["afdc4fadf695"])
    .fix("answer an unknown prompt with the error -32602 (Invalid params)"),
];

fn name_of(prompt: &Value) -> &str {
    prompt["name"].as_str().unwrap_or_default()
}

/// Returns the names of the arguments that a prompt requires.
fn required(prompt: &Value) -> Vec<&str> {
    let arguments = prompt["arguments"].as_array().into_iter().flatten();
    let required = arguments.filter(|argument| argument["required"] == true);
    required
        .filter_map(|argument| argument["name"].as_str())
        .collect()
}

async fn unique(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut seen = HashSet::new();
    let mut repeated = HashSet::new();
    for prompt in &cx.survey().prompts {
        let name = name_of(prompt);
        if !seen.insert(name) && repeated.insert(name) {
            cx.fault_at(name, "the name stands more than once in the list");
        }
    }
    Ok(())
}

async fn get(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let prompts = cx.prompt_results().await?.iter();
    let plain: Vec<_> = prompts
        .filter(|it| it.item() != ASKING && required(&it.definition).is_empty())
        .collect();
    if plain.is_empty() {
        return Err(Stop::Skip("each prompt requires arguments".into()));
    }
    for prompt in plain {
        // -32021: the prompt asks the client for something that this one does not offer.
        let error = prompt.answer.get("error");
        if let Some(error) = error.filter(|error| error["code"] != -32021) {
            // Somebody else may have changed the list meanwhile.
            let list = cx.request("prompts/list", json!({})).await?;
            if is_gone(&list["result"], prompt.item()) {
                continue;
            }
            let sentence =
                format!("the prompt requires no argument, without one it fails: {error}");
            cx.fault_in(prompt, sentence);
        }
    }
    Ok(())
}

/// Returns whether a list of one page lacks a prompt.
fn is_gone(list: &Value, name: &str) -> bool {
    let listed = list["prompts"].as_array();
    let is_whole = !list["nextCursor"].is_string();
    is_whole && listed.is_some_and(|prompts| prompts.iter().all(|it| name_of(it) != name))
}

/// Returns the messages of all prompts, each with its prompt.
async fn messages<'r>(cx: &mut CheckContext<'r>) -> Result<Vec<(&'r Answered, &'r Value)>, Stop> {
    let prompts = cx.prompt_results().await?;
    let all = prompts.iter().flat_map(|prompt| {
        let messages = prompt.answer["result"]["messages"].as_array();
        messages
            .into_iter()
            .flatten()
            .map(move |message| (prompt, message))
    });
    let all: Vec<_> = all.collect();
    match all.is_empty() {
        true => Err(Stop::Skip(
            "no prompt has a message with the arguments that were tried".into(),
        )),
        false => Ok(all),
    }
}

async fn roles(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (prompt, message) in messages(cx).await? {
        let role = &message["role"];
        if role != "user" && role != "assistant" {
            cx.fault_in(prompt, format!("a message has the role {role}"));
        }
    }
    Ok(())
}

async fn content(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (prompt, message) in messages(cx).await? {
        let content = &message["content"];
        for fault in block_faults(content) {
            cx.fault_in(prompt, fault);
        }
        let resource = &content["resource"];
        if content["type"] == "resource" && !resource["mimeType"].is_string() {
            cx.fault_in(prompt, "the embedded resource has no `mimeType`");
        }
    }
    Ok(())
}

async fn missing_argument(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let prompts = &cx.survey().prompts;
    let requiring: Vec<_> = prompts
        .iter()
        .filter(|it| !required(it).is_empty())
        .take(8)
        .collect();
    if requiring.is_empty() {
        return Err(Stop::Skip("no prompt requires an argument".into()));
    }
    for prompt in requiring {
        let name = name_of(prompt);
        let argument = required(prompt)[0];
        let answer = cx.request("prompts/get", json!({"name": name})).await?;
        match answer["error"]["code"].as_i64() {
            Some(-32602) => {}
            Some(code) => cx.fault_at(
                name,
                format!("the prompt without its argument `{argument}` is refused with {code} instead of -32602"),
            ),
            None => cx.fault_at(
                name,
                format!("the prompt is got without its argument `{argument}`, which it requires"),
            ),
        }
    }
    Ok(())
}

async fn unknown(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let answer = cx.request("prompts/get", json!({"name": UNKNOWN})).await?;
    match answer["error"]["code"].as_i64() {
        Some(-32602) => {}
        Some(code) => cx.fault(format!(
            "the prompt `{UNKNOWN}` is refused with {code} instead of -32602"
        )),
        None => cx.fault(format!(
            "the prompt `{UNKNOWN}`, which is not listed, is got"
        )),
    }
    Ok(())
}
