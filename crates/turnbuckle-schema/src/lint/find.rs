//! Detection of the schema features that clients object to.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::check::address;
use crate::keywords::{Document, references, subschemas};
use crate::limits::MAX_DEPTH;
use crate::violation::pointer_join;

/// A feature that some client objects to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaFeature {
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

/// Returns each feature of the schema with its first location.
pub(super) fn find_features(root: &Value) -> Vec<(SchemaFeature, String)> {
    let mut found = Vec::new();
    visit(root, "", true, &mut found);
    found
}

/// Returns the first reference that leads back to an enclosing schema.
pub(super) fn find_recursion(root: &Value) -> Option<&str> {
    let mut inside = Vec::new();
    find_recursion_below(&Document::new(root), root, &mut inside, &mut HashSet::new())
}

fn find_recursion_below<'a>(
    document: &Document<'a>,
    schema: &'a Value,
    inside: &mut Vec<usize>,
    done: &mut HashSet<usize>,
) -> Option<&'a str> {
    let keywords = schema.as_object()?;
    // Bounds the stack: recursive references make longer paths than nesting does.
    if inside.len() > MAX_DEPTH || !done.insert(address(schema)) {
        return None;
    }
    inside.push(address(schema));
    for child in subschemas(keywords) {
        if let Some(found) = find_recursion_below(document, child.schema, inside, done) {
            return Some(found);
        }
    }
    for reference in references(keywords) {
        let target = document.resolve(reference)?;
        if inside.contains(&address(target)) {
            return Some(reference);
        }
        if let Some(found) = find_recursion_below(document, target, inside, done) {
            return Some(found);
        }
    }
    inside.pop();
    None
}

/// Collects the features of a schema and its subschemas. `typed` says that the schema describes a
/// member or an item, which should have a type.
fn visit(schema: &Value, path: &str, typed: bool, found: &mut Vec<(SchemaFeature, String)>) {
    let Value::Object(keywords) = schema else {
        if typed && *schema == Value::Bool(true) {
            add_once(found, SchemaFeature::NoType, path);
        }
        return;
    };
    for one in features_of(keywords, path.is_empty(), typed) {
        add_once(found, one, path);
    }
    for (keyword, value) in keywords {
        let inside = pointer_join(path, keyword);
        match (keyword.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(members),
            ) => {
                for (name, member) in members {
                    visit(
                        member,
                        &pointer_join(&inside, name),
                        keyword == "properties",
                        found,
                    );
                }
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(schemas)) => {
                for (index, one) in schemas.iter().enumerate() {
                    visit(
                        one,
                        &pointer_join(&inside, &index.to_string()),
                        false,
                        found,
                    );
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

fn add_once(found: &mut Vec<(SchemaFeature, String)>, one: SchemaFeature, path: &str) {
    if !found.iter().any(|(known, _)| *known == one) {
        found.push((one, path.to_owned()));
    }
}

fn features_of(schema: &Map<String, Value>, is_root: bool, typed: bool) -> Vec<SchemaFeature> {
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
        (SchemaFeature::RootAlternatives, is_root && alternatives),
        (SchemaFeature::Alternatives, alternatives),
        (SchemaFeature::BesideAnyOf, has("anyOf") && beside),
        (SchemaFeature::Dialect, has("$schema")),
        (
            SchemaFeature::OtherDialect,
            dialect.is_some_and(|dialect| !dialect.contains("2020-12")),
        ),
        (
            SchemaFeature::OldTuple,
            schema.get("items").is_some_and(Value::is_array),
        ),
        (SchemaFeature::Reference, has("$ref")),
        (SchemaFeature::DynamicReference, has("$dynamicRef")),
        (
            SchemaFeature::TypeUnion,
            schema.get("type").is_some_and(Value::is_array),
        ),
        (SchemaFeature::Constant, has("const")),
        (
            SchemaFeature::EnumNotOfText,
            options.is_some_and(|options| !options.iter().all(Value::is_string)),
        ),
        (
            SchemaFeature::Format,
            is_text && format.is_some_and(|format| format != "date-time"),
        ),
        (SchemaFeature::NoType, typed && untyped),
        (
            SchemaFeature::NoItems,
            kind == Some("array") && !has("items"),
        ),
        (
            SchemaFeature::NoProperties,
            kind == Some("object") && !has("properties"),
        ),
        (
            SchemaFeature::AdditionalProperties,
            has("additionalProperties"),
        ),
    ]
    .into_iter()
    .filter_map(|(one, is_there)| is_there.then_some(one))
    .collect()
}
