//! The conversion to the portable profile: one walk from the root, bottom up.

use serde_json::{Map, Value, json};

use super::description::{name_of, note};
use super::enums::{are_disjoint, fold_constants, type_of};
use super::intersect::conjoin;
use crate::check::{CheckedSchema, DepthGuard, Dialect, address};
use crate::error::SchemaError;
use crate::keywords::Document;
use crate::shorten::shorten;

/// The most subschemas that are written.
const MOST: usize = 20_000;

type Keywords = Map<String, Value>;

/// A converted schema.
struct Made {
    schema: Value,
    /// Whether `null` is allowed beside other values.
    nullable: bool,
}

pub(super) struct Portable<'a> {
    root: &'a Value,
    document: Document<'a>,
    dialect: Dialect,
    /// Whether the strict profile follows: nulls are marked for it, and what is cut becomes text.
    strict: bool,
    /// The targets of the references that the walk is inside of, by address.
    inside: Vec<usize>,
    written: usize,
    levels: DepthGuard,
    /// Whether it matters somewhere which keywords saw an item.
    counts_items: bool,
}

impl<'a> Portable<'a> {
    pub(super) fn new(checked: &'a CheckedSchema, strict: bool) -> Self {
        Self {
            root: &checked.schema,
            document: Document::new(&checked.schema),
            dialect: checked.dialect,
            strict,
            inside: vec![address(&checked.schema)],
            written: 0,
            levels: DepthGuard::new(&checked.limits),
            counts_items: checked.schema.to_string().contains("unevaluatedItems"),
        }
    }

    pub(super) fn root(mut self) -> Result<Value, SchemaError> {
        Ok(self.make(self.root)?.schema)
    }

    fn make(&mut self, schema: &'a Value) -> Result<Made, SchemaError> {
        self.written += 1;
        if self.written > MOST {
            return Err(SchemaError::TooLarge);
        }
        self.levels.enter()?;
        let made = self.made(schema)?;
        self.levels.leave();
        Ok(made)
    }

