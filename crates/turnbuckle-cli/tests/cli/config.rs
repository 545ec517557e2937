//! Configuration files that name servers.

use crate::support::{Run, Scratch, TOOL, command, run};

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
        let output = command(&["call", "demo", "echo", "message=found", "--yes"])
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

#[test]
fn a_list_that_is_named_before_its_server_is_told_so() {
    let scratch = Scratch::new();
    let mut command = command(&["list", "resources", "http://127.0.0.1:1/mcp"]);
    command.current_dir(scratch.path());
    let run = Run::new(command.output().expect("the tool runs")).ends(2);
    let tip = "the server comes first: `turnbuckle list SERVER resources`";
    assert!(run.err.contains(tip), "{run:#?}");
}

#[test]
fn a_server_of_a_found_file_is_not_used_unasked() {
    let scratch = Scratch::new();
    file(&scratch, ".mcp.json", "mcpServers");
    let text = r#"{"mcpServers": {"remote": {"url": "http://127.0.0.1:1/mcp"}}}"#;
    scratch.file("mcp.json", text);
    for (name, shown) in [
        ("demo", "demo --stdio"),
        ("remote", "http://127.0.0.1:1/mcp"),
    ] {
        for words in [&["info", name][..], &["info", name, "--no-input"]] {
            let mut command = command(words);
            command.current_dir(scratch.path());
            let run = Run::new(command.output().expect("the tool runs")).ends(2);
            assert!(run.err.contains("was found"), "{run:#?}");
            assert!(run.err.contains(shown), "{run:#?}");
            assert!(run.err.contains("--yes"), "{run:#?}");
            assert!(!run.err.contains("hidden-value"), "{run:#?}");
        }
    }
}

#[test]
fn headers_of_the_command_line_are_not_sent_to_the_url_of_a_found_file() {
    let scratch = Scratch::new();
    let text = r#"{"mcpServers": {"remote": {"url": "http://127.0.0.1:1/mcp"}}}"#;
    let config = scratch.file(".mcp.json", text);
    let info = |words: &[&str]| {
        let mut command = command(&[&["info", "remote", "--yes"], words].concat());
        command.current_dir(scratch.path()).env("SECRET", "s3cret");
        Run::new(command.output().expect("the tool runs"))
    };
    for header in [
        &["-H", "X-Key: s3cret"][..],
        &["--header-env", "X-Key=SECRET"],
        &["--bearer-env", "SECRET"],
    ] {
        let refused = info(header).ends(2);
        assert!(
            refused.err.contains("--headers-to-found-url"),
            "{refused:#?}"
        );
        assert!(!refused.err.contains("s3cret"), "{refused:#?}");
        // The server is contacted, and does not exist.
        info(&[header, &["--headers-to-found-url"]].concat()).ends(4);
        run(&["info", "remote", "-c", &config, "-H", "X-Key: s3cret"]).ends(4);
    }
}

#[test]
fn a_found_file_does_not_redirect_a_host() {
    let scratch = Scratch::new();
    let config = scratch.file(
        ".mcp.json",
        r#"{"mcpServers": {"127.0.0.1:1/mcp": {"command": "sh", "args": ["-c", "touch ran"]}}}"#,
    );
    let mut info = command(&["info", "127.0.0.1:1/mcp", "--yes"]);
    info.current_dir(scratch.path());
    let run = Run::new(info.output().expect("the tool runs")).ends(4);
    assert!(!scratch.path().join("ran").exists(), "{run:#?}");
    // The user who names the file means the file.
    let mut info = command(&["info", "127.0.0.1:1/mcp", "-c", &config]);
    info.current_dir(scratch.path());
    let run = Run::new(info.output().expect("the tool runs"));
    assert!(scratch.path().join("ran").exists(), "{run:#?}");
}

