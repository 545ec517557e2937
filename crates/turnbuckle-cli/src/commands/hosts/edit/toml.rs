//! Changes of TOML.

use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table};

use super::{Change, lines};

/// Returns the members of the document.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, String> {
    let document: DocumentMut = read(text)?;
    Ok(to_object(document.iter()))
}

/// Returns the text with a changed server. Comments above its table stay.
pub(super) fn change(
    text: &str,
    member: &str,
    name: &str,
    change: &Change,
) -> Result<String, String> {
    let mut document = read(text)?;
    let servers = document.entry(member).or_insert_with(|| {
        let mut servers = Table::new();
        servers.set_implicit(true);
        Item::Table(servers)
    });
    let servers = servers
        .as_table_like_mut()
        .ok_or_else(|| format!("{member:?} is not a table of servers"))?;
    let former = servers.get(name).and_then(Item::as_table);
    let mut comments = None;
    match change {
        Change::Set(entry) => {
            let mut table = Table::new();
            if let Some(former) = former {
                table.set_position(former.position());
                *table.decor_mut() = former.decor().clone();
            }
            for (member, value) in entry {
                table.insert(member, Item::Value(to_value(value)?));
            }
            servers.insert(name, Item::Table(table));
        }
        Change::Remove => {
            let above = former.and_then(|former| former.decor().prefix()?.as_str());
            comments = above.filter(|above| above.contains('#')).map(str::to_owned);
            servers.remove(name);
        }
    }
    let changed = document.to_string();
    Ok(match comments {
        Some(comments) => lines::insert_comments(text, &changed, &comments),
        None => changed,
    })
}

fn read(text: &str) -> Result<DocumentMut, String> {
    text.parse()
        .map_err(|error: toml_edit::TomlError| error.to_string().trim_end().to_owned())
}

fn to_object<'a>(members: impl Iterator<Item = (&'a str, &'a Item)>) -> Map<String, Value> {
    let members = members.filter(|(_, item)| !item.is_none());
    members
        .map(|(name, item)| (name.to_owned(), to_json(item)))
        .collect()
}

/// Returns a JSON value that is equal for equal items.
fn to_json(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Table(table) => Value::Object(to_object(table.iter())),
        Item::ArrayOfTables(tables) => {
            let tables = tables.iter();
            tables
                .map(|table| Value::Object(to_object(table.iter())))
                .collect()
        }
        Item::Value(value) => value_to_json(value),
    }
}

fn value_to_json(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().clone().into(),
        toml_edit::Value::Boolean(value) => (*value.value()).into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Datetime(time) => time.value().to_string().into(),
        toml_edit::Value::Array(values) => values.iter().map(value_to_json).collect(),
        toml_edit::Value::InlineTable(table) => {
            let members = table.iter();
            Value::Object(
                members
                    .map(|(name, value)| (name.to_owned(), value_to_json(value)))
                    .collect(),
            )
        }
    }
}

fn to_value(value: &Value) -> Result<toml_edit::Value, String> {
    Ok(match value {
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::String(text) => text.into(),
        Value::Array(values) => {
            let values: Result<Array, String> = values.iter().map(to_value).collect();
            values?.into()
        }
        Value::Object(members) => {
            let mut table = InlineTable::new();
            for (name, value) in members {
                table.insert(name, to_value(value)?);
            }
            table.into()
        }
        Value::Null => return Err("TOML has no null".to_owned()),
    })
}
