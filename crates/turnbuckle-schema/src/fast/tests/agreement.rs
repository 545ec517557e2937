//! The general validator as the oracle.

use proptest::prelude::*;
use serde_json::{Value, json};
use turnbuckle_types::{Json, Schema};

use super::shape;
use crate::Validator;
use crate::fast::equal::values_equal;

/// Generates values of few shapes, so that many of them match a generated schema.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-3i64..6).prop_map(Value::from),
        prop_oneof![Just(0.5), Just(1.0), Just(2.0), Just(-1.25), Just(1e20)].prop_map(Value::from),
        Just(json!(u64::MAX)),
        prop_oneof![
            Just("a"),
            Just("b"),
            Just("ab"),
            Just("5"),
            Just("true"),
            Just("é\n\"")
        ]
        .prop_map(Value::from),
        Just(json!("[1]")),
        Just(json!("{\"a\":\"5\"}")),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(("[abc]", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn merge_objects(parts: Vec<Value>) -> Value {
    let objects = parts.into_iter().filter_map(|part| match part {
        Value::Object(keywords) => Some(keywords),
        _ => None,
    });
    Value::Object(objects.flatten().collect())
}

/// Generates schemas of the keywords that are covered. `#/$defs/d` is one that may recur.
pub(crate) fn subschema() -> impl Strategy<Value = Value> {
    let types = [
        "null", "boolean", "integer", "number", "string", "array", "object",
    ];
    let kind = proptest::sample::select(types.to_vec());
    let leaf = prop_oneof![
        2 => any::<bool>().prop_map(Value::from),
        6 => kind.clone().prop_map(|kind| json!({ "type": kind })),
        2 => (kind.clone(), kind).prop_filter_map("types differ", |(one, two)| {
            (one != two).then(|| json!({ "type": [one, two] }))
        }),
        2 => proptest::collection::vec(value(), 1..3).prop_map(|options| {
            let mut options = options;
            options.dedup();
            json!({ "enum": options })
        }),
        2 => value().prop_map(|value| json!({ "const": value })),
        2 => (-2i64..3, 0i64..4).prop_map(|(a, b)| json!({ "minimum": a, "maximum": b })),
        1 => (-2i64..3).prop_map(|a| json!({ "exclusiveMinimum": a, "type": "number" })),
        1 => (0i64..3).prop_map(|a| json!({ "exclusiveMaximum": a })),
        1 => prop_oneof![Just(json!(2)), Just(json!(0.5)), Just(json!(0.25)), Just(json!(3))]
            .prop_map(|unit| json!({ "multipleOf": unit })),
        2 => (0u64..2, 1u64..3).prop_map(|(a, b)| json!({ "minLength": a, "maxLength": b })),
        1 => prop_oneof![Just("^a"), Just("b$"), Just("[^a]"), Just(r"\d")]
            .prop_map(|pattern| json!({ "pattern": pattern })),
        1 => Just(json!({ "$ref": "#/$defs/d" })),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        let some = proptest::collection::vec(inner.clone(), 1..4);
        let members = proptest::collection::btree_map("[abc]", inner.clone(), 0..3);
        let part = prop_oneof![
            4 => (members.clone(), proptest::sample::subsequence(vec!["a", "b"], 0..2))
                .prop_map(|(members, required)| json!({ "properties": members, "required": required })),
            2 => (members.clone(), inner.clone()).prop_map(|(members, rest)| {
                json!({ "properties": members, "additionalProperties": rest, "type": "object" })
            }),
            1 => members.prop_map(|members| {
                json!({ "properties": members, "additionalProperties": false })
            }),
            1 => inner.clone().prop_map(|schema| json!({ "patternProperties": { "^[ab]": schema } })),
            2 => inner.clone().prop_map(|schema| json!({ "items": schema, "type": "array" })),
            1 => (some.clone(), inner).prop_map(|(first, rest)| json!({ "prefixItems": first, "items": rest })),
            1 => (0u64..2, 1u64..3).prop_map(|(a, b)| json!({ "minItems": a, "maxItems": b })),
            1 => Just(json!({ "uniqueItems": true })),
            1 => (0u64..2, 1u64..3).prop_map(|(a, b)| json!({ "minProperties": a, "maxProperties": b })),
            2 => some.clone().prop_map(|schemas| json!({ "anyOf": schemas })),
            2 => some.clone().prop_map(|schemas| json!({ "oneOf": schemas })),
            1 => some.prop_map(|schemas| json!({ "allOf": schemas })),
        ];
        proptest::collection::vec(part, 1..3).prop_map(merge_objects)
    })
}

/// Generates a schema with a definition that recurs where values do.
pub(crate) fn schema() -> impl Strategy<Value = Value> {
    (subschema(), subschema()).prop_map(|(root, inner)| {
        let mut root = match root {
            Value::Object(root) => root,
            plain => json!({ "allOf": [plain] }).as_object().unwrap().clone(),
        };
        root.insert(
            "$defs".to_owned(),
            json!({ "d": { "type": ["array", "object", "integer"], "items": { "$ref": "#/$defs/d" }, "properties": { "a": without_reference(inner) } } }),
        );
        Value::Object(root)
    })
}

/// Generates a schema without references.
pub(crate) fn plain_schema() -> impl Strategy<Value = Value> {
    let free = subschema().prop_filter("no references", |s| !s.to_string().contains("$ref"));
    (free, "[abc]").prop_map(|(schema, name)| {
        json!({ "type": "object", "properties": { name: schema.clone(), "a": schema } })
    })
}

pub(crate) fn shape_of(schema: &Value) -> crate::FastValidator {
    shape(schema.clone())
}

/// Returns the schema with its references moved down to the items of a value, so that none leads
/// back to itself on the same value.
fn without_reference(schema: Value) -> Value {
    serde_json::from_str(&schema.to_string().replace("#/$defs/d", "#/$defs/d/items")).unwrap()
}

fn raw(value: &Value) -> Json {
    Json::encode(value).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_fast_validator_agrees_with_the_general_one(
        schema in schema(),
        values in proptest::collection::vec(value(), 1..8),
    ) {
        let validator = Validator::compile(&Schema::encode(&schema).unwrap());
        let Ok(validator) = validator else { return Ok(()) };
        let shape = shape(schema);
        prop_assert_eq!(shape.unsupported_keyword(), None);
        for value in values {
            let text = raw(&value);
            let outcome = shape.validate((&text).into());
            prop_assert_eq!(outcome.is_ok(), validator.validate((&text).into()).is_ok(), "{}", value);
            if let Err(violations) = outcome {
                prop_assert!((1..=8).contains(&violations.iter().len()));
                let whole = violations.describe("value").to_string();
                prop_assert!(whole.len() < 8_000, "{}", whole);
                for violation in &violations {
                    let path = violation.path();
                    prop_assert!(!violation.message().contains(char::is_control));
                    let missing = violation.message().starts_with("is missing");
                    prop_assert!(missing || value.pointer(path).is_some(), "{}", violation.describe("v"));
                }
            }
        }
    }

    #[test]
    fn a_repair_changes_only_invalid_values(
        schema in schema(),
        values in proptest::collection::vec(value(), 1..8),
    ) {
        let shape = shape(schema);
        for value in values {
            let came = raw(&value);
            if let Some(mended) = shape.repair((&came).into()) {
                let is_same = values_equal(&mended.decode().unwrap(), &value);
                let fits = shape.validate((&came).into()).is_ok();
                prop_assert!(is_same || !fits, "{} was touched", value);
                prop_assert_ne!(&mended, &came);
                if shape.validate((&mended).into()).is_ok() {
                    prop_assert!(shape.repair((&mended).into()).is_none());
                }
            }
        }
    }

    #[test]
    fn any_json_text_is_read_to_its_end(value in value(), spaced in any::<bool>()) {
        let text = if spaced { format!("{value:#}") } else { value.to_string() };
        let text = text.parse::<Json>().unwrap();
        let shape = shape(json!({ "items": { "items": true }, "maxProperties": 9 }));
        prop_assert!(shape.validate((&text).into()).is_ok());
    }
}
