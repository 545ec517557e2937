use serde_json::json;

use super::*;

fn check(schema: Value) -> Result<CheckedSchema, SchemaError> {
    check_schema(&Schema::encode(&schema).unwrap(), SchemaLimits::default())
}

fn check_error(schema: Value) -> SchemaError {
    check(schema).unwrap_err()
}

#[test]
fn both_dialects_are_supported_and_the_default_is_the_newer() {
    let dialect = |schema| check(schema).unwrap().dialect;
    assert_eq!(dialect(json!({})), Dialect::Draft202012);
    let uri = "https://json-schema.org/draft/2020-12/schema";
    assert_eq!(dialect(json!({ "$schema": uri })), Dialect::Draft202012);
    let uri = "http://json-schema.org/draft-07/schema#";
    assert_eq!(dialect(json!({ "$schema": uri })), Dialect::Draft07);
}

#[test]
fn an_unsupported_dialect_is_named() {
    for uri in [
        "http://json-schema.org/draft-04/schema#",
        "https://example.com/mine",
        "",
    ] {
        let error = check_error(json!({ "$schema": uri }));
        assert_eq!(error, SchemaError::UnsupportedDialect(uri.to_owned()));
    }
    assert_eq!(
        check_error(json!({ "$schema": 7 })),
        SchemaError::UnsupportedDialect("7".to_owned())
    );
    let nested = json!({ "not": { "$schema": "http://json-schema.org/draft-07/schema#" } });
    assert!(matches!(
        check_error(nested),
        SchemaError::UnsupportedDialect(_)
    ));
}

#[test]
fn references_to_other_documents_are_refused() {
    for reference in [
        "https://example.com/a.json",
        "a.json",
        "file:///etc/passwd",
        "//h/x",
    ] {
        for keyword in ["$ref", "$dynamicRef"] {
            let error = check_error(json!({ "properties": { "a": { keyword: reference } } }));
            assert_eq!(error, SchemaError::NonLocalReference(reference.to_owned()));
        }
    }
    let error = check_error(json!({ "$ref": "#/$defs/none" }));
    assert_eq!(
        error,
        SchemaError::DanglingReference("#/$defs/none".to_owned())
    );
    let hidden = json!({ "$ref": "#/x/y", "x": { "y": { "$ref": "https://example.com" } } });
    assert!(matches!(
        check_error(hidden),
        SchemaError::NonLocalReference(_)
    ));
    let embedded = json!({ "$id": "a:b", "$defs": { "a": { "$id": "a:c" } } });
    assert_eq!(
        check_error(embedded),
        SchemaError::EmbeddedDocument("a:c".to_owned())
    );
    assert!(check(json!({ "properties": { "$ref": { "const": "https://a" } } })).is_ok());
    assert!(check(json!({ "const": { "$ref": "https://a" } })).is_ok());
}

