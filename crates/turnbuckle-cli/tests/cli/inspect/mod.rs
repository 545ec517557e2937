//! The Inspector: its page at a server.

mod browser;
mod connections;
mod hostile;

use std::io::{BufRead as _, Write as _};
use std::process::Stdio;

use serde_json::json;

use crate::support::{command, run};
use browser::{Inspect, is_ready};

#[test]
fn the_server_of_the_command_line_is_connected_listed_and_called() {
    let inspect = Inspect::demo();
    let state = inspect.wait_for(|state| {
        let lists = state["sessions"][0]["lists"].as_array();
        is_ready(state)
            && lists.is_some_and(|lists| {
                lists.iter().any(|list| {
                    list["kind"] == "tools" && list["total"] != 0 && list["isLoading"] == false
                })
            })
    });
    assert_eq!(state["sessions"][0]["server"]["name"], "turnbuckle-demo");
    let tools = inspect.get("/api/sessions/s1/items/tools?filter=echo&count=5");
    assert_eq!(tools.json()["rows"][0]["name"], "echo");
    let definition = inspect.get("/api/sessions/s1/items/tools/echo").json();
    assert_eq!(definition["form"]["fields"][0]["name"], "message");

    let params = r#"{"name":"echo","arguments":{"message":"<b>\u00e9 9007199254740993"}}"#;
    let request = json!({ "method": "tools/call", "params": params });
    let n = inspect.post("/api/sessions/s1/requests", &request).json()["n"].clone();
    inspect.wait_for(|_| {
        inspect.get(&format!("/api/timeline/{n}")).json()["entry"]["answer"].is_u64()
    });
    let entry = inspect.get(&format!("/api/timeline/{n}")).json();
    let answer = &entry["entry"]["answer"];
    let blocks = inspect
        .get(&format!("/api/timeline/{answer}/blocks"))
        .json();
    let block = &blocks["blocks"][0];
    assert_eq!(block["content"]["text"], "<b>é 9007199254740993");
    let sent = inspect.get(&format!("/api/timeline/{n}/raw"));
    assert!(
        sent.text()
            .contains(params.split_once(",").unwrap().1.trim_end_matches('}'))
    );
    assert!(
        sent.header("content-disposition")
            .unwrap()
            .starts_with("attachment")
    );
    let copied = inspect.get(&format!("/api/timeline/{n}/copy?as=command"));
    assert!(
        copied.text().starts_with("turnbuckle call echo"),
        "{}",
        copied.text()
    );
    assert!(copied.text().ends_with("demo --stdio"), "{}", copied.text());
    let rows = inspect
        .get(&format!("/api/timeline/{n}/rows?depth=1&count=2"))
        .json();
    assert_eq!(rows["rows"].as_array().map(Vec::len), Some(2));
}

#[test]
fn two_tabs_agree() {
    let inspect = Inspect::demo();
    let mut other = inspect.events();
    let headers = [("Content-Type", "application/json")];
    let stored = inspect.request("PUT", "/api/place", &headers, br#"{"pane":1}"#);
    assert_eq!(stored.status, 204);
    let mut line = String::new();
    while !line.contains("\"place\"") {
        line.clear();
        assert!(other.read_line(&mut line).expect("the other tab is told") > 0);
    }
    assert_eq!(inspect.get("/api/state").json()["place"], r#"{"pane":1}"#);
}

#[test]
fn a_taken_port_is_named() {
    let inspect = Inspect::start(&[]);
    let port = inspect.port.to_string();
    let taken = run(&["inspect", "--no-open", "--port", &port]).ends(1);
    assert!(
        taken
            .err
            .contains(&format!("cannot listen on 127.0.0.1:{port}")),
        "{}",
        taken.err
    );
    assert!(taken.err.contains("--port"));
}

#[test]
fn each_line_on_standard_input_prints_a_new_address() {
    let mut command = command(&["inspect", "--no-open", "-o", "json"]);
    command.stdin(Stdio::piped());
    let mut inspect = Inspect::run(command);
    let first = inspect.code.clone();
    let stdin = inspect.child.stdin.as_mut().expect("it has an input");
    stdin.write_all(b"\n").expect("it reads");
    inspect.read_address();
    assert_ne!(inspect.code, first);
    let old = inspect.post("/api/login", &json!({ "code": first }));
    assert_eq!(old.status, 401);
    inspect.log_in();
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_page_and_the_programs() {
    use rustix::process::{Pid, Signal, kill_process, test_kill_process};
    for signal in [Signal::INT, Signal::TERM] {
        let mut inspect = Inspect::demo();
        let state = inspect.wait_for(is_ready);
        let program = state["sessions"][0]["pid"].as_i64().expect("it runs");
        let program = Pid::from_raw(program.try_into().expect("it is an id"));
        let program = program.expect("it is a process");
        test_kill_process(program).expect("the program runs");
        kill_process(Pid::from_child(&inspect.child), signal).expect("it runs");
        let status = inspect.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(0));
        assert!(test_kill_process(program).is_err(), "the program runs on");
    }
}