    fn made(&mut self, schema: &'a Value) -> Result<Made, SchemaError> {
        let Value::Object(keywords) = schema else {
            // An empty schema means the same as `true`, and is known to more readers.
            let anything = *schema == Value::Bool(true);
            return Ok(Made {
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
            let target = self.target(reference)?;
            nullable |= target.nullable;
            all.push(target.schema);
        }
        if reference.is_none() || self.dialect == Dialect::Draft202012 {
            for (name, value) in keywords {
                self.keyword(keywords, name, value, &mut made, &mut nullable)?;
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
        Ok(Made {
            schema: made.into(),
            nullable,
        })
    }

    fn target(&mut self, reference: &'a str) -> Result<Made, SchemaError> {
        let target = self
            .document
            .resolve(reference)
            .ok_or_else(|| SchemaError::DanglingReference(shorten(reference)))?;
        if self.inside.contains(&address(target)) {
            return Ok(Made {
                schema: self.cut(target, reference),
                nullable: false,
            });
        }
        self.inside.push(address(target));
        let made = self.make(target);
        self.inside.pop();
        made
    }

    /// What stands for a schema inside itself.
    fn cut(&self, target: &Value, reference: &str) -> Value {
        let name = target.get("title").and_then(Value::as_str);
        let name = name.or_else(|| name_of(reference)).unwrap_or("value");
        let description = format!("Again a {}, like the one that this is in.", shorten(name));
        match target.get("type").and_then(Value::as_str) {
            _ if self.strict => json!({
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

    /// A schema for a place where leaving it out does not mean null.
    fn firm(&mut self, schema: &'a Value) -> Result<Value, SchemaError> {
        let made = self.make(schema)?;
        Ok(self.admit_null(made))
    }

    fn admit_null(&self, made: Made) -> Value {
        let Made {
            mut schema,
            nullable,
        } = made;
        if let Value::Object(keywords) = &mut schema
            && nullable
        {
            if self.strict {
                keywords.insert("nullable".to_owned(), true.into());
            } else {
                note(keywords, "May be null.");
            }
        }
        schema
    }

    fn keyword(
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
                    let mut one = self.make(schema)?;
                    let is_required = required.is_some_and(|names| {
                        names.iter().any(|name| name.as_str() == Some(member))
                    });
                    one.nullable &= is_required || self.strict;
                    shown.insert(member.clone(), self.admit_null(one));
                }
                shown.into()
            }
            ("items", Value::Array(schemas)) if self.dialect == Dialect::Draft07 => {
                if let Some(rest) = keywords.get("additionalItems") {
                    made.insert("items".to_owned(), self.firm(rest)?);
                }
                name = "prefixItems";
                self.each(schemas)?.into()
            }
            ("dependencies", Value::Object(members)) if self.dialect == Dialect::Draft07 => {
                return self.dependencies(members, made);
            }
            ("patternProperties" | "dependentSchemas", Value::Object(members)) => {
                let members = members
                    .iter()
                    .map(|(name, schema)| Ok((name.clone(), self.firm(schema)?)))
                    .collect::<Result<Keywords, SchemaError>>()?;
                members.into()
            }
            ("prefixItems", Value::Array(schemas)) => self.each(schemas)?.into(),
            (
                "additionalProperties" | "unevaluatedItems" | "unevaluatedProperties",
                Value::Bool(_),
            ) => value.clone(),
            ("allOf", Value::Array(schemas)) => {
                let made: Vec<Made> = self.every(schemas)?;
                *nullable |= !made.is_empty() && made.iter().all(|one| one.nullable);
                made.into_iter().map(|one| one.schema).collect()
            }
            ("anyOf" | "oneOf", Value::Array(schemas)) => {
                let made: Vec<Made> = self.every(schemas)?;
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
            ) => self.firm(value)?,
            ("if" | "then" | "else" | "not" | "propertyNames", _) => self.make(value)?.schema,
            _ => value.clone(),
        };
        made.insert(name.to_owned(), value);
        Ok(())
    }

    fn dependencies(
        &mut self,
        members: &'a Keywords,
        made: &mut Keywords,
    ) -> Result<(), SchemaError> {
        let (mut names, mut schemas) = (Keywords::new(), Keywords::new());
        for (name, value) in members {
            if value.is_array() {
                names.insert(name.clone(), value.clone());
            } else {
                schemas.insert(name.clone(), self.firm(value)?);
            }
        }
        for (keyword, members) in [("dependentRequired", names), ("dependentSchemas", schemas)] {
            if !members.is_empty() {
                made.insert(keyword.to_owned(), members.into());
            }
        }
        Ok(())
    }

    fn each(&mut self, schemas: &'a [Value]) -> Result<Vec<Value>, SchemaError> {
        schemas.iter().map(|schema| self.firm(schema)).collect()
    }

    fn every(&mut self, schemas: &'a [Value]) -> Result<Vec<Made>, SchemaError> {
        schemas.iter().map(|schema| self.make(schema)).collect()
    }
}

/// Takes `null` out of unions. Whether there was one beside something else.
fn without_null(schema: &mut Keywords) -> bool {
    let mut nullable = false;
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = schema.get_mut(keyword) {
            let is_null = |branch: &Value| branch.get("type") == Some(&json!("null"));
            if !branches.iter().all(is_null) {
                let before = branches.len();
                branches.retain(|branch| !is_null(branch));
                nullable |= branches.len() < before;
            }
        }
    }
    if let Some(Value::Array(options)) = schema.get_mut("enum")
        && !options.iter().all(Value::is_null)
    {
        let before = options.len();
        options.retain(|option| !option.is_null());
        nullable |= options.len() < before;
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        let types = std::mem::take(types);
        nullable |= split_types(schema, types);
    }
    if nullable && schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
    nullable
}

/// Makes one branch for each type, with the keywords that are about it. Whether `null` was there
/// beside others; it is left out.
fn split_types(schema: &mut Keywords, mut types: Vec<Value>) -> bool {
    let before = types.len();
    if before > 1 {
        types.retain(|name| name != "null");
    }
    schema.remove("type");
    if let [one] = &types[..] {
        schema.insert("type".to_owned(), one.clone());
        return before > 1;
    }
    let mut about = Vec::new();
    // What sees which members were looked at must see all of them where it is.
    if !["unevaluatedItems", "unevaluatedProperties"]
        .iter()
        .any(|name| schema.contains_key(*name))
    {
        let names: Vec<String> = schema.keys().cloned().collect();
        for name in names {
            if let Some(of) = types_of(&name)
                && let Some(value) = schema.remove(&name)
            {
                about.push((of, name, value));
            }
        }
    }
    let branch = |kind: &Value| {
        let mut branch = Keywords::from_iter([("type".to_owned(), kind.clone())]);
        for (of, name, value) in &about {
            if kind.as_str().is_some_and(|kind| of.contains(&kind)) {
                branch.insert(name.clone(), value.clone());
            }
        }
        Value::from(branch)
    };
    let branches: Vec<Value> = types.iter().map(branch).collect();
    if branches.is_empty() {
        schema.insert("type".to_owned(), json!([]));
    } else if let Some(others) = schema.remove("anyOf") {
        let mut all = vec![json!({ "anyOf": branches }), json!({ "anyOf": others })];
        if let Some(Value::Array(more)) = schema.remove("allOf") {
            all.extend(more);
        }
        schema.insert("allOf".to_owned(), all.into());
    } else {
        schema.insert("anyOf".to_owned(), branches.into());
    }
    types.len() < before
}

/// The types that a keyword is about, if it is not about all.
fn types_of(keyword: &str) -> Option<&'static [&'static str]> {
    Some(match keyword {
        "properties"
        | "patternProperties"
        | "additionalProperties"
        | "required"
        | "minProperties"
        | "maxProperties"
        | "propertyNames"
        | "dependentRequired"
        | "dependentSchemas" => &["object"],
        "items" | "prefixItems" | "minItems" | "maxItems" | "uniqueItems" | "contains"
        | "minContains" | "maxContains" => &["array"],
        "minLength" | "maxLength" | "pattern" => &["string"],
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            &["integer", "number"]
        }
        _ => return None,
    })
}

/// Merges what must fit besides, where that means the same.
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

/// Adds what clients want to see, and tells what they do not.
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

/// What any item of a tuple is, where there are no others.
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
