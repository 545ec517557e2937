//! The definitions of a revision while they are made, and the schemas of shapes.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use turnbuckle_types::describe::{Shape, StructShape, UnionShape, WordsShape};

use super::names::{definition_name, is_draft_07};
use crate::era::project::listing::union_listing;
use crate::revision::Features;

/// The definitions of one revision while they are made.
pub(super) struct Builder {
    pub(super) features: &'static Features,
    definitions: BTreeMap<String, Value>,
}

impl Builder {
    pub(super) fn new(features: &'static Features) -> Self {
        Self {
            features,
            definitions: BTreeMap::new(),
        }
    }

    /// Returns the whole schema.
    pub(super) fn into_document(self) -> Value {
        let dialect = match is_draft_07(self.features) {
            true => "http://json-schema.org/draft-07/schema#",
            false => "https://json-schema.org/draft/2020-12/schema",
        };
        let keyword = self.keyword();
        json!({"$schema": dialect, keyword: self.definitions})
    }

    fn keyword(&self) -> &'static str {
        match is_draft_07(self.features) {
            true => "definitions",
            false => "$defs",
        }
    }

    /// Returns a reference to the definition with this name.
    pub(super) fn reference(&self, name: &str) -> Value {
        json!({"$ref": format!("#/{}/{name}", self.keyword())})
    }

    /// Adds a definition, unless there is one with this name. Returns a reference to it.
    pub(super) fn define(&mut self, name: &str, schema: Value) -> Value {
        self.definitions.entry(name.to_owned()).or_insert(schema);
        self.reference(name)
    }

    /// Removes a definition and returns it.
    pub(super) fn take_definition(&mut self, name: &str) -> Value {
        self.definitions.remove(name).unwrap_or_default()
    }

    /// Returns the definition that a reference leads to.
    pub(super) fn resolve(&self, reference: &Value) -> Value {
        let target = reference["$ref"].as_str().unwrap_or_default();
        let name = target.rsplit('/').next().unwrap_or_default();
        self.definitions.get(name).cloned().unwrap_or_default()
    }

    /// Returns the schema of a shape.
    pub(super) fn schema(&mut self, shape: &Shape) -> Value {
        match shape {
            Shape::Any => json!({}),
            Shape::Boolean => json!({"type": "boolean"}),
            Shape::String(None) => json!({"type": "string"}),
            Shape::String(Some(format)) => json!({"type": "string", "format": format}),
            Shape::Integer => json!({"type": "integer"}),
            Shape::NullableInteger => json!({"type": ["integer", "null"]}),
            Shape::Number => json!({"type": "number"}),
            Shape::Fraction => json!({"type": "number", "minimum": 0, "maximum": 1}),
            Shape::FieldValue => self.field_value(),
            Shape::RequestId => self.reference("RequestId"),
            Shape::ProgressToken => self.reference("ProgressToken"),
            Shape::InputResponses => self.reference("InputResponses"),
            Shape::Settings if self.features.extensions => self.reference("JSONObject"),
            Shape::Object | Shape::Settings | Shape::Meta | Shape::Schema => {
                json!({"type": "object"})
            }
            Shape::List(item) => json!({"type": "array", "items": self.schema(item)}),
            Shape::OneOrMany(item) => self.one_or_many(item),
            Shape::Map(value) => match &**value {
                Shape::Union(union) if is_input_request(union) => self.reference("InputRequests"),
                value => json!({"type": "object", "additionalProperties": self.schema(value)}),
            },
            Shape::Words(words) => {
                let schema = match words.values[..] {
                    [only] => return json!({"type": "string", "const": only}),
                    _ => json!({"type": "string", "enum": words.values}),
                };
                self.name_schema(words.name, schema)
            }
            Shape::Struct(object) if object.name == "Settings" => self.schema(&Shape::Settings),
            Shape::Struct(object) => {
                let schema = self.members(object, &|_| true).into_schema();
                self.name_schema(object.name, schema)
            }
            Shape::Union(union) => self.union(union),
        }
    }

    /// Adds the schema as a definition and returns a reference, if the type has a name; else returns
    /// the schema.
    fn name_schema(&mut self, name: &'static str, schema: Value) -> Value {
        match definition_name(name, self.features) {
            Some(name) => self.define(&name, schema),
            None => schema,
        }
    }

    fn field_value(&self) -> Value {
        let single = json!({"type": ["string", "number", "boolean"]});
        match self.features.elicitation_url {
            true => {
                let list = json!({"type": "array", "items": {"type": "string"}});
                json!({"anyOf": [list, single]})
            }
            false => single,
        }
    }

    fn one_or_many(&mut self, item: &Shape) -> Value {
        let reference = self.schema(item);
        let Shape::Union(union) = item else {
            return reference;
        };
        let mut variants = self.variants(union, &|_| true);
        if self.features.sampling_tools {
            variants.push(json!({"type": "array", "items": reference}));
        }
        any_of(variants)
    }

    fn union(&mut self, union: &UnionShape) -> Value {
        if is_input_request(union) {
            return self.reference("InputRequest");
        }
        let variants = self.variants(union, &|_| true);
        let schema = match &variants[..] {
            [only] => only.clone(),
            _ => any_of(variants),
        };
        self.name_schema(union.name, schema)
    }

    /// Returns the schemas of the variants that the revision has and that pass the filter.
    pub(super) fn variants(
        &mut self,
        union: &UnionShape,
        filter: &dyn Fn(&str) -> bool,
    ) -> Vec<Value> {
        let listing = union_listing(union.name);
        let mut schemas = Vec::new();
        for (name, shape) in union.variants.iter().filter(|(name, _)| filter(name)) {
            if listing.is_some_and(|it| !it.lists(name, self.features)) {
                continue;
            }
            match shape {
                Shape::Struct(object) if object.name.ends_with("SelectEnumSchema") => {
                    schemas.extend(self.choices(object));
                }
                shape => schemas.push(self.schema(shape)),
            }
        }
        schemas
    }

    /// Returns the two definitions of a choice, whose type has the choices with and without titles.
    fn choices(&mut self, object: &StructShape) -> [Value; 2] {
        let forms = ["Untitled", "Titled"].map(|form| {
            let mut object = object.clone();
            for field in &mut object.fields {
                if let ("items", Shape::Struct(items)) = (field.key, &mut field.shape) {
                    keep_choices(items, form);
                }
            }
            keep_choices(&mut object, form);
            let schema = self.members(&object, &|_| true).into_schema();
            self.define(&format!("{form}{}", object.name), schema)
        });
        let both = any_of(forms.to_vec());
        self.define(object.name, both);
        forms
    }
}

/// Keeps the fields of choices in one of their forms, where they must be there.
fn keep_choices(object: &mut StructShape, form: &str) {
    let (kept, dropped): (&[&str], &[&str]) = match form {
        "Untitled" => (&["values", "kind"], &["one_of", "any_of"]),
        _ => (&["one_of", "any_of"], &["values", "kind"]),
    };
    object
        .fields
        .retain(|field| !dropped.contains(&field.field));
    for field in &mut object.fields {
        field.is_required |= kept.contains(&field.field);
        if field.field == "kind" {
            // The choices of a form are strings.
            field.shape = Shape::Words(WordsShape {
                name: "",
                values: vec!["string"],
            });
        }
    }
}

fn is_input_request(union: &UnionShape) -> bool {
    union.name == "InputRequest"
}

/// Returns the union of schemas.
pub(super) fn any_of(schemas: Vec<Value>) -> Value {
    json!({"anyOf": schemas})
}
