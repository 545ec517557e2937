//! Schemas of OpenAPI as JSON Schemas of tools.
//!
//! References are replaced by their targets, since many clients follow none. A cycle is cut, and so is what
//! is beyond the size of a schema: `{}` stands there, which any value matches. A schema only ever grows more
//! lenient than the document's: the API itself decides about a request.

use serde_json::{Map, Value, json};
use turnbuckle_types::base::text::shorten_to;

use super::document::{Document, is_elsewhere, reference};

/// The schemas in one tool's schema.
const MAX_SCHEMAS: usize = 1_000;

/// The levels of nesting in one tool's schema, without those of references.
const MAX_DEPTH: usize = 12;

/// The references in each other.
const MAX_PATH: usize = 40;

/// The bytes of what a schema quotes: an enumeration, a default value.
const MAX_QUOTE_BYTES: usize = 4_096;

/// The characters of a description.
const MAX_DESCRIPTION_CHARS: usize = 1_000;

/// The properties of one object.
const MAX_PROPERTIES: usize = 200;

/// The side that writes the values of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    /// The client, in arguments.
    Client,
    /// The API, in responses. Their schemas say names and types only, and everything may be null or missing:
    /// few APIs keep to their documents, and a result that does not match its schema is an error.
    Api,
}

/// Converts the schemas of one tool.
pub(super) struct Converter<'d> {
    document: &'d Document,
    writer: Writer,
    /// The schemas that may still be made.
    budget: usize,
    /// The references that lead to the current place.
    path: Vec<&'d str>,
    depth: usize,
    /// The reason why a schema is not in this document, if one is in another.
    pub(super) missing: Option<String>,
}

/// A property of an object, whose schema is not converted.
pub(super) struct Property<'d> {
    pub(super) name: &'d str,
    pub(super) schema: &'d Value,
    pub(super) is_required: bool,
}

impl<'d> Converter<'d> {
    pub(super) fn new(document: &'d Document, writer: Writer) -> Self {
        Self {
            document,
            writer,
            budget: MAX_SCHEMAS,
            path: Vec::new(),
            depth: 0,
            missing: None,
        }
    }

    /// Converts a schema.
    pub(super) fn convert(&mut self, schema: &'d Value) -> Value {
        if self.is_full() {
            return json!({});
        }
        self.budget -= 1;
        match reference(schema) {
            None => {
                self.depth += 1;
                let converted = self.convert_here(schema);
                self.depth -= 1;
                converted
            }
            Some(name) if self.path.contains(&name) => {
                let name = name.rsplit('/').next().unwrap_or_default();
                json!({"description": format!("another {}", shorten_to(name, 80))})
            }
            Some(name) => {
                self.path.push(name);
                let mut converted = match self.document.target(name) {
                    Ok(target) => self.convert(target),
                    Err(reason) => {
                        if is_elsewhere(name) {
                            self.missing.get_or_insert(reason);
                        }
                        json!({})
                    }
                };
                self.path.pop();
                let text = schema.as_object().and_then(description);
                if let (Some(text), Value::Object(fields)) = (text, &mut converted) {
                    fields.insert("description".to_owned(), text.into());
                }
                converted
            }
        }
    }

    /// Returns whether no further schema is made at the current place.
    fn is_full(&self) -> bool {
        self.budget == 0 || self.depth == MAX_DEPTH || self.path.len() == MAX_PATH
    }

    /// Converts a schema that is no reference.
    fn convert_here(&mut self, schema: &'d Value) -> Value {
        let Value::Object(schema) = schema else {
            return json!({});
        };
        let mut out = Map::new();
        let types = self.types(schema);
        let has = |name: &str| types.is_empty() || types.contains(&name);
        if let Some(types) = type_value(&types) {
            out.insert("type".to_owned(), types);
        }
        if let Some(text) = description(schema) {
            out.insert("description".to_owned(), text.into());
        }
        if self.writer == Writer::Client {
            copy_constraints(schema, &types, &mut out);
        }
        if has("object") {
            self.add_properties(schema, &mut out);
        }
        if has("array")
            && let Some(items) = schema.get("items").filter(|_| !self.is_full())
        {
            let items = self.convert(items);
            out.insert("items".to_owned(), items);
        }
        for (from, to) in [("allOf", "allOf"), ("anyOf", "anyOf"), ("oneOf", "anyOf")] {
            let members = schema.get(from).and_then(Value::as_array);
            // Of a schema with two choices, the first one is kept.
            if let Some(members) = members.filter(|_| !out.contains_key(to))
                && let Some(mut members) = self.convert_members(members)
            {
                if is_nullable(schema) && to == "anyOf" {
                    members.push(json!({"type": "null"}));
                }
                out.insert(to.to_owned(), members.into());
            }
        }
        out.into()
    }

