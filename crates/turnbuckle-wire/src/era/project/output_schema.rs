//! A tool's output schema where structured output has to be an object.
//!
//! A result does not know its tool's schema, so that what becomes of a value may only depend on the
//! value: objects stay, all else is wrapped. The schema follows from that. If it allows objects only
//! it stays, if it allows none it is wrapped likewise, and if it allows both it is left out, for no
//! one schema would say which of the two a value is.

use serde_json::Value;
use turnbuckle_types::{Json, Map, Schema};

use super::rules::Fate;
use crate::era::tool_result::WRAPPER_MEMBER;

/// Decides on the schema for revisions where structured output has to be an object.
///
/// `Replace(None)` means that no schema says which outputs the tool has.
pub(super) fn object_output_schema(schema: &Schema) -> Fate<Option<Schema>> {
    let Ok(root) = serde_json::from_str::<Value>(schema.as_str()) else {
        return Fate::Replace(None);
    };
    if root.get("type").and_then(Value::as_str) == Some("object") {
        return Fate::Keep;
    }
    let changed = match TypeReader::new(&root).kinds(&root, 0) {
        Kinds::OBJECT => with_object_type(schema),
        kinds if !kinds.has_object() => wrap_in_object(schema),
        _ => None,
    };
    Fate::Replace(changed)
}

/// Returns the schema with the type that it leaves to its parts.
fn with_object_type(schema: &Schema) -> Option<Schema> {
    let mut members: Map<Json> = serde_json::from_str(schema.as_str()).ok()?;
    members.insert("type", Json::encode("object").ok()?);
    Schema::encode(&members).ok()
}

/// Returns the schema as the property of an object. References to its own root follow it there.
fn wrap_in_object(schema: &Schema) -> Option<Schema> {
    let mut members: Map<Json> = serde_json::from_str(schema.as_str()).ok()?;
    let mut outer = Map::<Json>::new();
    if let Some(dialect) = members.remove("$schema") {
        outer.insert("$schema", dialect);
    }
    let inner = rebase_references(&Json::encode(&members).ok()?, SchemaPosition::Schema, 0)?;
    outer.insert("type", Json::encode("object").ok()?);
    outer.insert(
        "properties",
        Json::encode(&Map::<Json>::from([(WRAPPER_MEMBER, inner)])).ok()?,
    );
    outer.insert("required", Json::encode(&[WRAPPER_MEMBER]).ok()?);
    Schema::encode(&outer).ok()
}

/// The meaning of a JSON value inside a schema.
#[derive(Clone, Copy, PartialEq)]
enum SchemaPosition {
    /// A schema, or a list of schemas.
    Schema,
    /// An object whose members are schemas under names that mean nothing here.
    Names,
}

/// No schema that a person wrote is nested this deep.
const DEEPEST: usize = 100;

/// Returns the value with every reference to the root, or down from it, pointed to the place where
/// the root now is; the rest keeps its text. `None` when it is nested too deep.
fn rebase_references(json: &Json, position: SchemaPosition, depth: usize) -> Option<Json> {
    if depth > DEEPEST {
        return None;
    }
    if !json.as_str().contains("$ref") && !json.as_str().contains("$dynamicRef") {
        return Some(json.clone());
    }
    match json.as_str().as_bytes().first() {
        Some(b'{') => {
            let mut members: Map<Json> = json.decode().ok()?;
            if position == SchemaPosition::Schema && members.contains_key("$id") {
                // It is a root of its own, and references in it are relative to it.
                return Some(json.clone());
            }
            for (name, member) in std::mem::take(&mut members) {
                let member = match (position, &*name) {
                    (SchemaPosition::Names, _) => {
                        rebase_references(&member, SchemaPosition::Schema, depth + 1)?
                    }
                    (SchemaPosition::Schema, "$ref" | "$dynamicRef") => reference(&member)?,
                    (SchemaPosition::Schema, "const" | "enum" | "default" | "examples") => member,
                    (
                        SchemaPosition::Schema,
                        "properties" | "patternProperties" | "dependentSchemas" | "$defs"
                        | "definitions",
                    ) => rebase_references(&member, SchemaPosition::Names, depth + 1)?,
                    (SchemaPosition::Schema, _) => {
                        rebase_references(&member, SchemaPosition::Schema, depth + 1)?
                    }
                };
                members.insert(name, member);
            }
            Json::encode(&members).ok()
        }
        Some(b'[') => {
            let elements: Vec<Json> = json.decode().ok()?;
            let elements: Option<Vec<_>> = elements
                .iter()
                .map(|element| rebase_references(element, position, depth + 1))
                .collect();
            Json::encode(&elements?).ok()
        }
        _ => Some(json.clone()),
    }
}

