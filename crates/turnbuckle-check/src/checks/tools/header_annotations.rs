//! Properties of input schemas that are mirrored into headers of HTTP.
//!
//! Specification: server/tools, "x-mcp-header" (2026-07-28).

use std::collections::BTreeMap;

use serde_json::Value;

use super::definitions::name_of;
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;

/// Keyword of a property that is mirrored.
const KEYWORD: &str = "x-mcp-header";

/// The depth to which schemas are looked at.
const MAX_DEPTH: usize = 64;

/// Characters of the name of a header beside letters and digits.
const TOKEN_MARKS: &str = "!#$%&'*+-.^_`|~";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "tools.header-names",
        Level::Must,
        "the header of a mirrored argument has a name that HTTP allows",
        |cx| Box::pin(names(cx)),
    )
    .modern()
    .needs(&[Need::Tool])
    .requires(&["00e3a876b7fb", "b294045a4f37", "4b6c30fec931"])
    .fix("give `x-mcp-header` a name of letters, digits and hyphens: clients leave the tool out otherwise"),
    Check::new(
        "tools.header-names-unique",
        Level::Must,
        "two mirrored arguments of a tool have two headers",
        |cx| Box::pin(unique(cx)),
    )
    .modern()
    .needs(&[Need::Tool])
    .requires(&["7d37ee02caee"])
    .fix("give each `x-mcp-header` a name of its own; upper and lower case are the same"),
    Check::new(
        "tools.header-types",
        Level::Must,
        "a mirrored argument is a string, an integer or a boolean",
        |cx| Box::pin(types(cx)),
    )
    .modern()
    .needs(&[Need::Tool])
    .requires(&["47b2e01a6405"])
    .fix("mirror strings, integers and booleans alone"),
    Check::new(
        "tools.header-places",
        Level::Must,
        "a mirrored argument is reached by `properties` alone",
        |cx| Box::pin(places(cx)),
    )
    .modern()
    .needs(&[Need::Tool])
    .requires(&["1d293195c35e", "00f895e4bf1a", "274598ca3606"])
    .fix("move `x-mcp-header` to a property of the root, or of an object in it"),
];

/// An annotation in a schema.
struct Annotation<'s> {
    path: String,
    schema: &'s Value,
    is_reachable: bool,
}

impl<'s> Annotation<'s> {
    fn value(&self) -> &'s Value {
        &self.schema[KEYWORD]
    }
}

/// Returns the annotations of a tool.
fn annotations(tool: &Value) -> Vec<Annotation<'_>> {
    let mut found = Vec::new();
    collect(&tool["inputSchema"], String::new(), true, 0, &mut found);
    found
}

/// Collects the annotations of a schema and of those in it. `is_reachable` says that only `properties` lead to it.
fn collect<'s>(
    schema: &'s Value,
    path: String,
    is_reachable: bool,
    depth: usize,
    found: &mut Vec<Annotation<'s>>,
) {
    if depth > MAX_DEPTH {
        return;
    }
    if schema.get(KEYWORD).is_some() {
        found.push(Annotation {
            path: path.clone(),
            schema,
            // The root is no property.
            is_reachable: is_reachable && depth > 0,
        });
    }
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        let path = format!("{path}/{keyword}");
        match (keyword.as_str(), value) {
            // Their values are data.
            ("const" | "default" | "enum" | "examples", _) => {}
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(schemas),
            ) => {
                let is_reachable = is_reachable && keyword == "properties";
                for (name, schema) in schemas {
                    collect(
                        schema,
                        format!("{path}/{name}"),
                        is_reachable,
                        depth + 1,
                        found,
                    );
                }
            }
            (_, Value::Object(_)) => collect(value, path, false, depth + 1, found),
            (_, Value::Array(schemas)) => {
                for (index, schema) in schemas.iter().enumerate() {
                    collect(schema, format!("{path}/{index}"), false, depth + 1, found);
                }
            }
            _ => {}
        }
    }
}

fn has_annotations(cx: &CheckContext<'_>) -> Result<(), Stop> {
    match cx
        .survey()
        .tools
        .iter()
        .any(|tool| !annotations(tool).is_empty())
    {
        true => Ok(()),
        false => Err(Stop::Skip(
            "no argument of a tool has `x-mcp-header`".into(),
        )),
    }
}

async fn names(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    has_annotations(cx)?;
    for tool in &cx.survey().tools {
        for found in annotations(tool) {
            let is_allowed =
                |char: char| char.is_ascii_alphanumeric() || TOKEN_MARKS.contains(char);
            let fault = match found.value().as_str() {
                None => format!("is {} instead of a string", found.value()),
                Some("") => "is empty".into(),
                Some(name) => match name.chars().find(|char| !is_allowed(*char)) {
                    None => continue,
                    Some(char) => {
                        format!("has the character {char:?}, which no name of a header has")
                    }
                },
            };
            cx.fault_at(
                name_of(tool),
                format!("`x-mcp-header` at {} {fault}", found.path),
            );
        }
    }
    Ok(())
}

async fn unique(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    has_annotations(cx)?;
    for tool in &cx.survey().tools {
        let mut places = BTreeMap::new();
        for found in annotations(tool) {
            let Some(name) = found.value().as_str() else {
                continue;
            };
            if let Some(other) = places.insert(name.to_ascii_lowercase(), found.path.clone()) {
                let place = found.path;
                let sentence = format!("{other} and {place} have the same `x-mcp-header`: {name}");
                cx.fault_at(name_of(tool), sentence);
            }
        }
    }
    Ok(())
}

async fn types(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    has_annotations(cx)?;
    for tool in &cx.survey().tools {
        for found in annotations(tool) {
            let kind = &found.schema["type"];
            // Without a type, and with several, the sentence decides nothing.
            let is_refused = kind
                .as_str()
                .is_some_and(|kind| !["string", "integer", "boolean"].contains(&kind));
            if is_refused {
                let sentence = format!(
                    "{} is mirrored into a header, its type is {kind}",
                    found.path
                );
                cx.fault_at(name_of(tool), sentence);
            }
        }
    }
    Ok(())
}

async fn places(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    has_annotations(cx)?;
    for tool in &cx.survey().tools {
        for found in annotations(tool).iter().filter(|it| !it.is_reachable) {
            let sentence = format!(
                "`x-mcp-header` stands at \"{}\", where arguments cannot be mirrored",
                found.path
            );
            cx.fault_at(name_of(tool), sentence);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_properties_of_properties_are_reachable() {
        let leaf = json!({"type": "string", "x-mcp-header": "A"});
        let tool = json!({"inputSchema": {
            "x-mcp-header": "root",
            "properties": {"a": leaf, "b": {"properties": {"c": leaf}}, "d": {"items": leaf},
                "properties": leaf, "e": {"default": leaf}},
            "allOf": [{"properties": {"f": leaf}}],
            "$defs": {"g": leaf},
        }});
        let mut found: Vec<_> = annotations(&tool)
            .into_iter()
            .map(|it| (it.path, it.is_reachable))
            .collect();
        found.sort();
        let expected = [
            ("", false),
            ("/$defs/g", false),
            ("/allOf/0/properties/f", false),
            ("/properties/a", true),
            ("/properties/b/properties/c", true),
            ("/properties/d/items", false),
            ("/properties/properties", true),
        ];
        assert_eq!(
            found,
            expected.map(|(path, reachable)| (path.to_owned(), reachable))
        );
    }
}
