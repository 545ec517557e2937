//! Servers that flood, crash, fall silent or outlive the tool, scripted in `sh`.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use crate::support::{HttpDemo, Run, Scratch, command, run};

/// Reads requests line by line and runs the shell function of the method; `$id` is the request's.
const LOOP: &str = r#"
say() { printf '%s\n' "$1"; }
answer() { say '{"jsonrpc":"2.0","id":'"$id"',"result":'"$1"'}'; }
refuse() { say '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":'"$1"',"message":"no"}}'; }
text() { answer '{"content":[{"type":"text","text":"'"$1"'"}]}'; }
while IFS= read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    case $line in
    *'"method":"notifications/'*) ;;
    *'"method":"server/discover"'*) discover ;;
    *'"method":"initialize"'*) initialize ;;
    *'"method":"tools/list"'*) list ;;
    *'"method":"tools/call"'*) call ;;
    *) answer '{}' ;;
    esac
done
"#;

/// Functions of a legacy server with the tool `t`, which may be defined anew.
const LEGACY: &str = r#"
discover() { refuse -32601; }
initialize() {
    answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"sh","version":"0"}}'
}
list() { answer '{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}'; }
call() { text done; }
"#;

/// Returns the script of a legacy server, with these functions instead of its own.
pub(crate) fn legacy_server(functions: &str) -> String {
    format!("{LEGACY}\n{functions}\n{LOOP}")
}

/// Runs the tool at a legacy server with these functions.
fn run_at(words: &[&str], functions: &str) -> Run {
    run(&[words, &["--", "sh", "-c", &legacy_server(functions)]].concat())
}

#[test]
fn a_flood_of_log_messages_and_standard_error_is_cut_counted_and_named() {
    let log = r#"say '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"0123456789"}}'"#;
    for line in [log, "echo 0123456789 >&2"] {
        let flood = format!(
            "call() {{ i=0; while [ $i -lt 500 ]; do {line}; i=$((i+1)); done; text done; }}"
        );
        let words = ["call", "t", "-v", "--max-log-bytes", "1k"];
        let cut = run_at(&words, &flood).ends(0);
        assert_eq!(cut.out.trim_end(), "done");
        assert!(cut.err.len() < 1400, "{cut:#?}");
        assert!(
            cut.err
                .contains("further messages are left out (--max-log-bytes)"),
            "{cut:#?}"
        );
        assert!(
            cut.err.contains("messages were left out (--max-log-bytes)"),
            "{cut:#?}"
        );
        let whole = run_at(&["call", "t", "-v"], &flood).ends(0);
        assert!(whole.err.matches("0123456789").count() >= 500, "{whole:#?}");
        assert!(!whole.err.contains("left out"), "{whole:#?}");
    }
}

#[test]
fn a_flood_about_one_call_ends_it_and_names_the_limit() {
    let flood = r#"call() {
        token=${line#*\"progressToken\":}; token=${token%%[,\}]*}; i=0
        while [ $i -lt 100 ]; do
            say '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":'"$token"',"progress":'"$i"'}}'
            i=$((i+1))
        done
        text done
    }"#;
    let cut = run_at(&["call", "t", "--limit", "max-request-bytes=4k"], flood).ends(6);
    assert!(cut.err.contains("more than 4096 bytes"), "{cut:#?}");
    assert!(cut.err.contains("--limit max-request-bytes=…"), "{cut:#?}");
    run_at(&["call", "t"], flood).ends(0);
}

#[test]
fn a_list_of_many_large_pages_is_cut_by_a_limit_that_has_a_flag() {
    let pages = r#"page=0
    list() {
        page=$((page+1))
        description=$(printf '%01000d' 0)
        answer '{"tools":[{"name":"t'"$page"'","description":"'"$description"'","inputSchema":{"type":"object"}}],"nextCursor":"'"$page"'"}'
    }"#;
    let cut = run_at(&["list", "tools", "--limit", "max-list-bytes=10k"], pages).ends(6);
    assert!(
        cut.err
            .contains("more than 10240 bytes (--limit max-list-bytes=…)"),
        "{cut:#?}"
    );
    let cut = run_at(&["list", "tools", "--limit", "max-list-pages=3"], pages).ends(6);
    assert!(cut.err.contains("--limit max-list-pages=…"), "{cut:#?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_ends_when_the_tool_is_killed() {
    let scratch = Scratch::new();
    let fifo = scratch.name("alive");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .expect("it runs")
            .success()
    );
    // The server and its own child ignore the end of their input, and hold the pipe open.
    let deaf = format!(
        "call() {{ trap '' TERM HUP INT; exec 9>'{fifo}'; echo here >&9; sleep 1000 & while :; do wait; done; }}"
    );
    let script = legacy_server(&deaf);
    let mut tool = command(&["call", "t", "--", "sh", "-c", &script])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the tool runs");
    let mut alive = BufReader::new(File::open(&fifo).expect("the server opens it"));
    let mut line = String::new();
    alive.read_line(&mut line).expect("the server writes");
    assert_eq!(line, "here\n");
    tool.kill().expect("it is killed");
    tool.wait().expect("it has ended");
    // The pipe ends with the last process that holds it.
    alive.read_to_string(&mut line).expect("it ends");
}

