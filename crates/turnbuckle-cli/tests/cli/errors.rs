//! Errors: their exit codes and hints.

use crate::support::{HttpDemo, Scratch, demo, run};

#[test]
fn similar_names_are_suggested() {
    for (words, code, hint) in [
        (
            &["call", "ehco", "message=x"][..],
            5,
            "did you mean \"echo\"?",
        ),
        (
            &["call", "echo", "mesage=x"],
            2,
            "did you mean \"message\"?",
        ),
        (
            &["call", "structured_weather"],
            2,
            "the arguments are city: string",
        ),
        (
            &["call", "slow_echo", "seconds=soon", "text=x"],
            2,
            "\"soon\" is no integer",
        ),
        (
            &["prompt", "test_simple_promt"],
            5,
            "did you mean \"test_simple_prompt\"?",
        ),
        (
            &["prompt", "test_prompt_with_arguments", "arg1=x"],
            2,
            "missing arguments: arg2",
        ),
        (
            &["read", "test://static-txt"],
            5,
            "did you mean \"test://static-text\"?",
        ),
        (
            &["complete", "test_prompt_with_arguments", "agr1"],
            2,
            "did you mean \"arg1\"?",
        ),
        (&["list", "tool"], 2, "did you mean \"tools\"?"),
    ] {
        let run = demo(words).ends(code);
        assert!(run.err.contains(hint), "{words:?}: {run:#?}");
        assert_eq!(run.out, "", "{words:?}");
    }
}

#[test]
fn usage_errors_are_reported_before_anything_runs() {
    for words in [
        &["call"][..],
        &["call", "localhost:1"],
        &["info", "--no-such-flag"],
        &["info", "nosuch"],
        &["info", "ftp://example.com"],
        &["info", "https://user:pass@example.com"],
        &["read", "localhost:1"],
        &["info", "localhost:1", "extra"],
        &["call", "localhost:1", "x", "--timeout", "soon"],
        &["info", "localhost:1", "--protocol-version", "2020-01-01"],
        &[
            "info",
            "localhost:1",
            "--bearer-env",
            "TURNBUCKLE_TEST_NOT_SET",
        ],
        &["info", "http://example.com", "-H", "Authorization: x"],
    ] {
        let run = run(words).ends(2);
        assert!(run.err.starts_with("error: "), "{words:?}: {run:#?}");
        assert_eq!(run.out, "");
    }
    let after = run(&["call", "--", "server", "add", "a=2"]).ends(2);
    let hint = "put it before `--`: the words after that start the server";
    assert!(after.err.contains(hint), "{after:#?}");
    let run = run(&["info", "-o", "json", "--no-such-flag"]).ends(2);
    assert_eq!(run.error()["code"], "usage");
}

#[test]
fn a_missing_server_is_unreachable() {
    let run = run(&["info", "-o", "json", "--", "/no/such/program"]).ends(4);
    assert_eq!(run.error()["code"], "unreachable");
    let run = crate::support::run(&["list", "localhost:1", "-o", "json"]).ends(4);
    assert_eq!(run.error()["exitCode"], 4);
}

#[test]
fn a_missing_answer_times_out() {
    let words = [
        "call",
        "slow_echo",
        "seconds=60",
        "text=x",
        "--timeout",
        "300ms",
        "-o",
        "json",
    ];
    let run = demo(&words).ends(8);
    assert_eq!(run.error()["code"], "timeout");
}

#[cfg(unix)]
#[test]
fn the_standard_error_of_a_crashed_server_is_shown() {
    let run = run(&["info", "--", "sh", "-c", "echo no database >&2; exit 3"]);
    assert_eq!(run.code, Some(4), "{run:#?}");
    assert!(run.err.contains("no database"), "{run:#?}");
}

#[test]
fn a_query_of_the_url_is_in_no_trace_and_no_error() {
    let scratch = Scratch::new();
    let trace = scratch.name("trace.jsonl");
    let http = HttpDemo::start();
    let with_query = |url: &str| format!("{url}?key=s3cr3t-query");
    run(&["info", &with_query(&http.url), "--trace", &trace]).ends(0);
    let text = std::fs::read_to_string(&trace).expect("it was written");
    assert!(
        text.contains(&http.url) && !text.contains("s3cr3t"),
        "{text}"
    );
    let exchanges = text
        .lines()
        .filter(|line| line.contains(r#""direction":"http""#));
    let exchanges: Vec<&str> = exchanges.collect();
    let is_whole =
        |line: &&str| line.contains(r#""path":"/mcp?…""#) && line.contains(r#""status":200"#);
    assert!(
        !exchanges.is_empty() && exchanges.iter().all(is_whole),
        "{text}"
    );
    for (url, words, code) in [
        ("http://127.0.0.1:1/mcp", &[][..], 4),
        ("http://host.example/mcp", &["-H", "X-Key: k"], 2),
        ("http://host.example/mcp", &["--log", "nonsense"], 2),
    ] {
        let failed = run(&[&["info", &with_query(url)], words].concat()).ends(code);
        assert!(!failed.err.contains("s3cr3t"), "{failed:#?}");
    }
}