#[test]
fn a_recursion_must_descend_into_the_value() {
    assert!(check(json!({ "$ref": "#/$defs/a", "$defs": { "a": {} } })).is_ok());
    assert!(check(json!({ "properties": { "left": { "$ref": "#" } } })).is_ok());
    for endless in [
        json!({ "$ref": "#" }),
        json!({ "allOf": [{ "$ref": "#" }] }),
        json!({ "not": { "$dynamicRef": "#" } }),
        json!({ "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "anyOf": [{ "$ref": "#/$defs/a" }] } } }),
        // The search comes to `b` first by a way that makes a step.
        json!({ "$defs": { "a": {
            "additionalProperties": { "$ref": "#/$defs/b" },
            "anyOf": [{ "$ref": "#/$defs/b" }],
        }, "b": { "oneOf": [{ "$ref": "#/$defs/a" }] } } }),
    ] {
        let error = check_error(endless.clone());
        assert!(
            matches!(error, SchemaError::EndlessReference(_)),
            "{endless} {error}"
        );
    }
}

#[test]
fn depth_and_number_are_bounded() {
    let nested = |n| (0..n).fold(json!({}), |inner, _| json!({ "not": inner }));
    assert!(check(nested(60)).is_ok());
    assert_eq!(check_error(nested(65)), SchemaError::TooDeep);
    assert_eq!(check_error(nested(100)), SchemaError::TooDeep);
    let wide = |n| json!({ "anyOf": vec![json!({}); n] });
    assert!(check(wide(2_000 - 1)).is_ok());
    assert_eq!(check_error(wide(2_000)), SchemaError::TooLarge);
    let doubling: Map<String, Value> = (0..40)
        .map(|n| {
            let next = json!({ "$ref": format!("#/$defs/{}", n + 1) });
            (n.to_string(), json!({ "allOf": [next, next] }))
        })
        .chain([("40".to_owned(), json!({}))])
        .collect();
    assert!(matches!(
        check_error(json!({ "$defs": doubling })),
        SchemaError::TooLarge | SchemaError::TooDeep
    ));
}

#[test]
fn true_and_false_are_subschemas() {
    let wide = |n| json!({ "prefixItems": vec![true; n] });
    assert!(check(wide(2_000 - 1)).is_ok());
    assert_eq!(check_error(wide(2_000)), SchemaError::TooLarge);
}

#[test]
fn anchors_are_collected_once() {
    // Keywords are walked by their names: the references come first, then what makes the schema too
    // large, and last what they mean.
    let schema = json!({
        "allOf": vec![json!({ "$ref": "#a" }); 1_000],
        "anyOf": vec![json!({}); 500_000],
        "not": { "$anchor": "a" },
    });
    assert_eq!(check_error(schema), SchemaError::TooLarge);
}

#[test]
fn the_number_of_patterns_is_bounded() {
    let spread = |n: usize| -> Value {
        let names = (0..n - 1).map(|n| (format!("^{n}$"), json!({})));
        let members = names.collect::<Map<_, _>>();
        json!({ "patternProperties": members, "items": { "pattern": "a" } })
    };
    assert_eq!(check(spread(100)).unwrap().patterns, 100);
    assert_eq!(check_error(spread(100 + 1)), SchemaError::TooManyPatterns);
    let message = SchemaError::TooManyPatterns.to_string();
    assert!(
        message.contains("(SchemaLimits::max_patterns)"),
        "{message}"
    );
    let referred = json!({ "items": { "$ref": "#/x" }, "contains": { "$ref": "#/x" }, "x": { "pattern": "a" } });
    assert_eq!(check(referred).unwrap().patterns, 1);
}

#[test]
fn the_depth_of_a_reference_chain_is_its_length() {
    let chain = |length: usize| -> Value {
        let links = (0..length).map(|n| {
            // Met in the order of their names, so that every target was met before.
            let next = n.checked_sub(1).map(|next| format!("#/$defs/{next:04}"));
            (
                format!("{n:04}"),
                next.map_or(json!({}), |next| json!({ "$ref": next })),
            )
        });
        json!({ "$defs": links.collect::<Map<_, _>>() })
    };
    assert!(check(chain(60)).is_ok());
    assert_eq!(check_error(chain(70)), SchemaError::TooDeep);
    assert_eq!(check_error(chain(1500)), SchemaError::TooDeep);
}

/// Returns a schema whose definitions each refer to a place deep inside the one before, and also to
/// themselves: the walk that checks it meets them one by one, and never goes deep.
fn long_reference_chain(definitions: usize) -> Schema {
    let definition = |n: usize| {
        let before = n.saturating_sub(1);
        let target = json!({ "$ref": format!("#/$defs/d{before:02}/properties/q") });
        let nested = (0..61).fold(target, |inner, _| json!({ "items": inner }));
        let mut definition = nested;
        definition["properties"] = json!({ "q": { "$ref": format!("#/$defs/d{n:02}") } });
        (format!("d{n:02}"), definition)
    };
    let last = definitions - 1;
    Schema::encode(&json!({
        "type": "object",
        "$defs": (0..definitions).map(definition).collect::<Map<_, _>>(),
        "properties": { "a": { "$ref": format!("#/$defs/d{last:02}/properties/q") } },
    }))
    .unwrap()
}

#[test]
fn recursive_references_do_not_hide_the_depth() {
    let long = long_reference_chain(30);
    assert!(check_schema(&long, SchemaLimits::default()).is_ok());
    let too_deep = Some(SchemaError::TooDeep);
    assert_eq!(crate::FastValidator::compile(&long).err(), too_deep);
    assert_eq!(crate::Validator::compile(&long).err(), too_deep);
    assert_eq!(crate::Profile::Portable.apply(&long).err(), too_deep);
    let _ = crate::lint(&long);

    let short = long_reference_chain(2);
    assert_eq!(crate::FastValidator::compile(&short).err(), too_deep);
    let wider = SchemaLimits::new().max_depth(256);
    assert!(crate::FastValidator::compile_within(&short, &wider).is_ok());
    assert!(crate::Validator::compile_within(&short, &wider).is_ok());
}

#[test]
fn text_deeper_than_the_parser_limit_is_too_deep() {
    let text = format!(
        "{}{}",
        r#"{"not":"#.repeat(500),
        "{}".to_owned() + &"}".repeat(500)
    );
    let schema: Schema = text.parse().unwrap();
    assert_eq!(
        check_schema(&schema, SchemaLimits::default()).unwrap_err(),
        SchemaError::TooDeep
    );
}

#[test]
fn the_newer_keywords_and_anchors_are_accepted() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": { "name": { "type": "string" }, "address": { "$ref": "#addressDef" } },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "kind": { "const": "email" } } },
        "then": { "required": ["email"] },
        "else": { "required": ["phone"] },
        "additionalProperties": false,
    });
    assert!(check(schema).is_ok());
}

