//! Each command over stdio with text output.

use crate::support::{DEMO, Scratch, demo, run, run_with_input};

#[test]
fn info_shows_the_server() {
    let run = demo(&["info"]).ends(0);
    for part in [
        "Turnbuckle demo",
        "2026-07-28 (modern era)",
        "42, announces changes",
        "Call echo",
    ] {
        assert!(run.out.contains(part), "{part}: {run:#?}");
    }
    let run = demo(&["info", "--era", "legacy"]).ends(0);
    assert!(run.out.contains("2025-11-25 (legacy era)"), "{run:#?}");
    let run = demo(&["info", "--protocol-version", "2024-11-05"]).ends(0);
    assert!(run.out.contains("2024-11-05 (legacy era)"), "{run:#?}");
}

#[test]
fn list_follows_every_page() {
    let run = demo(&["list", "tools"]).ends(0);
    let tools = run
        .out
        .lines()
        .filter(|line| !line.starts_with(' '))
        .count();
    assert_eq!(tools, 42, "{run:#?}");
    assert!(
        run.out
            .contains("echo(message: string)  read-only\n    Says a message back")
    );
    let run = demo(&["list"]).ends(0);
    for part in [
        "Tools (42)",
        "Resources (13)",
        "Resource templates (1)",
        "Prompts (5)",
    ] {
        assert!(run.out.contains(part), "{part}: {run:#?}");
    }
    let run = demo(&["list", "tools", "--schema"]).ends(0);
    assert!(run.out.contains("input {"), "{run:#?}");
}

#[test]
fn call_converts_arguments_by_the_schema() {
    assert_eq!(
        demo(&["call", "echo", "message=hello there"]).ends(0).out,
        "hello there\n"
    );
    assert_eq!(demo(&["call", "echo", "message:=\"5\""]).ends(0).out, "5\n");
    assert_eq!(
        demo(&["call", "echo", "{\"message\": \"whole\"}"])
            .ends(0)
            .out,
        "whole\n"
    );
    assert_eq!(
        demo(&["call", "slow_echo", "seconds=0", "text=7"])
            .ends(0)
            .out,
        "7\n"
    );

    let scratch = Scratch::new();
    let whole = format!(
        "@{}",
        scratch.file("whole.json", "{\"message\": \"from a file\"}")
    );
    assert_eq!(demo(&["call", "echo", &whole]).ends(0).out, "from a file\n");
    let text = format!("message=@{}", scratch.file("text.txt", "its text"));
    assert_eq!(demo(&["call", "echo", &text]).ends(0).out, "its text\n");

    let words = [&["call", "echo", "-"][..], &DEMO].concat();
    assert_eq!(
        run_with_input(&words, "{\"message\": \"piped\"}")
            .ends(0)
            .out,
        "piped\n"
    );
}

#[test]
fn binary_data_is_summarized_or_saved() {
    let run = demo(&["call", "test_image_content"]).ends(0);
    assert_eq!(
        run.out,
        "[image image/png, 82 bytes, --out FILE keeps it]\n"
    );

    let scratch = Scratch::new();
    let file = scratch.name("pixel");
    demo(&["call", "test_image_content", "--out", &file]).ends(0);
    let written = std::fs::read(&file).expect("it was written");
    assert!(written.starts_with(b"\x89PNG") && written.len() == 82);

    let directory = scratch.name("many/");
    let run = demo(&[
        "read",
        "test://static-binary",
        "--out",
        &directory,
        "-o",
        "json",
    ])
    .ends(0);
    assert!(run.json()["contents"][0]["blob"].is_string());
    let written = std::fs::read(scratch.path().join("many/static-binary.png"));
    assert!(written.expect("it was written").starts_with(b"\x89PNG"));
}

#[test]
fn resources_and_prompts_are_shown_as_text() {
    let run = demo(&["read", "test://static-text"]).ends(0);
    assert_eq!(
        run.out,
        "This is the content of the static text resource.\n"
    );
    let run = demo(&["prompt", "test_prompt_with_arguments", "arg1=a", "arg2=5"]).ends(0);
    assert_eq!(
        run.out,
        "user:\nPrompt with arguments: arg1='a', arg2='5'\n"
    );
}

#[test]
fn complete_suggests_values() {
    let run = demo(&["complete", "test_prompt_with_arguments", "arg1=par"]).ends(0);
    assert_eq!(run.out, "paris\npark\nparty\n");
    let run = demo(&["complete", "test://template/{id}/data", "id=12"]).ends(0);
    assert_eq!(run.out.lines().count(), 11, "{run:#?}");
}

#[test]
fn raw_sends_any_request() {
    let run = demo(&[
        "raw",
        "tools/call",
        r#"{"name":"echo","arguments":{"message":"raw"}}"#,
        "-o",
        "json",
    ])
    .ends(0);
    assert_eq!(run.json()["content"][0]["text"], "raw");
    let run = demo(&["raw", "ping", "--era", "legacy"]).ends(0);
    assert_eq!(run.out, "{}\n");
    let run = demo(&["raw", "no/such", "-o", "json"]).ends(5);
    assert_eq!(run.error()["response"]["code"], -32601);
}

