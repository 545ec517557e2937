use serde_json::json;
use turnbuckle_types::Json;

use super::*;

fn validator(schema: &Value) -> Result<Validator, SchemaError> {
    Validator::compile(&Schema::encode(schema).unwrap())
}

fn violations(schema: Value, value: Value) -> Vec<String> {
    match validator(&schema).unwrap().validate_value(&value) {
        Ok(()) => Vec::new(),
        Err(violations) => violations
            .iter()
            .map(|violation| violation.describe("arguments"))
            .collect(),
    }
}

#[test]
fn violations_name_the_location_the_expected_and_the_received_value() {
    let properties = |schema: Value| json!({ "properties": { "x": schema } });
    for (schema, value, message) in [
        (json!({ "type": "string" }), json!(5), "string, got 5"),
        (
            json!({ "type": ["string", "null"] }),
            json!(5),
            "null or string, got 5",
        ),
        (
            json!({ "enum": ["a", "b", 3] }),
            json!("c"),
            r#""a", "b" or 3, got "c""#,
        ),
        (json!({ "const": "a" }), json!("c"), r#""a", got "c""#),
        (json!({ "minimum": 1 }), json!(0), "at least 1, got 0"),
        (
            json!({ "exclusiveMaximum": 1 }),
            json!(1),
            "less than 1, got 1",
        ),
        (
            json!({ "multipleOf": 5 }),
            json!(7),
            "a multiple of 5, got 7",
        ),
        (
            json!({ "minLength": 2 }),
            json!("a"),
            r#"at least 2 characters, got "a""#,
        ),
        (
            json!({ "maxItems": 1 }),
            json!([1, 2]),
            "at most 1 items, got [1,2]",
        ),
        (
            json!({ "pattern": "^a+$" }),
            json!("b"),
            r#"text that matches ^a+$, got "b""#,
        ),
        (
            json!({ "uniqueItems": true }),
            json!([1, 1]),
            "items that all differ, got [1,1]",
        ),
        (json!({ "not": {} }), json!(1), "anything but this, got 1"),
        (
            json!({ "anyOf": [{ "enum": ["a"] }, { "type": "null" }] }),
            json!(5),
            r#""a" or null, got 5"#,
        ),
    ] {
        assert_eq!(
            violations(properties(schema), json!({ "x": value })),
            [format!("arguments.x: expected {message}")]
        );
    }
    assert_eq!(
        violations(json!({ "required": ["city"] }), json!({})),
        ["arguments.city: is missing, but required"]
    );
    assert_eq!(
        violations(
            json!({ "properties": { "b": {} }, "additionalProperties": false }),
            json!({ "a": 1 })
        ),
        ["arguments.a: is not expected here"]
    );
    assert_eq!(
        violations(json!({ "additionalProperties": false }), json!({ "a": 1 })),
        ["arguments: takes no members"]
    );
}

#[test]
fn a_valid_value_passes_and_formats_are_annotations() {
    let schema = json!({ "properties": { "when": { "type": "string", "format": "date" } } });
    assert!(violations(schema, json!({ "when": "tomorrow" })).is_empty());
}

#[test]
fn violations_are_few_and_short() {
    let schema = json!({ "items": { "type": "string" } });
    assert_eq!(
        violations(schema.clone(), json!(vec![1; 100])).len(),
        MAX_VIOLATIONS
    );
    let long = json!([["\u{1b}\n".repeat(100_000)]]);
    let message = violations(schema, long).concat();
    assert!(
        message.len() < 300 && !message.contains(['\u{1b}', '\n']),
        "{}",
        message.len()
    );
    let many: Vec<Value> = (0..1000).map(|n| json!(n)).collect();
    assert!(
        violations(json!({ "enum": many }), json!("x"))
            .concat()
            .len()
            < 300
    );
}

#[test]
fn patterns_run_in_linear_time_or_not_at_all() {
    let text = "a".repeat(50_000) + "b";
    assert_eq!(
        violations(json!({ "pattern": "^(a+)+$" }), json!(text)).len(),
        1
    );
    for pattern in ["(?=a)", r"(a)\1", "(", "(a{1000}){1000}"] {
        let refused = validator(&json!({ "pattern": pattern })).unwrap_err();
        assert!(
            matches!(refused, SchemaError::Invalid { .. }),
            "{pattern} {refused}"
        );
    }
}

#[test]
fn the_text_of_a_value_is_validated_too() {
    let validator = validator(&json!({ "type": "object" })).unwrap();
    let raw = |text: String| text.parse::<Json>().unwrap();
    assert_eq!(validator.validate((&raw("{}".to_owned())).into()), Ok(()));
    let violations = validator
        .validate((&raw("1".to_owned())).into())
        .unwrap_err();
    assert_eq!(violations.iter().count(), 1);
    let deep = "[".repeat(500) + &"]".repeat(500);
    assert!(validator.validate((&raw(deep)).into()).is_err());
}

#[test]
fn a_schema_of_objects_has_the_type_object_at_its_root() {
    let compile = |schema: Value| Validator::compile_object(&Schema::encode(&schema).unwrap());
    assert!(compile(json!({ "type": "object" })).is_ok());
    for schema in [
        json!({}),
        json!({ "type": "array" }),
        json!({ "type": ["object"] }),
    ] {
        assert_eq!(compile(schema).unwrap_err(), SchemaError::RootNotObject);
    }
}

#[test]
fn a_draft_07_schema_is_read_in_its_dialect() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "items": [{ "type": "string" }],
        "additionalItems": false,
    });
    assert!(violations(schema.clone(), json!(["a"])).is_empty());
    assert_eq!(violations(schema, json!(["a", 1])).len(), 1);
}

