//! Two schemas as one that means both.

use serde_json::{Map, Value};

type Keywords = Map<String, Value>;

/// Keywords that mean something only together: they cannot be mixed from two schemas.
const ENTANGLED: [&[&str]; 3] = [
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

/// The schema that is fit by what fits both, or nothing if that needs an `allOf`. Of descriptions
/// and the like the first one's stays.
pub(super) fn conjoin(one: &Keywords, other: &Keywords) -> Option<Keywords> {
    for group in ENTANGLED {
        let has = |schema: &Keywords| {
            group
                .iter()
                .filter(|name| schema.get(**name).is_some_and(|value| says(name, value)))
                .count()
        };
        let only_properties = |schema: &Keywords| {
            has(schema) == 1
                && schema
                    .get("properties")
                    .is_some_and(|p| says("properties", p))
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
            Some(mine) if mine == value || is_annotation(name) || !says(name, value) => {}
            Some(mine) if !says(name, mine) => {
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

/// Whether a keyword says anything: `"properties": {}` does not.
fn says(name: &str, value: &Value) -> bool {
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
