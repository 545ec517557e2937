//! The `format` that a schema demands at a location, for error messages.

use serde_json::Value;
use turnbuckle_types::Schema;

use crate::keywords::{Document, references};

/// The most schemas that are looked at, with references and alternatives.
const MAX_STEPS: usize = 256;

/// Returns the `format` of the value to which these names and indexes lead, if the schema has one
/// there.
///
/// ```
/// use turnbuckle_schema::format_at;
/// use turnbuckle_types::Schema;
///
/// let schema: Schema = r##"{"type":"object","properties":{"days":{"type":"array","items":{"$ref":"#/$defs/Day"}}},
///     "$defs":{"Day":{"type":"string","format":"date"}}}"##.parse()?;
/// assert_eq!(format_at(&schema, &["days", "0"]).as_deref(), Some("date"));
/// assert_eq!(format_at(&schema, &["days"]), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn format_at<S: AsRef<str>>(schema: &Schema, path: &[S]) -> Option<String> {
    let root: Value = serde_json::from_str(schema.as_str()).ok()?;
    let document = Document::new(&root);
    let mut steps = 0;
    let mut here = Vec::new();
    expand(&document, &root, &mut here, &mut steps);
    for segment in path {
        let mut next = Vec::new();
        for schema in here {
            if let Some(inside) = child(schema, segment.as_ref()) {
                expand(&document, inside, &mut next, &mut steps);
            }
        }
        here = next;
    }
    let formats = here
        .iter()
        .filter_map(|schema| schema.get("format")?.as_str());
    formats.map(str::to_owned).next()
}

/// Returns the schema of a member or an item.
fn child<'a>(schema: &'a Value, segment: &str) -> Option<&'a Value> {
    let member = schema
        .get("properties")
        .and_then(|members| members.get(segment));
    let index = segment.parse::<usize>();
    let item = || schema.get("prefixItems")?.get(*index.as_ref().ok()?);
    let items = || index.as_ref().ok().and(schema.get("items"));
    member
        .or_else(item)
        .or_else(items)
        .or_else(|| schema.get("additionalProperties"))
}

/// Adds a schema, the targets of its references and its alternatives.
fn expand<'a>(
    document: &Document<'a>,
    schema: &'a Value,
    found: &mut Vec<&'a Value>,
    steps: &mut usize,
) {
    let Some(keywords) = schema.as_object() else {
        return;
    };
    *steps += 1;
    if *steps > MAX_STEPS {
        return;
    }
    found.push(schema);
    for target in references(keywords).filter_map(|reference| document.resolve(reference)) {
        expand(document, target, found, steps);
    }
    for name in ["anyOf", "oneOf", "allOf"] {
        for one in keywords
            .get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            expand(document, one, found, steps);
        }
    }
}