    /// Converts the members of a combination; `None` if not all of them can be made.
    fn convert_members(&mut self, members: &'d [Value]) -> Option<Vec<Value>> {
        let mut converted = Vec::new();
        for member in members {
            if self.is_full() {
                return None;
            }
            converted.push(self.convert(member));
        }
        (!converted.is_empty()).then_some(converted)
    }

    fn types(&self, schema: &'d Map<String, Value>) -> Vec<&'d str> {
        const KNOWN: [&str; 7] = [
            "array", "boolean", "integer", "null", "number", "object", "string",
        ];
        let mut types: Vec<&str> = match schema.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ if schema.contains_key("properties") => vec!["object"],
            _ if schema.contains_key("items") => vec!["array"],
            _ => Vec::new(),
        };
        types.dedup();
        if types.iter().any(|name| !KNOWN.contains(name)) {
            return Vec::new();
        }
        let may_be_null = is_nullable(schema) || self.writer == Writer::Api;
        if may_be_null && !types.is_empty() && !types.contains(&"null") {
            types.push("null");
        }
        types
    }

    fn add_properties(&mut self, schema: &'d Map<String, Value>, out: &mut Map<String, Value>) {
        let mut properties = Map::new();
        if let Some(Value::Object(all)) = schema.get("properties") {
            for (name, property) in all.iter().take(MAX_PROPERTIES) {
                if self.is_full() {
                    break;
                }
                if self.is_written(property) {
                    properties.insert(name.clone(), self.convert(property));
                }
            }
        }
        let required = schema.get("required").and_then(Value::as_array);
        let required: Vec<&Value> = required
            .into_iter()
            .flatten()
            .filter(|name| {
                name.as_str()
                    .is_some_and(|name| properties.contains_key(name))
            })
            .collect();
        if !required.is_empty() && self.writer == Writer::Client {
            out.insert("required".to_owned(), json!(required));
        }
        if !properties.is_empty() {
            out.insert("properties".to_owned(), properties.into());
        }
        match schema.get("additionalProperties") {
            Some(more @ Value::Object(_)) if !self.is_full() => {
                let more = self.convert(more);
                out.insert("additionalProperties".to_owned(), more);
            }
            Some(Value::Bool(false)) if self.writer == Writer::Client => {
                let is_whole = schema
                    .get("properties")
                    .and_then(Value::as_object)
                    .is_none_or(|all| all.len() <= MAX_PROPERTIES && !self.is_full());
                if is_whole {
                    out.insert("additionalProperties".to_owned(), false.into());
                }
            }
            _ => {}
        }
    }

    /// Returns whether a property is in what this side writes.
    fn is_written(&self, property: &Value) -> bool {
        let other = match self.writer {
            Writer::Client => "readOnly",
            Writer::Api => "writeOnly",
        };
        let property = self.document.resolve(property).unwrap_or(&Value::Null);
        property.get(other) != Some(&Value::Bool(true))
    }

