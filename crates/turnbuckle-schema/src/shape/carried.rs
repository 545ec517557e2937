//! Which schemas typed decoding enforces by itself.

use serde_json::{Map, Value};

use crate::keywords::is_assertion;

/// Whether decoding a type enforces all that its derived schema says.
///
/// A type carries its fields and their types, the bounds of its integers, the variants of its
/// enums. It does not carry ranges, lengths, patterns and the like.
pub(super) fn by_a_type(root: &Value) -> bool {
    carried(root, Place::Type)
}

/// Where a schema stands, as far as it tells who wrote it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The root or a definition: what the derive made of one type.
    Type,
    /// One of the alternatives of such a type: a variant.
    Variant,
    /// A member of a variant, which may be its tag.
    Tag,
    /// A field.
    Field,
}

fn carried(schema: &Value, place: Place) -> bool {
    match schema {
        Value::Object(keywords) => keywords
            .iter()
            .all(|(name, value)| carries(keywords, name, value, place)),
        Value::Bool(_) => true,
        _ => false,
    }
}

fn carries(schema: &Map<String, Value>, name: &str, value: &Value, place: Place) -> bool {
    let every = |place| match value {
        Value::Array(schemas) => schemas.iter().all(|schema| carried(schema, place)),
        Value::Object(schemas) => schemas.values().all(|schema| carried(schema, place)),
        _ => false,
    };
    match name {
        "type" | "required" | "$ref" => true,
        "enum" => matches!(place, Place::Type | Place::Variant),
        "const" => place != Place::Field,
        "minimum" | "maximum" => is_bound_of_integer(schema, name, value),
        "minItems" | "maxItems" => is_length_of_tuple(schema, value),
        "properties" => every(if place == Place::Variant {
            Place::Tag
        } else {
            Place::Field
        }),
        "$defs" | "definitions" => every(Place::Type),
        "oneOf" | "anyOf" => every(if place == Place::Type {
            Place::Variant
        } else {
            Place::Field
        }),
        "prefixItems" => every(Place::Field),
        "items" | "additionalProperties" => carried(value, Place::Field),
        _ => !is_assertion(name),
    }
}

/// Whether a limit is that of the integer type which `format` names.
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

/// Whether a length is the number of a tuple's items.
fn is_length_of_tuple(schema: &Map<String, Value>, length: &Value) -> bool {
    let items = schema.get("prefixItems").and_then(Value::as_array);
    items.is_some_and(|items| length.as_u64() == items.len().try_into().ok())
}
