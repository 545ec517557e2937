use super::*;

fn timeline(limits: TimelineLimits) -> Timeline {
    Timeline::new(limits, Changes::default())
}

impl Timeline {
    fn add_text(&self, kind: EntryKind, text: &str) -> u64 {
        self.add(NewEntry::new("s1", kind, text.to_owned()))
    }

    fn send(&self, text: &str) -> u64 {
        self.add_text(EntryKind::Sent, text)
    }

    fn receive(&self, text: &str) -> u64 {
        self.add_text(EntryKind::Received, text)
    }

    fn numbers(&self, filter: &str) -> Vec<u64> {
        let window = self.query(&Filter::parse(filter), 0, 1000);
        window.entries.iter().map(|entry| entry.n).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_is_paired_with_its_request() {
    let timeline = timeline(TimelineLimits::default());
    let call = timeline.send(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"p"}}}"#,
    );
    // The server's own request with the same id is another one.
    let ask = timeline.receive(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    tokio::time::advance(std::time::Duration::from_millis(5)).await;
    let progress = timeline.receive(
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}"#,
    );
    assert_eq!(timeline.entry(call).unwrap().status, EntryStatus::Open);
    let result = timeline.receive(r#"{"jsonrpc":"2.0","id":1,"result":{"isError":true}}"#);
    let entry = timeline.entry(call).unwrap();
    assert_eq!(
        (entry.status, entry.answer),
        (EntryStatus::Error, Some(result))
    );
    assert_eq!(entry.duration_us, Some(5_000));
    let entry = timeline.entry(result).unwrap();
    assert_eq!(
        (entry.about, entry.method.as_deref()),
        (Some(call), Some("tools/call"))
    );
    assert_eq!(timeline.entry(progress).unwrap().about, Some(call));
    assert_eq!(timeline.entry(ask).unwrap().status, EntryStatus::Open);
    assert_eq!(timeline.detail(call).unwrap().related, [progress, result]);
    assert_eq!(
        timeline.numbers("status:error method:tools/call >1ms"),
        [call, result]
    );
}

#[test]
fn a_cancelled_request_and_one_without_a_response_have_an_outcome() {
    let timeline = timeline(TimelineLimits::default());
    let first = timeline.send(r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#);
    let second = timeline.send(r#"{"jsonrpc":"2.0","id":2,"method":"a"}"#);
    let cancelled = timeline
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    assert_eq!(
        timeline.entry(first).unwrap().status,
        EntryStatus::Cancelled
    );
    assert_eq!(timeline.entry(cancelled).unwrap().about, Some(first));
    timeline.set_outcome(first, EntryStatus::Ok, None);
    timeline.set_outcome(second, EntryStatus::TimedOut, Some("late".into()));
    assert_eq!(
        timeline.entry(first).unwrap().status,
        EntryStatus::Cancelled
    );
    assert_eq!(timeline.numbers("status:timed-out"), [second]);
}

#[test]
fn lines_logs_and_noise_are_told_apart() {
    let timeline = timeline(TimelineLimits::default());
    timeline.add_text(EntryKind::Stderr, "panicked at main.rs");
    timeline.receive(
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hey"}}"#,
    );
    timeline.receive("Listening on port 3000");
    let kinds: Vec<_> = timeline.query(&Filter::parse(""), 0, 9).entries;
    let kinds: Vec<_> = kinds
        .into_iter()
        .map(|entry| (entry.kind, entry.summary.unwrap()))
        .collect();
    assert_eq!(kinds[0], (EntryKind::Stderr, "panicked at main.rs".into()));
    assert_eq!(kinds[1], (EntryKind::Log, "\"hey\"".into()));
    assert_eq!(
        kinds[2],
        (EntryKind::Noise, "Listening on port 3000".into())
    );
}

#[test]
fn bytes_move_to_a_file_and_the_oldest_entries_are_dropped_and_counted() {
    let limits = TimelineLimits {
        max_entries: 1000,
        max_memory_bytes: 100,
        max_file_bytes: 400,
    };
    let timeline = timeline(limits);
    let text = |n: u64| format!("{n:-^50}");
    for n in 1..=20 {
        timeline.add_text(EntryKind::Stderr, &text(n));
    }
    let window = timeline.query(&Filter::default(), -2, 10);
    // Two in memory, two in the newer file, and four in the older one.
    assert_eq!((window.total, window.dropped), (8, 12));
    assert_eq!(
        window
            .entries
            .iter()
            .map(|entry| entry.n)
            .collect::<Vec<_>>(),
        [19, 20]
    );
    assert_eq!(timeline.entry(12), None);
    for n in 13..=20 {
        assert_eq!(timeline.bytes(n).unwrap(), text(n));
    }
    assert_eq!(timeline.numbers("\" -15\" 15"), [0; 0]);
    assert_eq!(timeline.numbers("15-"), [15]);
    // One that fits nowhere goes, with all before it.
    timeline.add_text(EntryKind::Stderr, &"x".repeat(300));
    let window = timeline.query(&Filter::default(), 0, 10);
    assert_eq!((window.total, window.dropped), (0, 21));
    timeline.add_text(EntryKind::Stderr, "on");
    assert_eq!(timeline.numbers("on"), [22]);
}

#[test]
fn the_number_of_entries_is_bounded() {
    let limits = TimelineLimits {
        max_entries: 3,
        ..TimelineLimits::default()
    };
    let timeline = timeline(limits);
    for n in 0..9 {
        timeline.add_text(EntryKind::Stderr, &n.to_string());
    }
    assert_eq!(timeline.numbers(""), [7, 8, 9]);
}

#[test]
fn a_text_is_found_in_new_entries_too() {
    let timeline = timeline(TimelineLimits::default());
    timeline.add_text(EntryKind::Stderr, "One Needle");
    assert_eq!(timeline.numbers("needle"), [1]);
    timeline.add_text(EntryKind::Stderr, "none");
    timeline.send(r#"{"jsonrpc":"2.0","method":"needle/x"}"#);
    assert_eq!(timeline.numbers("needle"), [1, 3]);
    for other in 0..20 {
        assert_eq!(timeline.numbers(&format!("other{other}")), [0; 0]);
    }
    assert_eq!(timeline.numbers("needle -x"), [1]);
}
