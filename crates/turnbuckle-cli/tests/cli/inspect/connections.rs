//! Tests of the servers behind the page: chosen from a file, started again, logged in at.

use serde_json::{Value, json};

use super::browser::{Inspect, is_ready};
use crate::auth_demo::{AuthDemo, redirect_of};
use crate::support::{DEMO, HttpDemo, Scratch, TOOL, command, run};

fn connection(state: &Value) -> &Value {
    &state["sessions"][0]["connection"]
}

/// Returns the entry of a server in the list of the page.
fn entry_of(inspect: &Inspect, name: &str) -> Value {
    let state = inspect.get("/api/state").json();
    let servers = state["servers"].as_array().expect("there is a list");
    let entry = servers.iter().find(|server| server["name"] == name);
    entry.expect("the server is listed").clone()
}

#[test]
fn a_server_of_a_file_that_was_found_needs_a_consent_that_is_kept() {
    let home = Scratch::new();
    let config = |first: &str| {
        let servers = json!({
            "notes": { "command": TOOL, "args": ["demo", "--stdio", first] },
            "broken": { "command": "${MISSING_VARIABLE}" },
        });
        home.file(
            "project/.mcp.json",
            &json!({ "mcpServers": servers }).to_string(),
        );
    };
    config("--quiet");
    home.file("project/.git/HEAD", "");
    let start = || {
        let mut command = command(&["inspect", "--no-open", "-o", "json"]);
        command.current_dir(home.path().join("project"));
        for name in ["HOME", "XDG_DATA_HOME", "LOCALAPPDATA"] {
            command.env(name, home.path());
        }
        let mut inspect = Inspect::run(command);
        inspect.log_in();
        inspect
    };
    let inspect = start();
    let entry = entry_of(&inspect, "notes");
    let consent = &entry["consent"];
    let sentence = consent["sentence"].as_str().expect("there is a sentence");
    assert!(
        sentence.contains(".mcp.json was found") && sentence.contains("runs"),
        "{sentence}"
    );
    assert!(
        entry_of(&inspect, "broken")["fault"]
            .as_str()
            .unwrap()
            .contains("MISSING_VARIABLE")
    );

    let source = json!({ "source": "named", "name": "notes" });
    assert_eq!(inspect.post("/api/sessions", &source).status, 200);
    let state = inspect.wait_for(|state| connection(state)["state"] == "failed");
    let errors = connection(&state)["errors"].to_string();
    assert!(errors.contains("you have not agreed"), "{errors}");

    // The file changes between the question and the answer.
    config("--other");
    let agree =
        |digest: &Value| inspect.post("/api/servers/notes/consent", &json!({ "digest": digest }));
    assert_eq!(agree(&json!("guess")).status, 409);
    assert_eq!(agree(&consent["digest"]).status, 409);
    config("--quiet");
    assert_eq!(agree(&consent["digest"]).status, 204);
    assert_eq!(entry_of(&inspect, "notes")["consent"], Value::Null);
    drop(inspect);
    let again = start();
    assert_eq!(entry_of(&again, "notes")["consent"], Value::Null);
    config("--other");
    // What the page lists is at most a second old; what it opens is not.
    assert_eq!(again.post("/api/sessions", &source).status, 200);
    again.wait_for(|state| connection(state)["state"] == "failed");
}

#[test]
fn no_request_names_a_command() {
    let inspect = Inspect::demo();
    for source in [
        json!({ "source": "command", "command": ["sh"] }),
        json!({ "source": "named", "name": "x", "command": ["sh"] }),
    ] {
        assert_eq!(
            inspect.post("/api/sessions", &source).status,
            400,
            "{source}"
        );
    }
    for url in [
        "unix:/run/x.sock",
        "file:///etc/passwd",
        "ftp://x",
        "javascript:x",
        "",
    ] {
        let opened = inspect
            .post("/api/sessions", &json!({ "source": "url", "url": url }))
            .json();
        let state =
            inspect.wait_for(|state| state["sessions"][1]["connection"]["state"] == "failed");
        let errors = state["sessions"][1]["connection"]["errors"].to_string();
        assert!(errors.contains("neither http"), "{errors}");
        let id = opened["id"].as_str().expect("there is an id");
        inspect.post(&format!("/api/sessions/{id}/close"), &json!({}));
    }
}

#[test]
fn exchanges_over_http_are_shown_without_secrets_and_headers_go_to_the_given_server_alone() {
    let (given, other) = (HttpDemo::start(), HttpDemo::start());
    let mut inspect = Inspect::start(&[&given.url, "-H", "Authorization: Bearer s3cr3t-t0ken"]);
    inspect.log_in();
    inspect.wait_for(is_ready);
    let exchanges = inspect.timeline("kind:http");
    let detail = |n: &Value| inspect.get(&format!("/api/timeline/{n}")).json();
    let first = detail(&exchanges[0]["n"]);
    assert_eq!(first["http"]["method"], "POST");
    assert_eq!(first["http"]["path"], "/mcp");
    assert_eq!(first["http"]["status"], 200);
    assert!(first["entry"]["about"].is_u64(), "{first:#}");
    let text = first.to_string();
    assert!(
        text.contains("authorization") && !text.contains("s3cr3t"),
        "{text}"
    );

    let source = json!({ "source": "url", "url": other.url });
    inspect.post("/api/sessions", &source);
    inspect.wait_for(|state| state["sessions"][1]["connection"]["state"] == "ready");
    let others = inspect.timeline("kind:http session:s2");
    assert!(
        !detail(&others[0]["n"])
            .to_string()
            .contains("authorization")
    );
}

