//! The conversion to the portable profile: one walk from the root, bottom up.

use serde_json::{Map, Value, json};

use super::description::{name_of, note};
use super::enums::{are_disjoint, fold_constants, type_of};
use super::intersect::conjoin;
use super::null::{or_null, without_null};
use crate::check::{CheckedSchema, DepthGuard, Dialect, address};
use crate::error::SchemaError;
use crate::keywords::Document;
use turnbuckle_types::base::text::shorten;

/// The most subschemas that are written.
const MAX_SUBSCHEMAS: usize = 20_000;

type Keywords = Map<String, Value>;

/// A schema in the form that most clients accept.
struct ConvertedSchema {
    schema: Value,
    /// True if `null` is allowed beside other values.
    nullable: bool,
}

/// The use of a converted schema, which decides about `null` and about what recurs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaUse {
    /// Arguments: an optional member is left out instead of being `null`.
    Arguments,
    /// Arguments to which the strict profile is applied next: nulls are marked for it, and what recurs
    /// becomes text.
    StrictArguments,
    /// Results: a value may be `null`, and the schema says so.
    Results,
}

pub(super) struct Portable<'a> {
    root: &'a Value,
    document: Document<'a>,
    dialect: Dialect,
    use_of: SchemaUse,
    /// The addresses of the targets of the references that the walk is inside of.
    open_references: Vec<usize>,
    subschema_count: usize,
    levels: DepthGuard,
    /// True if some `unevaluatedItems` depends on which keywords applied to an item.
    counts_items: bool,
}

impl<'a> Portable<'a> {
    pub(super) fn new(checked: &'a CheckedSchema, use_of: SchemaUse) -> Self {
        Self {
            root: &checked.schema,
            document: Document::new(&checked.schema),
            dialect: checked.dialect,
            use_of,
            open_references: vec![address(&checked.schema)],
            subschema_count: 0,
            levels: DepthGuard::new(&checked.limits),
            counts_items: checked.schema.to_string().contains("unevaluatedItems"),
        }
    }

    pub(super) fn root(mut self) -> Result<Value, SchemaError> {
        let made = self.convert(self.root)?;
        Ok(match self.use_of {
            SchemaUse::Results => self.with_null(made),
            _ => made.schema,
        })
    }

    fn convert(&mut self, schema: &'a Value) -> Result<ConvertedSchema, SchemaError> {
        self.subschema_count += 1;
        if self.subschema_count > MAX_SUBSCHEMAS {
            return Err(SchemaError::TooLarge);
        }
        self.levels.enter()?;
        let made = self.convert_object(schema)?;
        self.levels.leave();
        Ok(made)
    }

    fn convert_object(&mut self, schema: &'a Value) -> Result<ConvertedSchema, SchemaError> {
        let Value::Object(keywords) = schema else {
            // An empty schema means the same as `true`, and is known to more readers.
            let anything = *schema == Value::Bool(true);
            return Ok(ConvertedSchema {
                schema: if anything { json!({}) } else { schema.clone() },
                nullable: false,
            });
        };
        let mut made = Keywords::new();
        let mut nullable = false;
        let mut all = Vec::new();
        let reference = ["$ref", "$dynamicRef"]
            .into_iter()
            .find_map(|name| keywords.get(name)?.as_str());
        if let Some(reference) = reference {
            let target = self.convert_reference(reference)?;
            nullable |= target.nullable;
            all.push(target.schema);
        }
        if reference.is_none() || self.dialect == Dialect::Draft202012 {
            for (name, value) in keywords {
                self.convert_keyword(keywords, name, value, &mut made, &mut nullable)?;
            }
        }
        let may_add_items = !self.counts_items;
        nullable |= without_null(&mut made);
        if let Some(Value::Array(branches)) = made.get_mut("anyOf") {
            for branch in branches {
                if let Value::Object(keywords) = branch {
                    *keywords = finish(std::mem::take(keywords), may_add_items);
                }
            }
        }
        if let Some(Value::Array(branches)) = made.remove("allOf") {
            all.extend(branches);
        }
        if let Some(constant) = made.remove("const") {
            all.push(json!({ "enum": [constant] }));
        }
        for keyword in ["anyOf", "oneOf"] {
            fold_constants(&mut made, keyword);
            if let Some(Value::Array(branches)) = made.get_mut(keyword)
                && branches.len() == 1
            {
                all.extend(branches.pop());
                made.remove(keyword);
            }
        }
        if let Some(Value::Array(branches)) = made.get("oneOf")
            && !made.contains_key("anyOf")
            && are_disjoint(branches)
            && let Some(branches) = made.remove("oneOf")
        {
            made.insert("anyOf".to_owned(), branches);
        }
        let made = finish(merge(made, all), may_add_items);
        Ok(ConvertedSchema {
            schema: made.into(),
            nullable,
        })
    }

