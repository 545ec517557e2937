//! A malicious server that sends terminal escapes.

use crate::support::run;

/// Returns a shell script that answers the first requests with these results, in turn.
fn script_answering(results: &[&str]) -> String {
    let mut script = String::new();
    for (at, result) in results.iter().enumerate() {
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}",
            at + 1
        );
        script += &format!("read -r line; printf '%s\\n' '{line}'\n");
    }
    script + "cat >/dev/null\n"
}

const EVIL: &str = "\\u001b]0;owned\\u0007\\u001b[2J\\u009b31mred\\u202egnp.exe";

fn server(last: &str) -> String {
    let discover = format!(
        "{{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{{\"tools\":{{}}}},\
         \"ttlMs\":0,\"cacheScope\":\"private\",\"instructions\":\"{EVIL}\",\
         \"_meta\":{{\"io.modelcontextprotocol/serverInfo\":{{\"name\":\"{EVIL}\",\"version\":\"1\"}}}}}}"
    );
    let tools = format!(
        "{{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"tools\":[{{\"name\":\"t\",\
         \"description\":\"{EVIL}\",\"inputSchema\":{{\"type\":\"object\"}}}}]}}"
    );
    script_answering(&[&discover, &tools, last])
}

#[track_caller]
fn assert_harmless(text: &str) {
    let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!text.contains(bad), "{text:?}");
    assert!(!text.contains("owned"), "{text:?}");
}

#[test]
fn terminal_escapes_are_removed() {
    let result = format!(
        "{{\"resultType\":\"complete\",\"content\":[{{\"type\":\"text\",\"text\":\"{EVIL}\"}}]}}"
    );
    let script = server(&result);
    for words in [
        &["info"][..],
        &["list", "tools"],
        &["call", "t"],
        &["call", "{EVIL}"],
    ] {
        let run = run(&[words, &["--", "sh", "-c", &script]].concat());
        assert_harmless(&run.out);
        assert_harmless(&run.err);
        assert!(
            run.out.contains("red\\u{202e}gnp.exe") || run.code == Some(5),
            "{run:#?}"
        );
    }
}

#[test]
fn json_output_keeps_the_text_of_the_server() {
    let result = format!(
        "{{\"resultType\":\"complete\",\"z\":1.50e+1,\"content\":[{{\"type\":\"text\",\"text\":\"{EVIL}\"}}],\"a\":[]}}"
    );
    let script = server(&result);
    let run = run(&["call", "t", "-o", "json", "--", "sh", "-c", &script]).ends(0);
    assert_eq!(run.out.trim_end(), result);
}

#[test]
fn a_malformed_result_is_a_protocol_violation() {
    let script = server("{\"resultType\":\"complete\",\"content\":7}");
    let run = run(&["call", "t", "-o", "json", "--", "sh", "-c", &script]).ends(6);
    assert_eq!(run.error()["code"], "protocol_violation");
}

#[test]
fn escapes_are_removed_from_error_messages() {
    let script = server("null").replace(
        "\"result\":null",
        &format!("\"error\":{{\"code\":-32000,\"message\":\"{EVIL}\"}}"),
    );
    let run = run(&["call", "t", "--", "sh", "-c", &script]).ends(5);
    assert_harmless(&run.err);
}

#[test]
fn no_format_prints_terminal_control_characters() {
    // Raw characters, as a server may send them within JSON strings.
    let raw = "\u{9b}31mred\u{202e}gnp.exe\u{7f}";
    let result = format!(
        "{{\"resultType\":\"complete\",\"content\":[{{\"type\":\"text\",\"text\":\"{raw}\"}}],\
         \"structuredContent\":{{\"a{raw}\":1}}}}"
    );
    let error = server("null").replace(
        "\"result\":null",
        &format!("\"error\":{{\"code\":-32000,\"message\":\"{raw}\"}}"),
    );
    for script in [server(&result), error] {
        for format in ["text", "json", "ndjson"] {
            let run = run(&["call", "t", "-o", format, "--", "sh", "-c", &script]);
            for text in [&run.out, &run.err] {
                let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
                assert!(!text.contains(bad), "{run:?}");
            }
            if format != "text" {
                let text = format!("{}{}", run.out, run.err);
                assert!(text.contains("\\u009b31mred\\u202e"), "{run:?}");
            }
        }
    }
}

#[test]
fn base64_of_either_alphabet_is_read_and_the_rest_is_named() {
    let scratch = crate::support::Scratch::new();
    let file = scratch.name("data");
    for (data, read) in [
        ("-_-_", true),
        ("+/+/", true),
        ("-_8", true),
        ("+/8=", true),
        ("not base64!", false),
    ] {
        let image = format!(
            "{{\"resultType\":\"complete\",\"content\":[{{\"type\":\"text\",\"text\":\"kept\"}},\
             {{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"{data}\"}}]}}"
        );
        let script = server(&image);
        let words = ["call", "t", "--out", &file, "--", "sh", "-c", &script];
        let run = run(&words).ends(if read { 0 } else { 7 });
        assert!(run.out.contains("kept"), "{run:?}");
        if read {
            assert_eq!(std::fs::read(&file).expect("it is there")[0], 0xfb);
        }
    }
}

#[test]
fn a_message_over_the_limit_names_the_option() {
    let text = "x".repeat(5000);
    let result = format!(
        "{{\"resultType\":\"complete\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}"
    );
    let script = server(&result);
    let call = |limit| {
        run(&[
            "call",
            "t",
            "--max-message-bytes",
            limit,
            "--",
            "sh",
            "-c",
            &script,
        ])
    };
    let refused = call("4k").ends(6);
    assert!(refused.err.contains("--max-message-bytes"), "{refused:?}");
    call("8k").ends(0);
}

#[cfg(unix)]
#[test]
fn a_closed_or_full_output_does_not_panic() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full");
    for words in [
        &["info", "nothing"][..],
        &["list"],
        &["--help"],
        &["nonsense"],
    ] {
        let mut command = crate::support::command(words);
        command.stdout(full().expect("it is there"));
        command.stderr(full().expect("it is there"));
        let code = command.status().expect("the tool runs").code();
        assert!(matches!(code, Some(0..=8)), "{words:?}: {code:?}");
    }
}
