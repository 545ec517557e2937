//! What there is in a schema that somebody objects to.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::check::address;
use crate::keywords::{Document, children, references};
use crate::limits::DEEPEST;
use crate::violation::join;

/// Something that a schema may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trait {
    RootAlternatives,
    Alternatives,
    BesideAnyOf,
    Dialect,
    OtherDialect,
    OldTuple,
    Reference,
    DynamicReference,
    Recursion,
    TypeUnion,
    Constant,
    EnumNotOfText,
    Format,
    NoType,
    NoItems,
    NoProperties,
    AdditionalProperties,
}

/// Each trait that a schema has, with the first place of it.
pub(super) fn find(root: &Value) -> Vec<(Trait, String)> {
    let mut found = Vec::new();
    visit(root, "", true, &mut found);
    found
}

/// The first reference of a schema that leads back to where it stands.
pub(super) fn recursion(root: &Value) -> Option<&str> {
    let mut inside = Vec::new();
    recurring(&Document::new(root), root, &mut inside, &mut HashSet::new())
}

fn recurring<'a>(
    document: &Document<'a>,
    schema: &'a Value,
    inside: &mut Vec<usize>,
    done: &mut HashSet<usize>,
) -> Option<&'a str> {
    let keywords = schema.as_object()?;
    // No stack is endless, and references that lead back make longer ways than nesting does.
    if inside.len() > DEEPEST || !done.insert(address(schema)) {
        return None;
    }
    inside.push(address(schema));
    for child in children(keywords) {
        if let Some(found) = recurring(document, child.schema, inside, done) {
            return Some(found);
        }
    }
    for reference in references(keywords) {
        let target = document.resolve(reference)?;
        if inside.contains(&address(target)) {
            return Some(reference);
        }
        if let Some(found) = recurring(document, target, inside, done) {
            return Some(found);
        }
    }
    inside.pop();
    None
}

/// `typed` is whether the schema is of a member or an item, which should have a type.
fn visit(schema: &Value, path: &str, typed: bool, found: &mut Vec<(Trait, String)>) {
    let Value::Object(keywords) = schema else {
        if typed && *schema == Value::Bool(true) {
            add(found, Trait::NoType, path);
        }
        return;
    };
    for one in traits(keywords, path.is_empty(), typed) {
        add(found, one, path);
    }
    for (keyword, value) in keywords {
        let inside = join(path, keyword);
        match (keyword.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(members),
            ) => {
                for (name, member) in members {
                    visit(member, &join(&inside, name), keyword == "properties", found);
                }
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(schemas)) => {
                for (index, one) in schemas.iter().enumerate() {
                    visit(one, &join(&inside, &index.to_string()), false, found);
                }
            }
            ("items", _) => visit(value, &inside, !keywords.contains_key("prefixItems"), found),
            (
                "additionalProperties"
                | "contains"
                | "if"
                | "then"
                | "else"
                | "not"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                _,
            ) => visit(value, &inside, false, found),
            _ => {}
        }
    }
}

fn add(found: &mut Vec<(Trait, String)>, one: Trait, path: &str) {
    if !found.iter().any(|(known, _)| *known == one) {
        found.push((one, path.to_owned()));
    }
}

fn traits(schema: &Map<String, Value>, is_root: bool, typed: bool) -> Vec<Trait> {
    let has = |name: &str| schema.contains_key(name);
    let alternatives = has("anyOf") || has("oneOf") || has("allOf");
    let kind = schema.get("type").and_then(Value::as_str);
    let dialect = schema.get("$schema").and_then(Value::as_str);
    let options = schema.get("enum").and_then(Value::as_array);
    let format = schema.get("format").and_then(Value::as_str);
    let beside = schema
        .keys()
        .any(|name| !matches!(name.as_str(), "anyOf" | "description" | "title"));
    let untyped = !["type", "$ref", "anyOf", "oneOf", "allOf", "const"]
        .iter()
        .any(|name| has(name));
    let is_text = !matches!(kind, Some("integer" | "number"));
    [
        (Trait::RootAlternatives, is_root && alternatives),
        (Trait::Alternatives, alternatives),
        (Trait::BesideAnyOf, has("anyOf") && beside),
        (Trait::Dialect, has("$schema")),
        (
            Trait::OtherDialect,
            dialect.is_some_and(|dialect| !dialect.contains("2020-12")),
        ),
        (
            Trait::OldTuple,
            schema.get("items").is_some_and(Value::is_array),
        ),
        (Trait::Reference, has("$ref")),
        (Trait::DynamicReference, has("$dynamicRef")),
        (
            Trait::TypeUnion,
            schema.get("type").is_some_and(Value::is_array),
        ),
        (Trait::Constant, has("const")),
        (
            Trait::EnumNotOfText,
            options.is_some_and(|options| !options.iter().all(Value::is_string)),
        ),
        (
            Trait::Format,
            is_text && format.is_some_and(|format| format != "date-time"),
        ),
        (Trait::NoType, typed && untyped),
        (Trait::NoItems, kind == Some("array") && !has("items")),
        (
            Trait::NoProperties,
            kind == Some("object") && !has("properties"),
        ),
        (Trait::AdditionalProperties, has("additionalProperties")),
    ]
    .into_iter()
    .filter_map(|(one, is_there)| is_there.then_some(one))
    .collect()
}
