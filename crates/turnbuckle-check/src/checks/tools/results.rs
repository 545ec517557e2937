//! Results of calls.

use serde_json::Value;
use turnbuckle_schema::Validator;
use turnbuckle_types::{Json, Schema};
use turnbuckle_wire::revision::Revision;

use super::super::formats::block_faults;
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;
use crate::survey::{Answered, ask_all};

/// Revisions with structured results and with links to resources.
const SINCE_2025_06_18: &[Revision] = &[
    Revision::V2025_06_18,
    Revision::V2025_11_25,
    Revision::V2026_07_28,
];

/// The tool of the official conformance suite that always fails.
const FAILING: &str = "test_error_handling";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "tools.output-matches-schema",
        Level::Must,
        "structured content matches the output schema",
        |cx| Box::pin(output_matches(cx)),
    )
    .revisions(SINCE_2025_06_18)
    .needs(&[Need::CallableTool])
    .requires(&["462392e47f61"])
    .fix("return `structuredContent` that the tool's `outputSchema` accepts"),
    Check::new(
        "tools.structured-has-text",
        Level::Should,
        "a result with structured content has the same as text",
        |cx| Box::pin(structured_has_text(cx)),
    )
    .revisions(SINCE_2025_06_18)
    .needs(&[Need::CallableTool])
    .requires(&["e21b19beb897"])
    .fix("add a text block with the JSON of `structuredContent`, for clients that read text alone"),
    Check::new(
        "tools.content-shape",
        Level::Must,
        "binary content of a result is Base64, its media types and URIs have their forms",
        |cx| Box::pin(content_shape(cx)),
    )
    .needs(&[Need::CallableTool])
    .requires(&["50110d42ea08"])
    .fix("encode images, audio and blobs with the standard alphabet of Base64, with padding and without line breaks"),
    Check::new(
        "tools.embedded-resources-declared",
        Level::Should,
        "a server that embeds resources in results declares `resources`",
        |cx| Box::pin(embedded_resources(cx)),
    )
    .revisions(SINCE_2025_06_18)
    .needs(&[Need::CallableTool])
    .requires(&["c88f3ae98150"])
    .fix("declare the capability `resources`, and serve what results embed"),
    Check::new(
        "tools.resource-links-readable",
        Level::Note,
        "a resource that a result links to can be read",
        |cx| Box::pin(resource_links(cx)),
    )
    .revisions(SINCE_2025_06_18)
    .needs(&[Need::CallableTool, Need::Capability("resources")])
    .fix("serve what results link to by `resources/read`, or link to `https` URLs that the client can fetch"),
    Check::new(
        "tools.error-is-result",
        Level::Note,
        "a tool that fails answers with a result with `isError`",
        |cx| Box::pin(error_is_result(cx)),
    )
    .needs(&[Need::Fixture(FAILING)])
    .fix("answer failures of a tool with `isError: true` and a text that says what failed: models do not see errors of the protocol"),
];

/// Returns the successful results of tools that have an output schema.
async fn structured<'r>(
    cx: &mut CheckContext<'r>,
) -> Result<Vec<(&'r Answered, Schema, &'r Value)>, Stop> {
    let calls = cx.calls().await?;
    let with_schema = calls.iter().filter_map(|call| {
        let schema = call.definition.get("outputSchema")?;
        let schema = serde_json::from_value(schema.clone()).ok()?;
        Some((call, schema, call.success()?))
    });
    let results: Vec<_> = with_schema.collect();
    if results.is_empty() {
        return Err(Stop::Skip(
            "no tool that may be called has an output schema and succeeds".into(),
        ));
    }
    Ok(results)
}

async fn output_matches(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (call, schema, result) in structured(cx).await? {
        let Some(content) = result.get("structuredContent") else {
            cx.fault_in(
                call,
                "the tool has an output schema, its result has no `structuredContent`",
            );
            continue;
        };
        let json = serde_json::from_value::<Json>(content.clone());
        let (Ok(validator), Ok(json)) = (Validator::compile(&schema), json) else {
            continue;
        };
        if let Err(violations) = validator.validate((&json).into()) {
            let found = violations.describe("structuredContent").to_string();
            cx.fault_in(
                call,
                format!("the result does not match the output schema: {found}"),
            );
        }
    }
    Ok(())
}

