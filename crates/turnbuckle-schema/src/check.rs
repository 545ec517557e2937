//! The check of a schema that somebody wrote.

use std::collections::HashMap;

use serde_json::{Map, Value};
use turnbuckle_types::Schema;

use crate::SchemaLimits;
use crate::fault::SchemaFault;
use crate::keywords::{Document, Reach, children, references};
use crate::shorten::shorten;

/// The dialects of JSON Schema that are supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// 2020-12, which a schema without `$schema` is written in.
    Draft202012,
    /// Draft-07.
    Draft07,
}

impl Dialect {
    fn of(schema: &Map<String, Value>) -> Result<Self, SchemaFault> {
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
                Err(SchemaFault::UnsupportedDialect(shorten(&uri)))
            }
        }
    }
}

/// A schema that was found good.
#[derive(Debug, Clone)]
pub(crate) struct Checked {
    pub(crate) schema: Value,
    pub(crate) dialect: Dialect,
    /// How many patterns it has.
    pub(crate) patterns: usize,
    /// The bounds that it was checked for.
    pub(crate) limits: SchemaLimits,
}

/// Checks a schema: its dialect, its references and its size. Whether its keywords are valid by its
/// dialect is for those to find out who read them.
///
/// # Errors
/// If values cannot be held against it.
pub(crate) fn check_schema(schema: &Schema, limits: SchemaLimits) -> Result<Checked, SchemaFault> {
    let mut schema: Value = serde_json::from_str(schema.as_str()).map_err(|error| {
        if error.to_string().contains("recursion limit") {
            SchemaFault::TooDeep
        } else {
            let message = shorten(&error.to_string());
            SchemaFault::Invalid {
                path: String::new(),
                message,
            }
        }
    })?;
    let dialect = Dialect::of(schema.as_object().ok_or(SchemaFault::NotAnObject)?)?;
    let document = Document::new(&schema);
    let mut walk = Walk::new(&document, dialect, limits);
    walk.visit(&schema, 0)?;
    let mut chains = Chains {
        document: &document,
        met: HashMap::new(),
        most: limits.levels(),
    };
    for subschema in &walk.schemas {
        if chains.longest(subschema, "", 0)? > chains.most {
            return Err(SchemaFault::TooDeep);
        }
    }
    let patterns = walk.patterns;
    if let Some(members) = schema.as_object_mut() {
        // It is known now; the engine would not know every spelling of it.
        members.remove("$schema");
    }
    Ok(Checked {
        schema,
        dialect,
        patterns,
        limits,
    })
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
    document: &'a Document<'a>,
    dialect: Dialect,
    /// The schemas that were met, `true` and `false` among them, by address, and their sizes; `None`
    /// while the walk is inside.
    met: HashMap<usize, Option<Size>>,
    schemas: Vec<&'a Value>,
    patterns: usize,
    limits: SchemaLimits,
}

impl<'a> Walk<'a> {
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

    fn visit(&mut self, value: &'a Value, depth: usize) -> Result<Size, SchemaFault> {
        let deepest = self.limits.levels();
        match self.met.get(&address(value)) {
            Some(Some(size)) if depth + size.height > deepest => {
                return Err(SchemaFault::TooDeep);
            }
            Some(Some(size)) => return Ok(*size),
            Some(None) => return Ok(Size::ONE),
            None if depth > deepest => return Err(SchemaFault::TooDeep),
            None if self.met.len() >= self.limits.subschemas => return Err(SchemaFault::TooLarge),
            None => self.met.insert(address(value), None),
        };
        let Some(schema) = value.as_object() else {
            self.met.insert(address(value), Some(Size::ONE));
            return Ok(Size::ONE);
        };
        self.schemas.push(value);
        for pattern in patterns(schema) {
            self.patterns += 1;
            if pattern.len() > self.limits.pattern_bytes {
                return Err(SchemaFault::Pattern {
                    pattern: shorten(pattern),
                    message: "its text exceeds the size limit".to_owned(),
                });
            }
        }
        if self.patterns > self.limits.patterns {
            return Err(SchemaFault::TooManyPatterns);
        }
        if depth > 0 {
            self.check_embedded(schema)?;
        }
        let mut size = Size::ONE;
        for child in children(schema) {
            size = size.with(self.visit(child.schema, depth + 1)?);
        }
        for reference in references(schema) {
            if !reference.starts_with('#') {
                return Err(SchemaFault::NonLocalReference(shorten(reference)));
            }
            let target = self
                .document
                .resolve(reference)
                .ok_or_else(|| SchemaFault::DanglingReference(shorten(reference)))?;
            size = size.with(self.visit(target, depth + 1)?);
        }
        if size.expanded > self.limits.expanded {
            return Err(SchemaFault::TooLarge);
        }
        self.met.insert(address(value), Some(size));
        Ok(size)
    }

