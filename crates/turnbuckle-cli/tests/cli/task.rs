//! Calls that become tasks: waited for, left and found again.

use crate::support::{HttpDemo, Run, run};

/// The eras in which the demo makes tasks, as options.
const REVISIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];

/// Calls a tool, which has to become a task, and returns its handle.
fn detach(demo: &HttpDemo, revision: &str, words: &[&str]) -> String {
    let options = ["--detach", "--protocol-version", revision];
    let left = demo.run("call", &[words, &options].concat()).ends(0);
    let handle = left.out.trim_end().to_owned();
    let beginning = format!("{revision}/{}/", words[0]);
    assert!(handle.starts_with(&beginning), "{left:#?}");
    handle
}

/// Runs a verb of `task` with a handle.
fn task(demo: &HttpDemo, verb: &str, handle: &str, options: &[&str]) -> Run {
    let revision = handle.split('/').next().expect("a handle has a revision");
    let words = [&["task", verb, &*demo.url, handle], options];
    run(&[&words.concat(), &["--protocol-version", revision][..]].concat())
}

#[test]
fn a_call_waits_through_its_task() {
    let demo = HttpDemo::start();
    for revision in REVISIONS {
        let words = [
            "slow_compute",
            "seconds=1",
            "label=x",
            "--protocol-version",
            revision,
        ];
        let done = demo.run("call", &words).ends(0);
        assert_eq!(done.out, "Computed x.\n", "{done:#?}");
        let json = demo
            .run("call", &[&words[..], &["-o", "json"]].concat())
            .ends(0)
            .json();
        assert_eq!(json["content"][0]["text"], "Computed x.");
        let failed = demo
            .run("call", &["failing_job", "--protocol-version", revision])
            .ends(5);
        assert!(
            failed.err.contains("the tool \"failing_job\" failed"),
            "{failed:#?}"
        );
        let words = [
            "confirm_delete",
            "filename=x",
            "--protocol-version",
            revision,
        ];
        let answer = ["--answer", r#"{"confirm":true}"#];
        let asked = demo.run("call", &[&words[..], &answer].concat()).ends(0);
        assert_eq!(asked.out, "x was deleted.\n", "{asked:#?}");
    }
}

#[test]
fn a_task_is_left_looked_at_and_waited_for() {
    let demo = HttpDemo::start();
    for revision in REVISIONS {
        let handle = detach(&demo, revision, &["slow_compute", "seconds=2", "label=x"]);
        let state = task(&demo, "get", &handle, &[]).ends(0);
        assert!(state.out.starts_with("working"), "{state:#?}");
        let waited = task(&demo, "wait", &handle, &[]).ends(0);
        assert_eq!(waited.out, "Computed x.\n", "{waited:#?}");
        let state = task(&demo, "get", &handle, &["-o", "json"]).ends(0).json();
        assert_eq!(state["status"], "completed");
        // The result is there for whoever comes back.
        let again = task(&demo, "wait", &handle, &["-o", "json"]).ends(0).json();
        assert_eq!(again["content"][0]["text"], "Computed x.");
    }
    let at_once = demo.run("call", &["greet", "name=Ada", "--detach"]).ends(0);
    assert_eq!(at_once.out, "Hello, Ada!\n");
    let words = ["slow_compute", "seconds=9", "--detach", "-o", "json"];
    let handle = demo.run("call", &words).ends(0).json();
    assert!(
        handle["handle"]
            .as_str()
            .expect("a text")
            .contains("/slow_compute/")
    );
}

#[test]
fn a_wait_that_times_out_leaves_the_task_and_names_its_handle() {
    let demo = HttpDemo::start();
    let words = ["slow_compute", "seconds=3", "label=x", "--timeout", "1s"];
    let late = demo.run("call", &words).ends(8);
    let hint = late.err.split('`').nth(1).expect("a command");
    let handle = hint.split(' ').next_back().expect("a handle");
    let late = task(&demo, "wait", handle, &["--timeout", "500ms"]).ends(8);
    assert!(late.err.contains(handle), "{late:#?}");
    let waited = task(&demo, "wait", handle, &[]).ends(0);
    assert_eq!(waited.out, "Computed x.\n");
}

#[test]
fn a_task_is_cancelled() {
    let demo = HttpDemo::start();
    for revision in REVISIONS {
        let handle = detach(&demo, revision, &["slow_compute", "seconds=60"]);
        task(&demo, "cancel", &handle, &[]).ends(0);
        let state = task(&demo, "get", &handle, &[]).ends(0);
        assert!(state.out.starts_with("cancelled"), "{state:#?}");
        let gone = task(&demo, "wait", &handle, &[]).ends(5);
        assert!(gone.err.contains("the task was cancelled"), "{gone:#?}");
        assert!(!gone.err.contains("task wait"), "{gone:#?}");
    }
}

#[test]
fn the_questions_of_a_task_are_shown_and_answered() {
    let demo = HttpDemo::start();
    let words = ["confirm_delete", "filename=x", "--caps", "elicitation"];
    let handle = detach(&demo, REVISIONS[0], &words);
    // The task asks as soon as its handler does.
    let states = (0..200).map(|_| task(&demo, "get", &handle, &[]).ends(0));
    let state = states
        .into_iter()
        .find(|state| state.out.starts_with("asks"));
    let state = state.expect("the task asks");
    assert!(state.out.contains("elicitation/create"), "{state:#?}");
    let answer = ["--answer", r#"{"confirm":true}"#];
    let answered = task(&demo, "answer", &handle, &answer).ends(0);
    assert!(
        answered.err.contains("1 question is answered"),
        "{answered:#?}"
    );
    let waited = task(&demo, "wait", &handle, &[]).ends(0);
    assert_eq!(waited.out, "x was deleted.\n");
    let nothing = task(&demo, "answer", &handle, &[]).ends(0);
    assert!(nothing.err.contains("no question"), "{nothing:#?}");

    let handle = detach(&demo, REVISIONS[1], &words);
    let refused = task(&demo, "answer", &handle, &[]).ends(5);
    assert!(refused.err.contains("tasks/update"), "{refused:#?}");
    let waited = task(&demo, "wait", &handle, &answer).ends(0);
    assert_eq!(waited.out, "x was deleted.\n");
}

#[test]
fn a_handle_that_is_none_is_refused() {
    let demo = HttpDemo::start();
    for verb in ["get", "wait", "cancel", "answer"] {
        let malformed = run(&["task", verb, &demo.url, "job"]).ends(2);
        assert!(
            malformed.err.contains("<revision>/<tool>/<id>"),
            "{malformed:#?}"
        );
        let unknown = task(&demo, verb, "2026-07-28/slow_compute/none", &[]);
        // The later revision acknowledges what it does not know.
        if ["get", "wait"].contains(&verb) {
            unknown.ends(5);
        }
    }
}

#[test]
fn tasks_are_listed_where_the_server_lists_them() {
    let demo = HttpDemo::start();
    for revision in REVISIONS {
        let words = ["task", "list", &*demo.url, "--protocol-version", revision];
        run(&words).ends(5);
    }
    #[cfg(unix)]
    {
        let script = r#"
while IFS= read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    case $line in
    *notifications/*) continue ;;
    *initialize*) result='{"protocolVersion":"2025-11-25","capabilities":{"tasks":{"list":{}}},"serverInfo":{"name":"sh","version":"0"}}' ;;
    *) result='{"tasks":[{"taskId":"a/b","status":"working","statusMessage":"half","createdAt":"then","lastUpdatedAt":"now","ttl":null}]}' ;;
    esac
    printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done"#;
        let list = |options: &[&str]| {
            let words = ["task", "list", "--protocol-version", "2025-11-25"];
            run(&[&words, options, &["--", "sh", "-c", script]].concat()).ends(0)
        };
        assert_eq!(
            list(&[]).out,
            "2025-11-25//a%2Fb  working  half  since now\n"
        );
        assert_eq!(list(&["-o", "json"]).json()["tasks"][0]["taskId"], "a/b");
        assert_eq!(list(&["-o", "ndjson"]).json()["taskId"], "a/b");
    }
}

#[cfg(unix)]
#[test]
fn the_status_of_a_task_is_drawn_and_cleared() {
    let words = ["call", "slow_compute", "seconds=3", "label=x"];
    let (seen, code) = crate::terminal::TerminalSession::start(&words, &[]).end();
    assert!(seen.contains("task 2026-07-28/slow_compute/"), "{seen:?}");
    assert!(seen.contains("working"), "{seen:?}");
    assert!(seen.contains("of 3"), "{seen:?}");
    assert!(seen.ends_with("\r\u{1b}[2KComputed x.\r\n"), "{seen:?}");
    assert_eq!(code, Some(0));
}
