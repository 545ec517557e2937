//! Schemas of shapes: the values of fields, and the objects and unions with a name.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use turnbuckle_types::InputRequest;
use turnbuckle_types::describe::{Shape, StructShape, UnionShape, WordsShape};

use super::names::{definition_name, is_draft_07};
use crate::era::RESULT_TYPE;
use crate::era::project::listing::{FieldListing, object_listing, union_listing};
use crate::revision::Features;

/// The definitions of one revision while they are made.
pub(super) struct Builder {
    pub(super) features: &'static Features,
    definitions: BTreeMap<String, Value>,
}

/// The members of an object.
#[derive(Default)]
pub(super) struct Members {
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl Members {
    pub(super) fn add(&mut self, name: &str, schema: Value, is_required: bool) {
        self.properties.insert(name.to_owned(), schema);
        if is_required {
            self.required.push(name.into());
        }
    }

    pub(super) fn into_schema(self) -> Value {
        let mut schema = json!({"type": "object"});
        if !self.properties.is_empty() {
            schema["properties"] = Value::Object(self.properties);
        }
        if !self.required.is_empty() {
            schema["required"] = Value::Array(self.required);
        }
        schema
    }
}

/// The part of a `_meta` object in its message.
#[derive(Clone, Copy, PartialEq)]
enum MetaOwner {
    /// An item or a piece of content: the author's.
    Item,
    Request,
    Notification,
    Result,
    /// The end of a subscription.
    SubscriptionResult,
    /// A question or an answer inside of another message, which has no envelope.
    Embedded,
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

    /// Returns the members of an object that pass the filter, which takes names of Rust fields.
    pub(super) fn members(
        &mut self,
        object: &StructShape,
        filter: &dyn Fn(&str) -> bool,
    ) -> Members {
        let mut members = Members::default();
        let listing = object_listing(object.name);
        let rule = |field: &str| {
            listing
                .and_then(|it| it.field(field))
                .map_or("", |it| it.rule)
        };
        let owner = match rule("meta") {
            "by message_meta" => self.meta_owner(object.name, rule("extra") == "by result_extra"),
            _ => MetaOwner::Item,
        };
        if let Some((name, value)) = object.tag {
            members.add(name, json!({"type": "string", "const": value}), true);
        }
        for field in object.fields.iter().filter(|field| filter(field.field)) {
            let facts = listing.and_then(|it| it.field(field.field));
            let has = |fact: fn(&FieldListing) -> fn(&Features) -> bool| {
                facts.is_none_or(|facts| fact(facts)(self.features))
            };
            if !has(|facts| facts.exists) || !has(|facts| facts.is_listed) {
                continue;
            }
            if let Shape::Meta = field.shape {
                if let Some((schema, is_required)) = self.meta(object.name, owner) {
                    members.add(field.key, schema, is_required);
                }
                continue;
            }
            let is_demanded = facts.is_some_and(|facts| (facts.is_demanded)(self.features));
            let mut schema = match (&field.shape, field.key) {
                (Shape::Schema, key) => self.author_schema(key),
                (Shape::Any, "structuredContent") if !self.features.structured_any => {
                    json!({"type": "object"})
                }
                (shape, _) => self.schema(shape),
            };
            match (object.name, field.key) {
                (_, "ttlMs") => schema["minimum"] = 0.into(),
                ("Completion", "values") if self.features.result_envelope => {
                    schema["maxItems"] = 100.into();
                }
                // The type has the requests of both sides.
                ("ClientCapabilities", "tasks") => drop_requests(&mut schema, &["tools"]),
                ("ServerCapabilities", "tasks") => {
                    drop_requests(&mut schema, &["elicitation", "sampling"]);
                }
                _ => {}
            }
            members.add(field.key, schema, field.is_required || is_demanded);
        }
        if matches!(owner, MetaOwner::Result | MetaOwner::SubscriptionResult)
            && self.features.result_envelope
        {
            members.add(RESULT_TYPE, json!({"type": "string"}), true);
        }
        // The schemas that write parameters out leave out the metadata that all of them may have.
        let is_written_out = definition_name(object.name, self.features).is_none();
        if object.name.ends_with("Params") && is_written_out && members.properties.len() > 1 {
            members.properties.remove("_meta");
        }
        members
    }

    fn meta_owner(&self, name: &str, is_result: bool) -> MetaOwner {
        let is_embedded = || {
            let mut questions = InputRequest::VARIANTS.iter();
            !self.features.server_requests && questions.any(|method| name.starts_with(method))
        };
        match name {
            "SubscriptionsListenResult" => MetaOwner::SubscriptionResult,
            _ if is_embedded() => MetaOwner::Embedded,
            _ if is_result => MetaOwner::Result,
            _ if name.ends_with("NotificationParams") => MetaOwner::Notification,
            _ => MetaOwner::Request,
        }
    }

    /// Returns the schema of a `_meta` object, and whether it must be there; `None` if it is not
    /// listed.
    fn meta(&mut self, object: &str, owner: MetaOwner) -> Option<(Value, bool)> {
        let is_envelope = self.features.result_envelope;
        Some(match owner {
            // A task is part of messages that have metadata.
            _ if object == "LegacyTask" => return None,
            MetaOwner::Embedded if object != "CreateMessageResult" => return None,
            MetaOwner::Request if !is_envelope => {
                let mut members = Members::default();
                members.add("progressToken", self.reference("ProgressToken"), false);
                (members.into_schema(), false)
            }
            _ if !is_envelope => (json!({"type": "object"}), false),
            MetaOwner::Item | MetaOwner::Embedded => (self.reference("MetaObject"), false),
            MetaOwner::Request => (self.reference("RequestMetaObject"), true),
            MetaOwner::Notification => (self.reference("NotificationMetaObject"), false),
            MetaOwner::Result => (self.reference("ResultMetaObject"), false),
            MetaOwner::SubscriptionResult => {
                (self.reference("SubscriptionsListenResultMetaObject"), true)
            }
        })
    }

    /// Returns the schema of a tool's schema, as far as a revision restricts it.
    fn author_schema(&self, key: &str) -> Value {
        let mut members = Members::default();
        if self.features.elicitation_url {
            members.add("$schema", json!({"type": "string"}), false);
        }
        if !self.features.structured_any {
            let properties = json!({"type": "object", "additionalProperties": {"type": "object"}});
            members.add("properties", properties, false);
            let names = json!({"type": "array", "items": {"type": "string"}});
            members.add("required", names, false);
        }
        if key == "inputSchema" || !self.features.structured_any {
            members.add("type", json!({"type": "string", "const": "object"}), true);
        }
        members.into_schema()
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

/// Removes requests from the schema of the capability for tasks.
fn drop_requests(tasks: &mut Value, names: &[&str]) {
    if let Some(Value::Object(requests)) = tasks.pointer_mut("/properties/requests/properties") {
        requests.retain(|name, _| !names.contains(&&**name));
    }
}

fn is_input_request(union: &UnionShape) -> bool {
    union.name == "InputRequest"
}

/// Returns the union of schemas.
pub(super) fn any_of(schemas: Vec<Value>) -> Value {
    json!({"anyOf": schemas})
}
