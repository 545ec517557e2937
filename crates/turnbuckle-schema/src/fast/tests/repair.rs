use serde_json::{Value, json};

use super::{raw, shape};

fn repair_text(schema: Value, text: &str) -> Option<String> {
    let shape = shape(schema);
    shape
        .repair(raw(text))
        .map(|mended| mended.as_str().to_owned())
}

fn object_with(schema: Value) -> Value {
    json!({ "type": "object", "properties": { "a": schema } })
}

#[test]
fn a_string_is_read_as_the_expected_type() {
    for (schema, text, expected) in [
        (json!({ "type": "integer" }), r#""5""#, "5"),
        (json!({ "type": "integer" }), r#""-5""#, "-5"),
        (json!({ "type": ["integer", "null"] }), r#""5""#, "5"),
        (json!({ "enum": [1, 2] }), r#""2""#, "2"),
        (json!({ "type": "number" }), r#""1.50""#, "1.50"),
        (
            json!({ "type": "number" }),
            r#""12345678901234567890123""#,
            "12345678901234567890123",
        ),
        (json!({ "type": "boolean" }), r#""true""#, "true"),
        (
            json!({ "type": "array", "items": { "type": "integer" } }),
            r#""[1, \"2\"]""#,
            "[1,2]",
        ),
        (
            json!({ "type": "object" }),
            r#"" {\"b\": 1} ""#,
            r#"{"b": 1}"#,
        ),
        (json!({ "type": "integer", "minimum": 9 }), r#""5""#, "5"),
        (
            json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] }),
            r#""5""#,
            "5",
        ),
    ] {
        let mended = repair_text(object_with(schema.clone()), &format!(r#"{{"a":{text}}}"#));
        assert_eq!(
            mended,
            Some(format!(r#"{{"a":{expected}}}"#)),
            "{schema} {text}"
        );
    }
}

#[test]
fn other_strings_are_left() {
    for (schema, text) in [
        (json!({ "type": "integer" }), r#""5.0""#),
        (json!({ "type": "integer" }), r#""05""#),
        (json!({ "type": "integer" }), r#"" 5""#),
        (json!({ "type": "integer" }), r#""five""#),
        (json!({ "type": "integer" }), r#""""#),
        (json!({ "type": "number" }), r#"" 5""#),
        (json!({ "type": "number" }), r#""1e999""#),
        (json!({ "type": "number" }), r#""NaN""#),
        (json!({ "type": "boolean" }), r#""True""#),
        (json!({ "type": "array" }), r#""[1""#),
        (json!({ "type": "array" }), r#""{}""#),
        (json!({ "type": "object" }), r#""{} x""#),
        (
            json!({ "type": ["string", "integer"], "minLength": 9 }),
            r#""5""#,
        ),
        (json!({ "minLength": 9 }), r#""5""#),
        (
            json!({ "anyOf": [{ "type": "integer" }, { "type": "number" }] }),
            r#""5""#,
        ),
        (
            json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
            r#""5""#,
        ),
        (json!({ "type": "integer" }), "null"),
    ] {
        let schema = json!({ "properties": { "a": schema }, "required": ["a"] });
        assert_eq!(
            repair_text(schema.clone(), &format!(r#"{{"a":{text}}}"#)),
            None,
            "{schema} {text}"
        );
    }
}

#[test]
fn a_whole_number_becomes_an_integer_where_only_integers_are_allowed() {
    let schema = json!({
        "type": "object",
        "properties": {
            "days": { "type": "integer", "minimum": 1 },
            "maybe": { "type": ["integer", "null"] },
            "list": { "type": "array", "items": { "$ref": "#/$defs/count" } },
            "either": { "anyOf": [{ "$ref": "#/$defs/count" }, { "type": "null" }] },
            "both": { "allOf": [{ "$ref": "#/$defs/count" }] },
            "kind": { "oneOf": [
                { "properties": { "a": { "type": "integer" } }, "required": ["a"] },
                { "properties": { "b": { "type": "integer" } }, "required": ["b"] },
            ] },
            "ratio": { "type": "number" },
            "open": { "anyOf": [{ "type": "integer" }, { "type": "number" }] },
            "any": {},
        },
        "additionalProperties": { "type": "integer" },
        "$defs": { "count": { "type": "integer" } },
    });
    for (came, meant) in [
        (r#"{"days":3.0}"#, r#"{"days":3}"#),
        (r#"{"days":"3","maybe":-0.0}"#, r#"{"days":3,"maybe":0}"#),
        (
            r#"{"maybe":-5.00, "more":1e3}"#,
            r#"{"maybe":-5,"more":1000}"#,
        ),
        (r#"{"list":[1, 2.0,"3"]}"#, r#"{"list":[1,2,3]}"#),
        (r#"{"either":1.0,"both":2.0}"#, r#"{"either":1,"both":2}"#),
        (r#"{"kind":{"b":70e-1}}"#, r#"{"kind":{"b":7}}"#),
        (
            r#"{"days":9007199254740991.0}"#,
            r#"{"days":9007199254740991}"#,
        ),
    ] {
        assert_eq!(
            repair_text(schema.clone(), came).as_deref(),
            Some(meant),
            "{came}"
        );
    }
    for left in [
        r#"{"ratio":1.0,"open":2.0,"any":3.0}"#,
        r#"{"days":9007199254740993.0}"#,
        r#"{"days":1e300}"#,
        r#"{"days":0.0}"#,
        r#"{"days":3.5}"#,
        r#"{"any":"e.0","days":3}"#,
    ] {
        assert_eq!(repair_text(schema.clone(), left), None, "{left}");
    }
}

#[test]
fn a_null_for_an_optional_member_is_removed() {
    let schema = object_with(json!({ "type": "integer" }));
    assert_eq!(
        repair_text(schema, r#"{"a": null, "b" :null}"#).as_deref(),
        Some(r#"{"b":null}"#)
    );
    let closed = json!({ "properties": { "a": {} }, "additionalProperties": false });
    assert_eq!(
        repair_text(closed, r#"{"a":null,"b":null}"#).as_deref(),
        Some(r#"{"a":null}"#)
    );
    let nullable = object_with(json!({ "type": ["integer", "null"] }));
    assert_eq!(repair_text(nullable, r#"{"a":null}"#), None);
    let map = json!({ "additionalProperties": { "type": "integer" } });
    assert_eq!(repair_text(map, r#"{"a":null}"#), None);
}

#[test]
fn repairs_reach_through_references_and_branches() {
    let schema = json!({
        "$defs": { "point": {
            "type": "object",
            "properties": { "x": { "type": "number" }, "next": { "$ref": "#/$defs/point" } },
            "required": ["x"],
        } },
        "properties": {
            "to": { "anyOf": [{ "$ref": "#/$defs/point" }, { "type": "null" }] },
            "from": { "$ref": "#/$defs/point", "minProperties": 1 },
        },
    });
    assert_eq!(
        repair_text(
            schema,
            r#"{"to":"{\"x\":\"1\",\"next\":{\"x\":\"2\"}}","from":{"x":"3","keep":"4"}}"#
        )
        .as_deref(),
        Some(r#"{"to":{"x":1,"next":{"x":2}},"from":{"x":3,"keep":"4"}}"#)
    );
}

#[test]
fn nested_quoting_is_bounded() {
    let list = json!({ "$defs": { "l": { "type": "array", "items": { "$ref": "#/$defs/l" } } }, "$ref": "#/$defs/l" });
    let mut text = "[]".to_owned();
    for _ in 0..12 {
        text = format!("[{}]", Value::from(text));
    }
    let mended = repair_text(list, &text).unwrap();
    assert_eq!(mended, "[".repeat(13) + &"]".repeat(13));
}
