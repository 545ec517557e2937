//! Hostile servers: everything that they send is bounded, and nothing waits for them for ever.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use turnbuckle_inspector::ClientSettings;
use turnbuckle_inspector::api::{
    BlockKind, CompletionRequest, CompletionTarget, ConnectionState, EntryStatus, ItemKind,
    QuestionState,
};
use turnbuckle_inspector::values::OpenPaths;
use turnbuckle_wire::revision::Revision;

use crate::scripted::{Wire, connect, only, script_server};
use crate::servers::Bench;

/// Scripts, controls, and characters that nobody sees.
const ODD_TEXT: &str = "<script>alert(1)</script>\u{1b}[2J\u{202e}\u{200b}\u{0}\"'$(rm)`";

#[tokio::test(start_paused = true)]
async fn hostile_texts_are_shown_as_they_are_and_change_nothing() {
    let text = serde_json::to_string(ODD_TEXT).unwrap();
    let tool = format!(
        r#"{{"name":{text},"title":{text},"description":{text},"inputSchema":{{"type":"object","properties":{{{text}:{{"title":{text},"type":"string"}}}}}}}}"#
    );
    let (bench, _) = connect(move |received| match received.method() {
        "tools/list" => Some(vec![
            received.result(&format!(r#"{{"tools":[{tool},{tool}]}}"#)),
        ]),
        "tools/call" => Some(vec![received.result(&format!(
            r#"{{"content":[{{"type":"text","text":{text}}}]}}"#
        ))]),
        _ => None,
    })
    .await;
    let inspector = &bench.inspector;
    let window = inspector
        .items(&bench.session, ItemKind::Tools, "<SCRIPT>", 0, 9)
        .unwrap();
    assert_eq!(
        (window.matching, window.rows[0].name.as_str()),
        (2, ODD_TEXT)
    );
    let keys: Vec<_> = window.rows.iter().map(|row| row.key.clone()).collect();
    assert_eq!(keys, [ODD_TEXT.to_owned(), format!("{ODD_TEXT} (2)")]);
    let definition = inspector
        .definition(&bench.session, ItemKind::Tools, &keys[1])
        .unwrap();
    assert_eq!(definition.form.fields[0].name, ODD_TEXT);
    let params = format!(
        r#"{{"name":{},"arguments":{{}}}}"#,
        serde_json::to_string(ODD_TEXT).unwrap()
    );
    let sent = bench.send("tools/call", &params, false).await;
    let turnbuckle_inspector::api::SendOutcome::Sent { n } = sent else {
        panic!("{sent:?}");
    };
    let entry = bench
        .wait_for_entry(n, |entry| entry.answer.is_some())
        .await;
    let blocks = inspector
        .blocks(entry.answer.unwrap(), 0, 9)
        .unwrap()
        .blocks;
    assert!(matches!(&blocks[0].content, BlockKind::Text { text, .. } if text == ODD_TEXT));
    let line = inspector
        .copy(n, turnbuckle_inspector::api::CopyFormat::Command)
        .unwrap();
    assert!(line.starts_with("turnbuckle raw tools/call '{"), "{line}");
    assert!(!line.contains('\u{1b}') && !line.contains('\0'), "{line:?}");
}

#[tokio::test(start_paused = true)]
async fn a_list_without_end_is_given_up_and_what_came_stays() {
    // Empty pages, and a cursor that comes again.
    for (items, sentence) in [
        ("", "empty pages"),
        (r#"{"name":"t","inputSchema":{}}"#, "came twice"),
    ] {
        let pages = AtomicUsize::new(0);
        let (bench, wire) = connect(move |received| {
            (received.method() == "tools/list").then(|| {
                let page = pages.fetch_add(1, Ordering::Relaxed);
                assert!(page < 2_000, "read without end");
                let cursor = if items.is_empty() { page } else { page % 50 };
                vec![received.result(&format!(r#"{{"tools":[{items}],"nextCursor":"{cursor}"}}"#))]
            })
        })
        .await;
        let window = bench
            .inspector
            .items(&bench.session, ItemKind::Tools, "", 0, 9)
            .unwrap();
        let error = window.error.unwrap();
        assert!(error.contains(sentence), "{error}");
        assert!(wire.sent_by_client().len() < 150);
        assert_eq!(window.total > 0, !items.is_empty());
        assert!(bench.inspector.state().sessions[0].lists[0].has_error);
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_of_many_entries_and_a_large_result_are_looked_at_in_parts() {
    let tools: Vec<_> = (0..20_000)
        .map(|n| {
            format!(
                r#"{{"name":"t{n}","description":"{}","inputSchema":{{"type":"object"}}}}"#,
                "d".repeat(290)
            )
        })
        .collect();
    let list = format!(r#"{{"tools":[{}]}}"#, tools.join(","));
    let blocks = format!(
        r#"{{"content":[{}],"structuredContent":{{"a":[{}]}}}}"#,
        vec![r#"{"type":"text","text":"x"}"#; 5_000].join(","),
        vec!["{\"b\":[1,2]}"; 200_000].join(",")
    );
    let (bench, _) = connect(move |received| match received.method() {
        "tools/list" => Some(vec![received.result(&list)]),
        "tools/call" => Some(vec![received.result(&blocks)]),
        _ => None,
    })
    .await;
    let inspector = &bench.inspector;
    let window = |filter: &str, from| {
        inspector
            .items(&bench.session, ItemKind::Tools, filter, from, 500)
            .unwrap()
    };
    assert_eq!(
        (window("", 0).total, window("t1999", 0).matching),
        (20_000, 11)
    );
    let page = serde_json::to_vec(&window("", 0)).unwrap();
    assert!(page.len() < 512 * 1024, "{}", page.len());
    assert_eq!(window("", 19_999).rows[0].name, "t19999");
    let n = bench.call("t0", "{}").await;
    let answer = bench
        .wait_for_entry(n, |entry| entry.answer.is_some())
        .await
        .answer
        .unwrap();
    let blocks = inspector.blocks(answer, 4_990, 500).unwrap();
    assert_eq!((blocks.total, blocks.blocks.len()), (5_000, 10));
    let open = OpenPaths::new(9, []);
    let rows = inspector
        .rows(answer, blocks.structured.as_deref(), &open, 700_000, 500)
        .unwrap();
    assert_eq!((rows.total, rows.rows.len()), (2 + 4 * 200_000, 500));
    assert_eq!(
        inspector
            .search(answer, None, "b", 0)
            .unwrap()
            .matches
            .len(),
        200
    );
    assert!(serde_json::to_vec(&inspector.state()).unwrap().len() < 16 * 1024);
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_messages_without_a_result_does_not_hide_it() {
    let (bench, _) = connect(|received| {
        (received.method() == "tools/call").then(|| {
            let token = &received.value["params"]["_meta"]["progressToken"];
            let progress = |n: usize| format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{n}}}}}"#);
            let messages = (0..3_000).map(progress);
            messages.chain([received.result(r#"{"content":[]}"#)]).collect()
        })
    })
    .await;
    let n = bench.call("t", "{}").await;
    let entry = bench
        .wait_for_entry(n, |entry| entry.answer.is_some())
        .await;
    assert_eq!(entry.status, EntryStatus::Ok);
    let window = bench
        .inspector
        .query(&format!("about:{n} kind:received"), 0, 1_000);
    assert_eq!(window.matching, 3_001);
    assert!(window.entries.len() <= 1_000);
    let detail = bench.inspector.entry(n).unwrap();
    assert_eq!(detail.related.len(), 1_000);
}

#[tokio::test(start_paused = true)]
async fn announced_changes_are_read_twice_a_second_at_most() {
    let (bench, wire) = connect(|received| match received.method() {
        "initialize" => Some(vec![received.result(
            r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}"#,
        )]),
        "tools/list" => Some(vec![
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned(),
            received.result(r#"{"tools":[{"name":"t","inputSchema":{}}]}"#),
        ]),
        _ => None,
    })
    .await;
    let before = wire.sent_by_client().len();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let read = wire.sent_by_client().len() - before;
    assert!((10..=22).contains(&read), "{read}");
    assert_eq!(bench.connection(), ConnectionState::Ready);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_fails_at_the_version() {
    let connect = script_server(Wire::default(), |_| Some(Vec::new()));
    let settings = ClientSettings {
        connect_timeout: Some(Duration::from_secs(5)),
        ..only(Revision::V2025_06_18)
    };
    let bench = Bench::open_with(connect, settings);
    bench
        .wait(|state| {
            !state.sessions[0].connection.eq(&ConnectionState::Ready)
                && matches!(state.sessions[0].connection, ConnectionState::Failed { .. })
        })
        .await;
    let ConnectionState::Failed { errors, .. } = bench.connection() else {
        panic!("{:?}", bench.connection());
    };
    assert!(errors.join(" ").contains("within"), "{errors:?}");
    // The handshake does not wait any more.
    let open = bench.inspector.query("status:open", 0, 9);
    assert_eq!(open.matching, 0);
    assert_eq!(
        bench
            .inspector
            .query("method:initialize status:error", 0, 9)
            .matching,
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_goes_away_fails_what_is_open_on_both_sides() {
    let (bench, _) = connect(|received| {
        (received.method() == "tools/call")
            .then(|| vec![r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#.to_owned()])
    })
    .await;
    let n = bench.call("t", "{}").await;
    bench
        .wait(|state| {
            state
                .inbox
                .iter()
                .any(|question| question.state == QuestionState::Open)
        })
        .await;
    bench.servers.crash();
    bench
        .wait(|state| matches!(state.sessions[0].connection, ConnectionState::Ended { .. }))
        .await;
    bench
        .wait_for_entry(n, |entry| entry.status == EntryStatus::Error)
        .await;
    assert_eq!(bench.inspector.query("status:open", 0, 9).matching, 0);
    bench
        .wait(|state| state.inbox[0].state == QuestionState::Withdrawn)
        .await;
    assert!(bench.inspector.cancel(&bench.session, n).is_err());
    // Lines of stderr that come after the end are shown too.
    bench.servers.observer().add_stderr(b"segmentation fault");
    let ConnectionState::Ended { stderr, .. } = bench.connection() else {
        panic!("{:?}", bench.connection());
    };
    assert_eq!(stderr, ["segmentation fault"]);
}

#[tokio::test(start_paused = true)]
async fn facts_errors_and_completions_are_cut() {
    let long = "x".repeat(1 << 20);
    let facts = format!(
        r#"{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}},"completions":{{}},"experimental":{{"e":{{"x":"{long}"}}}}}},"serverInfo":{{"name":"{long}","version":"{long}"}},"instructions":"{long}"}}"#
    );
    let error = format!(r#""error":{{"code":-32000,"message":"{long}"}}"#);
    let (bench, _) = connect(move |received| match received.method() {
        "initialize" => Some(vec![received.result(&facts)]),
        "tools/list" => Some(vec![format!(
            r#"{{"jsonrpc":"2.0","id":{},{error}}}"#,
            received.value["id"]
        )]),
        "completion/complete" => {
            let values = vec![format!("\"{}\"", "v".repeat(10_000)); 300].join(",");
            Some(vec![received.result(&format!(
                r#"{{"completion":{{"values":[{values}]}}}}"#
            ))])
        }
        _ => None,
    })
    .await;
    let state = serde_json::to_vec(&bench.inspector.state()).unwrap();
    assert!(state.len() < 200 * 1024, "{}", state.len());
    let window = bench
        .inspector
        .items(&bench.session, ItemKind::Tools, "", 0, 9)
        .unwrap();
    assert!(window.error.unwrap().len() < 5_000);
    let request = CompletionRequest {
        target: CompletionTarget::Prompt,
        name: "p".into(),
        argument: "a".into(),
        value: String::new(),
        context: Default::default(),
    };
    let completion = bench
        .inspector
        .complete(&bench.session, request)
        .await
        .unwrap();
    assert_eq!((completion.values.len(), completion.has_more), (100, true));
    assert!(completion.values[0].len() < 5_000);
}
