//! The GitHub action: its inputs and outputs exist where they are named, and its step runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Run, Scratch, TOOL};

fn action() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../action.yml");
    fs::read_to_string(file).expect("the action is there")
}

/// Returns the keys directly below a key at the top.
fn keys(action: &str, top: &str) -> BTreeSet<String> {
    let lines = action.lines().skip_while(|line| *line != format!("{top}:"));
    let below = lines
        .skip(1)
        .take_while(|line| line.is_empty() || line.starts_with(' '));
    let is_key = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let keys = below
        .filter(is_key)
        .filter_map(|line| line.trim().strip_suffix(':'));
    keys.map(str::to_owned).collect()
}

/// Returns the expressions `${{ … }}` of the action.
fn expressions(action: &str) -> impl Iterator<Item = &str> {
    let parts = action.split("${{").skip(1);
    parts.filter_map(|part| Some(part.split_once("}}")?.0.trim()))
}

/// Returns the script of the step with this name.
fn script(action: &str, step: &str) -> String {
    let (_, step) = action
        .split_once(&format!("- name: {step}\n"))
        .expect("the step is there");
    let (_, script) = step.split_once("run: |\n").expect("it runs a script");
    let lines = script
        .lines()
        .take_while(|line| line.is_empty() || line.starts_with("        "));
    lines.map(|line| format!("{}\n", line.trim())).collect()
}

#[test]
fn inputs_and_outputs_are_declared_and_used() {
    let action = action();
    let inputs = keys(&action, "inputs");
    let used = |prefix: &str| -> BTreeSet<String> {
        let found = expressions(&action).filter_map(|it| it.strip_prefix(prefix));
        found.map(str::to_owned).collect()
    };
    assert_eq!(used("inputs."), inputs);
    assert_eq!(used("steps.check.outputs."), keys(&action, "outputs"));
    // An input in a script would be a part of the script.
    for step in [
        "Find the revision of the action",
        "Install turnbuckle",
        "Check",
    ] {
        assert!(!script(&action, step).contains("${{"), "{step}");
    }
}

/// Runs the step that checks, with these inputs.
fn check(folder: &Scratch, inputs: &[(&str, &str)]) -> Run {
    let bin = folder.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let link = bin.join("turnbuckle");
    if !link.exists() {
        std::os::unix::fs::symlink(TOOL, &link).unwrap();
    }
    let mut bash = Command::new("bash");
    for name in ["TARGET", "COMMAND", "BASELINE", "LOCK", "ARGS"] {
        bash.env(name, "");
    }
    let path = std::env::var("PATH").unwrap();
    bash.arg("-c")
        .arg(script(&action(), "Check"))
        .current_dir(folder.path())
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("LEVEL", "note")
        .env("REPORTS", "out folder")
        .env("GITHUB_OUTPUT", folder.name("output"))
        .env("GITHUB_STEP_SUMMARY", folder.name("summary"))
        .env("XDG_CACHE_HOME", "/dev/null")
        .envs(inputs.iter().copied());
    Run::new(bash.output().expect("bash runs"))
}

#[test]
fn the_step_checks_a_command_and_writes_reports_outputs_and_the_summary() {
    let folder = Scratch::new();
    let command = format!("'{TOOL}' demo --stdio");
    let args = "--only tools.unique\n--protocol-version 2025-06-18 $(touch evil) *";
    let refused = check(&folder, &[("COMMAND", &command), ("ARGS", args)]);
    // The words after the options are no shell: they are a target, beside the command.
    refused.ends(2);
    assert!(!folder.path().join("evil").exists());

    let args = "--only tools.unique\n--protocol-version 2025-06-18";
    check(&folder, &[("COMMAND", &command), ("ARGS", args)]).ends(0);
    let summary = fs::read_to_string(folder.name("summary")).unwrap();
    assert!(
        summary.contains("1 check in 1 case: **1 pass**"),
        "{summary}"
    );
    let output = fs::read_to_string(folder.name("output")).unwrap();
    for name in keys(&action(), "outputs") {
        let line = output
            .lines()
            .rfind(|line| line.starts_with(&format!("{name}=")));
        let (_, path) = line.unwrap().split_once('=').unwrap();
        assert!(folder.path().join(path).exists(), "{path}");
    }
    assert!(folder.path().join("out folder/badge.json").exists());

    check(
        &folder,
        &[
            ("TARGET", "http://127.0.0.1:9/mcp"),
            ("ARGS", "--timeout 1s"),
        ],
    )
    .ends(4);
}
