//! The schemas made from our types and tables are the official ones: definition by definition, in all
//! but the prose.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use turnbuckle_wire::definitions::JsonSchema;
use turnbuckle_wire::revision::Revision;

/// A place where our schema differs from the official one by purpose.
struct Difference {
    definition: &'static str,
    pointer: &'static str,
    official: &'static [&'static str],
    ours: &'static [&'static str],
    reason: &'static str,
}

const WITHOUT_FRACTIONS: &[&str] = &["string", "integer", "boolean"];

const DIFFERENCES: [Difference; 3] = [
    Difference {
        definition: "ElicitResult",
        pointer: "/properties/content/additionalProperties/type",
        official: WITHOUT_FRACTIONS,
        ours: &["string", "number", "boolean"],
        reason: "a form has fields of type number, and a user may fill in a fraction",
    },
    Difference {
        definition: "ElicitResult",
        pointer: "/properties/content/additionalProperties/anyOf/1/type",
        official: WITHOUT_FRACTIONS,
        ours: &["string", "number", "boolean"],
        reason: "the same where a field may have several values",
    },
    Difference {
        definition: "JSONValue",
        pointer: "/anyOf/2/type",
        official: WITHOUT_FRACTIONS,
        ours: &["string", "number", "boolean", "null"],
        reason: "fractions and null are JSON",
    },
];

fn folder(revision: Revision) -> PathBuf {
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    schemas.join(revision.as_str())
}

#[expect(clippy::unwrap_used, reason = "a test helper")]
fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[expect(clippy::unwrap_used, reason = "a test helper")]
fn parse(schema: &JsonSchema) -> Value {
    serde_json::from_str(&schema.to_string()).unwrap()
}

fn keyword(document: &Value) -> &'static str {
    match document.get("$defs") {
        Some(_) => "$defs",
        None => "definitions",
    }
}

/// Returns a schema with one spelling for what JSON Schema spells in several ways: the order of unions
/// and lists of names, and additional members of any kind, which every object may have.
fn normalize(schema: &Value) -> Value {
    let Value::Object(keywords) = schema else {
        return schema.clone();
    };
    let mut normal = Map::new();
    for (keyword, value) in keywords {
        let value = match (&**keyword, value) {
            ("additionalProperties", Value::Bool(true)) => continue,
            ("additionalProperties" | "properties", Value::Object(any)) if any.is_empty() => {
                continue;
            }
            ("properties", Value::Object(members)) => members
                .iter()
                .map(|(name, member)| (name.clone(), normalize(member)))
                .collect::<Map<_, _>>()
                .into(),
            ("additionalProperties" | "items", _) => normalize(value),
            ("anyOf" | "allOf" | "oneOf", Value::Array(parts)) => {
                sort(parts.iter().map(normalize).collect())
            }
            ("required" | "enum" | "type", Value::Array(names)) => sort(names.clone()),
            _ => value.clone(),
        };
        normal.insert(keyword.clone(), value);
    }
    normal.into()
}

fn sort(mut values: Vec<Value>) -> Value {
    values.sort_by_key(Value::to_string);
    values.into()
}

/// Returns the official definition with our differences, and marks those that were found.
fn with_differences(name: &str, official: &Value, used: &mut [bool]) -> Value {
    let mut expected = official.clone();
    for (difference, used) in DIFFERENCES.iter().zip(used) {
        assert!(!difference.reason.is_empty());
        if difference.definition != name {
            continue;
        }
        if let Some(place) = expected.pointer_mut(difference.pointer)
            && *place == json!(difference.official)
        {
            *place = json!(difference.ours);
            *used = true;
        }
    }
    expected
}

#[test]
fn definitions_are_those_of_the_official_schemas() {
    let mut used = [false; DIFFERENCES.len()];
    let mut faults = Vec::new();
    for revision in Revision::ALL {
        let official = read(&folder(revision).join("schema.json"));
        let ours = parse(&JsonSchema::for_revision(revision));
        assert_eq!(ours["$schema"], official["$schema"], "{revision}");
        let keyword = keyword(&official);
        for (name, definition) in official[keyword].as_object().unwrap() {
            let expected = with_differences(name, definition, &mut used);
            match ours[keyword].get(name) {
                None => faults.push(format!("{revision} {name} is missing")),
                Some(found) if normalize(found) != normalize(&expected) => {
                    let (found, expected) = (normalize(found), normalize(&expected));
                    faults.push(format!(
                        "{revision} {name}:\n  {found}\n  officially\n  {expected}"
                    ));
                }
                Some(_) => {}
            }
        }
        let names = ours[keyword].as_object().unwrap().keys();
        let extra = names.filter(|name| official[keyword].get(name).is_none());
        faults.extend(extra.map(|name| format!("{revision} {name} is not official")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(used, [true; DIFFERENCES.len()], "a difference is not there");
}

#[test]
fn schemas_are_valid_and_refer_to_their_own_definitions() {
    for revision in Revision::ALL {
        let whole = JsonSchema::for_revision(revision);
        for name in whole.definition_names() {
            let schema = whole.clone().select(name).unwrap();
            let made = jsonschema::validator_for(&parse(&schema));
            assert!(made.is_ok(), "{revision} {name}: {:?}", made.err());
        }
    }
}

#[test]
fn a_single_definition_keeps_what_it_refers_to() {
    let whole = JsonSchema::for_revision(Revision::NEWEST);
    let all = whole.definition_names().count();
    let tool = whole.clone().select("Tool").unwrap();
    let names: Vec<_> = tool.definition_names().collect();
    assert_eq!(names, ["Icon", "MetaObject", "Tool", "ToolAnnotations"]);
    assert!(all > 100, "{all}");
    assert!(whole.select("tool").is_none());
}

#[test]
fn official_examples_are_valid() {
    let revision = Revision::NEWEST;
    let whole = JsonSchema::for_revision(revision);
    let mut count = 0;
    for example_folder in fs::read_dir(folder(revision).join("examples")).unwrap() {
        let example_folder = example_folder.unwrap();
        let name = example_folder.file_name().into_string().unwrap();
        let schema = parse(&whole.clone().select(&name).unwrap());
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&schema)
            .unwrap();
        for example in fs::read_dir(example_folder.path()).unwrap() {
            let path = example.unwrap().path();
            let value = read(&path);
            let faults: Vec<_> = validator
                .iter_errors(&value)
                .map(|it| it.to_string())
                .collect();
            assert!(faults.is_empty(), "{}: {faults:?}", path.display());
            count += 1;
        }
    }
    assert!(count > 80, "only {count} examples");
}
