//! The check of a schema that somebody wrote.

use std::collections::HashMap;
use std::fmt;

use serde_json::{Map, Value};
use turnbuckle_types::Schema;

use super::keywords::{Reach, children, references, resolve};
use super::shorten::shorten;
use super::validate;

/// The deepest nesting of subschemas.
const MAX_DEPTH: usize = 64;

/// The most subschemas.
const MAX_SUBSCHEMAS: usize = 2_000;

/// The most subschemas once every reference that does not recur is replaced by its target.
const MAX_EXPANDED: usize = 20_000;

/// The dialects of JSON Schema that are supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// 2020-12, which a schema without `$schema` is written in.
    Draft202012,
    /// Draft-07.
    Draft07,
}

impl Dialect {
    fn of(schema: &Map<String, Value>) -> Result<Self, SchemaError> {
        let Some(declared) = schema.get("$schema") else {
            return Ok(Self::Draft202012);
        };
        match declared
            .as_str()
            .map(|uri| uri.strip_suffix('#').unwrap_or(uri))
        {
            Some("https://json-schema.org/draft/2020-12/schema") => Ok(Self::Draft202012),
            Some(
                "http://json-schema.org/draft-07/schema"
                | "https://json-schema.org/draft-07/schema",
            ) => Ok(Self::Draft07),
            _ => {
                let uri = declared
                    .as_str()
                    .map_or_else(|| declared.to_string(), str::to_owned);
                Err(SchemaError::UnsupportedDialect(shorten(&uri)))
            }
        }
    }
}

/// What a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Arguments, which are always an object.
    Input,
    /// A result, which may be anything.
    Output,
}

/// Why a schema cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SchemaError {
    /// It is not a JSON object.
    NotAnObject,
    /// It describes arguments, but its `type` is not `"object"`.
    RootNotObject,
    /// Its `$schema` is this; only 2020-12 and draft-07 are supported.
    UnsupportedDialect(String),
    /// This `$ref` or `$dynamicRef` leads out of the document. Nothing is ever fetched.
    NonLocalReference(String),
    /// This reference leads nowhere.
    DanglingReference(String),
    /// This reference leads back to itself on the same value: it would never be decided.
    EndlessReference(String),
    /// A subschema has an `$id`: references into embedded documents are not supported.
    EmbeddedDocument(String),
    /// Its subschemas are nested more than 64 levels deep.
    TooDeep,
    /// It has more than 2,000 subschemas, or 20,000 with its references replaced.
    TooLarge,
    /// It is not valid by its dialect: at this JSON Pointer, for this reason.
    Invalid {
        /// Where, as a JSON Pointer into the schema.
        path: String,
        /// What is wrong there.
        message: String,
    },
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnObject => f.write_str("the schema is not a JSON object"),
            Self::RootNotObject => {
                f.write_str("a schema of arguments must say `\"type\": \"object\"` at its root")
            }
            Self::UnsupportedDialect(uri) => write!(
                f,
                "the dialect {uri} is not supported; 2020-12 and draft-07 are"
            ),
            Self::NonLocalReference(reference) => {
                write!(
                    f,
                    "the reference {reference} leads out of the schema and is not followed"
                )
            }
            Self::DanglingReference(reference) => {
                write!(f, "the reference {reference} leads nowhere")
            }
            Self::EndlessReference(reference) => {
                write!(
                    f,
                    "the reference {reference} leads back to itself on the same value"
                )
            }
            Self::EmbeddedDocument(id) => {
                write!(
                    f,
                    "the subschema with the `$id` {id} is a document of its own, which is not supported"
                )
            }
            Self::TooDeep => write!(f, "subschemas are nested more than {MAX_DEPTH} levels deep"),
            Self::TooLarge => write!(
                f,
                "the schema has more than {MAX_SUBSCHEMAS} subschemas, or {MAX_EXPANDED} with its \
                 references replaced"
            ),
            Self::Invalid { path, message } => {
                write!(f, "the schema is not valid at \"{path}\": {message}")
            }
        }
    }
}

impl std::error::Error for SchemaError {}

/// A schema that was found good.
#[derive(Debug, Clone)]
pub(crate) struct Checked {
    pub(super) schema: Value,
    pub(super) dialect: Dialect,
    /// Whether a part of it refers to itself, so that the work depends on how deep a value is.
    pub(super) recurs: bool,
}

/// Checks a schema: its dialect, its references, its size, and that it is valid by its dialect.
///
/// # Errors
/// If it cannot be registered.
pub(crate) fn check_schema(schema: &Schema, place: Place) -> Result<Checked, SchemaError> {
    let mut schema: Value = serde_json::from_str(schema.as_str()).map_err(|error| {
        if error.to_string().contains("recursion limit") {
            SchemaError::TooDeep
        } else {
            let message = shorten(&error.to_string());
            SchemaError::Invalid {
                path: String::new(),
                message,
            }
        }
    })?;
    let dialect = Dialect::of(schema.as_object().ok_or(SchemaError::NotAnObject)?)?;
    let mut walk = Walk::new(&schema, dialect);
    if walk.visit(&schema, 0)?.expanded > MAX_EXPANDED {
        return Err(SchemaError::TooLarge);
    }
    let mut chains = Chains {
        root: &schema,
        met: HashMap::new(),
    };
    for subschema in &walk.schemas {
        if chains.longest(subschema, "")? > MAX_DEPTH {
            return Err(SchemaError::TooDeep);
        }
    }
    let recurs = walk.recurs;
    if let Some(members) = schema.as_object_mut() {
        // It is known now; the engine would not know every spelling of it.
        members.remove("$schema");
    }
    validate::check_dialect(&schema, dialect)?;
    require_object(&schema, place)?;
    Ok(Checked {
        schema,
        dialect,
        recurs,
    })
}