fn reference(json: &Json) -> Option<Json> {
    let Ok(target) = json.decode::<String>() else {
        return Some(json.clone());
    };
    match target.strip_prefix('#') {
        Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
            Json::encode(&format!("#/properties/{WRAPPER_MEMBER}{pointer}")).ok()
        }
        // An anchor, or another document.
        _ => Some(json.clone()),
    }
}

/// The types of JSON that a schema may allow, as a set. Integers count as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kinds(u8);

impl Kinds {
    const NONE: Self = Self(0);
    const OBJECT: Self = Self(1);
    const ARRAY: Self = Self(1 << 1);
    const STRING: Self = Self(1 << 2);
    const NUMBER: Self = Self(1 << 3);
    const BOOLEAN: Self = Self(1 << 4);
    const NULL: Self = Self(1 << 5);
    const ALL: Self = Self(0b11_1111);

    fn has_object(self) -> bool {
        self.and(Self::OBJECT) == Self::OBJECT
    }

    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the types that `type`, `const` and `enum` allow.
    fn from_keywords(schema: &serde_json::Map<String, Value>) -> Self {
        let named = |name: &Value| match name.as_str() {
            Some("object") => Self::OBJECT,
            Some("array") => Self::ARRAY,
            Some("string") => Self::STRING,
            Some("number" | "integer") => Self::NUMBER,
            Some("boolean") => Self::BOOLEAN,
            Some("null") => Self::NULL,
            _ => Self::NONE,
        };
        let value = |value: &Value| match value {
            Value::Object(_) => Self::OBJECT,
            Value::Array(_) => Self::ARRAY,
            Value::String(_) => Self::STRING,
            Value::Number(_) => Self::NUMBER,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Null => Self::NULL,
        };
        let typed = match schema.get("type") {
            None => Self::ALL,
            Some(Value::Array(names)) => names.iter().map(named).fold(Self::NONE, Self::or),
            Some(name) => named(name),
        };
        let fixed = schema.get("const").map_or(Self::ALL, value);
        let listed = match schema.get("enum") {
            Some(Value::Array(values)) => values.iter().map(value).fold(Self::NONE, Self::or),
            _ => Self::ALL,
        };
        typed.and(fixed).and(listed)
    }
}

/// Reads what a schema allows from its parts and references.
struct TypeReader<'s> {
    root: &'s Value,
    /// The number of schemas that it still looks at; references may go in circles.
    steps: usize,
}

impl<'s> TypeReader<'s> {
    fn new(root: &'s Value) -> Self {
        Self { root, steps: 1000 }
    }

