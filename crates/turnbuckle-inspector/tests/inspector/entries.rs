//! Views of entries: their values, bytes and copies.

use turnbuckle_inspector::api::{CopyFormat, EntryStatus, HttpFacts, SendOutcome};
use turnbuckle_inspector::values::OpenPaths;
use turnbuckle_inspector::{HttpExchange, InspectorError};

use crate::server;
use crate::servers::Bench;

#[tokio::test(start_paused = true)]
async fn an_entry_is_looked_at_by_range_and_by_path() {
    let bench = Bench::connect(server()).await;
    let inspector = &bench.inspector;
    let n = bench.call("echo", r#"{"a":[1,2]}"#).await;
    let entry = bench
        .wait_for_entry(n, |entry| entry.answer.is_some())
        .await;
    let answer = entry.answer.unwrap();
    let block = inspector.blocks(answer, 0, 1).unwrap().blocks.remove(0);
    let text = inspector.text(answer, &block.path, 0).unwrap();
    assert_eq!((text.text.as_str(), text.next), (r#"{"a":[1,2]}"#, None));
    let open = OpenPaths::new(1, []);
    let rows = inspector
        .rows(answer, Some(&block.path), &open, 0, 9)
        .unwrap();
    let raw = inspector.raw(answer, Some(&block.path)).unwrap();
    assert_eq!(rows.rows[0].size, raw.bytes.len() as u64);
    assert_eq!(raw.file_name, format!("s1-{answer}.json"));
    let whole = inspector.raw(answer, None).unwrap().bytes;
    let start = whole
        .windows(raw.bytes.len())
        .position(|it| it == raw.bytes)
        .unwrap();
    let range = format!("{start}-{}", start + raw.bytes.len());
    let same = inspector.rows(answer, Some(&range), &open, 0, 9).unwrap();
    assert_eq!(same, rows);
    let found = inspector
        .search(answer, Some(&block.path), "[1,2]", 0)
        .unwrap();
    assert_eq!(found.matches.len(), 1);
    let index = inspector.row_index(answer, Some(&range), &open, &found.matches[0].path);
    assert!(index.unwrap().is_some());
    for missing in ["9.9", "5-2", "0-99999999", "x-1", "-", "a"] {
        assert!(inspector.raw(answer, Some(missing)).is_err(), "{missing}");
        assert!(
            inspector.rows(answer, Some(missing), &open, 0, 1).is_err(),
            "{missing}"
        );
    }
    assert_eq!(
        inspector.raw(9999, None),
        Err(InspectorError::NotFound("entry"))
    );
    assert!(inspector.blob(answer, &block.path).is_err());
}

#[tokio::test(start_paused = true)]
async fn an_exchange_is_copied_from_either_of_its_messages() {
    let bench = Bench::connect(server()).await;
    let inspector = &bench.inspector;
    let arguments = r#"{"n": 1,"text":"it's"}"#;
    let n = bench.call("echo", arguments).await;
    let entry = bench
        .wait_for_entry(n, |entry| entry.answer.is_some())
        .await;
    let answer = entry.answer.unwrap();
    for n in [n, answer] {
        let line = inspector.copy(n, CopyFormat::Command).unwrap();
        assert_eq!(
            line,
            r#"turnbuckle call echo '{"n": 1,"text":"it'\''s"}' -- server"#
        );
        let json = inspector.copy(n, CopyFormat::Json).unwrap();
        assert!(
            json.contains(arguments) && json.contains("\"response\":{"),
            "{json}"
        );
        let refused = inspector.copy(n, CopyFormat::Curl);
        assert!(
            matches!(refused, Err(InspectorError::Refused(_))),
            "{refused:?}"
        );
    }
    let stderr = inspector.query("kind:stderr", 0, 1).entries.remove(0).n;
    assert!(inspector.copy(stderr, CopyFormat::Command).is_err());
    assert_eq!(
        inspector.copy(stderr, CopyFormat::Json).unwrap(),
        "starting with [redacted]"
    );
}

#[tokio::test(start_paused = true)]
async fn an_http_exchange_belongs_to_its_message_and_is_copied_without_secrets() {
    let bench = Bench::connect(server()).await;
    let inspector = &bench.inspector;
    let params = r#"{"name":"echo","arguments":{"k":"key-12345"}}"#;
    let SendOutcome::Sent { n } = bench.send("tools/call", params, true).await else {
        panic!("not sent");
    };
    bench
        .wait_for_entry(n, |entry| entry.status == EntryStatus::Ok)
        .await;
    // The wire has what the timeline redacts.
    let shown = String::from_utf8(inspector.raw(n, None).unwrap().bytes.to_vec()).unwrap();
    assert!(shown.contains("[redacted]"), "{shown}");
    let observer = bench.servers.observer();
    let exchange = HttpExchange {
        method: "POST".into(),
        path: "/mcp".into(),
        status: Some(200),
        request: vec![("Authorization".into(), "Bearer abcdef".into())],
        response: Vec::new(),
        error: None,
        duration_us: 3000,
        body: shown.replace("[redacted]", "key-12345").into(),
    };
    observer.add_http(&exchange);
    let http = inspector
        .query(&format!("kind:http about:{n}"), 0, 9)
        .entries
        .remove(0);
    assert_eq!((http.about, http.duration_us), (Some(n), Some(3000)));
    let facts: HttpFacts = inspector.entry(http.n).unwrap().http.unwrap();
    assert_eq!(facts.request[0].value, "Bearer [redacted]");
    for n in [n, http.n] {
        let line = inspector.copy(n, CopyFormat::Curl).unwrap();
        assert!(
            line.contains(r#"-H 'authorization: Bearer '"$TOKEN""#),
            "{line}"
        );
        assert!(line.contains(r#""k":"'"$SECRET"'""#), "{line}");
    }
    let json = inspector.copy(http.n, CopyFormat::Json).unwrap();
    assert!(json.contains("Bearer [redacted]"), "{json}");
}
