//! Advice about the definitions of tools, beyond the specification.

use serde_json::Value;
use turnbuckle_schema::{Objection, lint};
use turnbuckle_types::Schema;

use super::definitions::name_of;
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;

/// Hosts and models of which objections to schemas are known.
const HOSTS: [&str; 6] = [
    "Claude",
    "Copilot CLI",
    "Cursor",
    "Gemini",
    "OpenAI",
    "VS Code",
];

/// Bytes of JSON that make about one token of a model.
const BYTES_PER_TOKEN: usize = 4;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "tools.description",
        Level::Note,
        "a tool says what it does",
        |cx| Box::pin(description(cx)),
    )
    .needs(&[Need::Tool])
    .fix("add a `description`: models choose tools by it"),
    Check::new(
        "tools.hints-agree",
        Level::Note,
        "the hints of a tool do not contradict each other",
        |cx| Box::pin(hints_agree(cx)),
    )
    .needs(&[Need::Tool])
    .fix("leave `destructiveHint` and `idempotentHint` out where `readOnlyHint` is true"),
    Check::new(
        "tools.portable",
        Level::Note,
        "the input schema of a tool is accepted by common clients and models",
        |cx| Box::pin(portable(cx)),
    )
    .needs(&[Need::Tool])
    .fix("simplify the schema: inline references, one type for each member, no alternatives at the root"),
    Check::new(
        "tools.tokens",
        Level::Note,
        "the list of tools costs a model less than 10,000 tokens",
        |cx| Box::pin(tokens(cx)),
    )
    .needs(&[Need::Tool])
    .fix("shorten descriptions and schemas, or offer fewer tools: models pay for the list in every conversation"),
];

async fn description(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for tool in &cx.survey().tools {
        let text = tool["description"].as_str().unwrap_or_default();
        if text.trim().is_empty() {
            cx.fault_at(name_of(tool), "the tool has no description");
        }
    }
    Ok(())
}

async fn hints_agree(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for tool in &cx.survey().tools {
        let hints = &tool["annotations"];
        if hints["readOnlyHint"] == true && hints["destructiveHint"] == true {
            cx.fault_at(
                name_of(tool),
                "the tool says that it changes nothing (`readOnlyHint`) and that it destroys (`destructiveHint`)",
            );
        }
    }
    Ok(())
}

async fn portable(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for tool in &cx.survey().tools {
        let name = name_of(tool);
        // What the official conformance suite prescribes, nobody can change.
        if cx.survey().is_fixture(&name) {
            continue;
        }
        let Ok(schema) = serde_json::from_value::<Schema>(tool["inputSchema"].clone()) else {
            continue;
        };
        let objections: Vec<_> = lint(&schema).into_iter().filter(is_current).collect();
        if !objections.is_empty() {
            cx.fault_at(name, sentence(&objections));
        }
    }
    Ok(())
}

/// Returns whether an objection is met today: not that of older clients, and not that to the dialect that
/// servers of the TypeScript SDK name, which work everywhere.
fn is_current(objection: &Objection) -> bool {
    let reason = objection.reason();
    !reason.ends_with("older clients") && !reason.contains("another dialect")
}

/// Returns one sentence about all objections to a schema.
fn sentence(objections: &[Objection]) -> String {
    let objects = |host: &&str| objections.iter().any(|it| it.client() == *host);
    let (not, fine): (Vec<&str>, Vec<&str>) = HOSTS.into_iter().partition(objects);
    let mut sentence = match (fine.is_empty(), not.is_empty()) {
        (_, true) => "works with a loss in all known hosts: ".to_owned(),
        (true, false) => "works in no known host without objection: ".to_owned(),
        (false, false) => format!(
            "works in {}, not or not fully in {}: ",
            fine.join(", "),
            not.join(", ")
        ),
    };
    let reasons = objections.iter().map(|it| {
        let place = match it.path() {
            "" => "its root",
            path => path,
        };
        format!("{} {} (at {place})", it.client(), it.reason())
    });
    sentence += &reasons.collect::<Vec<_>>().join("; ");
    sentence
}

async fn tokens(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let bytes = |tool: &Value| {
        let shown = ["name", "description", "inputSchema"].map(|it| tool[it].to_string().len());
        shown.iter().sum::<usize>()
    };
    let total: usize = cx.survey().tools.iter().map(bytes).sum();
    let tokens = total / BYTES_PER_TOKEN;
    if tokens >= 10_000 {
        let count = cx.survey().tools.len();
        cx.fault(format!(
            "the list of {count} tools costs a model about {tokens} tokens"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_that_objects_is_known() {
        let schema = r##"{"$schema": "http://json-schema.org/draft-07/schema#", "anyOf": [{}], "type": "object",
            "properties": {"a": {"type": ["string", "null"]}, "b": {"$ref": "#/$defs/b"}, "c": {"const": 1},
            "d": {"items": [{}]}, "e": {"type": "array"}, "f": {"type": "object"}, "g": {"$dynamicRef": "#g"}},
            "$defs": {"b": {"type": "string", "format": "email"}}}"##;
        let objections = lint(&schema.parse::<Schema>().unwrap());
        assert!(objections.len() > 8);
        for objection in objections {
            assert!(
                HOSTS.contains(&objection.client()),
                "{}",
                objection.client()
            );
        }
    }

    #[test]
    fn one_sentence_says_where_a_tool_works() {
        let schema = r#"{"type": "object", "properties": {"a": {"type": ["string", "null"]}}}"#;
        let objections = lint(&schema.parse::<Schema>().unwrap());
        let found = sentence(&objections);
        assert!(
            found.starts_with("works in Claude, Copilot CLI, OpenAI, VS Code, not or not fully in Cursor, Gemini: Cursor "),
            "{found}"
        );
    }
}