    /// Returns the types that one schema allows; too many rather than too few where that is hard
    /// to tell.
    fn kinds(&mut self, schema: &Value, depth: usize) -> Kinds {
        const FAR: usize = 32;
        let Value::Object(schema) = schema else {
            return if *schema == Value::Bool(false) {
                Kinds::NONE
            } else {
                Kinds::ALL
            };
        };
        self.steps = self.steps.saturating_sub(1);
        if depth > FAR || self.steps == 0 {
            return Kinds::ALL;
        }
        let mut kinds = Kinds::from_keywords(schema);
        if let Some(Value::Array(parts)) = schema.get("allOf") {
            for part in parts {
                kinds = kinds.and(self.kinds(part, depth + 1));
            }
        }
        for choice in ["anyOf", "oneOf"] {
            if let Some(Value::Array(parts)) = schema.get(choice) {
                let mut either = Kinds::NONE;
                for part in parts {
                    either = either.or(self.kinds(part, depth + 1));
                }
                kinds = kinds.and(either);
            }
        }
        let target = schema.get("$ref").and_then(Value::as_str);
        let target = target.and_then(|target| self.root.pointer(target.strip_prefix('#')?));
        if let Some(target) = target {
            kinds = kinds.and(self.kinds(target, depth + 1));
        }
        kinds
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn project(schema: &Value) -> Option<Value> {
        let schema = Schema::encode(schema).unwrap();
        match object_output_schema(&schema) {
            Fate::Keep => Some(serde_json::from_str(schema.as_str()).unwrap()),
            Fate::Replace(Some(schema)) => Some(serde_json::from_str(schema.as_str()).unwrap()),
            Fate::Replace(None) => None,
        }
    }

    fn wrapping(inner: Value) -> Option<Value> {
        Some(json!({"type": "object", "properties": {"result": inner}, "required": ["result"]}))
    }

    #[test]
    fn an_output_schema_that_allows_objects_only_gets_the_type_object() {
        let same = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {}}});
        assert_eq!(project(&same), Some(same));
        for mut schema in [
            json!({"anyOf": [{"type": "object"}, {"const": {}}]}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}),
            json!({"allOf": [true, {"type": ["object", "null"]}, {"type": ["object", "string"]}]}),
            json!({"enum": [{}, {"a": 1}]}),
        ] {
            let older = project(&schema);
            schema["type"] = "object".into();
            assert_eq!(older, Some(schema));
        }
    }

    #[test]
    fn an_output_schema_that_allows_no_object_is_wrapped() {
        for schema in [
            json!({"type": "array"}),
            json!({"type": ["string", "null"]}),
            json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
            json!({"const": 7}),
            json!({"enum": ["a", null]}),
        ] {
            assert_eq!(project(&schema), wrapping(schema));
        }
    }

    #[test]
    fn an_output_schema_that_allows_objects_and_other_types_is_left_out() {
        for schema in [
            json!({}),
            json!({"type": ["object", "null"]}),
            json!({"anyOf": [{"type": "object"}, {"type": "array"}]}),
            json!({"$ref": "#"}),
            json!({"$ref": "https://example.com/schema"}),
            json!({"properties": {"a": {}}}),
        ] {
            assert_eq!(project(&schema), None, "{schema}");
        }
    }

    #[test]
    fn references_follow_the_schema_and_the_dialect_stays_at_the_root() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "array",
            "items": {"anyOf": [{"$ref": "#/$defs/tree"}, {"$ref": "#"}, {"$ref": "#name"}]},
            "$defs": {
                "tree": {"properties": {"const": {"$ref": "#/$defs/tree"}}},
                "own": {"$id": "https://example.com/own", "not": {"$ref": "#/x"}},
                "data": {"const": {"$ref": "#"}, "default": {"$ref": "#/a"}}
            }
        });
        let inner = json!({
            "type": "array",
            "items": {"anyOf": [
                {"$ref": "#/properties/result/$defs/tree"},
                {"$ref": "#/properties/result"},
                {"$ref": "#name"}
            ]},
            "$defs": {
                "tree": {"properties": {"const": {"$ref": "#/properties/result/$defs/tree"}}},
                "own": {"$id": "https://example.com/own", "not": {"$ref": "#/x"}},
                "data": {"const": {"$ref": "#"}, "default": {"$ref": "#/a"}}
            }
        });
        let mut expected = wrapping(inner).unwrap();
        expected["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        assert_eq!(project(&schema), Some(expected));
    }

    #[test]
    fn numbers_keep_their_text() {
        let schema =
            r##"{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"maximum":1.50e+30}}}"##;
        let Fate::Replace(Some(older)) = object_output_schema(&schema.parse().unwrap()) else {
            panic!("unchanged")
        };
        assert!(
            older.as_str().contains(r##""n":{"maximum":1.50e+30}"##),
            "{older:?}"
        );
    }

    #[test]
    fn circles_and_depth_come_to_an_end() {
        let branches = vec![json!({"$ref": "#"}); 50];
        assert_eq!(
            project(&json!({"anyOf": branches, "allOf": branches})),
            None
        );
        let deep = format!(
            r#"{{"type":"array","not":{}true{}}}"#,
            r#"{"not":"#.repeat(9999),
            "}".repeat(9999)
        );
        let fate = object_output_schema(&deep.parse().unwrap());
        assert!(matches!(fate, Fate::Replace(None)));
    }
}
