//! `registry validate`.

use crate::support::{Scratch, run};

const VALID: &str = r#"{
    "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    "name": "com.example/notes", "description": "Keeps notes", "version": "1.0.0",
    "remotes": [{"type": "streamable-http", "url": "https://example.com/mcp"}]
}"#;

#[test]
fn a_valid_file_is_said_to_be_valid() {
    let scratch = Scratch::new();
    let file = scratch.file("server.json", VALID);
    let checked = run(&["registry", "validate", &file]).ends(0);
    assert!(checked.err.contains("would take it"), "{checked:#?}");
    let checked = run(&["registry", "validate", &file, "-o", "json"]).ends(0);
    assert_eq!(checked.json()["isValid"], true);
}

#[test]
fn all_faults_are_printed_with_their_places() {
    let scratch = Scratch::new();
    let text = VALID
        .replace("1.0.0", "latest")
        .replace("streamable-http", "http");
    let file = scratch.file("server.json", &text);
    let checked = run(&["registry", "validate", &file]).ends(6);
    assert!(checked.out.contains("error /version: "), "{checked:#?}");
    assert!(
        checked.out.contains("error /remotes/0/type: "),
        "{checked:#?}"
    );
    assert!(checked.err.contains("has 2 faults"), "{checked:#?}");
    let checked = run(&["registry", "validate", &file, "-o", "json"]).ends(6);
    assert_eq!(checked.json()["findings"][0]["path"], "/version");
    let marked = scratch.file("marked.json", &format!("\u{feff}{VALID}"));
    let checked = run(&["registry", "validate", &marked]).ends(6);
    assert!(checked.out.contains("a byte order mark"), "{checked:#?}");
    let broken = scratch.file("broken.json", "{");
    assert!(
        run(&["registry", "validate", &broken])
            .ends(2)
            .err
            .contains("is not JSON")
    );
}
