//! The demo with a store that outlives it.

use crate::support::{Run, Scratch, TOOL, command, run};

/// The tool of the demo that keeps a value between two rounds.
const CALL: [&str; 2] = ["call", "test_input_required_result_request_state"];

/// Calls the tool twice, each time of a demo of its own with this store. Returns the keys of both.
fn call_twice(store: &str) -> String {
    let keys = run(&["keys", "generate"]).ends(0).out.trim().to_owned();
    let variable = format!("KEYS={keys}");
    for _ in 0..2 {
        let server = [
            "--",
            TOOL,
            "demo",
            "--stdio",
            "--keys-env",
            "KEYS",
            "--store",
            store,
        ];
        let words = [
            &CALL[..1],
            &["--answer", r#"{"ok":true}"#, "--env", &variable],
            &CALL[1..],
            &server,
        ];
        let called = run(&words.concat()).ends(0);
        assert!(
            called.out.contains("state-ok, confirmed: true"),
            "{called:#?}"
        );
    }
    keys
}

/// Returns what the demo says about a store that it cannot reach. It shows no password.
#[cfg(unix)]
fn fail_to_reach(store: &str, keys: &str) -> String {
    let words = ["demo", "--stdio", "--keys-env", "KEYS", "--store", store];
    let output = command(&words).env("KEYS", keys).output();
    let gone = Run::new(output.expect("the tool runs")).ends(1);
    assert!(!gone.err.contains("hush"), "{gone:#?}");
    gone.err
}

#[test]
fn state_in_a_file_is_sealed_under_the_keys() {
    let scratch = Scratch::new();
    let path = scratch.path().join("demo.db");
    call_twice(&format!("sqlite:{}", path.display()));
    let mut kept = std::fs::read(&path).expect("there is a file");
    if let Ok(log) = std::fs::read(scratch.path().join("demo.db-wal")) {
        kept.extend(log);
    }
    let kept = String::from_utf8_lossy(&kept).into_owned();
    assert!(kept.contains("once/"), "an effect was claimed");
    assert!(
        !kept.contains("kept") && !kept.contains("state-ok"),
        "it is readable"
    );
}

#[cfg(unix)]
#[test]
fn instances_share_state_in_postgres() {
    let engine = turnbuckle_engines::PostgresServer::start();
    let keys = call_twice(&engine.url("postgres"));
    let gone = fail_to_reach("postgres://u:hush@127.0.0.1:1/d", &keys);
    assert!(gone.contains("the database cannot be reached"), "{gone}");
}

#[cfg(unix)]
#[test]
fn instances_share_state_in_redis() {
    let mut engine = turnbuckle_engines::RedisServer::start();
    let keys = call_twice(&engine.url());
    let names = engine.ask("KEYS turnbuckle:v:{once/*");
    assert!(names.contains("turnbuckle:v:{once/"), "{names}");
    engine.stop();
    let gone = fail_to_reach(&format!("{}?pass=hush", engine.url()), &keys);
    assert!(gone.contains("Redis at /"), "{gone}");
    let gone = fail_to_reach("redis://u:hush@127.0.0.1:1/", &keys);
    assert!(gone.contains("Redis at 127.0.0.1:1"), "{gone}");
}

#[test]
fn a_store_needs_keys_and_a_place() {
    let no_keys = run(&["demo", "--stdio", "--store", "sqlite:x.db"]).ends(2);
    assert!(no_keys.err.contains("--keys-env"), "{no_keys:#?}");
    for place in ["redis:x", "unix:x", "sqlite:", "x.db"] {
        let refused = run(&["demo", "--stdio", "--keys-env", "KEYS", "--store", place]).ends(2);
        assert!(refused.err.contains("sqlite:FILE"), "{refused:#?}");
    }
    let keys = run(&["keys", "generate"]).ends(0).out;
    let words = [
        "demo",
        "--stdio",
        "--keys-env",
        "KEYS",
        "--store",
        "sqlite:/no/such/x.db",
    ];
    let output = command(&words).env("KEYS", keys.trim()).output();
    let gone = Run::new(output.expect("the tool runs")).ends(1);
    assert!(
        gone.err.contains("directory of the store cannot be found"),
        "{gone:#?}"
    );
}
