use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use schemars::JsonSchema;
use serde_json::json;
use turnbuckle_types::{Json, RawJson};

use super::*;
use crate::fast::tests::agreement;
use crate::{FastValidator, lint};

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Options {
    /// The city.
    city: Option<String>,
    days: Option<u8>,
    nested: Option<Point>,
    list: Option<Vec<Option<i64>>>,
    #[serde(default = "three")]
    with_default: u16,
    #[schemars(required)]
    demanded: Option<bool>,
}

fn three() -> u16 {
    3
}

#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Point {
    x: f64,
    #[schemars(range(min = 1, max = 9))]
    y: i32,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is of interest")]
enum Units {
    Metric,
    Imperial,
}

/// The pace of the journey.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
enum Pace {
    /// As fast as can be.
    Fast,
    /// With breaks.
    Slow,
    Other,
}

#[derive(JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is of interest")]
enum Area {
    /// Round.
    Circle {
        radius: f64,
    },
    Square(Point),
    Nowhere,
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is of interest")]
enum Either {
    Text(String),
    Number(i64),
    Point(Point),
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
enum External {
    Unit,
    Newtype(u8),
    Struct { a: bool },
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Enums {
    units: Units,
    maybe_units: Option<Units>,
    pace: Pace,
    area: Area,
    either: Option<Either>,
    external: External,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Collections {
    map: BTreeMap<String, u8>,
    by_number: BTreeMap<u8, Point>,
    #[schemars(length(min = 1, max = 3))]
    points: Vec<Point>,
    pair: (i64, String),
    same: [u8; 2],
    any: Value,
    letter: char,
}

/// A node of a tree.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Node {
    name: String,
    children: Vec<Node>,
    next: Option<Box<Node>>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Flat {
    own: String,
    #[serde(flatten)]
    point: Loose,
    #[serde(flatten)]
    area: Area,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Loose {
    #[schemars(regex(pattern = "^[a-z]+$"), length(max = 8))]
    slug: String,
    #[schemars(url)]
    link: Option<String>,
}

fn schema_of<T: JsonSchema>() -> Value {
    let schema = schemars::generate::SchemaSettings::draft2020_12()
        .for_deserialize()
        .into_generator()
        .into_root_schema_for::<T>();
    schema.into()
}

fn apply(profile: Profile, schema: &Value) -> Value {
    let shown = profile.apply(&Schema::encode(schema).unwrap()).unwrap();
    serde_json::from_str(shown.as_str()).unwrap()
}

/// Compares the schemas of typical types with the kept files. `TURNBUCKLE_BLESS=1` writes them.
#[test]
fn typical_schemas_match_the_golden_files() {
    for (name, schema) in [
        ("options", schema_of::<Options>()),
        ("enums", schema_of::<Enums>()),
        ("tagged_root", schema_of::<Area>()),
        ("collections", schema_of::<Collections>()),
        ("recursive", schema_of::<Node>()),
        ("flatten", schema_of::<Flat>()),
        (
            "nothing",
            json!({ "type": "object", "additionalProperties": false }),
        ),
        (
            "draft07",
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "properties": {
                    "pair": { "type": "array", "items": [{ "type": "string" }, { "$ref": "#/definitions/n", "minimum": 1 }] },
                    "a": { "type": ["string", "integer", "null"], "default": null },
                },
                "dependencies": { "a": ["pair"] },
                "definitions": { "n": { "type": "number" } },
            }),
        ),
    ] {
        let found = json!({
            "Spec": apply(Profile::Spec, &schema),
            "Portable": apply(Profile::Portable, &schema),
            "OpenAiStrict": apply(Profile::OpenAiStrict, &schema),
        });
        assert_eq!(found["Spec"], schema);
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/profile/golden/{name}.json"));
        if std::env::var_os("TURNBUCKLE_BLESS").is_some() {
            std::fs::write(&path, format!("{found:#}\n")).unwrap();
        }
        let golden: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        for profile in ["Spec", "Portable", "OpenAiStrict"] {
            assert_eq!(
                found[profile], golden[profile],
                "{name}: {profile}\n{:#}",
                found[profile]
            );
        }
        strict_all_through(&found["OpenAiStrict"]);
    }
}

/// Checks what OpenAI's strict mode demands of every schema in it.
fn strict_all_through(schema: &Value) {
    let Some(keywords) = schema.as_object() else {
        panic!("{schema} is no object")
    };
    for name in keywords.keys() {
        let known = strict::KNOWN_KEYWORDS.contains(&name.as_str()) || name == "x-mcp-header";
        assert!(known, "{name} in {schema}");
    }
    let is_object = keywords.get("type") == Some(&json!("object"));
    if is_object || keywords.contains_key("properties") {
        assert_eq!(schema["additionalProperties"], false, "{schema}");
        let members = schema["properties"].as_object().unwrap();
        let names: Value = members.keys().map(String::as_str).collect();
        assert_eq!(schema["required"], names, "{schema}");
        members.values().for_each(strict_all_through);
    }
    assert!(
        keywords.contains_key("type")
            || keywords.contains_key("anyOf")
            || keywords.contains_key("enum"),
        "{schema}"
    );
    keywords
        .get("items")
        .into_iter()
        .for_each(strict_all_through);
    let branches = keywords.get("anyOf").and_then(Value::as_array);
    branches.into_iter().flatten().for_each(strict_all_through);
}

#[test]
fn alternatives_at_the_root_are_described() {
    let shown = apply(Profile::Portable, &schema_of::<Area>());
    assert_eq!(
        shown,
        json!({
            "title": "Area",
            "type": "object",
            "properties": {
                "kind": { "type": "string", "enum": ["circle", "square", "nowhere"] },
                "radius": { "type": "number", "format": "double" },
                "x": { "type": "number", "format": "double" },
                "y": { "type": "integer", "format": "int32", "minimum": 1, "maximum": 9 },
            },
            "required": ["kind"],
            "description": "One of these sets of members:\n\
                - `kind` = \"circle\", `radius`: Round.\n\
                - `kind` = \"square\", `x`, `y`\n\
                - `kind` = \"nowhere\"",
        })
    );
    assert_eq!(lint(&Schema::encode(&shown).unwrap()), []);
}

#[test]
fn extension_keywords_are_kept() {
    let member = json!({ "type": ["string", "null"], "format": "uri", "x-mcp-header": "Region" });
    let map = json!({ "type": "object", "x-mcp-header": "Map" });
    let any = json!({ "x-mcp-header": "Any" });
    let schema = json!({ "type": "object", "properties": { "a": member, "b": map, "c": any } });
    for profile in [Profile::Portable, Profile::OpenAiStrict] {
        let shown = apply(profile, &schema);
        for (name, header) in [("a", "Region"), ("b", "Map"), ("c", "Any")] {
            assert_eq!(shown["properties"][name]["x-mcp-header"], header, "{shown}");
        }
    }
}

#[test]
fn a_portable_schema_is_returned_unchanged() {
    let schema: Schema =
        r#"{ "type" : "object", "properties": { "b": { "type": "string" }, "a": {} } }"#
            .parse()
            .unwrap();
    assert_eq!(
        Profile::Portable.apply(&schema).unwrap().as_str(),
        schema.as_str()
    );
}

#[test]
fn a_schema_too_large_to_inline_is_refused() {
    let wide: serde_json::Map<String, Value> = (0..9)
        .map(|n| {
            let all: Vec<Value> = (0..9)
                .map(|m| json!({ "$ref": format!("#/$defs/{m}") }))
                .collect();
            (
                n.to_string(),
                json!({ "properties": { "x": { "items": { "anyOf": all } } } }),
            )
        })
        .collect();
    let schema = json!({ "type": "object", "$defs": wide, "items": { "$ref": "#/$defs/0" } });
    let schema = Schema::encode(&schema).unwrap();
    assert_eq!(Profile::Portable.apply(&schema), Err(SchemaError::TooLarge));
    assert_eq!(Profile::Spec.apply(&schema).unwrap(), schema);
    let outside = Schema::encode(&json!({ "$ref": "https://example.com" })).unwrap();
    assert!(Profile::OpenAiStrict.apply(&outside).is_err());
}

#[test]
fn arguments_of_the_strict_mode_are_repaired() {
    let schema = schema_of::<Collections>();
    let shape = FastValidator::compile(&Schema::encode(&schema).unwrap()).unwrap();
    let sent = r#"{"map":"{\"a\":1}","by_number":"{\"1\":{\"x\":1,\"y\":2}}","points":[{"x":1,"y":2}],
        "pair":[1,"a"],"same":[1,2],"any":"x","letter":"a"}"#;
    let sent: RawJson<'_> = serde_json::from_str(sent).unwrap();
    assert!(shape.validate(sent).is_err());
    let mended = shape.repair(sent).unwrap();
    assert_eq!(shape.validate((&mended).into()), Ok(()));
}

fn has_no_null(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => items.iter().all(has_no_null),
        Value::Object(members) => members.values().all(has_no_null),
        _ => true,
    }
}

fn has_unions(schema: &Value) -> bool {
    match schema {
        Value::Object(keywords) => {
            keywords.get("type").is_some_and(Value::is_array)
                || ["$ref", "$defs", "const", "$schema"]
                    .iter()
                    .any(|name| keywords.contains_key(*name))
                || keywords
                    .iter()
                    .filter(|(name, _)| *name != "enum")
                    .any(|(_, inside)| has_unions(inside))
        }
        Value::Array(items) => items.iter().any(has_unions),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_portable_schema_accepts_the_same_values_but_nulls(
        schema in agreement::plain_schema(),
        values in proptest::collection::vec(agreement::value(), 1..8),
    ) {
        let shown = apply(Profile::Portable, &schema);
        prop_assert!(!has_unions(&shown), "{}", shown);
        let (before, after) = (agreement::shape_of(&schema), agreement::shape_of(&shown));
        for value in values.iter().filter(|value| has_no_null(value)) {
            let raw = Json::encode(value).unwrap();
            prop_assert_eq!(before.validate((&raw).into()).is_ok(), after.validate((&raw).into()).is_ok(), "{} of {}", value, shown);
        }
    }

    #[test]
    fn a_recursive_schema_is_cut_and_accepts_no_less(
        schema in agreement::schema(),
        values in proptest::collection::vec(agreement::value(), 1..8),
    ) {
        // What is cut accepts more, and a `oneOf` around it might then accept less.
        let schema: Value = serde_json::from_str(&schema.to_string().replace("oneOf", "anyOf")).unwrap();
        let shown = apply(Profile::Portable, &schema);
        prop_assert!(!has_unions(&shown), "{}", shown);
        let (before, after) = (agreement::shape_of(&schema), agreement::shape_of(&shown));
        for value in values.iter().filter(|value| has_no_null(value)) {
            let raw = Json::encode(value).unwrap();
            prop_assert!(before.validate((&raw).into()).is_err() || after.validate((&raw).into()).is_ok(), "{} of {}", value, shown);
        }
        let again = apply(Profile::Portable, &shown);
        prop_assert_eq!(again, shown);
    }

    #[test]
    fn the_strict_profile_is_strict_for_any_schema(schema in agreement::schema()) {
        let mut schema = schema;
        schema["type"] = "object".into();
        let shown = apply(Profile::OpenAiStrict, &schema);
        strict_all_through(&shown);
        let shown = Schema::encode(&shown).unwrap();
        let objections = lint(&shown);
        prop_assert!(objections.iter().all(|one| !one.reason().contains("without `properties`")));
    }
}
