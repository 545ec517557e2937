//! Conversion of constant alternatives to `enum`, and the test whether alternatives are disjoint.

use serde_json::{Map, Value, json};

use super::description::note;

type Keywords = Map<String, Value>;

/// Returns the type that all values share.
pub(super) fn type_of(values: &[Value]) -> Option<&'static str> {
    let name = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let first = name(values.first()?);
    values
        .iter()
        .all(|value| name(value) == first)
        .then_some(first)
}

/// Replaces alternatives that are only constants by an `enum` whose description has their
/// descriptions.
pub(super) fn fold_constants(schema: &mut Keywords, keyword: &str) {
    if schema.contains_key("enum") {
        return;
    }
    let Some(Value::Array(branches)) = schema.get(keyword) else {
        return;
    };
    let mut options: Vec<Value> = Vec::new();
    let mut lines = Vec::new();
    for branch in branches {
        let Some(mine) = constants(branch) else {
            return;
        };
        if mine.iter().any(|value| options.contains(value)) {
            return;
        }
        let description = ["description", "title"]
            .iter()
            .find_map(|name| branch.get(*name)?.as_str());
        if let (Some(description), [value]) = (description, &mine[..]) {
            lines.push(format!("- `{}`: {description}", enum_text(value)));
        }
        options.extend(mine.iter().cloned());
    }
    let kind = type_of(&options);
    match (schema.get("type").and_then(Value::as_str), kind) {
        (Some(declared), Some(kind)) if declared != kind => return,
        (Some(_), None) => return,
        (None, Some(kind)) => {
            schema.insert("type".to_owned(), kind.into());
        }
        _ => {}
    }
    schema.remove(keyword);
    schema.insert("enum".to_owned(), options.into());
    if !lines.is_empty() {
        note(schema, &lines.join("\n"));
    }
}

/// Returns the values of a schema that is only an `enum`.
fn constants(schema: &Value) -> Option<&Vec<Value>> {
    let schema = schema.as_object()?;
    let options = schema.get("enum")?.as_array()?;
    let kind = type_of(options);
    let fits = schema.iter().all(|(name, value)| match name.as_str() {
        "enum" | "description" | "title" | "deprecated" => true,
        "type" => value.as_str() == kind,
        _ => false,
    });
    fits.then_some(options)
}

fn enum_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns whether no value can match two of the branches, judged by types, required members and
/// tags.
pub(super) fn are_disjoint(branches: &[Value]) -> bool {
    branches.iter().enumerate().all(|(index, one)| {
        let others = &branches[index + 1..];
        others.iter().all(|other| is_disjoint_from(one, other))
    })
}

fn is_disjoint_from(one: &Value, other: &Value) -> bool {
    let types = (one.get("type"), other.get("type"));
    if let (Some(Value::String(one)), Some(Value::String(other))) = types {
        let numeric = |name: &str| matches!(name, "integer" | "number");
        if one != other && !(numeric(one) && numeric(other)) {
            return true;
        }
    }
    if let (Some(mine), Some(theirs)) = (string_options(one), string_options(other))
        && !mine.iter().any(|value| theirs.contains(value))
    {
        return true;
    }
    let object = json!("object");
    if one.get("type") != Some(&object) || other.get("type") != Some(&object) {
        return false;
    }
    let required = |schema: &Value, name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)))
    };
    // One branch requires a member that the other, which is closed, does not allow.
    let takes = |schema: &Value, name: &Value| {
        let members = schema.get("properties").and_then(Value::as_object);
        let named = name.as_str().zip(members);
        named.is_some_and(|(name, members)| members.contains_key(name))
    };
    let refuses = |closed: &Value, demanding: &Value| {
        closed.get("additionalProperties") == Some(&Value::Bool(false))
            && closed.get("patternProperties").is_none()
            && demanding
                .get("required")
                .and_then(Value::as_array)
                .is_some_and(|names| names.iter().any(|name| !takes(closed, name)))
    };
    if refuses(one, other) || refuses(other, one) {
        return true;
    }
    let members = one.get("properties").and_then(Value::as_object);
    members.into_iter().flatten().any(|(name, mine)| {
        let theirs = other
            .get("properties")
            .and_then(|members| members.get(name));
        let tags = (string_options(mine), theirs.and_then(string_options));
        let apart =
            matches!(tags, (Some(mine), Some(theirs)) if !mine.iter().any(|v| theirs.contains(v)));
        apart && required(one, name) && required(other, name)
    })
}

/// Returns the values of an `enum` of strings.
fn string_options(schema: &Value) -> Option<&Vec<Value>> {
    let options = schema.get("enum")?.as_array()?;
    options.iter().all(Value::is_string).then_some(options)
}
