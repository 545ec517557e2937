//! The demo with a store that outlives it.

use crate::support::{Run, Scratch, TOOL, command, run};

/// The tool of the demo that keeps a value between two rounds.
const CALL: [&str; 2] = ["call", "test_input_required_result_request_state"];

#[test]
fn state_in_a_file_is_sealed_under_the_keys() {
    let scratch = Scratch::new();
    let path = scratch.path().join("demo.db");
    let keys = format!("KEYS={}", run(&["keys", "generate"]).ends(0).out.trim());
    let store = format!("sqlite:{}", path.display());
    for _ in 0..2 {
        let server = [
            "--",
            TOOL,
            "demo",
            "--stdio",
            "--keys-env",
            "KEYS",
            "--store",
            &store,
        ];
        let words = [
            &CALL[..1],
            &["--answer", r#"{"ok":true}"#, "--env", &keys],
            &CALL[1..],
            &server,
        ];
        let called = run(&words.concat()).ends(0);
        assert!(
            called.out.contains("state-ok, confirmed: true"),
            "{called:#?}"
        );
    }
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
    let keys = format!("KEYS={}", run(&["keys", "generate"]).ends(0).out.trim());
    let store = engine.url("postgres");
    for _ in 0..2 {
        let server = [
            "--",
            TOOL,
            "demo",
            "--stdio",
            "--keys-env",
            "KEYS",
            "--store",
            &store,
        ];
        let words = [
            &CALL[..1],
            &["--answer", r#"{"ok":true}"#, "--env", &keys],
            &CALL[1..],
            &server,
        ];
        let called = run(&words.concat()).ends(0);
        assert!(
            called.out.contains("state-ok, confirmed: true"),
            "{called:#?}"
        );
    }
    let keys = keys.trim_start_matches("KEYS=");
    let words = [
        "demo",
        "--stdio",
        "--keys-env",
        "KEYS",
        "--store",
        "postgres://u:hush@127.0.0.1:1/d",
    ];
    let output = command(&words).env("KEYS", keys).output();
    let gone = Run::new(output.expect("the tool runs")).ends(1);
    assert!(
        gone.err.contains("the database cannot be reached"),
        "{gone:#?}"
    );
    assert!(!gone.err.contains("hush"), "{gone:#?}");
}

#[test]
fn a_store_needs_keys_and_a_place() {
    let no_keys = run(&["demo", "--stdio", "--store", "sqlite:x.db"]).ends(2);
    assert!(no_keys.err.contains("--keys-env"), "{no_keys:#?}");
    for place in ["redis:x", "sqlite:", "x.db"] {
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
