//! The check of a schema before it is compiled: dialect, references, size and patterns.

use std::collections::HashMap;

use serde_json::{Map, Value};
use turnbuckle_types::Schema;

use crate::SchemaLimits;
use crate::error::SchemaError;
use crate::keywords::{AppliesTo, Document, references, subschemas};
use turnbuckle_types::base::text::shorten;

/// The supported dialects of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// 2020-12, which is assumed for schemas without `$schema`.
    Draft202012,
    /// Draft-07.
    Draft07,
}

impl Dialect {
    /// Returns the dialect that `$schema` names.
    fn from_schema(schema: &Map<String, Value>) -> Result<Self, SchemaError> {
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

/// A schema that passed the check.
#[derive(Debug, Clone)]
pub(crate) struct CheckedSchema {
    pub(crate) schema: Value,
    pub(crate) dialect: Dialect,
    /// The number of patterns in the schema.
    pub(crate) patterns: usize,
    /// The limits that the schema was checked for.
    pub(crate) limits: SchemaLimits,
}

/// Checks the dialect, the references and the size of a schema. The values of its keywords are
/// checked by the validators.
///
/// # Errors
/// If the schema cannot be used for validation.
pub(crate) fn check_schema(
    schema: &Schema,
    limits: SchemaLimits,
) -> Result<CheckedSchema, SchemaError> {
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
    let dialect = Dialect::from_schema(schema.as_object().ok_or(SchemaError::NotAnObject)?)?;
    let document = Document::new(&schema);
    let mut walk = SchemaWalk::new(&document, dialect, limits);
    walk.visit(&schema, 0)?;
    let mut chains = ReferenceChains {
        document: &document,
        met: HashMap::new(),
        most: limits.depth_limit(),
    };
    for subschema in &walk.schemas {
        if chains.longest_from(subschema, "", 0)? > chains.most {
            return Err(SchemaError::TooDeep);
        }
    }
    let patterns = walk.patterns;
    if let Some(members) = schema.as_object_mut() {
        // The dialect is known now, and the engine would not accept every spelling of it.
        members.remove("$schema");
    }
    Ok(CheckedSchema {
        schema,
        dialect,
        patterns,
        limits,
    })
}

/// The size of a subschema with its references replaced. Recursive references count once.
#[derive(Clone, Copy)]
struct ExpandedSize {
    expanded: usize,
    height: usize,
}

impl ExpandedSize {
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

/// A walk over every subschema along keywords and references. Each is visited once.
struct SchemaWalk<'a> {
    document: &'a Document<'a>,
    dialect: Dialect,
    /// The sizes of the visited schemas, `true` and `false` among them, by address. `None` while
    /// the walk is inside.
    met: HashMap<usize, Option<ExpandedSize>>,
    schemas: Vec<&'a Value>,
    patterns: usize,
    limits: SchemaLimits,
}

impl<'a> SchemaWalk<'a> {
    fn new(document: &'a Document<'a>, dialect: Dialect, limits: SchemaLimits) -> Self {
        Self {
            document,
            dialect,
            met: HashMap::new(),
            schemas: Vec::new(),
            patterns: 0,
            limits,
        }
    }

    fn visit(&mut self, value: &'a Value, depth: usize) -> Result<ExpandedSize, SchemaError> {
        let deepest = self.limits.depth_limit();
        match self.met.get(&address(value)) {
            Some(Some(size)) if depth + size.height > deepest => {
                return Err(SchemaError::TooDeep);
            }
            Some(Some(size)) => return Ok(*size),
            Some(None) => return Ok(ExpandedSize::ONE),
            None if depth > deepest => return Err(SchemaError::TooDeep),
            None if self.met.len() >= self.limits.max_subschemas => {
                return Err(SchemaError::TooLarge);
            }
            None => self.met.insert(address(value), None),
        };
        let Some(schema) = value.as_object() else {
            self.met.insert(address(value), Some(ExpandedSize::ONE));
            return Ok(ExpandedSize::ONE);
        };
        self.schemas.push(value);
        for pattern in patterns(schema) {
            self.patterns += 1;
            if pattern.len() > self.limits.max_pattern_bytes {
                return Err(SchemaError::Pattern {
                    pattern: shorten(pattern),
                    message: "its text exceeds the size limit".to_owned(),
                });
            }
        }
        if self.patterns > self.limits.max_patterns {
            return Err(SchemaError::TooManyPatterns);
        }
        if depth > 0 {
            self.check_embedded(schema)?;
        }
        let mut size = ExpandedSize::ONE;
        for child in subschemas(schema) {
            size = size.with(self.visit(child.schema, depth + 1)?);
        }
        for reference in references(schema) {
            if !reference.starts_with('#') {
                return Err(SchemaError::NonLocalReference(shorten(reference)));
            }
            let target = self
                .document
                .resolve(reference)
                .ok_or_else(|| SchemaError::DanglingReference(shorten(reference)))?;
            size = size.with(self.visit(target, depth + 1)?);
        }
        if size.expanded > self.limits.max_expanded_subschemas {
            return Err(SchemaError::TooLarge);
        }
        self.met.insert(address(value), Some(size));
        Ok(size)
    }

    /// Refuses a subschema with its own base URI or dialect, which would change the meaning of its
    /// references.
    fn check_embedded(&self, schema: &Map<String, Value>) -> Result<(), SchemaError> {
        if let Some(id) = schema.get("$id").and_then(Value::as_str) {
            return Err(SchemaError::EmbeddedDocument(shorten(id)));
        }
        match schema.get("$schema") {
            Some(other) if Dialect::from_schema(schema)? != self.dialect => {
                Err(SchemaError::UnsupportedDialect(shorten(&other.to_string())))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the patterns of the schema object itself.
fn patterns(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let members = schema.get("patternProperties").and_then(Value::as_object);
    let names = members.into_iter().flat_map(Map::keys).map(String::as_str);
    let pattern = schema.get("pattern").and_then(Value::as_str);
    pattern.into_iter().chain(names)
}

/// The chains of subschemas that apply to the same value. A chain that returns to itself would
/// never end.
struct ReferenceChains<'a> {
    document: &'a Document<'a>,
    /// The longest chain from each visited schema, by address. `None` while the walk is inside.
    met: HashMap<usize, Option<usize>>,
    /// The longest chain that is allowed.
    most: usize,
}

impl<'a> ReferenceChains<'a> {
    /// Returns the length of the longest chain from here. `reference` was followed last, and the
    /// chain that led here has length `above`.
    fn longest_from(
        &mut self,
        value: &'a Value,
        reference: &str,
        above: usize,
    ) -> Result<usize, SchemaError> {
        let Some(schema) = value.as_object() else {
            return Ok(0);
        };
        match self.met.get(&address(value)) {
            Some(Some(length)) => return Ok(*length),
            Some(None) => return Err(SchemaError::EndlessReference(shorten(reference))),
            None if above > self.most => return Err(SchemaError::TooDeep),
            None => self.met.insert(address(value), None),
        };
        let mut length = 0;
        for child in subschemas(schema).filter(|child| child.reach == AppliesTo::SameValue) {
            length = length.max(1 + self.longest_from(child.schema, reference, above + 1)?);
        }
        for reference in references(schema) {
            if let Some(target) = self.document.resolve(reference) {
                length = length.max(1 + self.longest_from(target, reference, above + 1)?);
            }
        }
        self.met.insert(address(value), Some(length));
        Ok(length)
    }
}

/// The depth of a walk along keywords and references. With recursive references, a walk in another
/// order than that of the check may be deeper, so each walk counts its own depth.
#[derive(Debug)]
pub(crate) struct DepthGuard {
    inside: usize,
    most: usize,
}

impl DepthGuard {
    pub(crate) fn new(limits: &SchemaLimits) -> Self {
        Self {
            inside: 0,
            most: limits.depth_limit(),
        }
    }

    /// Enters a subschema, or fails at the depth limit.
    pub(crate) fn enter(&mut self) -> Result<(), SchemaError> {
        if self.inside > self.most {
            return Err(SchemaError::TooDeep);
        }
        self.inside += 1;
        Ok(())
    }

    /// Leaves the last entered subschema.
    pub(crate) fn leave(&mut self) {
        self.inside -= 1;
    }
}

/// Returns the address of a subschema, which distinguishes it from equal ones.
pub(crate) fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

#[cfg(test)]
mod tests;
