//! `check`: what it prints, its reports, its files and its exit codes.

use std::fs;

use serde_json::Value;

use crate::auth_demo::AuthDemo;
use crate::support::{HttpDemo, Run, Scratch, command, demo, run};

/// A server that answers `initialize` in one revision, and every other request with an error that no
/// revision has.
const WRONG: &str = r#"while read -r line; do
  case "$line" in
    *server/discover*) id=${line#*\"id\":}; printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "${id%%[,\}]*}" ;;
    *'"initialize"'*) id=${line#*\"id\":}; printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"wrong '"$KEY"'","version":"1"}}}\n' "${id%%[,\}]*}" ;;
    *tools/list*) id=${line#*\"id\":}; printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a '"$KEY"'","inputSchema":{"type":"string"}},{"name":"b","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}}]}}\n' "${id%%[,\}]*}" ;;
    *'"id":'*) id=${line#*\"id\":}; printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "${id%%[,\}]*}" ;;
  esac
done"#;

/// The fast check of the wrong server that finds something.
const OBJECT: [&str; 6] = [
    "check",
    "--only",
    "tools.input-schema-object",
    "--timeout",
    "2s",
    "--",
];

fn wrong(words: &[&str]) -> Run {
    run(&[
        words,
        &[
            "--only",
            "tools.input-schema-object",
            "--timeout",
            "2s",
            "--",
            "sh",
            "-c",
            WRONG,
        ],
    ]
    .concat())
}

#[test]
fn a_finding_names_the_rule_the_item_and_the_command_that_repeats_it() {
    let run = run(&[&OBJECT[..], &["sh", "-c", WRONG]].concat()).ends(1);
    for part in [
        "FAIL  tools.input-schema-object",
        "2025-06-18",
        "repeat turnbuckle check",
        "1 check: 1 fail",
    ] {
        assert!(run.out.contains(part), "{part}: {run:#?}");
    }
    assert!(run.err.contains("error: 1 check failed"), "{run:#?}");
}

#[test]
fn the_demo_keeps_the_rules_on_lines_and_over_http() {
    demo(&["check", "--only", "tools,rpc"]).ends(0);
    let http = HttpDemo::start();
    let run = http
        .run("check", &["--only", "tools,rpc", "-o", "json"])
        .ends(0);
    let report = run.json();
    let cases = report["cases"].as_array().unwrap();
    assert!(
        cases.len() > 3 && cases.iter().all(|case| case["transport"] == "http"),
        "{run:#?}"
    );
}

#[test]
fn http_with_sse_is_checked_at_its_own_url() {
    let http = HttpDemo::start();
    let run = run(&[
        "check",
        &http.sse,
        "--transport",
        "sse",
        "--only",
        "tools",
        "-o",
        "json",
    ])
    .ends(0);
    assert_eq!(run.json()["cases"][0]["transport"], "sse");
}

#[test]
fn every_kind_of_report_is_written() {
    let folder = Scratch::new();
    let kinds = ["json", "junit", "sarif", "html", "md", "badge", "shield"];
    let reports = kinds.map(|kind| format!("{kind}={}", folder.name(kind)));
    wrong(&["check", "--report", &reports.join(",")]).ends(1);
    let read = |kind: &str| fs::read_to_string(folder.path().join(kind)).unwrap();
    for kind in &kinds[..5] {
        assert!(read(kind).contains("tools.input-schema-object"), "{kind}");
    }
    let shield: Value = serde_json::from_str(&read("shield")).unwrap();
    assert_eq!(shield["message"], "1 of 1 fail");
    assert!(read("badge").starts_with("<svg"));

    let printed = wrong(&["check", "--report", "sarif=-"]).ends(1);
    let log: Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!(
        log["runs"][0]["results"][0]["ruleId"],
        "tools.input-schema-object"
    );
    run(&["check", "--report", "pdf=x", "--", "true"]).ends(2);
    run(&["check", "--report", "json", "--", "true"]).ends(2);
}

#[test]
fn a_baseline_is_written_read_and_checked() {
    let folder = Scratch::new();
    let file = folder.name("check.toml");
    let missing = wrong(&["check", "--baseline", &file]).ends(2);
    assert!(missing.err.contains("check.toml"), "{missing:#?}");
    wrong(&["check", "--baseline", &file, "--update-baseline"]).ends(0);
    let known = wrong(&["check", "--baseline", &file]).ends(0);
    assert!(known.out.contains("1 known"), "{known:#?}");
    let stale = demo(&[
        "check",
        "--baseline",
        &file,
        "--only",
        "tools.input-schema-object",
    ])
    .ends(0);
    assert!(
        stale
            .out
            .contains("tools.input-schema-object is no longer found"),
        "{stale:#?}"
    );

    let broken = folder.file(
        "broken.toml",
        "[[known]]\ncheck = 'tools.input-shema-object'\n",
    );
    let refused = wrong(&["check", "--baseline", &broken]).ends(2);
    assert!(
        refused
            .err
            .contains("broken.toml: line 1: there is no check \"tools.input-shema-object\""),
        "{refused:#?}"
    );
    let official = folder.file("known.yml", "server:\n  - tools-call-image\n");
    let noted = wrong(&["check", "--baseline", &official]).ends(1);
    assert!(
        noted
            .out
            .contains("no check is the counterpart of the scenario tools-call-image"),
        "{noted:#?}"
    );
    wrong(&["check", "--baseline", &official, "--update-baseline"]).ends(2);
}

#[test]
fn a_lock_is_written_first_and_compared_then() {
    let folder = Scratch::new();
    let file = folder.name("lock.json");
    let check = |words: &[&str]| {
        demo(
            &[
                &[
                    "check",
                    "--only",
                    "tools.input-schema-object",
                    "--lock",
                    &file,
                ],
                words,
            ]
            .concat(),
        )
    };
    let first = check(&[]).ends(0);
    assert!(first.out.contains("the lock was written"), "{first:#?}");
    check(&[]).ends(0);
    let lock = fs::read_to_string(&file).unwrap();
    let drifted = wrong(&["check", "--lock", &file]).ends(1);
    for part in ["lock.added", "lock.removed", "tool b"] {
        assert!(drifted.out.contains(part), "{part}: {drifted:#?}");
    }
    fs::write(&file, lock.replacen("sha256:", "sha256:0", 1)).unwrap();
    assert!(check(&[]).ends(2).err.contains("lock.json: the digest of"));
    check(&["--update-lock"]).ends(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), lock);
}

