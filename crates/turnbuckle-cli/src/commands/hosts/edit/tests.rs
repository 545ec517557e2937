use serde_json::json;

use super::*;

fn set(text: &str, syntax: Syntax, member: &str) -> Result<String, String> {
    let entry = vec![
        ("command", json!("notes")),
        ("args", json!(["a b"])),
        ("env", json!({"K": "v"})),
    ];
    change(text, syntax, member, "notes", &Change::Set(entry))
}

#[test]
fn comments_order_and_commas_of_json_stay() {
    let text = r#"// mine
{
    "z": 1, // last
    "mcpServers": {
        /* the first */
        "a": { "command": "a" }, // beside
    },
    "b": [1, 2,],
}
"#;
    let added = set(text, Syntax::Json, "mcpServers").unwrap();
    for kept in [
        "// mine",
        "\"z\": 1, // last",
        "/* the first */",
        "// beside",
        "[1, 2,]",
    ] {
        assert!(added.contains(kept), "{added}");
    }
    assert!(
        added.contains("\n        \"notes\": {\n            \"command\": \"notes\""),
        "{added}"
    );
    let removed = change(&added, Syntax::Json, "mcpServers", "notes", &Change::Remove).unwrap();
    assert_eq!(removed, text);
}

#[test]
fn an_entry_of_the_same_name_is_replaced_in_its_place() {
    let text = r#"{"servers": {"notes": {"command": "old"}, "other": {}}}"#;
    let changed = set(text, Syntax::Json, "servers").unwrap();
    assert!(!changed.contains("old"), "{changed}");
    assert!(changed.find("notes") < changed.find("other"), "{changed}");
}

#[test]
fn a_file_that_is_empty_or_missing_gets_its_members() {
    for text in ["", "\n", "{}", "{ }\n", "// nothing yet\n"] {
        let changed = set(text, Syntax::Json, "mcpServers").unwrap();
        assert!(changed.contains("\"notes\""), "{text:?}: {changed}");
        assert_eq!(
            servers(&changed, Syntax::Json, "mcpServers").unwrap().len(),
            1
        );
    }
    let changed = set("", Syntax::Toml, "mcp_servers").unwrap();
    assert!(
        changed.starts_with("[mcp_servers.notes]\ncommand = \"notes\"\n"),
        "{changed}"
    );
}

#[test]
fn comments_and_order_of_toml_stay() {
    let text = "# mine\nmodel = \"x\" # this one\n\n[mcp_servers.a] # first\ncommand = 'a'\n\n[tui]\ntheme = 1\n";
    let added = set(text, Syntax::Toml, "mcp_servers").unwrap();
    for kept in [
        "# mine\nmodel = \"x\" # this one\n",
        "[mcp_servers.a] # first\ncommand = 'a'\n",
    ] {
        assert!(added.contains(kept), "{added}");
    }
    let removed = change(
        &added,
        Syntax::Toml,
        "mcp_servers",
        "notes",
        &Change::Remove,
    )
    .unwrap();
    assert_eq!(removed, text);
    let alone = set("", Syntax::Toml, "mcp_servers").unwrap();
    let removed = change(
        &alone,
        Syntax::Toml,
        "mcp_servers",
        "notes",
        &Change::Remove,
    )
    .unwrap();
    assert!(
        servers(&removed, Syntax::Toml, "mcp_servers")
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_byte_order_mark_and_line_ends_stay() {
    let toml = "\u{feff}# mine\r\na = 1\nb = \"\"\"x\r\ny\"\"\"\r\n\r\n[mcp_servers.a]\r\ncommand = 'a'\r\n\r\n[tui]\r\nz = 1";
    let json = "\u{feff}{\r\n  \"a\": 1,\n  \"mcpServers\": {\r\n    \"b\": {}\r\n  }\r\n}";
    for (text, syntax, member) in [
        (toml, Syntax::Toml, "mcp_servers"),
        (json, Syntax::Json, "mcpServers"),
    ] {
        let added = set(text, syntax, member).unwrap();
        let all_of_old = text.lines().all(|line| added.contains(line));
        assert!(all_of_old && added.starts_with('\u{feff}'), "{added:?}");
        assert_eq!(
            added.matches('\n').count() - added.matches("\r\n").count(),
            1,
            "{added:?}"
        );
        let removed = change(&added, syntax, member, "notes", &Change::Remove).unwrap();
        assert_eq!(removed.trim_end(), text, "{added:?}");
    }
}

#[test]
fn comments_above_a_table_stay() {
    let table = |above: &str, below: &str| {
        format!("{above}[mcp_servers.notes]\ncommand = \"old\"\n{below}")
    };
    for (above, below, removed) in [
        ("# mine\n\n# notes\n", "", "# mine\n\n# notes\n"),
        (
            "a = 1\n\n# notes\n",
            "\n[tui]\nz = 1\n",
            "a = 1\n\n# notes\n\n[tui]\nz = 1\n",
        ),
        (
            "a = 1\n# notes\n",
            "[tui]\nz = 1\n",
            "a = 1\n\n# notes\n\n[tui]\nz = 1\n",
        ),
        (
            "[mcp_servers.a]\ncommand = \"old\"\n\n# notes\n",
            "# last\n",
            "[mcp_servers.a]\ncommand = \"old\"\n\n# notes\n\n# last\n",
        ),
    ] {
        let text = table(above, below);
        let changed = change(&text, Syntax::Toml, "mcp_servers", "notes", &Change::Remove);
        assert_eq!(changed.unwrap(), removed, "{text}");
        let replaced = set(&text, Syntax::Toml, "mcp_servers").unwrap();
        let head = format!("{above}[mcp_servers.notes]\ncommand = \"notes\"\n");
        assert!(replaced.starts_with(&head), "{replaced}");
        assert!(replaced.ends_with(below), "{replaced}");
    }
}

#[test]
fn a_text_that_cannot_be_changed_safely_is_refused() {
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(5000), "]".repeat(5000));
    for (text, syntax, reason) in [
        ("{", Syntax::Json, "EOF"),
        ("[]", Syntax::Json, "not a JSON object"),
        (
            r#"{"mcpServers": []}"#,
            Syntax::Json,
            "not an object of servers",
        ),
        (
            r#"{"mcpServers": {}, "mcpServers": {}}"#,
            Syntax::Json,
            "twice",
        ),
        (
            r#"{"mcpServers": {"notes": 1, "notes": 2}}"#,
            Syntax::Json,
            "twice",
        ),
        (&*deep, Syntax::Json, "recursion"),
        ("a = ", Syntax::Toml, "line 1"),
        ("mcpServers = 1", Syntax::Toml, "not an object of servers"),
    ] {
        let error = set(text, syntax, "mcpServers").unwrap_err();
        assert!(error.contains(reason), "{text:.60}: {error}");
    }
}
