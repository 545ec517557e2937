//! Changes of JSON with comments.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::{Map, Value};
use turnbuckle::servers::config::jsonc_to_json;

use super::super::entry::Entry;
use super::Change;

/// Returns the members of the object.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, String> {
    let plain = jsonc_to_json(text);
    if plain.trim().is_empty() {
        return Ok(Map::new());
    }
    // This parser has a bound for the depth.
    let value: Value = serde_json::from_str(&plain).map_err(|error| error.to_string())?;
    match value {
        Value::Object(members) => Ok(members),
        _ => Err("it is not a JSON object".to_owned()),
    }
}

/// Returns the text with a changed server.
pub(super) fn change(
    text: &str,
    member: &str,
    name: &str,
    change: &Change,
) -> Result<String, String> {
    let root = CstRootNode::parse(text, &ParseOptions::default());
    let root = root.map_err(|error| error.to_string())?;
    let object = root.object_value_or_set();
    let servers = object.object_value_or_set(member);
    match (change, servers.get(name)) {
        (Change::Set(entry), Some(property)) => property.set_value(entry_to_input(entry)),
        (Change::Set(entry), None) => {
            object.ensure_multiline();
            servers.ensure_multiline();
            servers.append(name, entry_to_input(entry));
        }
        (Change::Remove, Some(property)) => property.remove(),
        (Change::Remove, None) => {}
    }
    let mut changed = root.to_string();
    if !changed.ends_with('\n') && (text.is_empty() || text.ends_with('\n')) {
        changed.push('\n');
    }
    Ok(changed)
}

fn entry_to_input(entry: &Entry) -> CstInputValue {
    let members = entry.iter();
    let members = members.map(|(name, value)| ((*name).to_owned(), to_input(value)));
    CstInputValue::Object(members.collect())
}

fn to_input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(to_input).collect()),
        Value::Object(members) => {
            let members = members.iter();
            CstInputValue::Object(
                members
                    .map(|(name, value)| (name.clone(), to_input(value)))
                    .collect(),
            )
        }
    }
}