#[test]
fn what_cannot_be_checked_has_its_exit_code() {
    let unknown = demo(&["check", "--only", "tools.input-shema-object"]).ends(2);
    assert!(
        unknown.err.contains("tools.input-schema-object"),
        "{unknown:#?}"
    );
    run(&["check", "http://127.0.0.1:9/mcp", "--timeout", "1s"]).ends(4);
    run(&["check", "--timeout", "1s", "--", "/nowhere/at-all"]).ends(4);
    run(&["check", "--timeout", "1s", "--", "true"]).ends(4);
    let option = demo(&["check", "--trace", "x.jsonl"]).ends(2);
    assert!(option.err.contains("check has no --trace"), "{option:#?}");
    run(&["check"]).ends(2);
    demo(&["check", "--only", "tools.unique", "--level", "must"]).ends(2);
}

#[test]
fn all_checks_are_listed_with_their_pages() {
    let list = run(&["check", "--list"]).ends(0);
    let line = list
        .out
        .lines()
        .find(|line| line.starts_with("tools.input-schema-object "));
    assert!(line.is_some_and(|line| line.contains("must")), "{list:#?}");
    let checks = run(&["check", "--list", "-o", "json"]).ends(0).json();
    let cited = checks
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check.get("requirement").is_some());
    assert!(cited.count() > 10);
    let ids = |words: &[&str]| -> Vec<String> {
        let list = run(&[&["check", "--list", "-o", "json"], words].concat()).ends(0);
        let list = list.json();
        let ids = list.as_array().unwrap().iter();
        ids.map(|check| check["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let of_clients = ids(&["--client"]);
    assert!(
        of_clients.len() > 20 && of_clients.iter().all(|id| id.starts_with("client.")),
        "{of_clients:?}"
    );
    assert_eq!(ids(&["--only", "tools.unique"]), ["tools.unique"]);
    let notes = ids(&[
        "--client",
        "--level",
        "must",
        "--only",
        "client.retry-only-safe",
    ]);
    assert_eq!(notes, [""; 0]);
    run(&["check", "--list", "--client", "--only", "tools.unique"]).ends(2);
}

#[test]
fn a_broken_should_fails_if_the_check_is_strict() {
    let check = |words: &[&str]| {
        let options = ["check", "--only", "tools.unique", "--timeout", "2s"];
        run(&[&options[..], words, &["--", "sh", "-c", WRONG]].concat())
    };
    let warned = check(&[]).ends(0);
    assert!(warned.out.contains("WARN  tools.unique"), "{warned:#?}");
    check(&["--strict"]).ends(1);
    check(&["--level", "must"]).ends(2);
}

#[test]
fn secrets_of_the_command_line_are_in_no_report() {
    let folder = Scratch::new();
    let kinds = ["json", "junit", "sarif", "html", "md"];
    let reports = kinds.map(|kind| format!("{kind}={}", folder.name(kind)));
    let found = wrong(&[
        "check",
        "-v",
        "--env",
        "KEY=s3cr3t-v4lue",
        "--report",
        &reports.join(","),
    ]);
    let found = found.ends(1);
    assert!(
        found.out.contains("[redacted]") && !found.out.contains("s3cr3t-v4lue"),
        "{found:#?}"
    );
    for kind in kinds {
        let text = fs::read_to_string(folder.path().join(kind)).unwrap();
        assert!(
            text.contains("redacted") && !text.contains("s3cr3t-v4lue"),
            "{kind}: {text}"
        );
    }
}

#[test]
fn a_server_with_a_login_is_checked_with_the_stored_credentials() {
    let demo = AuthDemo::start();
    let check = [
        "check",
        &demo.url,
        "--only",
        "tools,http",
        "--protocol-version",
        "2025-06-18",
    ];
    let refused = demo.run(&check).ends(3);
    assert!(
        refused.err.contains("turnbuckle auth login"),
        "{refused:#?}"
    );
    demo.log_in(&["auth", "login", &demo.url]).run.ends(0);
    let token = demo.token();
    let checked = demo.run(&[&check[..], &["-v"]].concat()).ends(0);
    assert!(!checked.out.contains(&token), "{checked:#?}");
}

#[test]
fn a_token_of_another_server_is_refused_by_the_demo() {
    let (demo, other) = (AuthDemo::start(), AuthDemo::start());
    for demo in [&demo, &other] {
        demo.log_in(&["auth", "login", &demo.url]).run.ends(0);
    }
    let foreign = other.token();
    let id = "auth.foreign-audience";
    let words = [
        "check",
        &demo.url,
        "-v",
        "-o",
        "json",
        "--only",
        id,
        "--other-token",
    ];
    let check = |words: &[&str], token: &str| {
        let mut command = demo.command(words);
        Run::new(command.env("OTHER", token).output().unwrap())
    };
    let words = [&words[..], &["foreign=OTHER"]].concat();
    let verdict = |run: &Run| {
        let report = run.json();
        report["cases"].as_array().unwrap().iter().find_map(|case| {
            let check = case["checks"].get(0)?;
            Some(check["verdict"].as_str().unwrap().to_owned())
        })
    };
    let checked = check(&words, &foreign).ends(0);
    assert_eq!(verdict(&checked).as_deref(), Some("pass"), "{checked:#?}");
    assert!(!checked.out.contains(&foreign), "{checked:#?}");
    // The own token is for this server.
    let own = check(&words, &demo.token()).ends(1);
    assert_eq!(verdict(&own).as_deref(), Some("fail"), "{own:#?}");
    let missing = check(&words, "").ends(2);
    assert!(missing.err.contains("OTHER has no token"), "{missing:#?}");
    demo.run(&["check", &demo.url, "--other-token", "OTHER"])
        .ends(2);
}

/// Returns this command as a client under check, with these words.
fn client(words: &[&str]) -> Vec<String> {
    let own = env!("CARGO_BIN_EXE_turnbuckle");
    let words = std::iter::once(&own).chain(words);
    words.map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_client_is_checked_over_http_and_over_lines() {
    for words in [
        client(&["call", "{url}", "test_simple_text"]),
        client(&["call", "test_simple_text", "--", "{command}"]),
    ] {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let checked = run(&[&["check", "--client", "-v", "--"][..], &words].concat()).ends(0);
        assert!(
            checked.out.contains("2 cases: 2025-11-25, 2026-07-28"),
            "{checked:#?}"
        );
        assert!(!checked.out.contains("FAIL"), "{checked:#?}");
    }
    let silent = run(&["check", "--client", "--", "true", "{url}"]).ends(4);
    assert!(silent.err.contains("sends no message"), "{silent:#?}");
    run(&["check", "--client"]).ends(2);
}

/// The checks of logins, and what is said of a command that asks for no second login.
const LOGIN_CHECKS: [(&str, &str); 14] = [
    ("client.challenge-scope", "pass"),
    ("client.issuer-checked", "pass"),
    ("client.issuer-metadata", "pass"),
    ("client.metadata-issuer-checked", "pass"),
    ("client.no-token-in-query", "pass"),
    ("client.pkce", "pass"),
    ("client.pkce-support-checked", "pass"),
    ("client.redirect-uri", "pass"),
    ("client.resource-metadata", "pass"),
    ("client.resource-parameter", "pass"),
    ("client.state-checked", "pass"),
    ("client.step-up", "warn"),
    ("client.token-in-header", "pass"),
    ("client.token-stays", "pass"),
];

#[test]
fn a_client_that_logs_in_is_checked() {
    let home = Scratch::new();
    let own = env!("CARGO_BIN_EXE_turnbuckle");
    let script = r#""$0" auth login "$1" </dev/null; "$0" call "$1" test_simple_text"#;
    let only = LOGIN_CHECKS.map(|(id, _)| id).join(",");
    let options = [
        "check", "--client", "--login", "-o", "json", "--only", &only, "--",
    ];
    let mut command = command(&[&options[..], &["sh", "-c", script, own, "{url}"]].concat());
    for name in ["HOME", "XDG_DATA_HOME", "LOCALAPPDATA"] {
        command.env(name, home.path());
    }
    let run = Run::new(command.output().unwrap()).ends(0);
    let report = run.json();
    let newest = report["cases"].as_array().unwrap().last().unwrap();
    assert_eq!(newest["revision"], "2026-07-28");
    let mut verdicts: Vec<_> = newest["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| {
            (
                check["id"].as_str().unwrap(),
                check["verdict"].as_str().unwrap(),
            )
        })
        .collect();
    verdicts.sort_unstable();
    assert_eq!(verdicts, LOGIN_CHECKS);
}