#[test]
fn a_login_is_offered_in_the_page_and_its_steps_are_in_the_timeline() {
    let demo = AuthDemo::start();
    let words = ["inspect", "--no-open", "-o", "json", &demo.url];
    let mut inspect = Inspect::run(demo.command(&words));
    inspect.log_in();
    let state = inspect.wait_for(|state| state["sessions"][0]["loginUrl"].is_string());
    assert_eq!(connection(&state)["step"], "authorization");
    let login = state["sessions"][0]["loginUrl"]
        .as_str()
        .expect("there is a URL");
    let callback = redirect_of(login);
    let rest = callback.strip_prefix("http://").expect("it is local");
    let (host, path) = rest.split_once('/').expect("it has a path");
    let mut stream = std::net::TcpStream::connect(host).expect("it listens");
    let head = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    std::io::Write::write_all(&mut stream, head.as_bytes()).expect("it reads");
    let state = inspect.wait_for(is_ready);
    assert_eq!(state["sessions"][0]["loginUrl"], Value::Null);
    let who = inspect.call("tools/call", r#"{"name":"whoami"}"#);
    assert!(who["text"].as_str().unwrap().contains("alice"), "{who}");
    let steps: String = inspect
        .timeline("kind:life")
        .iter()
        .map(Value::to_string)
        .collect();
    assert!(steps.contains("token"), "{steps}");
    let all: String = inspect
        .timeline("")
        .iter()
        .map(|entry| inspect.get(&format!("/api/timeline/{}", entry["n"])).text())
        .collect();
    assert!(!all.contains(&demo.token()), "a token is shown");

    // The next run uses what was stored.
    drop(inspect);
    let mut again = Inspect::run(demo.command(&words));
    again.log_in();
    again.wait_for(is_ready);
}

#[cfg(unix)]
#[test]
fn a_killed_server_is_started_again_at_the_same_place() {
    use rustix::process::{Pid, Signal, kill_process};
    let inspect = Inspect::demo();
    let headers = [("Content-Type", "application/json")];
    inspect.request("PUT", "/api/place", &headers, br#"{"pane":"tools"}"#);
    let state = inspect.wait_for(is_ready);
    let pid = i32::try_from(state["sessions"][0]["pid"].as_u64().expect("it runs")).unwrap();
    kill_process(Pid::from_raw(pid).expect("it is a process"), Signal::KILL).expect("it runs");
    inspect.wait_for(|state| connection(state)["state"] == "ended");
    let request = json!({ "method": "ping", "params": "{}" });
    let refused = inspect.post("/api/sessions/s1/requests", &request).json();
    assert_eq!(refused["outcome"], "refused");
    assert_eq!(
        inspect.post("/api/sessions/s1/restart", &json!({})).status,
        204
    );
    let state = inspect.wait_for(|state| is_ready(state) && state["sessions"][0]["pid"] != pid);
    assert_eq!(state["place"], r#"{"pane":"tools"}"#);
    assert_eq!(state["sessions"][0]["connections"], 2);
}

#[cfg(unix)]
#[test]
fn a_program_that_fails_shows_its_exit_code_and_its_last_lines() {
    let script = "echo first >&2; echo not-json; echo 'no database' >&2; exit 7";
    let mut inspect = Inspect::start(&["--", "sh", "-c", script]);
    inspect.log_in();
    let state = inspect.wait_for(|state| connection(state)["state"] == "failed");
    let failed = connection(&state);
    assert!(failed["errors"].to_string().contains('7'), "{failed}");
    assert!(
        failed["stderr"].to_string().contains("no database"),
        "{failed}"
    );
    inspect.wait_for(|_| inspect.timeline("kind:stderr").len() == 2);
    assert_eq!(inspect.timeline("kind:noise")[0]["summary"], "not-json");
}

#[cfg(unix)]
#[test]
fn programs_that_flood_or_never_answer_do_not_stop_the_page() {
    for script in ["yes flood >&2", "yes", "cat >/dev/null"] {
        let words = ["--connect-timeout", "1s", "--", "sh", "-c", script];
        let mut inspect = Inspect::start(&words);
        inspect.log_in();
        let state = inspect.wait_for(|state| connection(state)["state"] == "failed");
        assert!(connection(&state)["stderr"].as_array().unwrap().len() <= 20);
        assert_eq!(
            inspect
                .get("/api/timeline?count=10&filter=kind:stderr")
                .status,
            200
        );
    }
}

#[cfg(unix)]
#[test]
fn a_program_is_restarted_when_its_file_changes() {
    let scratch = Scratch::new();
    let server = |version: &str| {
        let text = format!("# {version}\nexec {TOOL} demo --stdio\n");
        scratch.file("server.sh", &text)
    };
    let path = server("1");
    let mut inspect = Inspect::start(&["--watch", "--", "sh", &path]);
    inspect.log_in();
    inspect.wait_for(is_ready);
    server("two");
    let is_new = |state: &Value| state["sessions"][0]["connections"] == 2;
    inspect.wait_for(|state| is_ready(state) && is_new(state));
    let missing = run(&["inspect", "--watch=/nonexistent", DEMO[0], DEMO[1]]).ends(2);
    assert!(missing.err.contains("--watch"), "{missing:#?}");
    run(&["inspect", "--watch", "http://127.0.0.1:1/mcp"]).ends(2);
}
