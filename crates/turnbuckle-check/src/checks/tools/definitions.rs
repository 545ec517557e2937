//! The definitions of tools.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use turnbuckle_schema::{SchemaError, Validator};
use turnbuckle_types::Schema;
use turnbuckle_wire::revision::Revision;

use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;

/// Revisions that say how tools are named, and which dialect of JSON Schema is meant.
const WITH_NAME_RULES: &[Revision] = &[Revision::V2025_11_25, Revision::V2026_07_28];

/// The most characters of the name of a tool.
const MAX_NAME_CHARS: usize = 128;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "tools.names",
        Level::Should,
        "the name of a tool has 1 to 128 letters, digits, and `_`, `-`, `.`",
        |cx| Box::pin(names(cx)),
    )
    .revisions(WITH_NAME_RULES)
    .needs(&[Need::Tool])
    .requires(&["c37d16ec2703", "35a8c0759f1a", "dc746c4cb2c3"])
    .fix("rename the tool: clients and models reject other characters"),
    Check::new(
        "tools.unique",
        Level::Should,
        "a name stands once in the list of tools",
        |cx| Box::pin(unique(cx)),
    )
    .needs(&[Need::Tool])
    .requires(&["460355cde19c"])
    .fix("give each tool a name of its own"),
    Check::new(
        "tools.input-schema-object",
        Level::Must,
        "the input schema of a tool is an object schema",
        |cx| Box::pin(input_schema(cx)),
    )
    .needs(&[Need::Tool])
    .requires(&["8dd470545491"])
    .fix("set `inputSchema` to `{\"type\": \"object\"}`, with properties if there are arguments"),
    Check::new(
        "tools.schema-valid",
        Level::Must,
        "the schemas of a tool are valid JSON Schema",
        |cx| Box::pin(schemas_valid(cx)),
    )
    .revisions(WITH_NAME_RULES)
    .needs(&[Need::Tool])
    .requires(&["b42c05c272cc", "0cc40f599e67", "eac9c7da104a"])
    .fix("validate the schema with the meta-schema of its dialect; without `$schema` that is 2020-12"),
    Check::new(
        "tools.schema-dialect",
        Level::Should,
        "the schemas of a tool are of JSON Schema 2020-12",
        |cx| Box::pin(dialect(cx)),
    )
    .revisions(WITH_NAME_RULES)
    .needs(&[Need::Tool])
    .requires(&["caaa47afc70f"])
    .fix("write schemas of 2020-12, and leave `$schema` out or name that dialect"),
    Check::new(
        "tools.no-remote-ref",
        Level::Should,
        "the schemas of a tool refer to nothing in the network",
        |cx| Box::pin(no_remote_ref(cx)),
    )
    .needs(&[Need::Tool])
    .requires(&["54e0a4a1fcae", "bc9e73f6913b"])
    .fix("put what is referred to into `$defs` of the schema: clients do not fetch references"),
    Check::new(
        "tools.order-stable",
        Level::Should,
        "the list of tools has the same order every time",
        |cx| Box::pin(order_stable(cx)),
    )
    .modern()
    .needs(&[Need::Tool])
    .requires(&["965d8cf2d61a"])
    .fix("list tools in a fixed order, such as that of their registration: clients and models cache the list"),
];

/// Returns the name of a tool.
pub(super) fn name_of(tool: &Value) -> String {
    tool["name"].as_str().unwrap_or_default().to_owned()
}

async fn names(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for tool in &cx.survey().tools {
        let name = name_of(tool);
        let length = name.chars().count();
        if !(1..=MAX_NAME_CHARS).contains(&length) {
            cx.fault_at(&name, format!("the name has {length} characters"));
        }
        let is_allowed = |char: &char| char.is_ascii_alphanumeric() || "_-.".contains(*char);
        if let Some(char) = name.chars().find(|char| !is_allowed(char)) {
            cx.fault_at(&name, format!("the name has the character {char:?}"));
        }
    }
    Ok(())
}

async fn unique(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut counts = BTreeMap::<_, usize>::new();
    for tool in &cx.survey().tools {
        *counts.entry(name_of(tool)).or_default() += 1;
    }
    for (name, count) in counts.into_iter().filter(|(_, count)| *count > 1) {
        cx.fault_at(name, format!("the name stands {count} times in the list"));
    }
    Ok(())
}

async fn input_schema(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for tool in &cx.survey().tools {
        let kind = &tool["inputSchema"]["type"];
        if kind != "object" {
            cx.fault_at(
                name_of(tool),
                format!("`type` of the input schema is {kind} instead of \"object\""),
            );
        }
    }
    Ok(())
}

/// Returns the schemas of all tools, each with its tool and the member that it stands in.
fn schemas(cx: &CheckContext<'_>) -> Vec<(String, &'static str, Schema)> {
    let mut schemas = Vec::new();
    for tool in &cx.survey().tools {
        for member in ["inputSchema", "outputSchema"] {
            let schema = serde_json::from_value::<Schema>(tool[member].clone());
            if let Ok(schema) = schema
                && !tool[member].is_null()
            {
                schemas.push((name_of(tool), member, schema));
            }
        }
    }
    schemas
}

fn is_remote(error: &SchemaError) -> bool {
    matches!(error, SchemaError::NonLocalReference(_))
}

async fn schemas_valid(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (tool, member, schema) in schemas(cx) {
        match Validator::compile(&schema) {
            Ok(_) => {}
            Err(error) if is_remote(&error) => {}
            Err(error) => cx.fault_at(tool, format!("`{member}` is no valid schema: {error}")),
        }
    }
    Ok(())
}

async fn dialect(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for tool in &cx.survey().tools {
        for schema in ["inputSchema", "outputSchema"] {
            let dialect = tool[schema]["$schema"].as_str();
            if let Some(dialect) =
                dialect.filter(|it| !it.contains("json-schema.org/draft/2020-12/schema"))
            {
                cx.fault_at(
                    name_of(tool),
                    format!("`{schema}` is of the dialect {dialect}"),
                );
            }
        }
    }
    Ok(())
}

async fn no_remote_ref(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (tool, member, schema) in schemas(cx) {
        if let Err(error) = Validator::compile(&schema)
            && is_remote(&error)
        {
            cx.fault_at(tool, format!("`{member}`: {error}"));
        }
    }
    Ok(())
}

async fn order_stable(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let names = |result: Value| {
        let tools = result["tools"].as_array().into_iter().flatten();
        tools.map(name_of).collect::<Vec<_>>()
    };
    let first = names(cx.result("tools/list", json!({})).await?);
    for _ in 0..2 {
        let again = names(cx.result("tools/list", json!({})).await?);
        let position = first
            .iter()
            .zip(&again)
            .position(|(one, other)| one != other);
        let is_same_set = first.iter().collect::<BTreeSet<_>>() == again.iter().collect();
        if let Some(at) = position.filter(|_| is_same_set) {
            cx.fault(format!(
                "two lists of the same tools differ in their order: at {at} stands `{}`, then `{}`",
                first[at], again[at]
            ));
            break;
        }
    }
    Ok(())
}