#[test]
fn a_number_out_of_range_is_named() {
    let schema: Schema = r#"{"maximum":1e999}"#.parse().unwrap();
    let error = check_schema(&schema, SchemaLimits::default()).unwrap_err();
    assert!(matches!(error, SchemaError::Invalid { .. }), "{error}");
}

#[test]
fn every_limit_is_settable_and_named() {
    let standard = SchemaLimits::default();
    let pattern = |n: usize| format!("^{}$", "a".repeat(n));
    let rows: [(&str, Value, SchemaLimits, SchemaLimits); 5] = [
        (
            "SchemaLimits::max_depth",
            json!({ "not": { "not": { "not": {} } } }),
            standard.max_depth(3),
            standard.max_depth(2),
        ),
        (
            "SchemaLimits::max_subschemas",
            json!({ "anyOf": [{}, {}, {}] }),
            standard.max_subschemas(4),
            standard.max_subschemas(3),
        ),
        (
            "SchemaLimits::max_expanded_subschemas",
            json!({
                "allOf": [{ "$ref": "#/$defs/a" }, { "$ref": "#/$defs/a" }],
                "$defs": { "a": { "type": "string" } },
            }),
            standard.max_expanded_subschemas(6),
            standard.max_expanded_subschemas(5),
        ),
        (
            "SchemaLimits::max_patterns",
            json!({ "patternProperties": { pattern(1): {}, pattern(2): {} } }),
            standard.max_patterns(2),
            standard.max_patterns(1),
        ),
        (
            "SchemaLimits::max_pattern_bytes",
            json!({ "pattern": "a".repeat(9), "patternProperties": { "a".repeat(9): {} } }),
            standard.max_pattern_bytes(9),
            standard.max_pattern_bytes(8),
        ),
    ];
    for (setting, schema, at, over) in rows {
        let schema = Schema::encode(&schema).unwrap();
        assert!(check_schema(&schema, at).is_ok(), "{setting}");
        let fault = check_schema(&schema, over).unwrap_err().to_string();
        assert!(fault.contains(setting), "{setting}: {fault}");
    }
}