/// Refuses a schema of arguments whose root does not say that they are an object.
pub(super) fn require_object(schema: &Value, place: Place) -> Result<(), SchemaError> {
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    if place == Place::Input && !is_object {
        Err(SchemaError::RootNotObject)
    } else {
        Ok(())
    }
}

/// What a subschema comes to with its references replaced, those aside that recur.
#[derive(Clone, Copy)]
struct Size {
    expanded: usize,
    height: usize,
}

impl Size {
    const ONE: Self = Self {
        expanded: 1,
        height: 0,
    };

    fn with(self, child: Self) -> Self {
        Self {
            expanded: self.expanded.saturating_add(child.expanded),
            height: self.height.max(child.height + 1),
        }
    }
}

/// A walk over every subschema, each once, along keywords and references.
struct Walk<'a> {
    root: &'a Value,
    dialect: Dialect,
    /// The schemas that were met, by address, and their sizes; `None` while the walk is inside.
    met: HashMap<usize, Option<Size>>,
    schemas: Vec<&'a Value>,
    recurs: bool,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Value, dialect: Dialect) -> Self {
        Self {
            root,
            dialect,
            met: HashMap::new(),
            schemas: Vec::new(),
            recurs: false,
        }
    }

    fn visit(&mut self, value: &'a Value, depth: usize) -> Result<Size, SchemaError> {
        let Some(schema) = value.as_object() else {
            return Ok(Size::ONE);
        };
        match self.met.get(&address(value)) {
            Some(Some(size)) if depth + size.height > MAX_DEPTH => {
                return Err(SchemaError::TooDeep);
            }
            Some(Some(size)) => return Ok(*size),
            Some(None) => {
                self.recurs = true;
                return Ok(Size::ONE);
            }
            None if depth > MAX_DEPTH => return Err(SchemaError::TooDeep),
            None if self.met.len() >= MAX_SUBSCHEMAS => return Err(SchemaError::TooLarge),
            None => self.met.insert(address(value), None),
        };
        self.schemas.push(value);
        if depth > 0 {
            self.check_embedded(schema)?;
        }
        let mut size = Size::ONE;
        for child in children(schema) {
            size = size.with(self.visit(child.schema, depth + 1)?);
        }
        for reference in references(schema) {
            if !reference.starts_with('#') {
                return Err(SchemaError::NonLocalReference(shorten(reference)));
            }
            let target = resolve(self.root, reference)
                .ok_or_else(|| SchemaError::DanglingReference(shorten(reference)))?;
            size = size.with(self.visit(target, depth + 1)?);
        }
        self.met.insert(address(value), Some(size));
        Ok(size)
    }

    /// A subschema with another base or dialect would change what its references mean.
    fn check_embedded(&self, schema: &Map<String, Value>) -> Result<(), SchemaError> {
        if let Some(id) = schema.get("$id").and_then(Value::as_str) {
            return Err(SchemaError::EmbeddedDocument(shorten(id)));
        }
        match schema.get("$schema") {
            Some(other) if Dialect::of(schema)? != self.dialect => {
                Err(SchemaError::UnsupportedDialect(shorten(&other.to_string())))
            }
            _ => Ok(()),
        }
    }
}

/// The chains of subschemas that are applied to one and the same value. A chain that comes back to
/// itself would never end.
struct Chains<'a> {
    root: &'a Value,
    /// The schemas that were met, by address: the longest chain from each, `None` while inside.
    met: HashMap<usize, Option<usize>>,
}

impl<'a> Chains<'a> {
    /// The length of the longest chain from here, where `reference` was followed last.
    fn longest(&mut self, value: &'a Value, reference: &str) -> Result<usize, SchemaError> {
        let Some(schema) = value.as_object() else {
            return Ok(0);
        };
        match self.met.get(&address(value)) {
            Some(Some(length)) => return Ok(*length),
            Some(None) => return Err(SchemaError::EndlessReference(shorten(reference))),
            None => self.met.insert(address(value), None),
        };
        let mut length = 0;
        for child in children(schema).filter(|child| child.reach == Reach::Here) {
            length = length.max(1 + self.longest(child.schema, reference)?);
        }
        for reference in references(schema) {
            if let Some(target) = resolve(self.root, reference) {
                length = length.max(1 + self.longest(target, reference)?);
            }
        }
        self.met.insert(address(value), Some(length));
        Ok(length)
    }
}

/// What tells one subschema of a document from another, however equal they are.
pub(super) fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

#[cfg(test)]
mod tests;
