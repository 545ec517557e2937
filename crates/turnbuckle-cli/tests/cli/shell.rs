//! Scripts of `turnbuckle shell`. Lines at a terminal are in `terminal`.

use serde_json::Value;

use crate::peers::legacy_server;
use crate::support::{DEMO, Run, Scratch, command, run_with_input};

/// Runs a script at the demo.
fn script(options: &[&str], lines: &str) -> Run {
    run_with_input(&[&["shell"], options, &DEMO].concat(), lines)
}

/// Runs a script at a legacy server with these functions.
fn script_at(functions: &str, lines: &str) -> Run {
    let server = legacy_server(functions);
    run_with_input(&["shell", "--", "sh", "-c", &server], lines)
}

#[test]
fn the_lines_of_a_script_share_one_connection() {
    let count = "n=0; call() { n=$((n+1)); text $n; }";
    let run = script_at(
        count,
        "call t\ncall t\nraw tools/call '{\"name\":\"t\"}' -o json\ncall t",
    )
    .ends(0);
    let lines: Vec<_> = run.out.lines().collect();
    assert_eq!((lines[0], lines[1], lines[3]), ("1", "2", "4"), "{run:#?}");
    assert!(lines[2].contains("\"text\":\"3\""), "{run:#?}");
    assert_eq!(run.err, "");
}

#[test]
fn each_verb_is_a_line() {
    let lines = "\
# A comment, and an empty line.

info
list prompts
call echo message='a  b'   # a comment
call echo 'message=it'\\''s' \n\
read test://static-text
prompt test_simple_prompt
complete test_prompt_with_arguments arg1=par
raw no/such --quiet
";
    let run = script(&["--keep-going"], lines).ends(5);
    for part in [
        "2026-07-28 (modern era)",
        "test_simple_prompt",
        "\na  b\nit's\n",
        "This is the content of the static text resource.",
        "user:\n",
        "paris\npark\nparty\n",
    ] {
        assert!(run.out.contains(part), "{part}: {run:#?}");
    }
    let listened = script(&[], "listen --tools --for 100ms\nexit\nnonsense").ends(0);
    assert!(listened.err.contains("the list of tools"), "{listened:#?}");
}

#[test]
fn a_script_ends_at_the_first_line_that_fails_or_goes_on_and_fails_at_its_end() {
    let lines = "call echo message=1\n\ncall nosuch\ncall echo message=2\nlist nonsense\ncall echo message=3";
    let run = script(&[], lines).ends(5);
    assert_eq!(run.out, "1\n");
    assert!(run.err.starts_with("error: line 3: "), "{run:#?}");
    let run = script(&["--keep-going"], lines).ends(2);
    assert_eq!(run.out, "1\n2\n3\n");
    assert_eq!(run.err.matches("error: line 3: ").count(), 1, "{run:#?}");
    assert_eq!(run.err.matches("error: line 5: ").count(), 1, "{run:#?}");
    let run = script(&["-o", "json"], lines).ends(5);
    let message = run.error()["message"].as_str().map(ToOwned::to_owned);
    assert!(
        message.is_some_and(|text| text.starts_with("line 3: ")),
        "{run:#?}"
    );
}

#[test]
fn a_line_has_options_of_its_own_and_takes_over_those_of_the_shell() {
    let lines = "call echo message=a\n-o text call echo message=b\ncall echo message=c -q";
    let run = script(&["-o", "json"], lines).ends(0);
    let lines: Vec<_> = run.out.lines().collect();
    assert_eq!((lines.len(), lines[1]), (3, "b"), "{run:#?}");
    for (line, text) in [(lines[0], "a"), (lines[2], "c")] {
        let result: Value = serde_json::from_str(line).expect("it is JSON");
        assert_eq!(result["content"][0]["text"], text);
    }
    let scratch = Scratch::new();
    let file = scratch.name("pixel");
    script(&[], &format!("call test_image_content --out '{file}'")).ends(0);
    assert!(
        std::fs::read(&file)
            .expect("it was written")
            .starts_with(b"\x89PNG")
    );
}

#[test]
fn a_line_that_cannot_be_run_is_a_usage_error() {
    for (line, text) in [
        (
            "call echo 'message=x",
            "a quote or a backslash is not closed",
        ),
        ("nonsense", "unrecognized subcommand 'nonsense'"),
        (
            "info --era legacy",
            "`--era` is an option of the connection",
        ),
        (
            "--config x info",
            "`--config` is an option of the connection",
        ),
        ("info -- other server", "the shell has its server already"),
        ("call echo -", "standard input has the lines of the shell"),
        ("shell", "unrecognized subcommand 'shell'"),
        ("auth status x", "unrecognized subcommand 'auth'"),
        ("info extra", "unexpected argument \"extra\""),
        ("call", "the name of the tool is missing"),
    ] {
        let run = script(&[], line).ends(2);
        assert!(run.err.contains(text), "{line}: {run:#?}");
        assert!(run.err.starts_with("error: line 1: "), "{line}: {run:#?}");
    }
    // No part of a line that is too long is run.
    let long = "a".repeat(70_000);
    let scratch = Scratch::new();
    let file = scratch.file(
        "script",
        &format!("call echo message={long}\ncall echo message=x"),
    );
    let mut shell = command(&[&["shell"][..], &DEMO].concat());
    shell.stdin(std::fs::File::open(file).expect("it is there"));
    let run = Run::new(shell.output().expect("the tool runs")).ends(2);
    assert!(run.err.contains("longer than 65536 bytes"), "{run:#?}");
    assert_eq!(run.out, "");
}

#[test]
fn help_names_the_verbs_of_a_line() {
    let run = script(&[], "help\nhelp call\nlist --help").ends(0);
    for part in ["complete", "exit", "key:=json", "--schema"] {
        assert!(run.out.contains(part), "{part}: {run:#?}");
    }
    assert!(!run.out.contains("demo"), "{run:#?}");
}

#[test]
fn changes_between_lines_are_shown() {
    let changing = r#"
    initialize() {
        answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"sh","version":"0"}}'
    }
    call() { say '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'; text done; }"#;
    let run = script_at(changing, "call t\n\ncall t\n").ends(0);
    assert_eq!(run.out, "done\ndone\n");
    assert!(
        run.err.contains("server: the list of tools changed"),
        "{run:#?}"
    );
}

#[test]
fn questions_in_a_script_are_answered_as_the_options_say() {
    let lines = "call test_elicitation message=m\ncall test_elicitation message=m";
    let answers = [
        "--answer",
        r#"{"username":"Ada","email":"a@b.c"}"#,
        "--answer",
        "decline",
    ];
    let run = script(&answers, lines).ends(0);
    assert!(
        run.out.contains("Ada") && run.out.contains("action=decline"),
        "{run:#?}"
    );
    // Each line may ask again.
    let run = script(&["--caps", "elicitation"], lines).ends(0);
    assert_eq!(run.out.matches("action=cancel").count(), 2, "{run:#?}");
}
