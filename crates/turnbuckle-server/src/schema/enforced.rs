//! Which schemas typed decoding enforces by itself.

use serde_json::{Map, Value};
use turnbuckle_types::Schema;

/// Whether a schema that was derived from a type says more than decoding that type enforces, so
/// that values must be validated as well. Decided once, when a tool is registered.
///
/// A type carries its fields and their types, the bounds of its integers, the variants of its
/// enums. It does not carry ranges, lengths, patterns and the like, which attributes add. Where the
/// schema does not tell which it was, the answer is yes. What an attribute claims against the type
/// (`required` on an `Option`, say) cannot be seen in the schema.
pub(crate) fn needs_validator(schema: &Schema) -> bool {
    match serde_json::from_str(schema.as_str()) {
        Ok(root) => !carried(&root, Place::Type),
        Err(_) => true,
    }
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

/// Keywords of either dialect that can refuse a value, beyond those that types carry. Any other
/// keyword is an annotation or unknown, and refuses nothing.
fn is_assertion(name: &str) -> bool {
    matches!(
        name,
        "additionalItems"
            | "allOf"
            | "contains"
            | "dependencies"
            | "dependentRequired"
            | "dependentSchemas"
            | "$dynamicRef"
            | "else"
            | "exclusiveMaximum"
            | "exclusiveMinimum"
            | "if"
            | "maxContains"
            | "maxLength"
            | "maxProperties"
            | "minContains"
            | "minLength"
            | "minProperties"
            | "multipleOf"
            | "not"
            | "pattern"
            | "patternProperties"
            | "propertyNames"
            | "then"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "uniqueItems"
    )
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

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use schemars::JsonSchema;
    use serde_json::value::RawValue;
    use turnbuckle_schema::Validator;

    use super::super::decode_arguments;
    use super::super::derive::input_schema_of;
    use super::*;

    fn needs<T: JsonSchema>() -> bool {
        needs_validator(&input_schema_of::<T>().unwrap())
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Holder<T> {
        field: T,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    enum Units {
        Metric,
        /// With a description.
        Imperial,
    }

    #[derive(JsonSchema)]
    #[serde(tag = "kind")]
    #[expect(dead_code, reason = "only its schema is of interest")]
    enum Shape {
        Circle { radius: f64 },
        Square { side: Option<u16> },
    }

    #[derive(JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Plain {
        /// Described.
        text: String,
        #[serde(default)]
        many: Vec<Holder<bool>>,
        signed: (i8, i16, i32, i64),
        unsigned: (u8, u16, u32, u64, usize),
        map: BTreeMap<String, f32>,
        units: Option<Units>,
        shape: Shape,
        any: Value,
        next: Option<Box<Plain>>,
    }

    #[test]
    fn plain_types_enforce_their_schemas() {
        assert!(!needs::<Plain>());
        assert!(!needs::<Shape>());
        assert!(!needs::<()>());
    }

    macro_rules! with_attribute {
        ($($attribute:meta)? => $type:ty) => {{
            #[derive(JsonSchema)]
            #[expect(dead_code, reason = "only its schema is of interest")]
            struct Arguments {
                $(#[$attribute])?
                field: $type,
            }
            needs::<Arguments>()
        }};
    }

    #[test]
    fn attributes_that_say_more_need_a_validator() {
        assert!(!with_attribute!(=> String));
        assert!(!with_attribute!(schemars(extend("x-mcp-header" = "Region")) => String));
        assert!(!with_attribute!(schemars(title = "A title") => u8));
        assert!(with_attribute!(schemars(range(min = 1, max = 10)) => u8));
        assert!(with_attribute!(schemars(range(min = 1)) => f64));
        assert!(with_attribute!(schemars(length(max = 10)) => String));
        assert!(with_attribute!(schemars(length(min = 1)) => Vec<u8>));
        assert!(with_attribute!(schemars(regex(pattern = "^a")) => String));
        assert!(with_attribute!(schemars(extend("enum" = ["a", "b"])) => String));
        assert!(with_attribute!(schemars(extend("const" = "a")) => String));
        assert!(with_attribute!(schemars(inner(length(max = 3))) => Vec<String>));
        assert!(with_attribute!(schemars(inner(range(max = 3))) => Option<Vec<u32>>));
        assert!(with_attribute!(=> BTreeSet<u8>));
        assert!(with_attribute!(=> [u8; 3]));
        assert!(with_attribute!(=> char));
    }

    #[test]
    fn an_attribute_deep_inside_is_found() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is of interest")]
        struct Inner {
            #[schemars(extend("enum" = ["a"]))]
            field: String,
        }
        assert!(needs::<Holder<Vec<Option<Inner>>>>());
    }

    /// What the answer rests on: where no validator is needed, it would have nothing to add.
    #[test]
    fn without_a_validator_decoding_refuses_what_the_schema_refuses() {
        #[derive(serde::Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only decoding is of interest")]
        struct Arguments {
            city: String,
            #[serde(default)]
            days: u8,
            units: Option<Way>,
            pair: Option<(bool, i16)>,
        }

        #[derive(serde::Deserialize, JsonSchema)]
        #[serde(tag = "by", rename_all = "lowercase")]
        #[expect(dead_code, reason = "only decoding is of interest")]
        enum Way {
            Foot,
            Train { class: Option<u8> },
        }

        let schema = input_schema_of::<Arguments>().unwrap();
        assert!(!needs_validator(&schema));
        let validator = Validator::compile_object(&schema).unwrap();
        for (json, good) in [
            (r#"{"city":"a"}"#, true),
            (r#"{"city":"a","days":255,"units":null}"#, true),
            (
                r#"{"city":"a","units":{"by":"foot"},"pair":[true,-5]}"#,
                true,
            ),
            (r#"{"city":"a","units":{"by":"train","class":2}}"#, true),
            (r#"{"city":1}"#, false),
            (r#"{"days":1}"#, false),
            (r#"{"city":"a","days":256}"#, false),
            (r#"{"city":"a","days":-1}"#, false),
            (r#"{"city":"a","days":1.5}"#, false),
            (r#"{"city":"a","other":1}"#, false),
            (r#"{"city":"a","units":{"by":"car"}}"#, false),
            (r#"{"city":"a","units":{"class":1}}"#, false),
            (r#"{"city":"a","pair":[true]}"#, false),
            (r#"{"city":"a","pair":[true,1,1]}"#, false),
            (r#"{"city":"a","pair":[true,40000]}"#, false),
            ("[]", false),
        ] {
            let raw: &RawValue = serde_json::from_str(json).unwrap();
            assert_eq!(
                decode_arguments::<Arguments>(Some(raw)).is_ok(),
                good,
                "decode {json}"
            );
            assert_eq!(validator.validate(raw).is_ok(), good, "validate {json}");
        }
    }
}
