//! The part of a derived schema that decoding its type enforces.

use serde_json::{Map, Value};

use crate::keywords::is_assertion;

/// Returns whether decoding a type enforces everything that its derived schema demands.
///
/// A type enforces its fields and their types, the ranges of its integers, and the variants of its
/// enums, but not ranges, lengths, patterns and the like that attributes add.
pub(super) fn is_enforced_by_type(root: &Value) -> bool {
    is_enforced(root, SchemaPosition::Type)
}

/// The position of a schema in a derived schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SchemaPosition {
    /// The root or a definition: the derived schema of one type.
    Type,
    /// An alternative of such a type: a variant.
    Variant,
    /// A member of a variant, which may be its tag.
    Tag,
    /// A field.
    Field,
}

fn is_enforced(schema: &Value, place: SchemaPosition) -> bool {
    match schema {
        Value::Object(keywords) => keywords
            .iter()
            .all(|(name, value)| is_keyword_enforced(keywords, name, value, place)),
        Value::Bool(_) => true,
        _ => false,
    }
}

fn is_keyword_enforced(
    schema: &Map<String, Value>,
    name: &str,
    value: &Value,
    place: SchemaPosition,
) -> bool {
    let every = |place| match value {
        Value::Array(schemas) => schemas.iter().all(|schema| is_enforced(schema, place)),
        Value::Object(schemas) => schemas.values().all(|schema| is_enforced(schema, place)),
        _ => false,
    };
    match name {
        "type" | "required" | "$ref" => true,
        "enum" => matches!(place, SchemaPosition::Type | SchemaPosition::Variant),
        "const" => place != SchemaPosition::Field,
        "minimum" | "maximum" => is_bound_of_integer(schema, name, value),
        "minItems" | "maxItems" => is_length_of_tuple(schema, value),
        "properties" => every(if place == SchemaPosition::Variant {
            SchemaPosition::Tag
        } else {
            SchemaPosition::Field
        }),
        "$defs" | "definitions" => every(SchemaPosition::Type),
        "oneOf" | "anyOf" => every(if place == SchemaPosition::Type {
            SchemaPosition::Variant
        } else {
            SchemaPosition::Field
        }),
        "prefixItems" => every(SchemaPosition::Field),
        "items" | "additionalProperties" => is_enforced(value, SchemaPosition::Field),
        _ => !is_assertion(name),
    }
}

/// Returns whether a limit is that of the integer type in `format`.
fn is_bound_of_integer(schema: &Map<String, Value>, name: &str, limit: &Value) -> bool {
    let Some(format) = schema.get("format").and_then(Value::as_str) else {
        return false;
    };
    let (smallest, largest) = match format {
        "uint8" => (0, Some(u64::from(u8::MAX))),
        "uint16" => (0, Some(u64::from(u16::MAX))),
        "uint32" => (0, Some(u64::from(u32::MAX))),
        "uint64" | "uint" => (0, Some(u64::MAX)),
        "uint128" => (0, None),
        "int8" => (i64::from(i8::MIN), i8::MAX.try_into().ok()),
        "int16" => (i64::from(i16::MIN), i16::MAX.try_into().ok()),
        "int32" => (i64::from(i32::MIN), i32::MAX.try_into().ok()),
        "int64" | "int" => (i64::MIN, i64::MAX.try_into().ok()),
        _ => return false,
    };
    match name {
        "minimum" => limit.as_i64() == Some(smallest),
        _ => largest.is_some() && limit.as_u64() == largest,
    }
}

/// Returns whether a length is the number of items of a tuple.
fn is_length_of_tuple(schema: &Map<String, Value>, length: &Value) -> bool {
    let items = schema.get("prefixItems").and_then(Value::as_array);
    items.is_some_and(|items| length.as_u64() == items.len().try_into().ok())
}
