//! `cargo xtask schemas`: the structure of the official schemas, which the tests check messages with.
//!
//! `crates/turnbuckle-check/schemas` has definitions, types, required fields, constants, references and formats, and
//! none of the sentences of the originals, in the same folders and files. Of the official examples it
//! has the fields, and a placeholder for every text of several words. `sources.toml` has the SHA-256 of
//! each original and of its structure. Without the originals at hand, a structure that was changed is
//! seen by its hash; whoever changes that too leaves a new structure beside an old original.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::tree::Tree;

/// The folder of the structures, from the root.
const FOLDER: &str = "crates/turnbuckle-check/schemas";

/// The folder of the official examples.
const EXAMPLES: &str = "2026-07-28/examples";

/// The file with the hashes of the originals.
const SOURCES: &str = "sources.toml";

/// The folders with a schema: the revisions, oldest first, and the extension for tasks.
const FOLDERS: [&str; 6] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
    "ext-tasks",
];

/// Keywords whose values are schemas by name.
const NAMED: &[&str] = &["$defs", "definitions", "patternProperties", "properties"];

/// Keywords whose values are a schema or a list of schemas.
const NESTED: &[&str] = &[
    "additionalProperties",
    "allOf",
    "anyOf",
    "items",
    "not",
    "oneOf",
    "propertyNames",
];

/// Keywords whose values are kept as they are.
const KEPT: &[&str] = &[
    "$ref",
    "$schema",
    "const",
    "enum",
    "format",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "pattern",
    "required",
    "type",
    "uniqueItems",
];

/// Keywords that are prose, or of no meaning for whether a value is valid.
const DROPPED: &[&str] = &[
    "$comment",
    "$id",
    "default",
    "deprecated",
    "description",
    "examples",
    "title",
];

/// The options of `cargo xtask schemas`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Compare the structures with the originals instead of writing them
    #[arg(long)]
    check: bool,
}

/// Writes the structures from the folder that TURNBUCKLE_SPEC names, or compares them.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let spec = spec(root)
        .ok_or("set TURNBUCKLE_SPEC to the folder with <revision>/schema.json of each revision, and ext-tasks/schema.json")?;
    let folder = root.join(FOLDER);
    let structures = structures(&spec)?;
    if options.check {
        let kept = Tree::read(&folder)?;
        let kept: BTreeMap<_, _> = kept
            .texts("")
            .map(|(path, text)| (path.to_owned(), text.to_owned()))
            .collect();
        return match kept == structures {
            true => Ok(()),
            false => Err(format!(
                "{FOLDER} is not the structure of {}: run `cargo xtask schemas`",
                spec.display()
            )),
        };
    }
    write(&folder, &structures).map_err(|error| format!("{FOLDER}: {error}"))
}

fn write(folder: &Path, structures: &BTreeMap<String, String>) -> io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    for (path, text) in structures {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, text)?;
    }
    Ok(())
}

/// Checks that every file has its original's hash beside it, and compares the structures with the
/// originals where those are present.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let kept = Tree::read(&root.join(FOLDER))?;
    check_hashes(&kept)?;
    match spec(root) {
        Some(_) => run(root, &Options { check: true }),
        None => {
            println!("{FOLDER} is not compared with the originals: TURNBUCKLE_SPEC is not set");
            Ok(())
        }
    }
}

/// The hashes of a file.
#[derive(Deserialize)]
struct Hashes {
    /// The SHA-256 of the original.
    original: String,
    /// The SHA-256 of the structure that is kept.
    structure: String,
}

/// Checks that every schema is there, and that every file is the one whose hashes are
/// kept.
fn check_hashes(kept: &Tree) -> Result<(), String> {
    let sources: BTreeMap<String, Hashes> = toml::from_str(kept.text(SOURCES).unwrap_or_default())
        .map_err(|error| format!("{FOLDER}/{SOURCES}: {error}"))?;
    let files: BTreeMap<_, _> = kept.texts(".json").collect();
    let schemas = FOLDERS.iter().map(|folder| format!("{folder}/schema.json"));
    if let Some(missing) = schemas
        .into_iter()
        .find(|path| !files.contains_key(path.as_str()))
    {
        return Err(format!("{FOLDER}/{missing} is missing"));
    }
    if !sources.keys().eq(files.keys()) || sources.values().any(|it| it.original.len() != 64) {
        return Err(format!(
            "{FOLDER}/{SOURCES} has not the hashes of each file and of its original"
        ));
    }
    for (path, text) in files {
        if sources[path].structure != sha256(text) {
            return Err(format!(
                "{FOLDER}/{path} was changed since it was written from the original: restore it, or set \
                 TURNBUCKLE_SPEC and run `cargo xtask schemas`"
            ));
        }
    }
    Ok(())
}

