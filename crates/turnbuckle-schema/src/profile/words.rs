//! Words that are put into descriptions.

use serde_json::{Map, Value};

/// Adds a sentence to the description of a schema.
pub(super) fn note(schema: &mut Map<String, Value>, sentence: &str) {
    let description = match schema.get("description").and_then(Value::as_str) {
        Some(said) if said.contains(sentence) => return,
        Some(said) if !said.is_empty() => format!("{said}\n\n{sentence}"),
        _ => sentence.to_owned(),
    };
    schema.insert("description".to_owned(), description.into());
}

/// The last part of a reference, which names what it leads to.
pub(super) fn name_of(reference: &str) -> Option<&str> {
    let name = reference.rsplit(['/', '#']).next()?;
    (!name.is_empty()).then_some(name)
}