    fn convert_reference(&mut self, reference: &'a str) -> Result<ConvertedSchema, SchemaError> {
        let target = self
            .document
            .resolve(reference)
            .ok_or_else(|| SchemaError::DanglingReference(shorten(reference)))?;
        if self.open_references.contains(&address(target)) {
            return Ok(ConvertedSchema {
                schema: self.recursive_placeholder(target, reference),
                nullable: false,
            });
        }
        self.open_references.push(address(target));
        let made = self.convert(target);
        self.open_references.pop();
        made
    }

    /// Returns the schema in place of a recursive reference.
    fn recursive_placeholder(&self, target: &Value, reference: &str) -> Value {
        let name = target.get("title").and_then(Value::as_str);
        let name = name.or_else(|| name_of(reference)).unwrap_or("value");
        let description = format!("Again a {}, like the one that this is in.", shorten(name));
        match target.get("type").and_then(Value::as_str) {
            _ if self.use_of == SchemaUse::StrictArguments => json!({
                "type": "string",
                "description": format!("{description} As JSON text."),
            }),
            Some("object") => {
                json!({ "type": "object", "properties": {}, "description": description })
            }
            Some("array") => json!({ "type": "array", "items": {}, "description": description }),
            Some(kind) => json!({ "type": kind, "description": description }),
            None => json!({ "description": description }),
        }
    }

    /// Converts a schema where `null` cannot be expressed by leaving the member out.
    fn convert_without_null(&mut self, schema: &'a Value) -> Result<Value, SchemaError> {
        let made = self.convert(schema)?;
        Ok(self.with_null(made))
    }

    fn with_null(&self, made: ConvertedSchema) -> Value {
        let ConvertedSchema {
            mut schema,
            nullable,
        } = made;
        if let Value::Object(keywords) = &mut schema
            && nullable
        {
            match self.use_of {
                SchemaUse::Arguments => note(keywords, "May be null."),
                SchemaUse::StrictArguments => {
                    keywords.insert("nullable".to_owned(), true.into());
                }
                SchemaUse::Results => return or_null(schema),
            }
        }
        schema
    }

    fn convert_keyword(
        &mut self,
        keywords: &'a Keywords,
        name: &str,
        value: &'a Value,
        made: &mut Keywords,
        nullable: &mut bool,
    ) -> Result<(), SchemaError> {
        let mut name = name;
        let value = match (name, value) {
            (
                "$ref" | "$dynamicRef" | "$schema" | "$id" | "$anchor" | "$dynamicAnchor"
                | "$comment" | "$defs" | "definitions" | "additionalItems",
                _,
            ) => return Ok(()),
            ("properties", Value::Object(members)) => {
                let required = keywords.get("required").and_then(Value::as_array);
                let mut shown = Keywords::new();
                for (member, schema) in members {
                    let mut one = self.convert(schema)?;
                    let is_required = required.is_some_and(|names| {
                        names.iter().any(|name| name.as_str() == Some(member))
                    });
                    one.nullable &= is_required || self.use_of != SchemaUse::Arguments;
                    shown.insert(member.clone(), self.with_null(one));
                }
                shown.into()
            }
            ("items", Value::Array(schemas)) if self.dialect == Dialect::Draft07 => {
                if let Some(rest) = keywords.get("additionalItems") {
                    made.insert("items".to_owned(), self.convert_without_null(rest)?);
                }
                name = "prefixItems";
                self.convert_all(schemas)?.into()
            }
            ("dependencies", Value::Object(members)) if self.dialect == Dialect::Draft07 => {
                return self.convert_dependencies(members, made);
            }
            ("patternProperties" | "dependentSchemas", Value::Object(members)) => {
                let members = members
                    .iter()
                    .map(|(name, schema)| Ok((name.clone(), self.convert_without_null(schema)?)))
                    .collect::<Result<Keywords, SchemaError>>()?;
                members.into()
            }
            ("prefixItems", Value::Array(schemas)) => self.convert_all(schemas)?.into(),
            (
                "additionalProperties" | "unevaluatedItems" | "unevaluatedProperties",
                Value::Bool(_),
            ) => value.clone(),
            ("allOf", Value::Array(schemas)) => {
                let made: Vec<ConvertedSchema> = self.convert_branches(schemas)?;
                *nullable |= !made.is_empty() && made.iter().all(|one| one.nullable);
                made.into_iter().map(|one| one.schema).collect()
            }
            ("anyOf" | "oneOf", Value::Array(schemas)) => {
                let made: Vec<ConvertedSchema> = self.convert_branches(schemas)?;
                *nullable |= made.iter().any(|one| one.nullable);
                made.into_iter().map(|one| one.schema).collect()
            }
            (
                "items"
                | "additionalProperties"
                | "contains"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                _,
            ) => self.convert_without_null(value)?,
            ("if" | "then" | "else" | "not" | "propertyNames", _) => self.convert(value)?.schema,
            _ => value.clone(),
        };
        made.insert(name.to_owned(), value);
        Ok(())
    }