/// Functions of a legacy server whose tool asks with this request until it gets an answer that
/// contains `$until`, and then returns the answer.
fn asking_server(method: &str, params: &str, until: &str) -> String {
    format!(
        r#"call() {{
            call=$id; number=0
            while :; do
                number=$((number+1))
                say '{{"jsonrpc":"2.0","id":"q'"$number"'","method":"{method}","params":{params}}}'
                IFS= read -r line || exit
                case $line in *'{until}'*) break ;; esac
            done
            id=$call
            text "after $number: $(printf '%s' "$line" | sed 's/[\\"]/_/g')"
        }}"#
    )
}

const FORM: &str = r#"{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":1}},"required":["name"]}}"#;
const SAMPLING: &str =
    r#"{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"Capital?"}}]}"#;

#[test]
fn forms_and_sampling_are_answered_by_values_files_and_programs() {
    let scratch = Scratch::new();
    let form = asking_server("elicitation/create", FORM, "\"result\"");
    let sampling = asking_server("sampling/createMessage", SAMPLING, "\"id\"");
    let file = format!(
        "@{}",
        scratch.file("answer.json", r#"{"name":"Ada","age":36}"#)
    );
    let program = scratch.file(
        "answer.sh",
        "#!/bin/sh\nread -r q; case $q in *Capital*) echo Paris ;; *Who*) echo '{\"name\":\"Eve\"}' ;; esac\n",
    );
    std::process::Command::new("chmod")
        .args(["+x", &program])
        .status()
        .expect("it runs");
    for (server, words, wanted) in [
        (&form, ["--answer", r#"{"name":"Ada"}"#], "_name_:_Ada_"),
        (&form, ["--answer", &file], "_age_:36"),
        (&form, ["--answer", "reject"], "_action_:_decline_"),
        (&form, ["--answer", "cancel"], "_action_:_cancel_"),
        (&form, ["--answer-command", &program], "_name_:_Eve_"),
        (&sampling, ["--answer", "Paris"], "_text_:_Paris_"),
        (&sampling, ["--answer", "decline"], "_error_"),
        (&sampling, ["--answer-command", &program], "_text_:_Paris_"),
    ] {
        let answered = run_at(&[&["call", "t"], &words[..]].concat(), server).ends(0);
        assert!(
            answered.out.contains("after 1: ") && answered.out.contains(wanted),
            "{answered:#?}"
        );
    }
}

#[test]
fn a_scripted_answer_that_does_not_fit_ends_the_command_and_says_why() {
    let form = asking_server("elicitation/create", FORM, "\"result\"");
    for (answer, why) in [
        (r#"{"name":7}"#, "does not fit the form"),
        (r#"{"name":"Ada","age":0}"#, "does not fit the form"),
        (r#"{"nmae":"Ada"}"#, "the form has no field"),
        ("{}", "does not fit the form"),
        ("Ada", "the answer is no form"),
        ("@/does/not/exist", "/does/not/exist"),
    ] {
        let refused = run_at(&["call", "t", "--answer", answer], &form).ends(2);
        assert!(refused.err.contains(why), "{refused:#?}");
    }
    let twice = asking_server("elicitation/create", FORM, "never");
    let refused = run_at(&["call", "t", "--answer", r#"{"name":"Ada"}"#], &twice).ends(2);
    assert!(
        refused
            .err
            .contains("more questions than `--answer` has answers"),
        "{refused:#?}"
    );
}

#[test]
fn a_server_that_asks_again_after_a_refusal_ends_the_command_and_names_the_flags() {
    for (method, params, words) in [
        ("elicitation/create", FORM, &["-y"][..]),
        (
            "elicitation/create",
            FORM,
            &["--no-input", "--caps", "elicitation"],
        ),
        (
            "sampling/createMessage",
            SAMPLING,
            &["-y", "--caps", "sampling"],
        ),
    ] {
        let server = asking_server(method, params, "never");
        let refused = run_at(&[&["call", "t"], words].concat(), &server).ends(1);
        assert!(refused.err.contains("not answered: "), "{refused:#?}");
        assert!(
            refused.err.contains("the server asks again"),
            "{refused:#?}"
        );
        assert!(refused.err.contains("`--answer`"), "{refused:#?}");
    }
}

#[test]
fn a_crash_and_a_silence_during_the_handshake_are_called_that_with_the_end_of_standard_error() {
    let crash = run(&["info", "--", "sh", "-c", "echo 'no such table' >&2; exit 3"]).ends(4);
    assert!(
        crash
            .err
            .contains("ended during the handshake (exit status: 3)"),
        "{crash:#?}"
    );
    // Where it may have read its first message, it is started once more; its words stand there once.
    assert_eq!(crash.err.matches("no such table").count(), 1, "{crash:#?}");
    assert!(!crash.err.contains("acted upon"), "{crash:#?}");
    let words = ["info", "--connect-timeout", "300ms", "--", "sh", "-c"];
    let silent = run(&[&words[..], &["echo 'still loading' >&2; cat >/dev/null"]].concat()).ends(8);
    assert!(
        silent
            .err
            .contains("did not answer the handshake within 300ms"),
        "{silent:#?}"
    );
    assert!(silent.err.contains("still loading"), "{silent:#?}");
}

#[test]
fn a_program_that_is_no_server_is_called_that() {
    for era in [&[][..], &["--era", "legacy"], &["--era", "modern"]] {
        let echo = run(&[&["info"], era, &["--", "cat"]].concat()).ends(6);
        let text = "error: the program is no MCP server: it sends back what it is sent";
        assert!(echo.err.contains(text), "{echo:#?}");
        assert!(!echo.err.contains("handshake is not over"), "{echo:#?}");
    }
    let words = ["info", "--connect-timeout", "300ms", "--", "sh", "-c"];
    let script = r"printf '\033[2Jusage: x\nmore\n'";
    let ended = run(&[&words[..], &[script]].concat()).ends(6);
    assert!(
        ended.err.contains("no MCP server: it wrote \""),
        "{ended:#?}"
    );
    assert!(ended.err.contains("usage: "), "{ended:#?}");
    assert!(!ended.err.contains('\u{1b}'), "{ended:#?}");
    assert!(
        ended.err.contains("and ended (exit status: 0)"),
        "{ended:#?}"
    );
    let mute = run(&[&words[..], &["echo ready; cat >/dev/null"]].concat()).ends(6);
    assert!(mute.err.contains("it wrote \"ready\""), "{mute:#?}");
    assert!(mute.err.contains("(--connect-timeout)"), "{mute:#?}");
    // A server that also writes other text is one.
    let noisy = legacy_server("echo starting");
    run(&["info", "--", "sh", "-c", &noisy]).ends(0);
    let refusing = legacy_server("echo starting; initialize() { refuse -32602; }");
    let refused = run(&["info", "--", "sh", "-c", &refusing]).ends(5);
    assert!(!refused.err.contains("no MCP server"), "{refused:#?}");
}

#[test]
fn a_missing_capability_names_the_flag_that_declares_it() {
    let refusing = r#"call() {
        say '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32602,"message":"the client lacks sampling"}}'
    }"#;
    let refused = run_at(&["call", "t"], refusing).ends(5);
    assert!(refused.err.contains("`--caps sampling`"), "{refused:#?}");
    let failing = r#"call() {
        answer '{"isError":true,"content":[{"type":"text","text":"Client does not support elicitation"}]}'
    }"#;
    let failed = run_at(&["call", "t"], failing).ends(5);
    assert!(failed.err.contains("`--caps elicitation`"), "{failed:#?}");
    let failed = run_at(&["call", "t", "--caps", "sampling"], failing).ends(5);
    assert!(
        failed.err.contains("`--caps sampling,elicitation`"),
        "{failed:#?}"
    );
    let declared = run_at(&["call", "t", "--caps", "elicitation"], failing).ends(5);
    assert!(!declared.err.contains("--caps"), "{declared:#?}");
}

#[test]
fn a_feature_that_a_server_has_in_the_legacy_era_alone_leads_to_that_era() {
    let modern = r#"
    discover() {
        answer '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}'
    }
    list() {
        answer '{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}'
    }
    call() {
        answer '{"resultType":"complete","isError":true,"content":[{"type":"text","text":"Elicitation is Unavailable on 2026-07-28 connections"}]}'
    }"#;
    let failed = run_at(&["call", "t"], modern).ends(5);
    assert!(failed.err.contains("try `--era legacy`"), "{failed:#?}");
    let legacy = r#"call() {
        answer '{"isError":true,"content":[{"type":"text","text":"unavailable on 2026-07-28 connections"}]}'
    }"#;
    let failed = run_at(&["call", "t"], legacy).ends(5);
    assert!(!failed.err.contains("--era"), "{failed:#?}");
}

#[test]
fn a_tool_that_cannot_be_read_is_named_and_the_others_can_be_listed_and_called() {
    let tools = r#"list() {
        answer '{"tools":[{"name":"bad","inputSchema":null},{"name":"t","inputSchema":{"type":"object"}}]}'
    }"#;
    let listed = run_at(&["list", "tools"], tools).ends(0);
    assert!(
        listed.out.contains("t()") && !listed.out.contains("bad"),
        "{listed:#?}"
    );
    assert!(
        listed
            .err
            .contains("bad is left out of the result of tools/list: "),
        "{listed:#?}"
    );
    assert_eq!(run_at(&["call", "t"], tools).ends(0).out, "done\n");
    let bad = run_at(&["call", "bad", "-q"], tools).ends(6);
    let fault = "the tool \"bad\" cannot be used: a schema must be a JSON object";
    assert!(bad.err.contains(fault), "{bad:#?}");
}

/// Runs `info` with this cache directory and returns the methods that the server was asked for.
fn methods_of(cache: &Scratch, options: &[&str], script: &str) -> String {
    methods_at(cache, &[options, &["--", "sh", "-c", script]].concat())
}

/// Returns the methods that the server that `target` names was asked for by `info`.
fn methods_at(cache: &Scratch, target: &[&str]) -> String {
    let trace = cache.name("trace");
    let words = [&["info", "--trace", &trace][..], target].concat();
    let output = command(&words)
        .env("XDG_CACHE_HOME", cache.path())
        .output()
        .expect("it runs");
    Run::new(output).ends(0);
    let trace = std::fs::read_to_string(trace).expect("there is a trace");
    ["server/discover", "initialize"]
        .into_iter()
        .filter(|method| trace.contains(&format!("\"method\":\"{method}\"")))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(target_os = "linux")]
#[test]
fn the_kind_of_a_server_is_remembered_without_its_arguments_and_corrected() {
    use std::os::unix::fs::PermissionsExt as _;

    let cache = Scratch::new();
    let secret = "c0ffee-secret-argument";
    let legacy = legacy_server(&format!("# {secret}\n"));
    assert_eq!(
        methods_of(&cache, &[], &legacy),
        "server/discover initialize"
    );
    assert_eq!(methods_of(&cache, &[], &legacy), "initialize");
    assert_eq!(
        methods_of(&cache, &["--no-cache"], &legacy),
        "server/discover initialize"
    );
    let file = cache.path().join("turnbuckle/servers-1.json");
    let mode = std::fs::metadata(&file)
        .expect("there is a cache")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(&file).expect("it is text");
    assert!(text.contains("legacy") && !text.contains(secret), "{text}");
    std::fs::write(&file, "broken").expect("it can be written");
    assert_eq!(
        methods_of(&cache, &[], &legacy),
        "server/discover initialize"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_that_became_modern_is_probed_again() {
    let cache = Scratch::new();
    let place = cache.name("modern");
    // The same command is a legacy server first, and a modern one once the file exists.
    let functions = format!(
        r#"discover() {{
            if [ -e '{place}' ]; then
                answer '{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{}},"ttlMs":0,"cacheScope":"private"}}'
            else refuse -32601; fi
        }}
        initialize() {{
            if [ -e '{place}' ]; then refuse -32600
            else answer '{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"sh","version":"0"}}}}'; fi
        }}"#
    );
    let server = legacy_server(&functions);
    assert_eq!(
        methods_of(&cache, &[], &server),
        "server/discover initialize"
    );
    std::fs::write(&place, "").expect("it can be written");
    assert_eq!(
        methods_of(&cache, &[], &server),
        "server/discover initialize"
    );
    assert_eq!(methods_of(&cache, &[], &server), "server/discover");
}

#[test]
fn a_server_on_the_older_transport_is_remembered_as_such() {
    let cache = Scratch::new();
    let demo = HttpDemo::start();
    let at_older_transport = || methods_at(&cache, &[&demo.sse]);
    assert_eq!(at_older_transport(), "server/discover initialize");
    let file = cache.path().join("turnbuckle/servers-1.json");
    let text = std::fs::read_to_string(&file).expect("there is a cache");
    assert!(text.contains("\"http_sse\""), "{text}");
    assert_eq!(at_older_transport(), "initialize");
    assert_eq!(
        methods_at(&cache, &["--no-cache", &demo.sse]),
        "server/discover initialize"
    );
}
