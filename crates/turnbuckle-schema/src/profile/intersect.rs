//! The intersection of two schemas.

use serde_json::{Map, Value};

type Keywords = Map<String, Value>;

/// Groups of keywords that affect each other, so that they cannot be combined from two schemas.
const DEPENDENT_KEYWORDS: [&[&str]; 3] = [
    &[
        "properties",
        "patternProperties",
        "additionalProperties",
        "unevaluatedProperties",
    ],
    &[
        "items",
        "prefixItems",
        "unevaluatedItems",
        "contains",
        "minContains",
        "maxContains",
    ],
    &["if", "then", "else"],
];

/// Returns a schema that accepts the values that both accept, or `None` if that needs `allOf`. The annotations
/// of the first one are kept.
pub(super) fn conjoin(one: &Keywords, other: &Keywords) -> Option<Keywords> {
    for group in DEPENDENT_KEYWORDS {
        let has = |schema: &Keywords| {
            group
                .iter()
                .filter(|name| {
                    schema
                        .get(**name)
                        .is_some_and(|value| is_restrictive(name, value))
                })
                .count()
        };
        let only_properties = |schema: &Keywords| {
            has(schema) == 1
                && schema
                    .get("properties")
                    .is_some_and(|p| is_restrictive("properties", p))
        };
        if has(one) > 0 && has(other) > 0 && !(only_properties(one) && only_properties(other)) {
            return None;
        }
    }
    let mut both = one.clone();
    for (name, value) in other {
        match both.get(name) {
            None => {
                both.insert(name.clone(), value.clone());
            }
            Some(mine) if mine == value || is_annotation(name) || !is_restrictive(name, value) => {}
            Some(mine) if !is_restrictive(name, mine) => {
                both.insert(name.clone(), value.clone());
            }
            Some(mine) => {
                let value = conjoin_keyword(name, mine, value)?;
                both.insert(name.clone(), value);
            }
        }
    }
    Some(both)
}

/// Returns whether the keyword with this value restricts anything: `"properties": {}` does not.
fn is_restrictive(name: &str, value: &Value) -> bool {
    match name {
        "properties" | "items" | "additionalProperties" => {
            *value != Value::Bool(true) && value.as_object().is_none_or(|inside| !inside.is_empty())
        }
        _ => true,
    }
}

fn conjoin_keyword(name: &str, one: &Value, other: &Value) -> Option<Value> {
    match (name, one, other) {
        ("required", Value::Array(one), Value::Array(other)) => {
            let mut names = one.clone();
            names.extend(other.iter().filter(|name| !one.contains(name)).cloned());
            Some(names.into())
        }
        ("enum", Value::Array(one), Value::Array(other)) => {
            let both: Vec<Value> = one.iter().filter(|o| other.contains(o)).cloned().collect();
            (!both.is_empty()).then(|| both.into())
        }
        ("type", Value::String(one), Value::String(other)) => {
            let integer = [one, other].contains(&&"integer".to_owned());
            let number = [one, other].contains(&&"number".to_owned());
            (integer && number).then(|| "integer".into())
        }
        ("properties", Value::Object(one), Value::Object(other)) => {
            let mut members = one.clone();
            for (name, schema) in other {
                let both = match (members.get(name), schema) {
                    (None, schema) => schema.clone(),
                    (Some(mine), schema) if mine == schema => continue,
                    (Some(Value::Object(mine)), Value::Object(schema)) => {
                        conjoin(mine, schema)?.into()
                    }
                    _ => return None,
                };
                members.insert(name.clone(), both);
            }
            Some(members.into())
        }
        _ => None,
    }
}

fn is_annotation(name: &str) -> bool {
    matches!(
        name,
        "title"
            | "description"
            | "default"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "nullable"
            | "format"
    ) || name.starts_with("x-")
}