    /// A subschema with another base or dialect would change what its references mean.
    fn check_embedded(&self, schema: &Map<String, Value>) -> Result<(), SchemaFault> {
        if let Some(id) = schema.get("$id").and_then(Value::as_str) {
            return Err(SchemaFault::EmbeddedDocument(shorten(id)));
        }
        match schema.get("$schema") {
            Some(other) if Dialect::of(schema)? != self.dialect => {
                Err(SchemaFault::UnsupportedDialect(shorten(&other.to_string())))
            }
            _ => Ok(()),
        }
    }
}

/// The patterns that a schema object itself has.
fn patterns(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let members = schema.get("patternProperties").and_then(Value::as_object);
    let names = members.into_iter().flat_map(Map::keys).map(String::as_str);
    let pattern = schema.get("pattern").and_then(Value::as_str);
    pattern.into_iter().chain(names)
}

/// The chains of subschemas that are applied to one and the same value. A chain that comes back to
/// itself would never end.
struct Chains<'a> {
    document: &'a Document<'a>,
    /// The schemas that were met, by address: the longest chain from each, `None` while inside.
    met: HashMap<usize, Option<usize>>,
    /// How long one may be.
    most: usize,
}

impl<'a> Chains<'a> {
    /// The length of the longest chain from here, where `reference` was followed last. A chain that
    /// led here is `above` long.
    fn longest(
        &mut self,
        value: &'a Value,
        reference: &str,
        above: usize,
    ) -> Result<usize, SchemaFault> {
        let Some(schema) = value.as_object() else {
            return Ok(0);
        };
        match self.met.get(&address(value)) {
            Some(Some(length)) => return Ok(*length),
            Some(None) => return Err(SchemaFault::EndlessReference(shorten(reference))),
            None if above > self.most => return Err(SchemaFault::TooDeep),
            None => self.met.insert(address(value), None),
        };
        let mut length = 0;
        for child in children(schema).filter(|child| child.reach == Reach::Here) {
            length = length.max(1 + self.longest(child.schema, reference, above + 1)?);
        }
        for reference in references(schema) {
            if let Some(target) = self.document.resolve(reference) {
                length = length.max(1 + self.longest(target, reference, above + 1)?);
            }
        }
        self.met.insert(address(value), Some(length));
        Ok(length)
    }
}

/// How deep a walk along keywords and references is. The check finds out how deep a schema is by a walk
/// of its own; where references lead back, one that comes to the subschemas in another order may be
/// deeper, and counts for itself.
#[derive(Debug)]
pub(crate) struct Levels {
    inside: usize,
    most: usize,
}

impl Levels {
    pub(crate) fn of(limits: &SchemaLimits) -> Self {
        Self {
            inside: 0,
            most: limits.levels(),
        }
    }

    /// Into a subschema, or the root.
    pub(crate) fn enter(&mut self) -> Result<(), SchemaFault> {
        if self.inside > self.most {
            return Err(SchemaFault::TooDeep);
        }
        self.inside += 1;
        Ok(())
    }

    /// Out of the last that was entered.
    pub(crate) fn leave(&mut self) {
        self.inside -= 1;
    }
}

/// What tells one subschema of a document from another, however equal they are.
pub(crate) fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

#[cfg(test)]
mod tests;
