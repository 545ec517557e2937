use serde_json::{Value, json};

use super::find::SchemaFeature;
use super::*;
use crate::Profile;

fn objections(schema: &Value) -> Vec<String> {
    let schema = Schema::encode(schema).unwrap();
    lint(&schema).iter().map(ToString::to_string).collect()
}

#[test]
fn each_feature_has_an_example_and_an_objection() {
    let member = |schema: Value| json!({ "type": "object", "properties": { "a": schema } });
    let examples = [
        (
            SchemaFeature::RootAlternatives,
            json!({ "type": "object", "properties": {}, "oneOf": [{}] }),
            "",
        ),
        (
            SchemaFeature::Alternatives,
            member(json!({ "oneOf": [{}, {}] })),
            "/properties/a",
        ),
        (
            SchemaFeature::BesideAnyOf,
            member(json!({ "anyOf": [{}], "type": "string" })),
            "/properties/a",
        ),
        (
            SchemaFeature::Dialect,
            json!({ "$schema": "https://json-schema.org/draft/2020-12/schema" }),
            "",
        ),
        (
            SchemaFeature::OtherDialect,
            json!({ "$schema": "http://json-schema.org/draft-07/schema#" }),
            "",
        ),
        (
            SchemaFeature::OldTuple,
            member(json!({ "type": "array", "items": [{}] })),
            "/properties/a",
        ),
        (
            SchemaFeature::Reference,
            member(json!({ "$ref": "#" })),
            "/properties/a",
        ),
        (
            SchemaFeature::DynamicReference,
            member(json!({ "$dynamicRef": "#a", "type": "null" })),
            "/properties/a",
        ),
        (
            SchemaFeature::TypeUnion,
            member(json!({ "type": ["string", "null"] })),
            "/properties/a",
        ),
        (
            SchemaFeature::Constant,
            member(json!({ "const": "a" })),
            "/properties/a",
        ),
        (
            SchemaFeature::EnumNotOfText,
            member(json!({ "type": "integer", "enum": [1] })),
            "/properties/a",
        ),
        (
            SchemaFeature::Format,
            member(json!({ "type": "string", "format": "uri" })),
            "/properties/a",
        ),
        (SchemaFeature::NoType, member(json!(true)), "/properties/a"),
        (
            SchemaFeature::NoType,
            member(json!({ "description": "Any." })),
            "/properties/a",
        ),
        (
            SchemaFeature::NoItems,
            member(json!({ "type": "array" })),
            "/properties/a",
        ),
        (
            SchemaFeature::NoProperties,
            member(json!({ "type": "object" })),
            "/properties/a",
        ),
        (
            SchemaFeature::AdditionalProperties,
            json!({ "additionalProperties": false }),
            "",
        ),
    ];
    for (one, schema, path) in &examples {
        let found = find_features(schema);
        assert!(
            found.contains(&(*one, (*path).to_owned())),
            "{one:?} in {schema}: {found:?}"
        );
        assert!(TABLE.iter().any(|row| row.feature == *one), "{one:?}");
    }
    for row in TABLE
        .iter()
        .filter(|row| row.feature != SchemaFeature::Recursion)
    {
        assert!(
            examples.iter().any(|(one, ..)| *one == row.feature),
            "{:?}",
            row.feature
        );
    }
}

#[test]
fn a_plain_schema_has_no_objections() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": { "type": "string", "enum": ["a"], "description": "One." },
            "b": { "type": "array", "items": { "type": "integer", "minimum": 1 } },
        },
        "required": ["a"],
    });
    assert_eq!(objections(&schema), [""; 0]);
}

#[test]
fn an_objection_names_the_client_the_reason_and_the_first_location() {
    let schema = json!({ "type": "object", "properties": {
        "a": { "type": ["string", "null"] },
        "b": { "type": ["string", "null"] },
    } });
    assert_eq!(
        objections(&schema),
        [
            "Cursor: refuses arguments of a member with several types (at \"/properties/a\")",
            "Gemini: refuses the request for an array of types (at \"/properties/a\")",
        ]
    );
}

#[test]
fn the_documentation_has_every_row_of_the_table() {
    let text = include_str!("../lint.rs");
    let rows = text.lines().filter(|line| line.starts_with("/// | "));
    let mut documented: Vec<&str> = rows
        .filter_map(|row| row.split('|').nth(1).map(str::trim))
        .filter(|client| !matches!(*client, "client"))
        .collect();
    documented.sort_unstable();
    let mut known: Vec<&str> = TABLE.iter().map(|row| row.client).collect();
    known.sort_unstable();
    assert_eq!(documented, known);
}

#[test]
fn a_portable_schema_has_fewer_objections() {
    let schema = Schema::encode(&json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": { "p": { "type": "object", "properties": { "x": { "const": 1.5 } } } },
        "type": "object",
        "properties": {
            "a": { "anyOf": [{ "$ref": "#/$defs/p" }, { "type": "null" }] },
            "b": { "type": "array", "prefixItems": [{ "type": "string", "format": "uuid" }] },
        },
    }))
    .unwrap();
    assert!(lint(&schema).len() > 5);
    let left = lint(&Profile::Portable.apply(&schema).unwrap());
    let left: Vec<_> = left.iter().map(Objection::reason).collect();
    assert_eq!(left, ["refuses an `enum` of anything but text"]);
}

#[test]
fn recursion_is_found_in_every_form() {
    let node = json!({ "type": "object", "properties": { "next": { "$ref": "#/$defs/b" } } });
    let schema = json!({
        "type": "object",
        "$defs": { "a": node, "b": { "type": "array", "items": { "$ref": "#/$defs/a" } } },
        "properties": { "one": { "$ref": "#/$defs/a" }, "two": { "$ref": "#/$defs/a" } },
    });
    assert!(
        objections(&schema)[0].starts_with("all: see one level"),
        "{:?}",
        objections(&schema)
    );
    let twice = json!({
        "$defs": { "a": { "type": "string" } },
        "properties": { "one": { "$ref": "#/$defs/a" }, "two": { "$ref": "#/$defs/a" } },
    });
    assert!(
        objections(&twice)
            .iter()
            .all(|line| !line.starts_with("all"))
    );
}
