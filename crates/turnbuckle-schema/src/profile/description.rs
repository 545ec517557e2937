//! Notes in the descriptions of schemas.

use serde_json::{Map, Value};

/// Appends a sentence to the description of a schema, unless it is already there.
pub(super) fn note(schema: &mut Map<String, Value>, sentence: &str) {
    let description = match schema.get("description").and_then(Value::as_str) {
        Some(text) if text.contains(sentence) => return,
        Some(description) if !description.is_empty() => format!("{description}\n\n{sentence}"),
        _ => sentence.to_owned(),
    };
    schema.insert("description".to_owned(), description.into());
}

/// Returns the last segment of a reference, which names its target.
pub(super) fn name_of(reference: &str) -> Option<&str> {
    let name = reference.rsplit(['/', '#']).next()?;
    (!name.is_empty()).then_some(name)
}
