use serde_json::json;

use super::*;

pub(crate) mod agreement;
mod bounds;
mod repair;

fn shape(schema: Value) -> FastValidator {
    FastValidator::compile(&Schema::encode(&schema).unwrap()).unwrap()
}

fn raw(text: &str) -> RawJson<'_> {
    serde_json::from_str(text).unwrap()
}

fn faults(schema: Value, text: &str) -> Vec<String> {
    match shape(schema).validate(raw(text)) {
        Ok(()) => Vec::new(),
        Err(violations) => violations.iter().map(|v| v.describe("arguments")).collect(),
    }
}

fn trip() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "minLength": 1 },
            "days": { "type": "integer", "minimum": 1, "maximum": 9 },
            "units": { "enum": ["metric", "imperial"] },
            "stops": {
                "type": "array",
                "maxItems": 2,
                "items": {
                    "type": "object",
                    "properties": { "name": { "type": "string" } },
                    "required": ["name"],
                    "additionalProperties": false
                }
            }
        },
        "required": ["city"]
    })
}

#[test]
fn all_violations_are_reported_at_once_with_suggestions() {
    assert_eq!(faults(trip(), r#"{"city":"Bern","other":[1]}"#), [""; 0]);
    assert_eq!(
        faults(
            trip(),
            r#"{"ctiy":"Bern","days":12,"units":"metrik","stops":[{"nmae":"a"},{"name":5},{}]}"#
        ),
        [
            "arguments.days: expected an integer from 1 to 9, got 12",
            r#"arguments.units: expected "metric" or "imperial", got "metrik"; did you mean "metric"?"#,
            "arguments.stops[0].nmae: is not expected here; did you mean `name`?",
            "arguments.stops[0].name: is missing, but required; `nmae` came: did you mean `name`?",
            "arguments.stops[1].name: expected a string, got 5",
            "arguments.stops[2].name: is missing, but required",
            "arguments.stops: expected at most 2 items, got 3",
            "arguments.city: is missing, but required; `ctiy` came: did you mean `city`?",
        ]
    );
}

#[test]
fn violations_name_the_expected_and_the_received_value() {
    for (schema, text, message) in [
        (json!({ "type": "string" }), "5", "a string, got 5"),
        (
            json!({ "type": ["string", "null"] }),
            "5",
            "a string or null, got 5",
        ),
        (json!({ "type": "object" }), "null", "an object, got null"),
        (
            json!({ "type": "boolean" }),
            r#""yes""#,
            r#"true or false, got "yes""#,
        ),
        (json!({ "type": "integer" }), "1.5", "an integer, got 1.5"),
        (
            json!({ "type": "number", "minimum": 1 }),
            "0",
            "a number of at least 1, got 0",
        ),
        (
            json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1.5 }),
            "0",
            "a number of at most 1.5 and above 0, got 0",
        ),
        (
            json!({ "type": "integer", "multipleOf": 5 }),
            "7",
            "an integer that is a multiple of 5, got 7",
        ),
        (
            json!({ "type": "string", "minLength": 2, "maxLength": 4, "pattern": "^é+$" }),
            r#""é""#,
            r#"a string of 2 to 4 characters that matches ^é+$, got "é""#,
        ),
        (
            json!({ "enum": ["a", 3, null] }),
            r#""zzz""#,
            r#""a", 3 or null, got "zzz""#,
        ),
        (json!({ "const": { "a": 1 } }), "{}", r#"{"a":1}, got {}"#),
        (json!({ "minItems": 2 }), "[1]", "at least 2 items, got 1"),
        (
            json!({ "uniqueItems": true }),
            "[1,1.0]",
            "2 items that all differ",
        ),
        (
            json!({ "minProperties": 1 }),
            "{}",
            "at least 1 members, got 0",
        ),
        (
            json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] }),
            r#""x""#,
            r#"an integer or null, got "x""#,
        ),
        (
            json!({ "oneOf": [{ "type": "integer" }, { "minimum": 1 }] }),
            "5",
            "exactly one of the alternatives to fit, got 5",
        ),
    ] {
        assert_eq!(
            faults(schema.clone(), text),
            [format!("arguments: expected {message}")],
            "{schema}"
        );
    }
}