#[cfg(unix)]
#[test]
fn a_found_file_that_others_can_change_is_not_used() {
    use std::os::unix::fs::PermissionsExt as _;

    let scratch = Scratch::new();
    let config = file(&scratch, ".mcp.json", "mcpServers");
    let info = || {
        let mut command = command(&["info", "demo", "--yes"]);
        command.current_dir(scratch.path());
        Run::new(command.output().expect("the tool runs"))
    };
    let set_mode = |path: &str, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, mode).expect("it is ours");
    };
    info().ends(0);
    set_mode(&config, 0o646);
    let refused = info().ends(2);
    assert!(
        refused.err.contains("other users can change it"),
        "{refused:#?}"
    );
    run(&["info", "demo", "-c", &config]).ends(0);
    set_mode(&config, 0o644);
    let directory = scratch.path().to_str().expect("it is UTF-8");
    set_mode(directory, 0o777);
    info().ends(2);
    set_mode(directory, 0o755);
    info().ends(0);
}

#[cfg(unix)]
#[test]
fn a_planted_file_above_a_project_is_skipped_with_a_warning() {
    use std::os::unix::fs::PermissionsExt as _;

    let scratch = Scratch::new();
    let planted = scratch.file(
        "shared/.mcp.json",
        r#"{"mcpServers": {"demo": {"command": "sh", "args": ["-c", "touch ran"]}}}"#,
    );
    let mode = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(&planted, mode).expect("it is ours");
    std::fs::create_dir_all(scratch.path().join("shared/.git")).expect("it can be made");
    let project = scratch.path().join("shared/project");
    std::fs::create_dir_all(&project).expect("it can be made");
    let call = |words: &[&str]| {
        let mut command =
            command(&[&["call", "demo", "echo", "message=hi", "--yes"], words].concat());
        command.current_dir(&project);
        Run::new(command.output().expect("the tool runs"))
    };
    let refused = call(&[]).ends(2);
    assert!(refused.err.contains("--config"), "{refused:#?}");
    // A file that is nearer has the server.
    file(&scratch, "shared/project/.vscode/mcp.json", "servers");
    let called = call(&[]).ends(0);
    assert_eq!(called.out, "hi\n");
    // A server that is in a file above the planted one is found with a warning.
    std::fs::remove_dir_all(scratch.path().join("shared/.git")).expect("it is there");
    std::fs::create_dir_all(scratch.path().join(".git")).expect("it can be made");
    std::fs::remove_dir_all(project.join(".vscode")).expect("it is there");
    file(&scratch, "mcp.json", "servers");
    let called = call(&[]).ends(0);
    assert_eq!(called.out, "hi\n");
    assert!(
        called.err.contains("warning: ") && called.err.contains("other users can change it"),
        "{called:#?}"
    );
    assert!(!project.join("ran").exists());
}

#[test]
fn the_servers_of_the_files_that_are_found_are_listed() {
    let scratch = Scratch::new();
    let config = file(&scratch, "mcp.json", "mcpServers");
    let in_folder = |words: &[&str]| {
        let mut listing = command(words);
        let output = listing
            .current_dir(scratch.path())
            .env("HOME", scratch.path())
            .output();
        Run::new(output.expect("the tool runs"))
    };
    let shown = in_folder(&["servers"]).ends(0).out;
    assert!(shown.contains("mcp.json\n"), "{shown}");
    assert!(
        shown.contains("demo --stdio  (asks before its first use)"),
        "{shown}"
    );
    assert!(
        shown.contains("asks  ") && shown.contains("input:token"),
        "{shown}"
    );
    assert!(!shown.contains("hidden-value"), "{shown}");

    let listed = in_folder(&["servers", "-o", "json"]).ends(0).json();
    let names = listed.as_array().expect("it is a list").iter();
    let names: Vec<_> = names.map(|server| server["name"].clone()).collect();
    assert_eq!(names, ["asks", "demo"]);
    assert_eq!(listed[1]["transport"], "program");
    assert_eq!(listed[1]["isAgreed"], false);
    // Who names the file agrees to it.
    let named = run(&["servers", "--config", &config, "-o", "ndjson"])
        .ends(0)
        .out;
    assert!(
        named.lines().count() == 2 && named.contains(r#""isAgreed":true"#),
        "{named}"
    );

    std::fs::remove_file(scratch.path().join("mcp.json")).expect("it is there");
    let none = in_folder(&["servers"]).ends(0);
    assert!(none.err.contains("no .mcp.json"), "{none:#?}");
}
