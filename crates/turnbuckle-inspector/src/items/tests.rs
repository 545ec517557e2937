use super::*;
use crate::api::Hint;

fn items(max_items: usize, max_bytes: usize) -> Items {
    let limits = ItemLimits {
        max_items,
        max_bytes,
    };
    Items::new(limits, Changes::default())
}

fn page(tools: &str, cursor: &str) -> Bytes {
    Bytes::from(format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{tools}]{cursor}}}}}"#
    ))
}

fn names(items: &Items, filter: &str) -> String {
    let window = items.window("s1", ItemKind::Tools, filter, 0, 100);
    let names: Vec<_> = window.rows.into_iter().map(|row| row.key).collect();
    names.join(" | ")
}

const ADD: &str = r#"{"name":"add","description":"Adds\nnumbers","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;
const BAD: &str = r#"{"name":"b\u0061d","inputSchema":7}"#;

#[test]
fn a_list_is_filled_page_by_page_and_filtered() {
    let items = items(100, 1 << 20);
    items.begin("s1", ItemKind::Tools);
    let cursor = items.add_page(
        "s1",
        ItemKind::Tools,
        3,
        page(ADD, r#","nextCursor":"a\"b""#),
    );
    assert_eq!(cursor.unwrap().as_deref(), Some("a\"b"));
    assert!(items.window("s1", ItemKind::Tools, "", 0, 1).is_loading);
    let second = page(&format!("{BAD},{ADD}"), "");
    assert_eq!(items.add_page("s1", ItemKind::Tools, 5, second), Ok(None));
    items.finish("s1", ItemKind::Tools, None);
    assert_eq!(names(&items, ""), "add | bad | add (2)");
    assert_eq!(names(&items, "NUMB adds"), "add | add (2)");
    assert_eq!(names(&items, "numb bad"), "");
    let window = items.window("s1", ItemKind::Tools, "add", 1, 1);
    assert_eq!(
        (window.total, window.matching, window.rows.len()),
        (3, 2, 1)
    );
    let size = items.summaries("s1")[0].size;
    assert_eq!(size, (2 * ADD.len() + BAD.len()) as u64);
    let add = items.find("s1", ItemKind::Tools, "add").unwrap();
    assert_eq!((&*add.raw, add.range.n), (ADD.as_bytes(), 3));
    assert_eq!(add.row.hints, [Hint::ReadOnly]);
    assert_eq!(add.row.description.as_deref(), Some("Adds numbers"));
    let bad = items.find("s1", ItemKind::Tools, "bad").unwrap().row;
    assert!(bad.fault.is_some() && add.row.fault.is_none());
    assert_eq!(bad.hints, [Hint::Destructive]);
}

#[test]
fn the_items_stay_until_the_list_is_there_again() {
    let items = items(100, 1 << 20);
    let fill = |tools: &str| {
        items.begin("s1", ItemKind::Tools);
        assert_ne!(names(&items, ""), "x");
        items
            .add_page("s1", ItemKind::Tools, 1, page(tools, ""))
            .unwrap();
        items.finish("s1", ItemKind::Tools, None);
    };
    fill(ADD);
    items.begin("s1", ItemKind::Tools);
    assert_eq!(names(&items, ""), "add");
    items.finish("s1", ItemKind::Tools, Some("lost".into()));
    let window = items.window("s1", ItemKind::Tools, "", 0, 9);
    assert_eq!((window.total, window.error.as_deref()), (1, Some("lost")));
    fill(BAD);
    assert_eq!(names(&items, ""), "bad");
    items.remove_session("s1");
    assert_eq!((names(&items, ""), items.lock().bytes), (String::new(), 0));
}

#[test]
fn lists_are_bounded_in_items_and_bytes_in_sum() {
    let few = items(2, 1 << 20);
    let three = page(&[ADD; 3].join(","), "");
    let error = few
        .add_page("s1", ItemKind::Tools, 1, three.clone())
        .unwrap_err();
    assert!(error.contains("max_items"), "{error}");
    assert_eq!(names(&few, ""), "add | add (2)");
    // Their definitions are there too.
    let second = few.find("s1", ItemKind::Tools, "add (2)").unwrap();
    assert_eq!(&*second.raw, ADD.as_bytes());
    let small = items(100, 1_500);
    let error = small.add_page("s1", ItemKind::Tools, 1, three.clone());
    let more = small.add_page("s2", ItemKind::Tools, 1, three.clone());
    assert!(error.is_err() || more.is_err());
    assert!(more.unwrap_err().contains("max_bytes"));
    small.finish("s1", ItemKind::Tools, None);
    assert!(small.lock().bytes <= 1_500);
    small.remove_session("s1");
    small.remove_session("s2");
    assert_eq!(small.lock().bytes, 0);
}

#[test]
fn a_result_without_the_list_is_an_error() {
    let items = items(9, 1 << 20);
    for text in ["", "{}", r#"{"result":{}}"#, r#"{"result":[]}"#] {
        let added = items.add_page(
            "s1",
            ItemKind::Tools,
            1,
            Bytes::from_static(text.as_bytes()),
        );
        assert_eq!(added, Err("the result has no `tools`".to_owned()), "{text}");
    }
}

fn task(id: &str, status: &str, more: &str) -> String {
    format!(r#"{{"taskId":"{id}","status":"{status}"{more}}}"#)
}

#[test]
fn a_task_is_listed_from_the_first_message_that_names_it() {
    let items = items(9, 1 << 20);
    let mut n = 0;
    let mut observe = |text: String| {
        n += 1;
        items.observe_task("s1", n, &text.clone().into());
        text
    };
    observe(format!(
        r#"{{"id":1,"result":{{"task":{}}}}}"#,
        task("a", "working", "")
    ));
    let extension = task("b", "working", r#","resultType":"task""#);
    observe(format!(r#"{{"id":2,"result":{extension}}}"#));
    let long = format!(r#","result":"{}""#, "x".repeat(100_000));
    let done = observe(format!(
        r#"{{"id":3,"result":{}}}"#,
        task("a", "completed", &long)
    ));
    let params = task("b", "failed", r#","statusMessage":"no\ndisk""#);
    observe(format!(
        r#"{{"method":"notifications/tasks/status","params":{params}}}"#
    ));
    for none in [
        r#"{"id":4,"result":{"taskId":"c","status":"fine"}}"#,
        r#"{"id":4,"result":{"structuredContent":{"taskId":"c","status":"working"}}}"#,
        r#"{"id":4,"result":{"x":"\"taskId\""}}"#,
        "\"taskId\"",
    ] {
        observe(none.to_owned());
    }
    let window = items.window("s1", ItemKind::Tasks, "", 0, 9);
    let hints: Vec<_> = window
        .rows
        .iter()
        .map(|row| (&*row.key, row.hints[0]))
        .collect();
    assert_eq!(hints, [("a", Hint::Completed), ("b", Hint::Failed)]);
    assert_eq!(window.rows[1].description.as_deref(), Some("no disk"));
    let found = items.find("s1", ItemKind::Tasks, "b").unwrap();
    assert_eq!((&*found.raw, found.range.n), (params.as_bytes(), 4));
    // A long state is only in the timeline.
    let found = items.find("s1", ItemKind::Tasks, "a").unwrap();
    let range = found.range.start as usize..found.range.end as usize;
    assert!(found.raw.is_empty() && done[range].starts_with(r#"{"taskId":"a","status":"comp"#));
    let mut bytes = Vec::new();
    for _ in 0..100 {
        observe(format!(r#"{{"result":{}}}"#, task("a", "working", "")));
        bytes.push(items.lock().bytes);
    }
    assert_eq!(bytes[0], bytes[99]);
    items.remove_session("s1");
    assert_eq!(items.lock().bytes, 0);
}

#[test]
fn a_listed_task_changes_with_the_messages_about_it() {
    let items = items(9, 1 << 20);
    let list = format!(
        r#"{{"id":1,"result":{{"tasks":[{},{}]}}}}"#,
        task("a", "working", ""),
        task("b", "working", "")
    );
    items.begin("s1", ItemKind::Tasks);
    items
        .add_page("s1", ItemKind::Tasks, 1, list.into())
        .unwrap();
    items.finish("s1", ItemKind::Tasks, None);
    let message = format!(r#"{{"result":{}}}"#, task("b", "completed", ""));
    items.observe_task("s1", 2, &message.into());
    let numbers = ["a", "b"].map(|key| items.find("s1", ItemKind::Tasks, key).unwrap().range.n);
    assert_eq!(numbers, [1, 2]);
    let found = items.find("s1", ItemKind::Tasks, "a").unwrap();
    assert_eq!(&*found.raw, task("a", "working", "").as_bytes());
}

#[test]
fn a_skill_is_shown_by_its_frontmatter() {
    let items = items(9, 1 << 20);
    let good = r#"{"uri":"skill://a/SKILL.md","frontmatter":{"name":"a","description":"Does a"},"resources":"dynamic"}"#;
    let bad = r#"{"uri":"skill://b/SKILL.md","frontmatter":{"name":"c","description":"Does c"},"resources":"dynamic"}"#;
    let list = format!(r#"{{"id":1,"result":{{"skills":[{good},{bad}]}}}}"#);
    items
        .add_page("s1", ItemKind::Skills, 1, list.into())
        .unwrap();
    let rows = items.window("s1", ItemKind::Skills, "does", 0, 9).rows;
    let shown: Vec<_> = rows
        .iter()
        .map(|row| (row.title.as_deref(), row.fault.is_some()))
        .collect();
    assert_eq!(shown, [(Some("a"), false), (Some("c"), true)]);
    assert_eq!(
        (&*rows[0].name, rows[0].description.as_deref()),
        ("skill://a/SKILL.md", Some("Does a"))
    );
}

#[test]
fn many_items_of_one_name_have_keys_of_their_own() {
    let items = items(10_000, 16 << 20);
    // Names that look like keys are there first.
    let named = |name: String| format!(r#"{{"name":"{name}"}}"#);
    let numbered = (1_000..2_000).map(|n| named(format!("t ({n})")));
    let same = (0..3_000).map(|_| named("t".to_owned()));
    let tools: Vec<_> = numbered.chain(same).collect();
    items
        .add_page("s1", ItemKind::Tools, 1, page(&tools.join(","), ""))
        .unwrap();
    let list = items.lock();
    let list = &list.lists[&("s1".to_owned(), ItemKind::Tools)];
    assert_eq!((list.items.len(), list.by_key.len()), (4_000, 4_000));
    assert!(list.last_number <= 4_000, "{}", list.last_number);
}
