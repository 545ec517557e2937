//! Servers that are programs: how they end, and what a run says of one that ends at its start.
#![cfg(unix)]
#![allow(clippy::expect_used, reason = "tests")]

use std::time::Duration;

use turnbuckle_check::report::Verdict;
use turnbuckle_check::{CheckError, Checker, Command, Target};
use turnbuckle_wire::revision::Revision;

/// A correct server of 2025-11-25 without capabilities, as a script of the shell.
const SERVER: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%[,\}]*}
    case $line in
        *'"method":"initialize"'*)
            answer "$id" '{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}' ;;
        *'"method":"ping"'*) answer "$id" '{}' ;;
    esac
done
"#;

fn checker(script: &str) -> Checker {
    let command = Command::new("sh").args(["-c", script]);
    let checker = Checker::new(Target::new("sh").command(command));
    checker.revisions([Revision::V2025_11_25]).only("frame")
}

/// Returns the checks that have findings at a server, with what they say.
async fn findings(checker: Checker) -> Vec<(String, String)> {
    // A shell reads long lines byte by byte.
    let report = checker.skip("frame.megabyte-line").run().await;
    let report = report.expect("the server is reached");
    let checks = report.cases.iter().flat_map(|case| &case.checks);
    let made: Vec<_> = checks
        .inspect(|check| assert_ne!(check.verdict, Verdict::Skip, "{}", check.id))
        .collect();
    assert!(made.len() > 3, "too few checks: {made:?}");
    let with_sentence = made.iter().flat_map(|check| {
        let sentences = check.findings.iter().map(|it| it.sentence.clone());
        sentences.map(|sentence| (check.id.clone(), sentence))
    });
    with_sentence.collect()
}

#[tokio::test]
async fn a_program_without_a_fault_has_no_findings() {
    assert_eq!(findings(checker(SERVER)).await, []);
}

/// Expects a finding of one check, and of no other. What must not happen is waited for, but not long.
async fn expect(id: &str, sentence: &str, script: &str) {
    let checker = checker(script).timeout(Duration::from_secs(1));
    let found = checker.only(id).run().await.expect("the server is reached");
    let check = found.cases[0].checks.iter().find(|check| check.id == id);
    let check = check.expect("the check is made");
    let sentences: Vec<_> = check.findings.iter().map(|it| &it.sentence).collect();
    assert_eq!(sentences, [sentence]);
}

#[tokio::test]
async fn a_program_that_outlives_its_input_is_found() {
    let script = format!("{SERVER}exec sleep 600 >&-");
    let sentence = "the process is alive 1s after the end of its input";
    expect("frame.ends-with-stdin", sentence, &script).await;
}

#[tokio::test]
async fn a_program_that_ignores_sigterm_is_found() {
    let script = format!("trap '' TERM\n{SERVER}");
    let sentence = "the process is alive 1s after SIGTERM";
    expect("frame.ends-on-sigterm", sentence, &script).await;
}

#[tokio::test]
async fn a_program_that_leaves_another_one_is_found() {
    let script = format!("sleep 600 <&- >&- 2>&- &\n{SERVER}");
    let sentence = "a process that the server has started is left after its end";
    expect("frame.no-child-left", sentence, &script).await;
}

#[tokio::test]
async fn what_a_program_says_when_it_ends_at_its_start_is_shown() {
    let script = "echo first >&2; echo 'the licence has \u{1b}[31mlapsed' >&2; exit 3";
    let error = checker(script).run().await.expect_err("it ends at once");
    let CheckError::Unreachable(reason) = error else {
        unreachable!("{error}");
    };
    assert!(reason.contains("ended (exit status: 3)"), "{reason}");
    let end = "the end of its standard error: first | the licence has [31mlapsed";
    assert!(reason.ends_with(end), "{reason}");
}
