//! Samples taken apart: each member and each element of a list by itself, with nothing beside it
//! that the type does not require.

use serde_json::{Map, Value, json};

/// Members that are there as a whole or not at all: JSON of an author, and icons, which all
/// revisions that have them have alike.
const OPAQUE: [&str; 15] = [
    "_meta",
    "arguments",
    "data",
    "experimental",
    "extensions",
    "icons",
    "input",
    "inputResponses",
    "inputSchema",
    "items",
    "metadata",
    "outputSchema",
    "structuredContent",
    "$schema",
    super::samples::UNKNOWN,
];

/// Members that are optional in the vocabulary, because a revision lacks them, and required in
/// others.
const ALWAYS: [&str; 2] = ["elicitationId", "requestId"];

/// Returns one value for each member, at any depth, that `value` has: with that member and what
/// its type requires. `is_valid` says whether a value is one of the type.
pub(super) fn each_member_alone(value: &Value, is_valid: &dyn Fn(&Value) -> bool) -> Vec<Value> {
    let mut found = vec![minimal(value, is_valid)];
    found.extend(alone(value, is_valid));
    found.retain(|value| is_valid(value));
    found.dedup();
    found
}

fn alone(value: &Value, is_valid: &dyn Fn(&Value) -> bool) -> Vec<Value> {
    match value {
        Value::Object(members) => {
            let least = required(members, is_valid);
            let mut found = Vec::new();
            for (name, member) in members {
                for only in alone_in(members, name, member, is_valid) {
                    let mut object = least.clone();
                    object.insert(name.clone(), only);
                    found.push(Value::Object(object));
                }
            }
            found
        }
        Value::Array(elements) => elements
            .iter()
            .flat_map(|element| {
                let in_list = |only: &Value| is_valid(&json!([only]));
                let mut found = vec![minimal(element, &in_list)];
                found.extend(alone(element, &in_list));
                found
            })
            .map(|only| json!([only]))
            .collect(),
        other => vec![other.clone()],
    }
}

/// Returns the forms of one member of an object.
fn alone_in(
    members: &Map<String, Value>,
    name: &str,
    member: &Value,
    is_valid: &dyn Fn(&Value) -> bool,
) -> Vec<Value> {
    if OPAQUE.contains(&name) {
        return vec![member.clone()];
    }
    let in_object = |only: &Value| {
        let mut object = members.clone();
        object.insert(name.to_owned(), only.clone());
        is_valid(&Value::Object(object))
    };
    let mut found = vec![minimal(member, &in_object)];
    found.extend(alone(member, &in_object));
    found
}

/// Returns the members without which an object is not valid, in their least form.
fn required(members: &Map<String, Value>, is_valid: &dyn Fn(&Value) -> bool) -> Map<String, Value> {
    let mut least = Map::new();
    for (name, member) in members {
        let mut without = members.clone();
        without.remove(name);
        if !ALWAYS.contains(&name.as_str()) && is_valid(&Value::Object(without)) {
            continue;
        }
        let in_object = |only: &Value| {
            let mut object = members.clone();
            object.insert(name.clone(), only.clone());
            is_valid(&Value::Object(object))
        };
        let form = match name.as_str() {
            "inputSchema" => json!({"type": "object"}),
            name if OPAQUE.contains(&name) => member.clone(),
            _ => minimal(member, &in_object),
        };
        least.insert(name.clone(), form);
    }
    least
}

/// Returns the least form of a value.
fn minimal(value: &Value, is_valid: &dyn Fn(&Value) -> bool) -> Value {
    match value {
        Value::Object(members) => Value::Object(required(members, is_valid)),
        Value::Array(_) if is_valid(&json!([])) => json!([]),
        Value::Array(elements) => {
            let in_list = |only: &Value| is_valid(&json!([only]));
            let first = elements.first().map(|first| minimal(first, &in_list));
            first.into_iter().collect()
        }
        other => other.clone(),
    }
}
