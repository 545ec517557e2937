//! The JSON Schema of a revision, made from the types of the vocabulary and the tables of this crate.
//!
//! The document has the form of the official schema: the same names of definitions, the same keyword
//! and dialect. Types and fields come from [`turnbuckle_types::describe`], the fields that a revision
//! has from the tables of the projection, its messages from the table of methods. Written here is only
//! what neither knows: the frames of JSON-RPC, and the form that the official schema gives to things.

mod builder;
mod envelope;
mod members;
mod messages;
mod names;
mod shared;

use std::collections::BTreeSet;
use std::fmt;

use builder::Builder;
use serde_json::Value;

use crate::revision::Revision;

/// The JSON Schema of a revision: one document with a definition for each type and message. As text, it
/// is one line, and with `{:#}` one that people can read.
#[derive(Debug, Clone)]
pub struct JsonSchema(Value);

impl JsonSchema {
    /// Creates the schema of a revision.
    #[must_use]
    pub fn for_revision(revision: Revision) -> Self {
        let mut builder = Builder::new(revision.features());
        envelope::define(&mut builder);
        messages::define(&mut builder);
        shared::define(&mut builder);
        Self(builder.into_document())
    }

    /// Returns the names of the definitions.
    pub fn definition_names(&self) -> impl Iterator<Item = &str> {
        let definitions = self.0[keyword(&self.0)].as_object();
        definitions
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
    }

    /// Reduces the schema to one definition, which becomes its root, and those that it refers to. Returns
    /// `None` if there is no such definition.
    #[must_use]
    pub fn select(mut self, name: &str) -> Option<Self> {
        let keyword = keyword(&self.0);
        let definitions = self.0[keyword].as_object_mut()?;
        if !definitions.contains_key(name) {
            return None;
        }
        let mut needed = BTreeSet::from([name.to_owned()]);
        let mut unread = vec![name.to_owned()];
        while let Some(name) = unread.pop() {
            let mut found = Vec::new();
            collect_references(&definitions[&name], &mut found);
            unread.extend(found.into_iter().filter(|name| needed.insert(name.clone())));
        }
        definitions.retain(|name, _| needed.contains(name));
        self.0["$ref"] = format!("#/{keyword}/{name}").into();
        Some(self)
    }
}

impl fmt::Display for JsonSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns the keyword under which the definitions of a schema stand.
fn keyword(document: &Value) -> &'static str {
    match document.get("$defs") {
        Some(_) => "$defs",
        None => "definitions",
    }
}

/// Appends the names of the definitions that a schema refers to.
fn collect_references(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match value.as_str().and_then(|target| target.rsplit_once('/')) {
                    Some((_, name)) if key == "$ref" => names.push(name.to_owned()),
                    _ => collect_references(value, names),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                collect_references(item, names);
            }
        }
        _ => {}
    }
}
