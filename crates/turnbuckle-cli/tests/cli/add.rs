//! `add` and `remove`: changes of the configuration files of hosts.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Run, Scratch, command};

/// Runs the tool in a home of its own.
fn run_in(home: &Scratch, words: &[&str]) -> Run {
    let mut command = command(words);
    command
        .env("HOME", home.path())
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("CODEX_HOME")
        .current_dir(home.path());
    Run::new(command.output().expect("the tool runs"))
}

fn read(home: &Scratch, file: &str) -> String {
    fs::read_to_string(home.path().join(file)).expect("the file is there")
}

#[test]
fn each_host_gets_its_dialect_and_the_server_is_removed_again() {
    let env = json!({"K": "v"});
    let stdio = json!({"command": "/bin/notes", "args": ["a b"], "env": env});
    let typed = json!({"type": "stdio", "command": "/bin/notes", "args": ["a b"], "env": env});
    let headers = json!({"X": "y"});
    let url = "https://example.com/mcp";
    let http = json!({"type": "http", "url": url, "headers": headers});
    let cases = [
        (
            "claude-code",
            ".claude.json",
            "mcpServers",
            &typed,
            Some(http.clone()),
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            "mcpServers",
            &stdio,
            Some(json!({"url": url, "headers": headers})),
        ),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            "servers",
            &typed,
            Some(http),
        ),
        (
            "windsurf",
            ".codeium/windsurf/mcp_config.json",
            "mcpServers",
            &stdio,
            Some(json!({"serverUrl": url, "headers": headers})),
        ),
        (
            "zed",
            ".config/zed/settings.json",
            "context_servers",
            &stdio,
            Some(json!({"url": url, "headers": headers})),
        ),
        (
            "gemini",
            ".gemini/settings.json",
            "mcpServers",
            &stdio,
            Some(json!({"httpUrl": url, "headers": headers})),
        ),
        (
            "claude-desktop",
            ".config/Claude/claude_desktop_config.json",
            "mcpServers",
            &stdio,
            None,
        ),
    ];
    for (host, file, member, local, remote) in cases {
        let home = Scratch::new();
        let words = [
            "add",
            "n",
            "--host",
            host,
            "-y",
            "-e",
            "K=v",
            "--",
            "/bin/notes",
            "a b",
        ];
        run_in(&home, &words).ends(0);
        let words = ["add", "r", "--host", host, "-y", "-H", "X: y", url];
        run_in(&home, &words).ends(0);
        let written: Value = serde_json::from_str(&read(&home, file)).expect("it is JSON");
        assert_eq!(written[member]["n"], *local, "{host}");
        match remote {
            Some(remote) => assert_eq!(written[member]["r"], remote, "{host}"),
            None => {
                let bridged = &written[member]["r"];
                let args = json!([
                    "bridge",
                    url,
                    "--stdio",
                    "--header-env",
                    "X=TURNBUCKLE_HEADER_1"
                ]);
                assert_eq!(bridged["args"], args, "{host}");
                assert_eq!(
                    bridged["env"],
                    json!({"TURNBUCKLE_HEADER_1": "y"}),
                    "{host}"
                );
            }
        }
        // The file was written twice, and its first state is kept.
        let copy: Value = serde_json::from_str(&read(&home, &format!("{file}.bak"))).unwrap();
        assert_eq!(copy[member], json!({"n": local}), "{host}");
        run_in(&home, &["remove", "r", "-y"]).ends(0);
        let written: Value = serde_json::from_str(&read(&home, file)).expect("it is JSON");
        assert_eq!(written[member], json!({"n": local}), "{host}");
    }
}

#[test]
fn codex_gets_toml() {
    let home = Scratch::new();
    home.file(".codex/config.toml", "# mine\nmodel = \"x\"\n");
    run_in(&home, &["add", "n", "-y", "-e", "K=v", "--", "/bin/notes"]).ends(0);
    run_in(
        &home,
        &["add", "r", "-y", "-H", "X: y", "https://example.com/mcp"],
    )
    .ends(0);
    assert_eq!(
        read(&home, ".codex/config.toml"),
        "# mine\nmodel = \"x\"\n\n[mcp_servers.n]\ncommand = \"/bin/notes\"\nargs = []\nenv = { K = \"v\" }\n\n\
         [mcp_servers.r]\nurl = \"https://example.com/mcp\"\nhttp_headers = { X = \"y\" }\n"
    );
}

#[test]
fn the_change_is_shown_and_nothing_is_written_without_consent() {
    let home = Scratch::new();
    let text = "{\n  // mine\n  \"mcpServers\": {}\n}\n";
    let file = home.file(".cursor/mcp.json", text);
    let refused = run_in(&home, &["add", "n", "https://example.com/mcp"]).ends(2);
    assert!(refused.err.contains("+     \"n\": {"), "{refused:#?}");
    assert!(refused.err.contains("nobody can be asked"), "{refused:#?}");
    let shown = run_in(&home, &["add", "n", "https://example.com/mcp", "--dry-run"]).ends(0);
    assert!(shown.err.contains("nothing was written"), "{shown:#?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    assert_eq!(
        fs::read_dir(home.path().join(".cursor")).unwrap().count(),
        1
    );
}

