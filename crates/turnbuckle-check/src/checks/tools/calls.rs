//! Calls of tools, and their results.

use serde_json::{Value, json};
use turnbuckle_schema::Validator;
use turnbuckle_types::{Json, Schema};
use turnbuckle_wire::revision::Revision;

use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;

/// Tools that one check calls.
const MAX_CALLS: usize = 20;

/// Revisions with structured results.
const STRUCTURED: &[Revision] = &[
    Revision::V2025_06_18,
    Revision::V2025_11_25,
    Revision::V2026_07_28,
];

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "tools.unknown-tool",
        Level::Must,
        "a call of an unknown tool is refused",
        |cx| Box::pin(unknown_tool(cx)),
    )
    .needs(&[Need::Capability("tools")])
    .requires(&["bf895c33627b"])
    .fix("answer a call of a tool that does not exist with the error -32602"),
    Check::new(
        "tools.output-matches-schema",
        Level::Must,
        "structured content matches the output schema",
        |cx| Box::pin(output_matches(cx)),
    )
    .revisions(STRUCTURED)
    .needs(&[Need::CallableTool])
    .requires(&["462392e47f61"])
    .fix("return `structuredContent` that the tool's `outputSchema` accepts"),
    Check::new(
        "tools.structured-has-text",
        Level::Should,
        "a result with structured content has the same as text",
        |cx| Box::pin(structured_has_text(cx)),
    )
    .revisions(STRUCTURED)
    .needs(&[Need::CallableTool])
    .requires(&["e21b19beb897"])
    .fix("add a text block with the JSON of `structuredContent`, for clients that read text alone"),
];

async fn unknown_tool(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let params = json!({"name": "check_no_such_tool", "arguments": {}});
    let answer = cx.request("tools/call", params).await?;
    if answer.get("error").is_none() && answer["result"]["isError"] != true {
        cx.fault("a call of the tool `check_no_such_tool` succeeds");
    }
    Ok(())
}

/// Calls each tool that may be called and has an output schema. Returns the results that are no errors.
async fn call_structured(cx: &mut CheckContext<'_>) -> Result<Vec<(String, Schema, Value)>, Stop> {
    let survey = cx.survey();
    let mut results = Vec::new();
    let mut called = 0;
    for tool in survey.callable_tools() {
        let Ok(schema) = serde_json::from_value::<Schema>(tool["outputSchema"].clone()) else {
            continue;
        };
        if tool["outputSchema"].is_null() || called == MAX_CALLS {
            continue;
        }
        called += 1;
        let name = tool["name"].as_str().unwrap_or_default();
        let params = json!({"name": name, "arguments": survey.arguments(tool)});
        let mut answer = cx.request("tools/call", params).await?;
        let result = answer["result"].take();
        let is_complete = matches!(result["resultType"].as_str(), None | Some("complete"));
        if result.is_object() && result["isError"] != true && is_complete {
            results.push((name.to_owned(), schema, result));
        }
    }
    if results.is_empty() {
        return Err(Stop::Skip(
            "no tool that may be called has an output schema and succeeds".into(),
        ));
    }
    Ok(results)
}

async fn output_matches(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (tool, schema, result) in call_structured(cx).await? {
        let Some(content) = result.get("structuredContent") else {
            cx.fault_at(
                tool,
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
            cx.fault_at(
                tool,
                format!("the result does not match the output schema: {found}"),
            );
        }
    }
    Ok(())
}

async fn structured_has_text(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (tool, _, result) in call_structured(cx).await? {
        let Some(structured) = result.get("structuredContent") else {
            continue;
        };
        let blocks = result["content"].as_array().into_iter().flatten();
        let mut texts = blocks.filter_map(|block| block["text"].as_str());
        let is_same = |text: &str| {
            serde_json::from_str::<Value>(text).is_ok_and(|parsed| parsed == *structured)
        };
        if !texts.any(is_same) {
            cx.fault_at(
                tool,
                "no text block of the result has the JSON of `structuredContent`",
            );
        }
    }
    Ok(())
}