async fn structured_has_text(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let calls = cx.calls().await?;
    let results = calls.iter().filter_map(|call| {
        let result = call.success()?;
        Some((call, result, result.get("structuredContent")?))
    });
    let results: Vec<_> = results.collect();
    if results.is_empty() {
        return Err(Stop::Skip("no result has structured content".into()));
    }
    for (call, result, structured) in results {
        let mut texts = blocks(result).filter_map(|block| block["text"].as_str());
        // A value that is no object is wrapped in one with the member `result`; its text may be the value alone.
        let wrapped = match structured.as_object() {
            Some(members) if members.len() == 1 => members.get("result"),
            _ => None,
        };
        let is_same = |text: &str| {
            let parsed = serde_json::from_str::<Value>(text);
            parsed.is_ok_and(|parsed| parsed == *structured || Some(&parsed) == wrapped)
                || wrapped.is_some_and(|value| value == text)
        };
        if !texts.any(is_same) {
            cx.fault_in(
                call,
                "no text block of the result has the JSON of `structuredContent`",
            );
        }
    }
    Ok(())
}

/// Returns the blocks of content of a result.
fn blocks(result: &Value) -> impl Iterator<Item = &Value> {
    result["content"].as_array().into_iter().flatten()
}

/// Returns the blocks of a type in all results, each with its call.
fn blocks_of<'c>(
    calls: &'c [Answered],
    kinds: &'static [&'static str],
) -> Result<Vec<(&'c Answered, &'c Value)>, Stop> {
    let all = calls
        .iter()
        .flat_map(|call| blocks(&call.answer["result"]).map(move |block| (call, block)));
    let is_wanted = |(_, block): &(&Answered, &Value)| {
        block["type"]
            .as_str()
            .is_some_and(|kind| kinds.contains(&kind))
    };
    let found: Vec<_> = all.filter(is_wanted).collect();
    match found.is_empty() {
        true => Err(Stop::Skip(format!(
            "no result has a block of type {}",
            kinds.join(", ")
        ))),
        false => Ok(found),
    }
}

async fn content_shape(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let calls = cx.calls().await?;
    for (call, block) in blocks_of(calls, &["image", "audio", "resource"])? {
        for fault in block_faults(block) {
            cx.fault_in(call, fault);
        }
    }
    Ok(())
}

async fn embedded_resources(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let calls = cx.calls().await?;
    let embedded = blocks_of(calls, &["resource"])?;
    if cx.survey().capability("resources").is_none() {
        for (call, block) in embedded {
            let uri = &block["resource"]["uri"];
            cx.fault_in(call, format!("the result embeds the resource {uri}, the capability `resources` is not declared"));
        }
    }
    Ok(())
}

async fn resource_links(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let calls = cx.calls().await?;
    let links = blocks_of(calls, &["resource_link"])?;
    // What is on the web, the client fetches by itself.
    let is_of_server = |uri: &str| !uri.starts_with("https:") && !uri.starts_with("http:");
    let links = links
        .into_iter()
        .filter_map(|(call, block)| Some((call, block["uri"].as_str()?)));
    let links: Vec<_> = links.filter(|(_, uri)| is_of_server(uri)).take(8).collect();
    let requests = links
        .iter()
        .map(|(_, uri)| (Value::Null, serde_json::json!({"uri": uri})))
        .collect();
    let reads = ask_all(cx.probe().await?, "resources/read", requests).await;
    for ((call, uri), read) in links.into_iter().zip(reads) {
        if let Some(error) = read.answer.get("error") {
            cx.fault_at(
                call.item(),
                format!("the result links to {uri}, which cannot be read: {error}"),
            );
        }
    }
    Ok(())
}

async fn error_is_result(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let calls = cx.calls().await?;
    let Some(call) = calls.iter().find(|call| call.item() == FAILING) else {
        return Err(Stop::Skip(format!("the tool `{FAILING}` was not called")));
    };
    let result = &call.answer["result"];
    let has_text =
        || blocks(result).any(|block| block["text"].as_str().is_some_and(|it| !it.is_empty()));
    if let Some(error) = call.answer.get("error") {
        cx.fault_in(
            call,
            format!("the failure of the tool is an error of the protocol: {error}"),
        );
    } else if call.success().is_some() {
        cx.fault_in(
            call,
            "the result of a tool that fails has no `isError: true`",
        );
    } else if result.is_object() && !has_text() {
        cx.fault_in(
            call,
            "the result with `isError` has no text that says what failed",
        );
    }
    Ok(())
}