#[test]
fn a_value_that_makes_alternatives_explode_is_refused_at_once() {
    let branch = |leaf: &str| json!({ "properties": { "a": { "$ref": "#" } }, "required": ["b"], "const": leaf });
    let schema = json!({ "anyOf": [branch("x"), branch("y"), { "type": "null" }] });
    let deep = (0..100).fold(json!({}), |inner, _| json!({ "a": inner }));
    let message = violations(schema.clone(), deep).concat();
    assert!(message.contains("too costly to check"), "{message}");
    assert!(
        violations(schema, json!({ "a": { "a": {} } }))
            .concat()
            .contains("expected")
    );
}

#[test]
fn a_deep_list_of_a_plain_recursive_schema_is_fine() {
    let schema = json!({ "properties": { "next": { "$ref": "#" }, "n": { "minimum": 0 } } });
    let deep = (0..100).fold(json!({ "n": 1 }), |next, _| json!({ "next": next, "n": 1 }));
    assert!(violations(schema, deep).is_empty());
}

#[test]
fn the_longest_chain_that_is_allowed_fits_the_stack() {
    let steps = (0..2).fold(
        json!({ "properties": { "a": { "$ref": "#" } } }),
        |inner, _| json!({ "allOf": [{ "anyOf": [inner] }] }),
    );
    let deep = |n| (0..n).fold(json!({}), |inner, _| json!({ "a": inner }));
    assert!(violations(steps.clone(), deep(80)).is_empty());
    assert!(violations(steps, deep(100)).concat().contains("too costly"));
}

#[test]
fn a_value_that_is_too_costly_is_neither_valid_nor_invalid() {
    let alternatives: Vec<Value> = (0..1_900).map(|n| json!({ "const": n })).collect();
    let validator = validator(&json!({ "items": { "anyOf": alternatives } })).unwrap();
    let refused = validator
        .validate_value(&json!(vec![0; 100_000]))
        .unwrap_err();
    assert!(refused.is_too_costly());
    assert_eq!(
        refused.to_string(),
        "value: is too costly to check against the schema, and was not checked (SchemaLimits::max_work)"
    );
    assert_eq!(validator.validate_value(&json!(vec![0; 500])), Ok(()));
    let wrong = validator.validate_value(&json!(["x"])).unwrap_err();
    assert!(!wrong.is_too_costly());
}

#[test]
fn if_all_violations_would_be_expensive_the_first_is_reported() {
    let schema = json!({ "items": { "anyOf": [{ "type": "string" }, { "type": "null" }] } });
    assert_eq!(
        violations(schema.clone(), json!(vec![1; 100])).len(),
        MAX_VIOLATIONS
    );
    assert_eq!(
        violations(schema, json!(vec![1; 20_000])),
        ["arguments[0]: expected string or null, got 1"]
    );
    let schema = json!({ "anyOf": [{ "items": { "type": "string" } }, { "type": "null" }] });
    assert_eq!(
        violations(schema, json!(vec![1; 20_000])),
        ["arguments: does not fit the schema, and is too large to say where"]
    );
}

#[test]
fn patterns_share_their_memory() {
    let of = |n: usize| {
        let names = (0..n).map(|n| (format!("(a{{{}}}){{20}}", 500 + n), json!(true)));
        let names = names.collect::<serde_json::Map<_, _>>();
        validator(&json!({ "patternProperties": names }))
    };
    assert!(of(10).is_ok());
    let refused = of(100).unwrap_err();
    assert!(matches!(refused, SchemaError::Invalid { .. }), "{refused}");
}

#[test]
fn a_large_recursive_value_is_validated() {
    let names = (0..100).map(|n| (format!("p{n}"), json!({ "type": "string" })));
    let mut properties = names.collect::<serde_json::Map<_, _>>();
    for side in ["l", "r"] {
        properties.insert(side.to_owned(), json!({ "$ref": "#" }));
    }
    let schema = json!({ "properties": properties });
    let full = |leaf: Value| (0..9).fold(leaf, |inner, _| json!({ "l": inner, "r": inner }));
    assert!(violations(schema.clone(), full(json!({}))).is_empty());
    assert!(!violations(schema, full(json!({ "p7": 1 }))).is_empty());
}

#[test]
fn quoted_parts_of_a_schema_are_harmless() {
    for hostile in [
        r#"{"properties":{"\u001b[31m":{"type":1}}}"#,
        r#"{"patternProperties":{"\u001b[31m(":{}}}"#,
    ] {
        let schema = Schema::from_raw(serde_json::from_str(hostile).unwrap()).unwrap();
        let fault = Validator::compile(&schema).unwrap_err().to_string();
        assert!(!fault.contains(char::is_control), "{fault:?}");
        assert!(fault.len() < 1024, "{fault}");
    }
}

#[test]
fn a_schema_must_be_valid_in_its_dialect() {
    let refused = |schema: &Value| validator(schema).unwrap_err();
    let error = refused(&json!({ "properties": { "a": { "type": "strin" } } }));
    let SchemaError::Invalid { path, message } = error else {
        panic!("{error}")
    };
    assert_eq!(path, "/properties/a/type");
    assert!(message.contains("strin"), "{message}");
    assert!(matches!(
        refused(&json!({ "required": "a" })),
        SchemaError::Invalid { .. }
    ));
    let old = "http://json-schema.org/draft-07/schema#";
    let tuple = json!({ "items": [{}, {}] });
    assert!(matches!(refused(&tuple), SchemaError::Invalid { .. }));
    assert!(validator(&json!({ "$schema": old, "items": tuple["items"] })).is_ok());
}