#[test]
fn raw_fails_as_call_does_when_the_tool_fails() {
    let words = ["raw", "tools/call", r#"{"name":"test_error_handling"}"#];
    let raw = demo(&words).ends(5);
    let call = demo(&["call", "test_error_handling"]).ends(5);
    assert!(raw.out.contains("\"isError\": true"), "{raw:#?}");
    assert_eq!(raw.err, call.err);
}

#[test]
fn options_are_read_before_and_behind_the_verb() {
    // Output.
    for words in [
        &["-o", "json", "-q", "list", "tools"][..],
        &["list", "tools", "-o", "json"],
        &["-ojson", "list", "--quiet", "tools"],
    ] {
        assert!(demo(words).ends(0).json()["tools"].is_array(), "{words:?}");
    }
    // Protocol.
    for words in [
        &["--era", "legacy", "info"][..],
        &["info", "--era", "legacy"],
        &["--protocol-version=2025-11-25", "info"],
    ] {
        let run = demo(words).ends(0);
        assert!(run.out.contains("2025-11-25 (legacy era)"), "{run:#?}");
    }
    demo(&[
        "--era",
        "legacy",
        "info",
        "--protocol-version",
        "2025-11-25",
    ])
    .ends(2);
    // Server.
    let scratch = Scratch::new();
    let tool = serde_json::to_string(crate::support::TOOL).expect("it is text");
    let config = format!(
        "{{\"mcpServers\": {{\"d\": {{\"command\": {tool}, \"args\": [\"demo\", \"--stdio\"]}}}}}}"
    );
    let config = scratch.file("mcp.json", &config);
    for words in [
        &[
            "--config",
            &*config,
            "--server",
            "d",
            "call",
            "echo",
            "message=hi",
        ][..],
        &["-c", &config, "call", "d", "echo", "message=hi"],
        &["call", "echo", "message=hi", "-c", &config, "-s", "d"],
        &["-s", "d", "call", "echo", "message=hi", "-c", &config],
    ] {
        assert_eq!(run(words).ends(0).out, "hi\n", "{words:?}");
    }
    demo(&["-s", "d", "info"]).ends(2);
    // Those of a verb's verb.
    let run = run(&["-o", "json", "auth", "-q", "status", "nosuch"]).ends(2);
    assert_eq!(run.error()["code"], "usage");
    // What follows `--` is the server's.
    let run = demo(&["-o", "json", "call", "echo", "message=-o"]).ends(0);
    assert_eq!(run.json()["content"][0]["text"], "-o");
}

#[test]
fn listen_ends_after_its_time() {
    let run = demo(&["listen", "--tools", "--for", "200ms"]).ends(0);
    assert_eq!(run.out, "");
    assert!(run.err.contains("the list of tools"), "{run:#?}");
}

#[test]
fn questions_are_answered_as_the_options_say() {
    for era in ["legacy", "modern"] {
        let run = demo(&[
            "call",
            "test_elicitation_sep1034_defaults",
            "--yes",
            "--era",
            era,
        ])
        .ends(0);
        assert!(
            run.out.contains("action=accept") && run.out.contains("John Doe"),
            "{run:#?}"
        );
        // The question and the answer are printed even so.
        assert!(
            run.err.contains("Turnbuckle demo") && run.err.contains("\"age\": 30"),
            "{run:#?}"
        );

        let caps = [
            "call",
            "test_elicitation_sep1034_defaults",
            "--no-input",
            "--era",
            era,
        ];
        let run = demo(&[&caps[..], &["--caps", "elicitation"]].concat()).ends(0);
        assert!(run.out.contains("action=cancel"), "{run:#?}");
        // Without the capability the server cannot ask.
        demo(&caps).ends(5);
    }
}

#[test]
fn roots_are_offered_by_path() {
    let scratch = Scratch::new();
    let path = scratch.path().to_str().expect("it is UTF-8");
    let run = demo(&["call", "test_list_roots", "--root", path]).ends(0);
    assert!(run.out.contains("file://"), "{run:#?}");
    demo(&["call", "test_list_roots"]).ends(5);
    demo(&["call", "test_list_roots", "--root", "/no/such/directory"]).ends(2);
}

#[test]
fn log_messages_are_printed_with_their_logger() {
    let quiet = demo(&["call", "test_tool_with_logging"]).ends(0);
    assert_eq!(quiet.err, "");
    for era in ["legacy", "modern"] {
        let run = demo(&[
            "call",
            "test_tool_with_logging",
            "--log",
            "info",
            "--era",
            era,
        ])
        .ends(0);
        assert!(
            run.err.contains("info demo: Tool processing data"),
            "{run:#?}"
        );
        assert_eq!(run.out, quiet.out);
    }
}
