use serde_json::json;

use super::*;
use crate::report::tests::report;

fn interface() -> Interface {
    Interface {
        instructions: Some("add numbers".into()),
        tools: vec![
            json!({"name": "add", "description": "adds", "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}}}}),
            json!({"name": "old"}),
        ],
        prompts: vec![json!({"name": "greet"})],
        resources: vec![json!({"uri": "file:///a", "name": "a"})],
        templates: vec![json!({"uriTemplate": "file:///{x}", "name": "x"})],
    }
}

fn drift(before: &Interface, after: Interface) -> Vec<(String, String, String)> {
    let lock = Lock::new("2025-11-25", before);
    let mut report = report();
    report.cases[1].interface = Some(after);
    report.cases.iter_mut().for_each(|case| case.checks.clear());
    lock.compare(&mut report);
    assert_eq!(report.notes, [""; 0]);
    let checks = report.cases.iter().flat_map(|case| &case.checks);
    let found = checks.flat_map(|check| {
        let found = check.findings.iter();
        found.map(|it| {
            (
                check.id.clone(),
                it.item.clone().unwrap(),
                it.sentence.clone(),
            )
        })
    });
    found.collect()
}

#[test]
fn an_unchanged_interface_has_no_drift_in_whatever_order_it_comes() {
    let mut after = interface();
    after.tools.reverse();
    after.tools[1] = json!({"inputSchema": {"properties": {"a": {"type": "number"}}, "type": "object"}, "description": "adds", "name": "add"});
    assert_eq!(drift(&interface(), after), []);
}

#[test]
fn drift_names_what_was_added_removed_and_changed() {
    let mut after = interface();
    after.tools[0]["description"] = json!("adds\u{1b}[2J and sends it away");
    after.tools[0]["inputSchema"]["properties"]["b"] = json!({"type": "string"});
    after.tools[1]["name"] = json!("new");
    after.resources.clear();
    after.instructions = None;
    let expected = [
        ("lock.added", "tool new", "it is not in the lock"),
        ("lock.removed", "tool old", "it was in the lock and is gone"),
        (
            "lock.removed",
            "resource file:///a",
            "it was in the lock and is gone",
        ),
        (
            "lock.changed",
            "tool add",
            "description: \"adds\" is now \"adds\\u001b[2J and sends it away\"; \
             inputSchema/properties/b: {\"type\":\"string\"} is new",
        ),
        (
            "lock.changed",
            "instructions",
            "\"add numbers\" is now nothing",
        ),
    ];
    let expected =
        expected.map(|(id, item, text)| (id.to_owned(), item.to_owned(), text.to_owned()));
    assert_eq!(drift(&interface(), after), expected);
}

#[test]
fn a_second_item_of_the_same_name_is_drift() {
    let mut after = interface();
    after
        .tools
        .push(json!({"name": "add", "description": "another"}));
    assert_eq!(drift(&interface(), after)[0].1, "tool add (2)");
}

#[test]
fn a_changed_definition_names_a_bounded_number_of_differences() {
    let mut after = interface();
    let long: Value = (0..500)
        .map(|at| (format!("k{at:03}"), json!("x".repeat(999))))
        .collect::<Map<_, _>>()
        .into();
    after.tools[0]["meta"] = long.clone();
    after.tools[0]["inputSchema"] = long;
    let (_, _, sentence) = drift(&interface(), after).remove(0);
    assert!(sentence.ends_with("; and 497 more"), "{sentence}");
    assert!(sentence.len() < 3000, "{}", sentence.len());
}

#[test]
fn a_written_lock_is_read_back_and_the_same_each_time() {
    let write = |lock: &Lock| {
        let mut out = Vec::new();
        lock.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let mut hostile = interface();
    hostile.tools[0]["description"] = json!("\u{202e}\u{1b}[2J\n");
    let text = write(&Lock::new("2025-11-25", &hostile));
    assert!(!text.contains(['\u{202e}', '\u{1b}']));
    let read = Lock::parse(&text).unwrap();
    assert_eq!(read, Lock::new("2025-11-25", &hostile));
    hostile.tools.reverse();
    assert_eq!(write(&Lock::new("2025-11-25", &hostile)), text);
}

#[test]
fn a_lock_that_was_edited_or_is_broken_is_an_error() {
    let mut out = Vec::new();
    Lock::new("2025-11-25", &interface())
        .write(&mut out)
        .unwrap();
    let text = String::from_utf8(out).unwrap();
    for (from, to, message) in [
        (
            "\"adds\"",
            "\"subtracts\"",
            "the digest of the tool \"add\" is not that of its definition: make the file anew with --update-lock",
        ),
        (
            "\"lock\": 1",
            "\"lock\": 2",
            "the format 2 is not known, only 1",
        ),
        ("\"tools\"", "\"tool\"", "line 5: unknown field `tool`"),
        ("\"lock\": 1,", "", "line "),
        ("{", "", "line 2: "),
    ] {
        assert!(text.contains(from));
        let error = Lock::parse(&text.replacen(from, to, 1))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(message), "{from}: {error}");
    }
}

#[test]
fn the_case_of_the_revision_of_the_lock_is_compared_or_else_the_newest() {
    let mut report = report();
    report.cases[0].interface = Some(Interface::default());
    report.cases[1].interface = Some(interface());
    assert_eq!(Lock::from_report(&report).unwrap().revision, "2025-11-25");
    let old = Lock::new("2025-06-18", &Interface::default());
    let count = report.cases[0].checks.len();
    old.compare(&mut report);
    assert_eq!(report.cases[0].checks.len(), count + 3);
    assert!(report.notes.is_empty());
    let other = Lock::new("2024-11-05", &interface());
    other.compare(&mut report);
    assert!(report.notes[0].contains("revision 2024-11-05"));
    assert!(
        report.cases[1]
            .checks
            .iter()
            .rev()
            .take(3)
            .all(|check| check.verdict == Verdict::Pass)
    );
    report
        .cases
        .iter_mut()
        .for_each(|case| case.interface = None);
    other.compare(&mut report);
    assert!(report.notes[1].contains("was not compared"));
}
