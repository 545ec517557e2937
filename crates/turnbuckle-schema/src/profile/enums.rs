//! Alternatives that are, after all, one list of values; and those that exclude each other.

use serde_json::{Map, Value, json};

use super::words::note;

type Keywords = Map<String, Value>;

/// The type of all these values, if they have one.
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

/// Turns alternatives that are nothing but constants into an `enum`, with what they say of
/// themselves in its description.
pub(super) fn fold(schema: &mut Keywords, keyword: &str) {
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
        let said = ["description", "title"]
            .iter()
            .find_map(|name| branch.get(*name)?.as_str());
        if let (Some(said), [value]) = (said, &mine[..]) {
            lines.push(format!("- `{}`: {said}", plain(value)));
        }
        options.extend(mine.iter().cloned());
    }
    let kind = type_of(&options);
    match (schema.get("type").and_then(Value::as_str), kind) {
        (Some(said), Some(kind)) if said != kind => return,
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

/// The values of a schema that says nothing else.
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

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether no value fits two of the branches, as far as their types and tags tell.
pub(super) fn exclude_each_other(branches: &[Value]) -> bool {
    branches.iter().enumerate().all(|(index, one)| {
        let others = &branches[index + 1..];
        others.iter().all(|other| differ(one, other))
    })
}

fn differ(one: &Value, other: &Value) -> bool {
    let types = (one.get("type"), other.get("type"));
    if let (Some(Value::String(one)), Some(Value::String(other))) = types {
        let numeric = |name: &str| matches!(name, "integer" | "number");
        if one != other && !(numeric(one) && numeric(other)) {
            return true;
        }
    }
    if let (Some(mine), Some(theirs)) = (strings(one), strings(other))
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
    // One demands a member that the other, being closed, does not take.
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
        let tags = (strings(mine), theirs.and_then(strings));
        let apart =
            matches!(tags, (Some(mine), Some(theirs)) if !mine.iter().any(|v| theirs.contains(v)));
        apart && required(one, name) && required(other, name)
    })
}

/// The values of an `enum` of texts.
fn strings(schema: &Value) -> Option<&Vec<Value>> {
    let options = schema.get("enum")?.as_array()?;
    options.iter().all(Value::is_string).then_some(options)
}