    /// Returns the properties of an object, if these are all that it can have.
    pub(super) fn properties(&self, schema: &'d Value) -> Option<Vec<Property<'d>>> {
        let mut properties = Vec::new();
        self.collect(schema, &mut properties, 0)?;
        (!properties.is_empty() && properties.len() <= MAX_PROPERTIES).then_some(properties)
    }

    fn collect(&self, schema: &'d Value, all: &mut Vec<Property<'d>>, depth: usize) -> Option<()> {
        if depth == MAX_DEPTH || all.len() > MAX_PROPERTIES {
            return None;
        }
        let Value::Object(schema) = self.document.resolve(schema).ok()? else {
            return None;
        };
        let is_object = match schema.get("type") {
            None => true,
            Some(Value::String(name)) => name == "object",
            Some(_) => false,
        };
        let more = schema.get("additionalProperties");
        let has_more = more.is_some_and(|more| *more != Value::Bool(false));
        if !is_object || has_more || is_nullable(schema) {
            return None;
        }
        // A choice among objects with properties of their own cannot be flat.
        let chooses = ["anyOf", "oneOf"]
            .iter()
            .any(|name| schema.contains_key(*name));
        if chooses && !schema.contains_key("properties") {
            return None;
        }
        let is_required = |name: &str| {
            let required = schema.get("required").and_then(Value::as_array);
            required.is_some_and(|all| all.iter().any(|one| one == name))
        };
        if let Some(Value::Object(properties)) = schema.get("properties") {
            for (name, schema) in properties {
                let is_required = is_required(name);
                match all.iter_mut().find(|known| known.name == name) {
                    Some(known) => known.is_required |= is_required,
                    None if self.is_written(schema) => all.push(Property {
                        name,
                        schema,
                        is_required,
                    }),
                    None => {}
                }
            }
        }
        if let Some(Value::Array(members)) = schema.get("allOf") {
            for member in members {
                self.collect(member, all, depth + 1)?;
            }
        }
        for known in all.iter_mut() {
            known.is_required |= is_required(known.name);
        }
        Some(())
    }
}

/// Returns whether a schema of OpenAPI 3.0 allows null beside its type.
fn is_nullable(schema: &Map<String, Value>) -> bool {
    schema.get("nullable") == Some(&Value::Bool(true))
}

/// Returns the description of a schema, with what it says in keywords that are left out.
fn description(schema: &Map<String, Value>) -> Option<String> {
    let text = schema.get("description").and_then(Value::as_str);
    let mut text = shorten_text(text.unwrap_or_default(), MAX_DESCRIPTION_CHARS);
    // The expressions of documents are those of JavaScript, which are not all understood here.
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        let separator = if text.is_empty() { "" } else { " " };
        text += &format!("{separator}Pattern: {}", shorten_to(pattern, 200));
    }
    (!text.is_empty()).then_some(text)
}

/// Returns a text of the document, at most `max_chars` characters of it.
pub(super) fn shorten_text(text: &str, max_chars: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Copies the keywords that constrain a single value, where they have the right form and type.
fn copy_constraints(schema: &Map<String, Value>, types: &[&str], out: &mut Map<String, Value>) {
    let is_of = |names: &[&str]| types.is_empty() || names.iter().any(|name| types.contains(name));
    let is_small = |value: &Value| value.to_string().len() <= MAX_QUOTE_BYTES;
    let mut copy = |name: &str, fits: &dyn Fn(&Value) -> bool| {
        if let Some(value) = schema.get(name).filter(|value| fits(value)) {
            out.insert(name.to_owned(), value.clone());
        }
    };
    if is_of(&["integer", "number"]) {
        for name in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] {
            copy(name, &Value::is_number);
        }
        copy("multipleOf", &|value| {
            value.as_f64().is_some_and(|value| value > 0.0)
        });
    }
    for (kind, names) in [
        ("string", ["minLength", "maxLength"]),
        ("array", ["minItems", "maxItems"]),
        ("object", ["minProperties", "maxProperties"]),
    ] {
        if is_of(&[kind]) {
            for name in names {
                copy(name, &Value::is_u64);
            }
        }
    }
    if is_of(&["array"]) {
        copy("uniqueItems", &Value::is_boolean);
    }
    copy("format", &|value| {
        value.as_str().is_some_and(|text| text.len() <= 80)
    });
    copy("default", &is_small);
    copy("const", &is_small);
    // In 3.0, a bound is exclusive by a flag beside it.
    for (flag, bound) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        if schema.get(flag) == Some(&Value::Bool(true))
            && let Some(value) = out.remove(bound)
        {
            out.insert(flag.to_owned(), value);
        }
    }
    if let Some(example) = schema.get("example").filter(|value| is_small(value)) {
        out.insert("examples".to_owned(), json!([example]));
    }
    if let Some(Value::Array(values)) = schema.get("enum")
        && !values.is_empty()
        && values
            .iter()
            .map(|value| value.to_string().len())
            .sum::<usize>()
            <= MAX_QUOTE_BYTES
    {
        let mut values = values.clone();
        if is_nullable(schema) && !values.contains(&Value::Null) {
            values.push(Value::Null);
        }
        out.insert("enum".to_owned(), values.into());
    }
}

fn type_value(types: &[&str]) -> Option<Value> {
    match types {
        [] => None,
        [one] => Some((*one).into()),
        several => Some(json!(several)),
    }
}