#[test]
fn the_probably_meant_alternative_is_explained() {
    let place = json!({
        "anyOf": [
            { "type": "object", "properties": { "x": { "type": "number" } }, "required": ["x"] },
            { "type": "null" },
        ]
    });
    assert_eq!(
        faults(place, r#"{"x":"a"}"#),
        ["arguments.x: expected a number, got \"a\""]
    );
    let tagged = json!({
        "oneOf": [
            {
                "type": "object",
                "properties": { "kind": { "const": "circle" }, "radius": { "type": "number" } },
                "required": ["kind", "radius"],
            },
            {
                "type": "object",
                "properties": { "kind": { "const": "square" }, "side": { "type": "number" } },
                "required": ["kind", "side"],
            },
        ]
    });
    assert_eq!(
        faults(tagged.clone(), r#"{"kind":"circle"}"#),
        ["arguments.radius: is missing, but required"]
    );
    assert_eq!(
        faults(tagged.clone(), r#"{"kind":"cirle","radius":1}"#),
        [r#"arguments.kind: expected "circle" or "square", got "cirle"; did you mean "circle"?"#]
    );
    assert_eq!(
        faults(tagged.clone(), "{}"),
        [r#"arguments.kind: is missing, but required: "circle" or "square""#]
    );
    assert_eq!(
        faults(tagged, "7"),
        ["arguments: expected an object, got 7"]
    );
}

#[test]
fn a_recursive_schema_is_followed_as_deep_as_the_value() {
    let tree = json!({
        "$defs": { "node": {
            "type": "object",
            "properties": { "next": { "$ref": "#/$defs/node" }, "n": { "type": "integer" } },
            "additionalProperties": false,
        } },
        "$ref": "#/$defs/node",
    });
    assert_eq!(
        faults(tree.clone(), r#"{"next":{"next":{"n":1}}}"#),
        [""; 0]
    );
    assert_eq!(
        faults(tree.clone(), r#"{"next":{"next":{"n":"a"}}}"#),
        [r#"arguments.next.next.n: expected an integer, got "a""#]
    );
    let deep = r#"{"next":"#.repeat(5_000) + "{}" + &"}".repeat(5_000);
    let shape = shape(tree);
    assert!(shape.validate(raw(&deep)).is_err());
}

#[test]
fn keywords_are_read_in_their_dialect() {
    let uri = "http://json-schema.org/draft-07/schema#";
    let tuple = json!({
        "$schema": uri,
        "items": [{ "type": "string" }],
        "additionalItems": { "type": "null" },
    });
    assert_eq!(faults(tuple.clone(), r#"["a",null]"#), [""; 0]);
    assert_eq!(
        faults(tuple, r#"["a",1]"#),
        ["arguments[1]: expected null, got 1"]
    );
    let schema = Schema::encode(&json!({ "items": [true] })).unwrap();
    assert!(FastValidator::compile(&schema).is_err());
}

#[test]
fn an_unsupported_keyword_is_named() {
    assert_eq!(shape(trip()).unsupported_keyword(), None);
    let schema = json!({ "properties": { "a": { "not": { "type": "null" } } } });
    assert_eq!(shape(schema).unsupported_keyword(), Some("not"));
    let unused = json!({ "$defs": { "a": { "if": true } }, "format": "email", "x-any": 1 });
    assert_eq!(shape(unused).unsupported_keyword(), None);
}

#[test]
fn an_unusable_schema_is_refused_with_its_keyword() {
    let fault = |schema| FastValidator::compile(&Schema::encode(&schema).unwrap()).unwrap_err();
    let lookahead = fault(json!({ "properties": { "a": { "pattern": "(?=a)b" } } }));
    assert!(matches!(&lookahead, SchemaError::Pattern { pattern, .. } if pattern == "(?=a)b"));
    assert!(lookahead.to_string().contains("(?=a)b"), "{lookahead}");
    let huge = fault(json!({ "pattern": "((a{999}){999}){999}" }));
    assert!(matches!(huge, SchemaError::Pattern { .. }));
    for (schema, path) in [
        (json!({ "type": "text" }), "type"),
        (json!({ "properties": { "a": 5 } }), "a"),
        (json!({ "properties": [] }), "properties"),
        (json!({ "required": "a" }), "required"),
        (json!({ "required": [1] }), "required"),
        (json!({ "minLength": -1 }), "minLength"),
        (json!({ "maxItems": 1.5 }), "maxItems"),
        (json!({ "minimum": "1" }), "minimum"),
        (json!({ "multipleOf": 0 }), "multipleOf"),
        (json!({ "enum": 1 }), "enum"),
        (json!({ "anyOf": [] }), "anyOf"),
        (json!({ "uniqueItems": 1 }), "uniqueItems"),
        (json!({ "pattern": 1 }), "pattern"),
    ] {
        match fault(schema.clone()) {
            SchemaError::Invalid { path: found, .. } => assert_eq!(found, path, "{schema}"),
            other => panic!("{schema}: {other}"),
        }
    }
    let leaves = json!({ "$ref": "https://example.com/a.json" });
    assert!(matches!(fault(leaves), SchemaError::NonLocalReference(_)));
}

#[test]
fn a_schema_of_objects_has_the_type_object_at_its_root() {
    let of = |schema| FastValidator::compile_object(&Schema::encode(&schema).unwrap());
    assert!(of(trip()).is_ok());
    assert_eq!(of(json!({})).unwrap_err(), SchemaError::RootNotObject);
    let either = json!({ "type": ["object", "null"] });
    assert_eq!(of(either).unwrap_err(), SchemaError::RootNotObject);
}

#[test]
fn repeated_members_are_reported_or_checked_each_time() {
    assert_eq!(
        faults(trip(), r#"{"city":"a","city":"b"}"#),
        ["arguments.city: is given more than once"]
    );
    let map = json!({ "additionalProperties": { "type": "null" } });
    assert_eq!(faults(map.clone(), r#"{"a":1,"a":null}"#).len(), 1);
    assert_eq!(faults(map, r#"{"a":null,"a":1}"#).len(), 1);
    assert_eq!(
        faults(json!({ "minProperties": 2 }), r#"{"a":1,"a":2}"#).len(),
        1
    );
}

#[test]
fn numbers_out_of_range_and_malformed_text_are_violations() {
    assert_eq!(
        faults(json!({ "type": "number" }), "1e999"),
        ["arguments: is beyond the numbers there are: 1e999"]
    );
    assert_eq!(
        faults(json!({ "minLength": 1 }), r#""\ud800""#),
        ["arguments: is not valid JSON text"]
    );
}

#[test]
fn many_members_are_distinguished() {
    let names: Vec<String> = (0..100).map(|n| format!("member{n}")).collect();
    let all = json!({ "required": names });
    let text = |names: &[String]| {
        let members: Vec<_> = names.iter().map(|name| format!("\"{name}\":1")).collect();
        format!("{{{}}}", members.join(","))
    };
    assert_eq!(faults(all.clone(), &text(&names)), [""; 0]);
    assert_eq!(faults(all, &text(&names[..99])).len(), 1);
}

#[test]
fn a_schema_of_plain_types_has_no_constraints() {
    use schemars::JsonSchema;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Plain {
        text: String,
        count: u8,
        pair: (i64, bool),
        next: Option<Box<Plain>>,
        #[serde(default)]
        by: Vec<Vehicle>,
    }

    #[derive(JsonSchema)]
    #[serde(tag = "by")]
    #[expect(dead_code, reason = "only its schema is of interest")]
    enum Vehicle {
        Foot,
        Train { class: Option<u8> },
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Bounded {
        inner: Vec<Limited>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Limited {
        #[schemars(range(min = 1, max = 10))]
        count: u8,
    }

    let compile = |schema: schemars::Schema| {
        FastValidator::compile(&Schema::encode(&schema).unwrap()).unwrap()
    };
    assert!(!compile(schemars::schema_for!(Plain)).has_constraints());
    assert!(!compile(schemars::schema_for!(Vehicle)).has_constraints());
    let bounded = compile(schemars::schema_for!(Bounded));
    assert!(bounded.has_constraints());
    assert_eq!(bounded.unsupported_keyword(), None);
    for schema in [
        json!({ "properties": { "a": { "type": "string", "maxLength": 3 } } }),
        json!({ "properties": { "a": { "type": "string", "enum": ["a"] } } }),
        json!({ "properties": { "a": { "type": "string", "const": "a" } } }),
        json!({ "properties": { "a": { "type": "array", "minItems": 1 } } }),
        json!({ "properties": { "a": { "type": "integer", "format": "uint8", "maximum": 9 } } }),
    ] {
        assert!(shape(schema.clone()).has_constraints(), "{schema}");
    }
}
