//! Changes of one server in the text of a configuration file. Comments, order and indentation stay.

mod json;
mod lines;
mod toml;

use serde_json::{Map, Value};

use super::entry::Entry;
use super::host::Syntax;

/// A change of one server.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// The server is added, or takes the place of one of the same name.
    Set(Entry),
    /// The server is removed.
    Remove,
}

/// Returns the servers of a configuration file, in its member of this name.
///
/// # Errors
/// Returns the reason why the text cannot be read, or the member is no object.
pub(super) fn servers(
    text: &str,
    syntax: Syntax,
    member: &str,
) -> Result<Map<String, Value>, String> {
    let mut root = parse(text, syntax)?;
    match root.remove(member) {
        None => Ok(Map::new()),
        Some(Value::Object(servers)) => Ok(servers),
        Some(_) => Err(format!("{member:?} is not an object of servers")),
    }
}

/// Returns the text with a changed server. The result is read again: nothing else may differ. A byte order mark and the
/// ends of lines stay.
///
/// # Errors
/// Returns the reason why the text cannot be changed.
pub(super) fn change(
    text: &str,
    syntax: Syntax,
    member: &str,
    name: &str,
    change: &Change,
) -> Result<String, String> {
    let mut wanted = parse(text, syntax)?;
    let mut servers = servers(text, syntax, member)?;
    match change {
        Change::Set(entry) => servers.insert(name.to_owned(), to_object(entry)),
        Change::Remove => servers.remove(name),
    };
    let (mark, text) = split_mark(text);
    let changed = match syntax {
        Syntax::Json => json::change(text, member, name, change)?,
        Syntax::Toml => toml::change(text, member, name, change)?,
    };
    let changed = lines::keep_ends(text, &changed);
    // TOML has no place for a table that is empty and implicit.
    let is_left_out = servers.is_empty() && syntax == Syntax::Toml;
    match is_left_out {
        true => wanted.remove(member),
        false => wanted.insert(member.to_owned(), Value::Object(servers)),
    };
    let mut found = parse(&changed, syntax)?;
    if is_left_out {
        found.remove(member);
    }
    match found == wanted {
        true => Ok(format!("{mark}{changed}")),
        false => Err(format!(
            "it cannot be changed without a change of something else; does it have {member:?} or {name:?} twice?"
        )),
    }
}

/// Returns the object of an entry.
pub(super) fn to_object(entry: &Entry) -> Value {
    let members = entry.iter().cloned();
    Value::Object(
        members
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

/// Returns the members of a file. An empty file has none.
fn parse(text: &str, syntax: Syntax) -> Result<Map<String, Value>, String> {
    let (_, text) = split_mark(text);
    match syntax {
        Syntax::Json => json::parse(text),
        Syntax::Toml => toml::parse(text),
    }
}

/// Splits a byte order mark off a text.
fn split_mark(text: &str) -> (&str, &str) {
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.split_at(text.len() - rest.len())
}

#[cfg(test)]
mod tests;
