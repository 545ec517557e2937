//! One revision's official schema: its definitions, and validators made of them on demand.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::Faults;

/// The unions of messages that have methods.
const UNIONS: [&str; 4] = [
    "ClientNotification",
    "ClientRequest",
    "ServerNotification",
    "ServerRequest",
];

/// The official schema of one revision.
pub struct Schema {
    revision: &'static str,
    dialect: Value,
    /// Under which keyword the definitions stand.
    keyword: &'static str,
    definitions: Value,
    /// The name of each definition, by its address: a definition never moves.
    names: HashMap<usize, String>,
    /// The definition of each method, by union.
    methods: HashMap<&'static str, BTreeMap<String, String>>,
    /// The definition of each error that has a code.
    errors: Vec<(Value, String)>,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Schema {
    pub(super) fn new(revision: &'static str, mut schema: Value) -> Self {
        let keyword = if schema.get("$defs").is_some() {
            "$defs"
        } else {
            "definitions"
        };
        let mut this = Self {
            revision,
            dialect: schema["$schema"].take(),
            keyword,
            definitions: schema[keyword].take(),
            names: HashMap::new(),
            methods: HashMap::new(),
            errors: Vec::new(),
            validators: Mutex::default(),
        };
        this.names = this.named_addresses();
        this.methods = UNIONS.map(|union| (union, this.members(union))).into();
        this.errors = this.error_codes();
        this
    }

    fn named_addresses(&self) -> HashMap<usize, String> {
        let definitions = self.definitions.as_object().into_iter().flatten();
        let entry = |(name, definition): (&String, &Value)| (address(definition), name.clone());
        definitions.map(entry).collect()
    }

    pub(super) fn revision(&self) -> &'static str {
        self.revision
    }

    /// Returns whether the revision has a definition.
    #[must_use]
    pub fn has(&self, definition: &str) -> bool {
        self.definitions.get(definition).is_some()
    }

    /// Returns a definition; `null` when there is none.
    #[must_use]
    pub fn definition(&self, name: &str) -> &Value {
        &self.definitions[name]
    }

    /// Returns the name of a definition of this very schema.
    pub(super) fn name_of(&self, definition: &Value) -> Option<&str> {
        self.names.get(&address(definition)).map(String::as_str)
    }

    /// Follows references; returns the schema itself if it is no reference.
    #[must_use]
    pub fn resolve<'s>(&'s self, schema: &'s Value) -> &'s Value {
        let mut schema = schema;
        while let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let name = target.rsplit('/').next().unwrap_or_default();
            schema = self.definition(name);
        }
        schema
    }

    /// Returns the methods of a union (`ClientRequest`, …), each with its definition.
    #[must_use]
    pub fn methods(&self, union: &str) -> BTreeMap<String, String> {
        let known = self.methods.get(union);
        known.cloned().unwrap_or_else(|| self.members(union))
    }

    fn members(&self, union: &str) -> BTreeMap<String, String> {
        let definition = self.definition(union);
        let members: Vec<_> = match &definition["anyOf"] {
            Value::Array(members) => members.iter().collect(),
            // A union of one is written as its member.
            _ if definition.is_object() => vec![definition],
            _ => vec![],
        };
        let named = |member: &&Value| {
            let name = member["$ref"]
                .as_str()
                .and_then(|target| target.rsplit('/').next());
            let method = &self.resolve(member)["properties"]["method"]["const"];
            (method.as_str().map(Into::into)).zip(Some(name.unwrap_or(union).to_owned()))
        };
        members.iter().filter_map(named).collect()
    }

    /// Returns the definition of a method within a union.
    pub(super) fn of_method(&self, union: &str, method: &str) -> Result<String, Faults> {
        let fault = || vec![format!("{} has no {method} as a {union}", self.revision)];
        let methods = self.methods.get(union);
        let definition = methods.and_then(|methods| methods.get(method));
        definition.cloned().ok_or_else(fault)
    }

    /// Returns the definition of the error with that code.
    pub(super) fn of_error_code(&self, code: &Value) -> Option<String> {
        let mut errors = self.errors.iter();
        let (_, name) = errors.find(|(other, _)| other == code)?;
        Some(name.clone())
    }

    /// Returns the code of each error, with the name of its definition.
    fn error_codes(&self) -> Vec<(Value, String)> {
        let code = |schema: &Value| schema["properties"]["code"].get("const").cloned();
        let mut codes = Vec::new();
        for (name, definition) in self.definitions.as_object().into_iter().flatten() {
            let error = &definition["properties"]["error"];
            let parts = error["allOf"].as_array().into_iter().flatten();
            let all = code(definition).into_iter().chain(parts.filter_map(code));
            codes.extend(all.map(|code| (code, name.clone())));
        }
        codes
    }

    /// Returns the `const` of every `method` in the schema, at any depth.
    #[must_use]
    pub fn method_literals(&self) -> BTreeSet<String> {
        let definitions = self.definitions.as_object().into_iter().flatten();
        let literal = |(_, definition): (&String, &Value)| {
            definition["properties"]["method"]["const"]
                .as_str()
                .map(str::to_owned)
        };
        definitions.filter_map(literal).collect()
    }

    /// Returns a definition and those that it refers to: a validator of a whole schema would take a
    /// megabyte.
    fn reachable_definitions(&self, definition: &str) -> Map<String, Value> {
        let mut reachable = Map::new();
        let mut waiting = vec![definition.to_owned()];
        while let Some(name) = waiting.pop() {
            if !reachable.contains_key(&name) {
                let definition = self.definition(&name);
                add_references(definition, &mut waiting);
                reachable.insert(name, definition.clone());
            }
        }
        reachable
    }

    pub(super) fn faults(&self, definition: &str, value: &Value) -> Faults {
        let validator = self.validator(definition);
        // Nearly every value is valid, and that is found faster than every error.
        if validator.is_valid(value) {
            return Faults::new();
        }
        let fault = |error: jsonschema::ValidationError<'_>| {
            format!(
                "{} {definition}{}: {error}",
                self.revision,
                error.instance_path()
            )
        };
        validator.iter_errors(value).map(fault).collect()
    }

    #[expect(clippy::expect_used, reason = "the schemas are part of this crate")]
    fn validator(&self, definition: &str) -> Arc<Validator> {
        let lock = self.validators.lock();
        let mut validators = lock.unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let schema = json!({
                "$schema": self.dialect,
                self.keyword: self.reachable_definitions(definition),
                "$ref": format!("#/{}/{definition}", self.keyword),
            });
            let options = jsonschema::options().should_validate_formats(true);
            Arc::new(options.build(&schema).expect("an official schema is valid"))
        };
        Arc::clone(validators.entry(definition.to_owned()).or_insert_with(make))
    }
}

/// Returns the address of a definition.
fn address(definition: &Value) -> usize {
    std::ptr::from_ref(definition).addr()
}

/// Adds the names of the definitions that a schema refers to, at any depth.
fn add_references(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            let target = members.get("$ref").and_then(Value::as_str);
            names.extend(
                target
                    .and_then(|target| target.rsplit('/').next())
                    .map(str::to_owned),
            );
            members
                .values()
                .for_each(|member| add_references(member, names));
        }
        Value::Array(items) => items.iter().for_each(|item| add_references(item, names)),
        _ => {}
    }
}
