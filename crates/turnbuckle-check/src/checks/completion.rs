//! Completion of arguments.
//!
//! Specification: server/utilities/completion.

use serde_json::{Value, json};

use super::formats::template_parts;
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;
use crate::survey::{Answered, ask_all};

/// Arguments that one check completes.
const MAX_ARGUMENTS: usize = 12;

/// The most values of one completion.
const MAX_VALUES: usize = 100;

/// A name that no prompt has.
const UNKNOWN: &str = "check_no_such_prompt";

const DECLARED: &[Need] = &[Need::Capability("completions")];

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "completion.answers",
        Level::Note,
        "arguments of listed prompts and templates can be completed",
        |cx| Box::pin(answers(cx)),
    )
    .needs(DECLARED)
    .fix("answer with an empty list of values where there is nothing to suggest"),
    Check::new(
        "completion.at-most-100",
        Level::Note,
        "a completion has at most 100 values, and counts them right",
        |cx| Box::pin(at_most_100(cx)),
    )
    .needs(DECLARED)
    .fix("return the first 100 values, `total` for all of them, and `hasMore: true` if there are more"),
    Check::new(
        "completion.unknown-ref",
        Level::Should,
        "a completion for an unknown prompt is refused with -32602",
        |cx| Box::pin(unknown_ref(cx)),
    )
    .needs(DECLARED)
    .requires(&["afdc4fadf695"])
    .fix("answer a completion for a prompt that does not exist with the error -32602 (Invalid params)"),
    Check::new(
        "completion.missing-argument",
        Level::Should,
        "a completion without `argument` is refused with -32602",
        |cx| Box::pin(missing_argument(cx)),
    )
    .needs(DECLARED)
    .requires(&["eba52b45c2dd"])
    .fix("answer a completion without `argument` with the error -32602 (Invalid params)"),
    Check::new(
        "completion.bad-inputs",
        Level::Must,
        "a completion with invalid inputs is refused",
        |cx| Box::pin(bad_inputs(cx)),
    )
    .needs(DECLARED)
    .requires(&["6f94069d6e54", "875e580244df"])
    .fix("check the type of the reference, and that name and value of the argument are text"),
];

/// Returns references to listed prompts and templates, each with the name of an argument.
fn arguments(cx: &CheckContext<'_>) -> Vec<(Value, String)> {
    let survey = cx.survey();
    let mut arguments = Vec::new();
    for prompt in &survey.prompts {
        let reference = json!({"type": "ref/prompt", "name": prompt["name"]});
        let names = prompt["arguments"].as_array().into_iter().flatten();
        let names = names.filter_map(|it| it["name"].as_str());
        arguments.extend(names.map(|name| (reference.clone(), name.to_owned())));
    }
    for template in &survey.templates {
        let text = template["uriTemplate"].as_str().unwrap_or_default();
        let reference = json!({"type": "ref/resource", "uri": text});
        let parts = template_parts(text).unwrap_or_default();
        let names = parts.iter().flat_map(|part| part.names());
        arguments.extend(names.map(|name| (reference.clone(), (*name).to_owned())));
    }
    arguments.truncate(MAX_ARGUMENTS);
    arguments
}

/// Completes the arguments of listed prompts and templates.
async fn complete(cx: &mut CheckContext<'_>) -> Result<Vec<Answered>, Stop> {
    let request = |(reference, name): (Value, String)| {
        let item = json!({"name": name});
        (
            item,
            json!({"ref": reference, "argument": {"name": name, "value": ""}}),
        )
    };
    let requests: Vec<_> = arguments(cx).into_iter().map(request).collect();
    if requests.is_empty() {
        return Err(Stop::Skip(
            "the server lists no prompt and no template with an argument".into(),
        ));
    }
    Ok(ask_all(cx.probe().await?, "completion/complete", requests).await)
}

/// Returns a short name of what is completed.
fn item(completion: &Answered) -> String {
    let reference = &completion.params["ref"];
    let of = reference["name"]
        .as_str()
        .or(reference["uri"].as_str())
        .unwrap_or_default();
    format!(
        "{of}: {}",
        completion.params["argument"]["name"]
            .as_str()
            .unwrap_or_default()
    )
}

async fn answers(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for completion in complete(cx).await? {
        if let Some(error) = completion.answer.get("error") {
            cx.fault_with(
                Some(item(&completion)),
                format!("the argument cannot be completed: {error}"),
                completion.evidence(),
            );
        }
    }
    Ok(())
}

async fn at_most_100(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for found in complete(cx).await? {
        let completion = &found.answer["result"]["completion"];
        let Some(count) = completion["values"].as_array().map(Vec::len) else {
            continue;
        };
        let total = completion["total"].as_u64();
        let fault = if count > MAX_VALUES {
            format!("the completion has {count} values; at most {MAX_VALUES} are allowed")
        } else if let Some(total) =
            total.filter(|total| usize::try_from(*total).is_ok_and(|it| it < count))
        {
            format!("`total` is {total}, the completion has {count} values")
        } else if total == u64::try_from(count).ok() && completion["hasMore"] == true {
            format!("`hasMore` is true, but all {count} values are there")
        } else {
            continue;
        };
        cx.fault_with(Some(item(&found)), fault, found.evidence());
    }
    Ok(())
}

/// Sends a completion that is to be refused, and returns the code of the error.
async fn error_code(cx: &mut CheckContext<'_>, params: Value) -> Result<Option<i64>, Stop> {
    let answer = cx.request("completion/complete", params).await?;
    Ok(answer["error"]["code"].as_i64())
}

async fn expect_32602(cx: &mut CheckContext<'_>, what: &str, params: Value) -> Result<(), Stop> {
    match error_code(cx, params).await? {
        Some(-32602) => {}
        Some(code) => cx.fault(format!("{what} is refused with {code} instead of -32602")),
        None => cx.fault(format!(
            "{what} is answered with a result instead of the error -32602"
        )),
    }
    Ok(())
}

async fn unknown_ref(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let params = json!({"ref": {"type": "ref/prompt", "name": UNKNOWN},
        "argument": {"name": "check", "value": ""}});
    expect_32602(
        cx,
        &format!("a completion for the prompt `{UNKNOWN}`"),
        params,
    )
    .await
}

/// Returns a reference that the server knows, and an argument of it.
fn known_argument(cx: &CheckContext<'_>) -> Result<(Value, String), Stop> {
    let missing =
        || Stop::Skip("the server lists no prompt and no template with an argument".into());
    arguments(cx).into_iter().next().ok_or_else(missing)
}

async fn missing_argument(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let (reference, _) = known_argument(cx)?;
    expect_32602(
        cx,
        "a completion without `argument`",
        json!({"ref": reference}),
    )
    .await
}

async fn bad_inputs(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let (reference, name) = known_argument(cx)?;
    let argument = json!({"name": name, "value": ""});
    let inputs = [
        (
            "a reference of the type \"ref/check\"",
            json!({"ref": {"type": "ref/check", "name": "check"}, "argument": argument}),
        ),
        (
            "a reference without a type",
            json!({"ref": {"name": "check"}, "argument": argument}),
        ),
        (
            "a number as the value",
            json!({"ref": reference, "argument": {"name": name, "value": 5}}),
        ),
    ];
    for (what, params) in inputs {
        if error_code(cx, params).await?.is_none() {
            cx.fault(format!(
                "a completion with {what} is answered with a result instead of an error"
            ));
        }
    }
    Ok(())
}