/// Returns the SHA-256 of a text, in hexadecimal.
fn sha256(text: &str) -> String {
    let hash = Sha256::digest(text);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the folder of the official schemas: the one that is named, or the one beside the checkout.
fn spec(root: &Path) -> Option<PathBuf> {
    match std::env::var_os("TURNBUCKLE_SPEC") {
        Some(named) => Some(named.into()),
        None => Some(root.join("../shared/spec")).filter(|beside| beside.is_dir()),
    }
}

/// Returns the text of every file of the folder.
fn structures(spec: &Path) -> Result<BTreeMap<String, String>, String> {
    let originals = Tree::read(spec)?;
    let is_schema = |path: &str| {
        FOLDERS
            .iter()
            .any(|folder| path == format!("{folder}/schema.json"))
    };
    let (mut structures, mut sources) = (BTreeMap::new(), String::new());
    for (path, text) in originals.texts(".json") {
        let mut value = serde_json::from_str(text).map_err(|error| format!("{path}: {error}"))?;
        let written = if is_schema(path) {
            lines(&structure(&value).map_err(|error| format!("{path}: {error}"))?)
        } else if path.starts_with(EXAMPLES) {
            replace_sentences(&mut value);
            format!("{value}\n")
        } else {
            continue;
        };
        let (original, structure) = (sha256(text), sha256(&written));
        sources.push_str(&format!(
            "[{path:?}]\noriginal = \"{original}\"\nstructure = \"{structure}\"\n"
        ));
        structures.insert(path.to_owned(), written);
    }
    structures.insert(SOURCES.to_owned(), sources);
    Ok(structures)
}

/// Returns a schema without its sentences; an error names a keyword that nobody has decided about.
fn structure(schema: &Value) -> Result<Value, String> {
    let Value::Object(members) = schema else {
        return Ok(schema.clone());
    };
    let mut kept = Map::new();
    for (keyword, value) in members {
        let keyword = keyword.as_str();
        let value = if KEPT.contains(&keyword) {
            value.clone()
        } else if let (true, Value::Object(schemas)) = (NAMED.contains(&keyword), value) {
            let schemas = schemas
                .iter()
                .map(|(name, schema)| Ok((name.clone(), structure(schema)?)));
            Value::Object(schemas.collect::<Result<_, String>>()?)
        } else if let (true, Value::Array(schemas)) = (NESTED.contains(&keyword), value) {
            Value::Array(schemas.iter().map(structure).collect::<Result<_, _>>()?)
        } else if NESTED.contains(&keyword) {
            structure(value)?
        } else if DROPPED.contains(&keyword) {
            continue;
        } else {
            return Err(format!(
                "the keyword {keyword} is new: decide about it in xtask/src/schemas.rs"
            ));
        };
        kept.insert(keyword.to_owned(), value);
    }
    Ok(Value::Object(kept))
}

/// Puts a placeholder in the place of every text of several words.
fn replace_sentences(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(' ') => *text = "some words".to_owned(),
        Value::Array(values) => values.iter_mut().for_each(replace_sentences),
        Value::Object(members) => members.values_mut().for_each(replace_sentences),
        _ => {}
    }
}

/// Returns the text of a schema, with a line for each definition.
fn lines(schema: &Value) -> String {
    let members = schema
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| match value {
            Value::Object(named) => {
                let lines: Vec<_> = named
                    .iter()
                    .map(|(name, value)| format!("{}: {value}", json!(name)))
                    .collect();
                format!("{}: {{\n{}\n}}", json!(name), lines.join(",\n"))
            }
            other => format!("{}: {other}", json!(name)),
        });
    format!("{{\n{}\n}}\n", members.collect::<Vec<_>>().join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::root;

    #[test]
    fn sentences_go_and_names_stay() {
        let schema = json!({"$schema": "x", "$defs": {"A": {
            "description": "Words.", "type": "object", "required": ["description"],
            "properties": {"description": {"type": "string", "title": "T"}, "b": {"const": "c"}},
            "additionalProperties": {}, "anyOf": [{"$ref": "#/$defs/B", "description": "More."}],
        }}});
        let expected = json!({"$schema": "x", "$defs": {"A": {
            "type": "object", "required": ["description"],
            "properties": {"description": {"type": "string"}, "b": {"const": "c"}},
            "additionalProperties": {}, "anyOf": [{"$ref": "#/$defs/B"}],
        }}});
        assert_eq!(structure(&schema), Ok(expected));
        assert!(
            structure(&json!({"dependentSchemas": {}}))
                .unwrap_err()
                .contains("dependentSchemas")
        );
    }

    #[test]
    fn texts_of_several_words_become_a_placeholder() {
        let mut example = json!({"a": ["two words", "one"], "b": 1});
        replace_sentences(&mut example);
        assert_eq!(example, json!({"a": ["some words", "one"], "b": 1}));
    }

    #[test]
    fn a_schema_has_a_line_for_each_definition() {
        let schema = json!({"$schema": "x", "$defs": {"A": {"type": "object"}, "B": {}}});
        assert_eq!(
            lines(&schema),
            "{\n\"$defs\": {\n\"A\": {\"type\":\"object\"},\n\"B\": {}\n},\n\"$schema\": \"x\"\n}\n"
        );
        assert_eq!(
            serde_json::from_str::<Value>(&lines(&schema)).unwrap(),
            schema
        );
    }

    #[test]
    fn a_loosened_structure_is_found_without_the_originals() {
        let folder = root().join("crates/turnbuckle-check/schemas");
        let kept = Tree::read(&folder).unwrap();
        assert_eq!(check_hashes(&kept), Ok(()));
        let path = "2025-06-18/schema.json";
        let loosened = kept.text(path).unwrap().replacen("required", "examples", 1);
        let mut files: BTreeMap<_, _> = kept.texts("").collect();
        files.insert(path, &loosened);
        let files: Vec<_> = files.into_iter().collect();
        let error = check_hashes(&Tree::new(&files)).unwrap_err();
        assert!(error.contains(path), "{error}");
    }

    #[test]
    fn the_structures_are_there_and_equal_the_originals() {
        check(&root()).unwrap();
    }
}