    fn convert_dependencies(
        &mut self,
        members: &'a Keywords,
        made: &mut Keywords,
    ) -> Result<(), SchemaError> {
        let (mut names, mut schemas) = (Keywords::new(), Keywords::new());
        for (name, value) in members {
            if value.is_array() {
                names.insert(name.clone(), value.clone());
            } else {
                schemas.insert(name.clone(), self.convert_without_null(value)?);
            }
        }
        for (keyword, members) in [("dependentRequired", names), ("dependentSchemas", schemas)] {
            if !members.is_empty() {
                made.insert(keyword.to_owned(), members.into());
            }
        }
        Ok(())
    }

    fn convert_all(&mut self, schemas: &'a [Value]) -> Result<Vec<Value>, SchemaError> {
        schemas
            .iter()
            .map(|schema| self.convert_without_null(schema))
            .collect()
    }

    fn convert_branches(
        &mut self,
        schemas: &'a [Value],
    ) -> Result<Vec<ConvertedSchema>, SchemaError> {
        schemas.iter().map(|schema| self.convert(schema)).collect()
    }
}

/// Merges `allOf` branches where the meaning stays the same.
fn merge(mut schema: Keywords, all: Vec<Value>) -> Keywords {
    let mut left = Vec::new();
    for one in all {
        match &one {
            Value::Bool(true) => {}
            Value::Object(keywords) => match conjoin(&schema, keywords) {
                Some(both) => schema = both,
                None => left.push(one),
            },
            _ => left.push(one),
        }
    }
    if !left.is_empty() {
        match schema.get_mut("allOf") {
            Some(Value::Array(all)) => all.extend(left),
            _ => {
                schema.insert("allOf".to_owned(), left.into());
            }
        }
    }
    schema
}

/// Adds `properties` and `items` for clients that demand them, and moves refused formats to the
/// description.
fn finish(mut schema: Keywords, may_add_items: bool) -> Keywords {
    if let Some(Value::Array(options)) = schema.get("enum")
        && !schema.contains_key("type")
        && let Some(kind) = type_of(options)
    {
        schema.insert("type".to_owned(), kind.into());
    }
    let kind = schema
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    match kind {
        "object" if !schema.contains_key("properties") => {
            schema.insert("properties".to_owned(), json!({}));
        }
        "array" if may_add_items && !schema.contains_key("items") => {
            let items = items_of_tuple(&schema).unwrap_or_else(|| json!({}));
            schema.insert("items".to_owned(), items);
        }
        _ => {}
    }
    if let Some(Value::String(format)) = schema.get("format")
        && !matches!(
            format.as_str(),
            "date-time" | "int32" | "int64" | "float" | "double"
        )
    {
        let sentence = format!("Format: {}.", shorten(format));
        let numeric = matches!(
            schema.get("type").and_then(Value::as_str),
            Some("integer" | "number")
        );
        schema.remove("format");
        if !numeric {
            note(&mut schema, &sentence);
        }
    }
    schema
}

/// Returns a schema for any item of a tuple, for readers without `prefixItems`.
fn items_of_tuple(schema: &Keywords) -> Option<Value> {
    let first = schema.get("prefixItems")?.as_array()?;
    let most = schema.get("maxItems")?.as_u64()?;
    if most > first.len() as u64 {
        return None;
    }
    let mut kinds: Vec<&Value> = Vec::new();
    for item in first {
        if !kinds.contains(&item) {
            kinds.push(item);
        }
    }
    match kinds[..] {
        [one] => Some(one.clone()),
        _ => Some(json!({ "anyOf": kinds })),
    }
}
