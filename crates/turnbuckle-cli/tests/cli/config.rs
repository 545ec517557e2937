//! Configuration files that name servers.

use crate::support::{Scratch, TOOL, command, run};

fn file(scratch: &Scratch, name: &str, root: &str) -> String {
    let tool = serde_json::to_string(TOOL).expect("it is text");
    let text = format!(
        "{{ // the demo\n  \"{root}\": {{\n    \"demo\": {{\n      \"command\": {tool},\n      \
         \"args\": [\"demo\", \"${{MODE:---stdio}}\"], /* how */\n      \
         \"env\": {{\"KEY\": \"hidden-value\"}},\n    }},\n    \
         \"asks\": {{\"command\": \"x\", \"args\": [\"${{input:token}}\"]}},\n  }},\n}}\n"
    );
    scratch.file(name, &text)
}

#[test]
fn a_server_is_found_by_its_name_and_shown_before_it_runs() {
    let scratch = Scratch::new();
    for root in ["mcpServers", "servers"] {
        let config = file(&scratch, "any.json", root);
        let called = run(&["call", "-c", &config, "demo", "echo", "message=hi", "-q"]).ends(0);
        assert_eq!(called.out, "hi\n");
        assert!(
            called.err.contains("demo --stdio") && called.err.contains("with KEY"),
            "{called:#?}"
        );
        assert!(!called.err.contains("hidden-value"), "{called:#?}");
        let called = run(&["call", "-c", &config, "-s", "demo", "echo", "message=hi"]).ends(0);
        assert_eq!(called.out, "hi\n");
    }
}

#[test]
fn config_files_are_searched_up_to_the_repository() {
    for place in [".mcp.json", "mcp.json", ".vscode/mcp.json"] {
        let scratch = Scratch::new();
        file(&scratch, &format!("repository/{place}"), "servers");
        std::fs::create_dir_all(scratch.path().join("repository/.git")).expect("it can be made");
        let inside = scratch.path().join("repository/deep/er");
        std::fs::create_dir_all(&inside).expect("it can be made");
        let output = command(&["call", "demo", "echo", "message=found"])
            .current_dir(&inside)
            .output()
            .expect("the tool runs");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "found\n",
            "{place}: {output:?}"
        );

        // Nothing outside of the repository is searched.
        file(&scratch, place, "servers");
        std::fs::remove_file(scratch.path().join("repository").join(place)).expect("it is there");
        let output = command(&["info", "demo"])
            .current_dir(&inside)
            .output()
            .expect("the tool runs");
        assert_eq!(output.status.code(), Some(2), "{place}: {output:?}");
    }
}

#[test]
fn errors_in_config_files_are_named() {
    let scratch = Scratch::new();
    let config = file(&scratch, "any.json", "servers");
    for (name, expected) in [
        ("dmo", "did you mean \"demo\"?"),
        ("asks", "${input:token}"),
        ("example.com", "no server is named"),
    ] {
        let run = run(&["info", "-c", &config, name]).ends(2);
        assert!(run.err.contains(expected), "{name}: {run:#?}");
    }
    let missing = scratch.name("none.json");
    assert!(
        run(&["info", "-c", &missing, "x"])
            .ends(2)
            .err
            .contains("none.json")
    );
    let broken = scratch.file("broken.json", "{\"servers\": {\"a\": }}");
    assert!(
        run(&["info", "-c", &broken, "a"])
            .ends(2)
            .err
            .contains("line 1")
    );
}
