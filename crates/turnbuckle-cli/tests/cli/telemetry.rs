//! The log of a command by `RUST_LOG`, and its export by `OTEL_*`. Export to a real collector is tried
//! in `tests/interop`.

use std::io::Write as _;
use std::process::Stdio;

use crate::support::{DEMO, Run, command};

/// Calls a tool of the demo with variables in the environment.
fn call(variables: &[(&str, &str)]) -> Run {
    let words = [&["call", "echo", "message=hi"], &DEMO[..]].concat();
    let mut command = command(&words);
    command.envs(variables.iter().copied());
    Run::new(command.output().expect("the tool runs")).ends(0)
}

#[test]
fn rust_log_selects_the_lines_on_standard_error() {
    assert_eq!(call(&[]).err, "");
    assert_eq!(call(&[("RUST_LOG", "turnbuckle=warn")]).err, "");
    let run = call(&[("RUST_LOG", "turnbuckle=debug")]);
    assert!(
        run.err.contains("answered method=\"tools/call\""),
        "{run:?}"
    );
    assert!(!run.out.contains("answered"), "{run:?}");
}

#[test]
fn a_variable_that_cannot_be_used_is_named_and_the_command_does_its_work() {
    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
    for (variables, expected) in [
        (
            &[("RUST_LOG", "turnbuckle=loud")][..],
            "warning: RUST_LOG is \"turnbuckle=loud\"",
        ),
        (
            &[ENDPOINT, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
            "warning: OTEL_EXPORTER_OTLP_PROTOCOL is \"grpc\"",
        ),
        (
            &[ENDPOINT, ("OTEL_EXPORTER_OTLP_TIMEOUT", "1s")],
            "warning: OTEL_EXPORTER_OTLP_TIMEOUT is \"1s\"",
        ),
        (
            &[ENDPOINT, ("OTEL_TRACES_EXPORTER", "console")],
            "warning: OTEL_TRACES_EXPORTER is \"console\"",
        ),
    ] {
        let run = call(variables);
        assert!(run.err.starts_with(expected), "{run:?}");
        assert_eq!(run.err.lines().count(), 1, "{run:?}");
    }
}

#[test]
fn nothing_is_exported_if_a_variable_says_so() {
    for variable in [
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", ""),
    ] {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
        assert_eq!(call(&[endpoint, variable]).err, "", "{variable:?}");
    }
}

#[test]
fn a_collector_that_is_not_there_is_reported_at_the_end() {
    // Nothing listens at this port.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let endpoint = format!(
        "http://{}",
        listener.local_addr().expect("it has an address")
    );
    drop(listener);
    let run = call(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]);
    let expected = "warning: the last traces or metrics were not exported to \
                    OTEL_EXPORTER_OTLP_ENDPOINT";
    assert!(run.err.starts_with(expected), "{run:?}");
}

#[test]
fn spans_have_the_arguments_of_tool_calls_only_if_that_is_asked_for() {
    let request = serde_json::json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "echo",
            "arguments": {"message": "hunter2"},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    for asked in ["false", "true"] {
        let mut demo = command(&["demo", "--stdio"])
            .env("RUST_LOG", "turnbuckle=debug")
            .env("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", asked)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the tool runs");
        let mut input = demo.stdin.take().expect("it has an input");
        writeln!(input, "{request}").expect("it reads");
        drop(input);
        let run = Run::new(demo.wait_with_output().expect("it ends")).ends(0);
        assert!(run.out.contains("hunter2"), "{run:?}");
        assert!(run.err.contains("gen_ai.tool.name=\"echo\""), "{run:?}");
        assert_eq!(run.err.contains("hunter2"), asked == "true", "{run:?}");
    }
}