#[test]
fn a_project_has_a_file_of_its_own() {
    let home = Scratch::new();
    let words = [
        "add",
        "n",
        "--host",
        "claude-code",
        "--scope",
        "project",
        "-y",
        "--",
        "./notes",
    ];
    let added = run_in(&home, &words).ends(0);
    assert!(
        added.err.contains("there is no program \"./notes\""),
        "{added:#?}"
    );
    let written: Value = serde_json::from_str(&read(&home, ".mcp.json")).unwrap();
    assert_eq!(written["mcpServers"]["n"]["command"], "./notes");
    let words = [
        "add", "n", "--host", "windsurf", "--scope", "project", "-y", "--", "./notes",
    ];
    assert!(
        run_in(&home, &words)
            .ends(2)
            .err
            .contains("has no file for a project")
    );
}

#[test]
fn the_host_is_named_unless_one_is_installed() {
    let home = Scratch::new();
    let none = run_in(&home, &["add", "n", "-y", "--", "notes"]).ends(2);
    assert!(none.err.contains("no host was found"), "{none:#?}");
    home.file(".cursor/mcp.json", "{}");
    home.file(".gemini/settings.json", r#"{"mcpServers": {"g": {}}}"#);
    let several = run_in(&home, &["add", "n", "-y", "--", "notes"]).ends(2);
    assert!(
        several
            .err
            .contains("2 hosts are installed: cursor, gemini"),
        "{several:#?}"
    );
    // A server is found in whatever host has it.
    run_in(&home, &["remove", "g", "-y"]).ends(0);
    assert!(
        run_in(&home, &["remove", "g", "-y"])
            .ends(2)
            .err
            .contains("no host has a server")
    );
}

#[test]
fn a_server_of_the_same_name_is_replaced_on_demand_only() {
    let home = Scratch::new();
    let add = |more: &[&str]| {
        let words = [&["add", "n", "--host", "cursor", "-y"], more].concat();
        run_in(&home, &words)
    };
    add(&["https://example.com/1"]).ends(0);
    let again = add(&["https://example.com/1"]).ends(0);
    assert!(again.err.contains("is there already"), "{again:#?}");
    let other = add(&["https://example.com/2"]).ends(2);
    assert!(other.err.contains("--replace"), "{other:#?}");
    add(&["--replace", "https://example.com/2"]).ends(0);
    assert!(read(&home, ".cursor/mcp.json").contains("example.com/2"));
}

#[test]
fn a_file_that_cannot_be_changed_safely_stays_as_it_is() {
    for (text, reason) in [
        ("{ \"mcpServers\": ", "mend the file first"),
        ("[1]", "not a JSON object"),
        ("{\"mcpServers\": [1]}", "not an object of servers"),
    ] {
        let home = Scratch::new();
        let file = home.file(".cursor/mcp.json", text);
        let refused = run_in(&home, &["add", "n", "-y", "https://example.com/mcp"]).ends(2);
        assert!(refused.err.contains(reason), "{refused:#?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn options_of_a_url_are_refused_with_a_command() {
    let home = Scratch::new();
    for option in [&["-H", "X: y"][..], &["--sse"]] {
        let words = [
            &["add", "n", "--host", "cursor", "-y"],
            option,
            &["--", "notes"],
        ]
        .concat();
        let refused = run_in(&home, &words).ends(2);
        assert!(refused.err.contains("cannot be used with"), "{refused:#?}");
    }
}

#[test]
fn servers_that_are_added_at_the_same_time_are_in_the_file_or_refused() {
    let home = Scratch::new();
    let children: Vec<_> = (0..12)
        .map(|n| {
            let name = format!("n{n}");
            let words = [
                "add",
                &name,
                "--host",
                "cursor",
                "-y",
                "https://example.com/mcp",
            ];
            let mut command = command(&words);
            command.env("HOME", home.path()).current_dir(home.path());
            command.stderr(Stdio::piped()).spawn().expect("it runs")
        })
        .collect();
    let mut written = Vec::new();
    for (n, child) in children.into_iter().enumerate() {
        let run = Run::new(child.wait_with_output().expect("it ends"));
        match run.code {
            Some(0) => written.push(format!("n{n}")),
            _ => assert!(run.ends(1).err.contains("has changed the file meanwhile")),
        }
    }
    let file: Value = serde_json::from_str(&read(&home, ".cursor/mcp.json")).unwrap();
    let servers = file["mcpServers"].as_object().unwrap();
    let mut found: Vec<_> = servers.keys().cloned().collect();
    found.sort();
    written.sort();
    assert_eq!(found, written);
}

#[cfg(unix)]
#[test]
fn links_are_followed_once_and_read_only_files_are_left_alone() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let home = Scratch::new();
    home.file("dotfiles/mcp.json", "{}");
    fs::create_dir_all(home.path().join(".cursor")).unwrap();
    let link = home.path().join(".cursor/mcp.json");
    symlink("../dotfiles/mcp.json", &link).unwrap();
    let added = run_in(&home, &["add", "n", "-y", "https://example.com/mcp"]).ends(0);
    assert!(added.err.contains("a link to"), "{added:#?}");
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(read(&home, "dotfiles/mcp.json").contains("example.com"));

    let second = home.path().join("second.json");
    symlink(&link, &second).unwrap();
    let words = [
        "add",
        "m",
        "-y",
        "--host",
        "cursor",
        "-c",
        second.to_str().unwrap(),
        "https://example.com/mcp",
    ];
    assert!(
        run_in(&home, &words)
            .ends(2)
            .err
            .contains("only one is followed")
    );

    let file = home.path().join("dotfiles/mcp.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let refused = run_in(&home, &["add", "m", "-y", "https://example.com/mcp"]).ends(2);
    assert!(refused.err.contains("read-only"), "{refused:#?}");

    // The permissions of a file stay.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    run_in(&home, &["add", "m", "-y", "https://example.com/mcp"]).ends(0);
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}
