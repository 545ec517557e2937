//! The JSON Schema of a revision.

use serde_json::{Value, json};

use crate::support::run;

/// Runs the command, which prints a formatted document.
fn schema(options: &[&str]) -> Value {
    let run = run(&[&["schema"], options].concat()).ends(0);
    serde_json::from_str(&run.out).expect("the output is JSON")
}

#[test]
fn the_schema_is_that_of_the_revision() {
    let newest = schema(&[]);
    assert_eq!(
        newest["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    assert!(newest["$defs"]["DiscoverRequest"].is_object());
    let oldest = schema(&["--protocol-version", "2024-11-05"]);
    assert_eq!(oldest["$schema"], "http://json-schema.org/draft-07/schema#");
    assert_eq!(
        oldest["definitions"]["Tool"]["required"],
        json!(["name", "inputSchema"])
    );
}

#[test]
fn a_definition_comes_with_those_that_it_refers_to() {
    assert_eq!(
        schema(&["--definition", "PromptReference"]),
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$ref": "#/$defs/PromptReference",
            "$defs": {
                "PromptReference": {
                    "type": "object",
                    "properties": {
                        "type": {"type": "string", "const": "ref/prompt"},
                        "name": {"type": "string"},
                        "title": {"type": "string"},
                    },
                    "required": ["type", "name"],
                },
            },
        })
    );
}

#[test]
fn unknown_names_are_usage_errors_that_say_what_there_is() {
    let version = run(&["schema", "--protocol-version", "2025-01-01"]).ends(2);
    let revisions = "2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28";
    assert!(version.err.contains(revisions), "{version:#?}");
    let definition = run(&["schema", "--definition", "CallToolResults"]).ends(2);
    let hint = "did you mean \"CallToolResult\"?";
    assert!(definition.err.contains(hint), "{definition:#?}");
}
