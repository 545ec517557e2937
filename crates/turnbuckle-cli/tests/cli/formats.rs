//! Output as JSON, output to pipes, and the trace file.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{DEMO, Scratch, command, demo, run};

#[test]
fn json_output_is_the_result_of_the_server() {
    let run = demo(&[
        "call",
        "echo",
        "message=hi",
        "-o",
        "json",
        "--era",
        "legacy",
    ])
    .ends(0);
    assert_eq!(
        run.out,
        "{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"isError\":false}\n"
    );
    let run = demo(&["call", "echo", "message=hi", "-o", "json"]).ends(0);
    assert_eq!(run.json()["resultType"], "complete");
    let run = demo(&["read", "test://static-text", "-o", "json"]).ends(0);
    assert_eq!(run.json()["contents"][0]["mimeType"], "text/plain");
    let run = demo(&["prompt", "test_simple_prompt", "-o", "ndjson"]).ends(0);
    assert_eq!(run.json()["messages"][0]["role"], "user");
    let run = demo(&[
        "complete",
        "test_prompt_with_arguments",
        "arg1=par",
        "-o",
        "json",
    ])
    .ends(0);
    assert_eq!(
        run.json()["completion"]["values"],
        json!(["paris", "park", "party"])
    );
    let run = demo(&["info", "-o", "json"]).ends(0);
    assert_eq!(run.json()["serverInfo"]["name"], "turnbuckle-demo");
    assert_eq!(run.json()["serverInfo"]["version"], "1.0.0");
    assert_eq!(run.json()["protocolVersion"], "2026-07-28");
}

#[test]
fn lists_keep_the_order_of_members_as_the_server_sent_it() {
    let whole = demo(&["list", "tools", "-o", "json"]).ends(0).out;
    let lines = demo(&["list", "tools", "-o", "ndjson"]).ends(0).out;
    for line in lines.lines() {
        assert!(whole.contains(line), "{line}");
    }
    assert!(whole.starts_with("{\"tools\":[{\"name\":"), "{whole}");
}

#[test]
fn lists_are_one_json_object_or_one_item_per_line() {
    let whole = demo(&["list", "tools", "-o", "json"]).ends(0).json();
    let tools = whole["tools"].as_array().expect("it is a list");
    assert_eq!(tools.len(), 42);
    let run = demo(&["list", "tools", "-o", "ndjson"]).ends(0);
    let lines: Vec<Value> = run
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect();
    assert_eq!(&lines, tools);
    let all = demo(&["list", "-o", "json"]).ends(0).json();
    for (member, count) in [
        ("tools", 42),
        ("resources", 13),
        ("resourceTemplates", 1),
        ("prompts", 5),
    ] {
        assert_eq!(
            all[member].as_array().map(Vec::len),
            Some(count),
            "{member}"
        );
    }
}

#[test]
fn a_failed_tool_has_a_result_and_an_error() {
    let run = demo(&["call", "test_error_handling", "-o", "json"]).ends(5);
    assert_eq!(run.json()["isError"], true);
    assert_eq!(run.error()["code"], "tool_error");
    assert_eq!(run.error()["exitCode"], 5);
    let run = demo(&["call", "test_error_handling"]).ends(5);
    assert!(
        run.out.contains("intentionally") && run.err.starts_with("error: "),
        "{run:#?}"
    );
}

#[test]
fn pipes_are_quiet() {
    let run = demo(&["call", "test_tool_with_progress"]).ends(0);
    assert_eq!(run.err, "");
    assert!(!run.out.contains('\u{1b}'), "{run:#?}");
    let run = demo(&["list"]).ends(0);
    assert_eq!(run.err, "");
    assert!(!run.out.contains('\u{1b}'), "{run:#?}");
}

#[test]
fn a_closed_output_pipe_ends_the_tool_silently() {
    let mut child = command(&[&["list", "tools", "-o", "ndjson"][..], &DEMO].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool runs");
    // It is gone before anything was written.
    drop(child.stdout.take());
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    assert_eq!(ended.status.code(), Some(0));
}

#[test]
fn completion_scripts_are_printed_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        for verb in ["completion", "completions"] {
            let script = run(&[verb, shell]).ends(0).out;
            assert!(script.contains("TURNBUCKLE_COMPLETE"), "{shell}: {script}");
        }
    }
}

#[test]
fn the_trace_has_every_message_and_no_secret() {
    let scratch = Scratch::new();
    let trace = scratch.file("trace.ndjson", "what was there before");
    let words = [
        "call",
        "echo",
        "message=s3cr3t-in-env",
        "--trace",
        &trace,
        "-e",
        "KEY=s3cr3t-in-env",
    ];
    assert_eq!(demo(&words).ends(0).out, "s3cr3t-in-env\n");
    let file = std::fs::File::open(&trace).expect("it is there");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = file.metadata().expect("it has some").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let lines: Vec<Value> = BufReader::new(file)
        .lines()
        .map(|line| serde_json::from_str(&line.expect("it is text")).expect("it is JSON"))
        .collect();
    let methods: Vec<_> = lines
        .iter()
        .filter(|line| line["direction"] == "send")
        .filter_map(|line| line["message"]["method"].as_str())
        .collect();
    assert_eq!(methods.first(), Some(&"server/discover"));
    assert!(methods.ends_with(&["tools/call"]), "{methods:?}");
    assert!(lines.iter().all(|line| line["time"].is_string()));
    let text = std::fs::read_to_string(&trace).expect("it is text");
    assert!(
        !text.contains("s3cr3t") && text.contains("[redacted]"),
        "{text}"
    );
}

#[test]
fn the_trace_has_messages_as_they_were_sent_and_the_lines_of_standard_error() {
    let scratch = Scratch::new();
    let trace = scratch.name("trace.ndjson");
    let server = r#"
        echo starting >&2
        read -r line
        echo '{"jsonrpc":"2.0", "id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"version":"1","name":"n"}, "_meta":{"x":1E400,"x":9007199254740993}}}'
        cat > /dev/null"#;
    let words = [
        "info",
        "--era=legacy",
        "--trace",
        &trace,
        "--",
        "sh",
        "-c",
        server,
    ];
    run(&words).ends(0);
    let text = std::fs::read_to_string(&trace).expect("it is text");
    assert!(
        text.contains(r#""message":{"jsonrpc":"2.0", "id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"version":"1","name":"n"}, "_meta":{"x":1E400,"x":9007199254740993}}}}"#),
        "{text}"
    );
    assert!(
        text.contains(r#""direction":"stderr","text":"starting"}"#),
        "{text}"
    );
}

#[test]
fn the_trace_file_is_limited_and_ends_with_a_note() {
    let scratch = Scratch::new();
    let trace = scratch.name("trace.ndjson");
    let message = format!("message={}", "x".repeat(20_000));
    let words = [
        "call",
        "echo",
        &message,
        "--max-trace-bytes=8k",
        "--trace",
        &trace,
    ];
    assert_eq!(demo(&words).ends(0).out.len(), 20_001);
    let text = std::fs::read_to_string(&trace).expect("it is text");
    assert!(text.len() < 9 << 10, "{}", text.len());
    let last: Value =
        serde_json::from_str(text.lines().last().expect("there is a line")).expect("it is JSON");
    assert_eq!(
        last["reason"],
        "further messages are left out (--max-trace-bytes)"
    );
}
