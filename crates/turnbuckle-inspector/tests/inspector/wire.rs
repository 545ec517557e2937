//! Messages are shown as they were on the wire, byte for byte, in both directions.

use turnbuckle_inspector::api::{EntryKind, SendOutcome, ValueKind};
use turnbuckle_inspector::values::OpenPaths;

use crate::scripted::connect;

/// Numbers, names and escapes that most readers of JSON change.
const ODD: &str = r#"{"big":9007199254740993,"huge":1E400,"zero":-0.0,"a":1,"a":2,"\u0061" : "\ud83d\ude00\ud800\/","t":[ 1.10 ,null ]}"#;

#[tokio::test(start_paused = true)]
async fn every_message_is_shown_as_it_was_on_the_wire() {
    let (bench, wire) = connect(|received| {
        (received.method() == "tools/call").then(|| {
            let id = &received.head.id;
            vec![
                format!("{{ \"jsonrpc\" : \"2.0\",\"method\":\"notifications/x\",\"params\":{ODD}}}"),
                format!("{{\"result\": {{\"content\":[],\"structuredContent\":{ODD}}} ,\"id\":{id},\"jsonrpc\":\"2.0\"}}"),
            ]
        })
    })
    .await;
    let inspector = &bench.inspector;
    let params = format!(r#"{{"name":"t","arguments":{ODD}}}"#);
    let SendOutcome::Sent { n } = bench.send("tools/call", &params, true).await else {
        panic!("not sent");
    };
    let entry = bench
        .wait_for_entry(n, |entry| entry.answer.is_some())
        .await;
    for (kind, expected) in [
        ("sent", wire.sent_by_client()),
        (
            "received",
            wire.sent_by_server()
                .into_iter()
                .map(String::into_bytes)
                .collect(),
        ),
    ] {
        let entries = inspector.query(&format!("kind:{kind}"), 0, 1000).entries;
        let shown = entries
            .iter()
            .map(|it| inspector.raw(it.n, None).unwrap().bytes.to_vec());
        assert_eq!(shown.collect::<Vec<_>>(), expected, "{kind}");
    }
    let sent = inspector.raw(n, None).unwrap().bytes;
    assert!(String::from_utf8(sent.to_vec()).unwrap().contains(ODD));

    let answer = entry.answer.unwrap();
    let structured = inspector.blocks(answer, 0, 1).unwrap().structured.unwrap();
    let open = OpenPaths::new(9, []);
    let rows = inspector
        .rows(answer, Some(&structured), &open, 0, 99)
        .unwrap()
        .rows;
    let shown: Vec<_> = rows
        .iter()
        .filter_map(|row| {
            Some((
                row.key.as_ref()?.text.as_str(),
                row.text.as_ref()?.text.as_str(),
            ))
        })
        .collect();
    assert_eq!(
        shown,
        [
            (r#""big""#, "9007199254740993"),
            (r#""huge""#, "1E400"),
            (r#""zero""#, "-0.0"),
            (r#""a""#, "1"),
            (r#""a""#, "2"),
            (r#""\u0061""#, r#""\ud83d\ude00\ud800\/""#),
        ]
    );
    let duplicates = rows.iter().filter(|row| row.is_duplicate).count();
    assert_eq!(
        (duplicates, rows.last().unwrap().kind),
        (3, ValueKind::Null)
    );
    let saved = inspector.raw(answer, Some(&structured)).unwrap().bytes;
    assert_eq!(saved, ODD.as_bytes());
}

#[tokio::test(start_paused = true)]
async fn lines_that_are_no_messages_are_shown_as_noise() {
    let noise = [
        "hello, world",
        "{\"id\":",
        "[]",
        "\u{1b}[31mred",
        "{\"jsonrpc\":\"1.0\"}x",
    ];
    let (bench, _) = connect(move |received| {
        (received.method() == "tools/call").then(|| {
            let lines = noise.iter().map(|line| (*line).to_owned());
            lines
                .chain([received.result(r#"{"content":[]}"#)])
                .collect()
        })
    })
    .await;
    let n = bench.call("t", "{}").await;
    bench
        .wait_for_entry(n, |entry| entry.answer.is_some())
        .await;
    let shown = bench.texts("kind:noise");
    assert_eq!(shown, noise[..4]);
    let entries = bench.inspector.query("", 0, 1000).entries;
    let odd = entries
        .iter()
        .find(|entry| entry.size == noise[4].len() as u64)
        .unwrap();
    assert_eq!(odd.kind, EntryKind::Received);
}
