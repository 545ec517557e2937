use bytes::Bytes;

use super::scan::IndexLimits;
use super::*;
use crate::api::{BlockKind, ValueKind, ValueRow};

fn document(text: impl Into<Vec<u8>>) -> Document {
    Document::new(Bytes::from(text.into()))
}

fn all_rows(document: &Document) -> Vec<ValueRow> {
    document.rows(&OpenPaths::new(100, []), 0, 1000).rows
}

/// Returns the path, the name and the text of each row.
fn lines(document: &Document) -> Vec<String> {
    let line = |row: ValueRow| {
        let key = row.key.map(|key| key.text).unwrap_or_default();
        let text = row.text.map(|text| text.text).unwrap_or_default();
        format!("{}|{key}|{text}", row.path)
    };
    all_rows(document).into_iter().map(line).collect()
}

#[test]
fn numbers_names_and_escapes_stay_as_they_were_sent() {
    let text =
        r#"{"a": 9007199254740993, "a":1E400, "\u0061" : "\ud800\/", "b":[-0.0, true ,null]}"#;
    let document = document(text);
    assert_eq!(
        lines(&document),
        [
            "||",
            r#"0|"a"|9007199254740993"#,
            r#"1|"a"|1E400"#,
            r#"2|"\u0061"|"\ud800\/""#,
            r#"3|"b"|"#,
            "3.0||-0.0",
            "3.1||true",
            "3.2||null",
        ]
    );
    let duplicates = all_rows(&document).into_iter().map(|row| row.is_duplicate);
    let expected = [false, true, true, true, false, false, false, false];
    assert_eq!(duplicates.collect::<Vec<_>>(), expected);
    assert_eq!(document.find("2").unwrap().as_str().unwrap(), "\u{fffd}/");
    assert_eq!(document.find("").unwrap().raw(), text.as_bytes());
}

#[test]
fn a_text_that_is_not_json_is_shown_up_to_its_fault() {
    for (text, at, sentence, rows) in [
        ("", 0, "the text ends where a value belongs", 0),
        ("[1, 2", 5, "the text ends inside an object or array", 3),
        ("[1,]", 3, "a value belongs here", 2),
        ("{\"a\":1,}", 7, "the name of a member belongs here", 2),
        (
            "{\"a\" 1}",
            5,
            "a colon belongs behind the name of a member",
            1,
        ),
        (
            "[1 2]",
            3,
            "a comma or the end of the object or array belongs here",
            2,
        ),
        ("1 2", 2, "something follows the value", 1),
        ("\"a\nb\"", 2, "a control character stands in a string", 0),
        (
            "\"\\x\"",
            1,
            "the character behind a backslash is no escape",
            0,
        ),
        (
            "\"\\u12g4\"",
            1,
            "four hexadecimal digits belong behind \\u",
            0,
        ),
        (
            "[01]",
            2,
            "a comma or the end of the object or array belongs here",
            2,
        ),
        ("[-]", 2, "a digit belongs here", 1),
        ("[[[{\"a\":tru}]]]", 8, "a value belongs here", 4),
        ("\"abc", 4, "the text ends inside a string", 0),
    ] {
        let document = document(text);
        let fault = document.fault().unwrap();
        assert_eq!((fault.at, &*fault.sentence), (at, sentence), "{text}");
        assert_eq!(all_rows(&document).len(), rows, "{text}");
    }
}

#[test]
fn an_index_is_bounded_in_values_and_depth() {
    let limits = IndexLimits {
        max_values: 3,
        max_depth: 2,
    };
    let fault = |text: &'static str| {
        let document = Document::with_limits(Bytes::from_static(text.as_bytes()), limits);
        document.fault().map(|fault| fault.at)
    };
    assert_eq!(fault("[1,2]"), None);
    assert_eq!(fault("[1,2,3]"), Some(5));
    assert_eq!(fault("[[1]]"), None);
    assert_eq!(fault("[[[]]]"), Some(2));
}

#[test]
fn objects_open_by_depth_and_by_path() {
    let document = document(r#"{"a":{"b":[1,2]},"c":[3]}"#);
    let paths = |depth, toggled: &[&str]| {
        let open = OpenPaths::new(depth, toggled.iter().copied());
        let rows = document.rows(&open, 0, 100);
        assert_eq!(rows.total as usize, rows.rows.len());
        let paths: Vec<_> = rows.rows.into_iter().map(|row| row.path).collect();
        paths.join(" ")
    };
    assert_eq!(paths(0, &[]), "");
    assert_eq!(paths(1, &[]), " 0 1");
    assert_eq!(paths(1, &["0.0", "0"]), " 0 0.0 0.0.0 0.0.1 1");
    assert_eq!(paths(3, &["0", "nonsense", "7.7"]), " 0 1 1.0");
    let part = document.rows(&OpenPaths::new(9, []), 2, 2);
    assert_eq!((part.total, part.from), (7, 2));
    assert_eq!(part.rows[0].path, "0.0");
    assert_eq!((part.rows[0].depth, part.rows[0].children), (2, 2));
}

#[test]
fn the_text_of_rows_is_bounded_and_no_character_is_cut() {
    let long = "é".repeat(3000);
    let items = vec![format!("\"{long}\""); 200].join(",");
    let document = document(format!("[{items}]"));
    let rows = document.rows(&OpenPaths::new(1, []), 1, 1000).rows;
    assert!((100..200).contains(&rows.len()), "{}", rows.len());
    let text = rows[0].text.as_ref().unwrap();
    assert_eq!(text.cut, Some(6002));
    assert!(text.text.len() <= 2048 && text.text.ends_with('é'));
}

#[test]
fn a_search_finds_names_and_values_with_their_paths() {
    let document = document(r#"{"Key":[1,{"x":"the KEY"},"k"],"y":{"key2":"a\"b"}}"#);
    let found = document.search("key", 0);
    let found: Vec<_> = found
        .matches
        .iter()
        .map(|it| (&*it.path, it.is_key))
        .collect();
    assert_eq!(found, [("0", true), ("0.1.0", false), ("1.0", true)]);
    let found = document.search("a\"b", 0).matches;
    assert_eq!((found.len(), &*found[0].path), (1, "1.0"));
    assert_eq!(document.search("[1", 0).matches, []);
    let many = self::document(format!("[{}]", vec!["7"; 500].join(",")));
    let first = many.search("7", 0);
    assert_eq!(first.matches.len(), 200);
    let second = many.search("7", first.next.unwrap() as usize);
    assert_eq!(second.matches[0].path, "200");
}

#[test]
fn blocks_of_a_result_are_found_by_their_kind() {
    let document = document(
        r#"{"jsonrpc":"2.0","id":1,"result":{"isError":true,"structuredContent":{"a":1},"content":[
        {"type":"text","text":"a\u00e9\nb","annotations":{"priority":1}},
        {"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},
        {"type":"resource_link","uri":"file:///a","name":"a"},
        {"type":"resource","resource":{"uri":"u:1","text":"t","mimeType":"text/plain"}},
        {"type":"strange"}]}}"#,
    );
    let blocks = document.blocks(0, 100);
    assert_eq!((blocks.total, blocks.is_error), (5, true));
    assert_eq!(blocks.structured.as_deref(), Some("2.1"));
    let [text, image, link, resource, other] = &blocks.blocks[..] else {
        panic!("{blocks:?}");
    };
    assert!(matches!(&text.content, BlockKind::Text { text, next: None, .. } if text == "aé\nb"));
    assert_eq!(text.annotations.as_deref(), Some(r#"{"priority":1}"#));
    let BlockKind::Blob { blob, .. } = &image.content else {
        panic!("{image:?}");
    };
    assert_eq!(document.blob(blob).unwrap().media_type, "image/png");
    assert!(matches!(&link.content, BlockKind::Link { uri, .. } if uri == "file:///a"));
    assert!(matches!(&resource.content, BlockKind::Text { uri: Some(uri), .. } if uri == "u:1"));
    assert_eq!(other.content, BlockKind::Other);
    let prompt = self::document(
        r#"{"result":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}}"#,
    );
    let block = &prompt.blocks(0, 1).blocks[0];
    assert_eq!(
        (block.role.as_deref(), &*block.path),
        (Some("user"), "0.0.0.1")
    );
}

#[test]
fn a_long_text_comes_in_pieces_that_join_to_the_whole() {
    let whole = "aé\n😀\"".repeat(40_000);
    let text = serde_json::to_string(&whole)
        .unwrap()
        .replace('😀', "\\ud83d\\ude00");
    let document = document(format!(
        r#"{{"result":{{"contents":[{{"uri":"u","text":{text}}}]}}}}"#
    ));
    let mut joined = String::new();
    let mut next = Some(0);
    while let Some(from) = next {
        let piece = document.text_piece("0.0.0", from).unwrap();
        assert!(piece.text.len() <= 64 * 1024 + 4);
        joined.push_str(&piece.text);
        next = piece.next.map(|next| next as usize);
    }
    assert!(joined == whole);
    let first = document.text_piece("0.0.0.1", 0);
    assert_eq!(document.text_piece("0.0.0", 0), first);
    assert_eq!(document.text_piece("0.0.0.0.0", 0), None);
    let block = r#"{"type":"resource","resource":{"uri":"u","text":"x"}}"#;
    let embedded = Document::new(Bytes::from_static(block.as_bytes()));
    assert_eq!(embedded.text_piece("", 0).unwrap().text, "x");
}

#[test]
fn the_result_of_a_task_has_the_blocks_of_its_call() {
    let content = r#""content":[{"type":"text","text":"done"}],"isError":true"#;
    let text =
        format!(r#"{{"result":{{"taskId":"a","status":"completed","result":{{{content}}}}}}}"#);
    let blocks = document(text).blocks(0, 9);
    assert_eq!((blocks.total, blocks.is_error), (1, true));
    assert_eq!(blocks.blocks[0].path, "0.2.0.0");
    let working = document(r#"{"result":{"taskId":"a","status":"working"}}"#);
    assert_eq!(working.blocks(0, 9).total, 0);
}

#[test]
fn bytes_that_are_no_utf8_are_shown_and_kept() {
    let document = document(b"[\"a\xff\"]".to_vec());
    assert_eq!(lines(&document)[1], "0||\"a\u{fffd}\"");
    assert_eq!(document.find("0").unwrap().raw(), b"\"a\xff\"");
    assert_eq!(document.root().unwrap().kind(), ValueKind::Array);
}

#[test]
fn deep_and_long_values_are_indexed() {
    let depth = 100_000;
    let deep = document(format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
    assert_eq!(deep.fault(), None);
    assert_eq!(deep.rows(&OpenPaths::new(50, []), 0, 1000).total, 51);
    // Their paths alone are longer than an answer.
    let rows = deep.rows(&OpenPaths::new(u32::MAX, []), 99_000, 1000);
    assert_eq!((rows.total, rows.rows.len()), (depth as u64, 2));
    let long = document(format!("[{}]", vec!["{\"a\":1}"; 1_000_000].join(",")));
    let rows = long.rows(&OpenPaths::new(1, []), 999_999, 10);
    assert_eq!((rows.total, &*rows.rows[1].path), (1_000_001, "999999"));
}

#[test]
fn a_value_inside_of_a_text_has_lines_and_matches_of_its_own() {
    let text = r#"{"a":[1,{"b":"xyz","a":["xyz"]}],"c":"xyz"}"#;
    let document = document(text);
    let open = OpenPaths::new(9, []);
    let rows = document.rows_at("0.1", &open, 0, 9).unwrap();
    let paths: Vec<_> = rows
        .rows
        .iter()
        .map(|row| (&*row.path, row.depth))
        .collect();
    assert_eq!(paths, [("", 0), ("0", 1), ("1", 1), ("1.0", 2)]);
    assert_eq!((rows.total, &rows.rows[0].key), (4, &None));
    let found = document.search_at("0.1", "XYZ", 0).unwrap().matches;
    let found: Vec<_> = found.iter().map(|it| (&*it.path, it.at)).collect();
    assert_eq!(found, [("0", 6), ("1.0", 17)]);
    assert_eq!(
        document.search_at("0.1", "xyz", 7).unwrap().matches.len(),
        1
    );
    assert!(document.rows_at("0.2", &open, 0, 9).is_none());
    assert!(document.search_at("1.0", "x", 0).is_none());
}

#[test]
fn the_line_of_a_path_is_known() {
    let document = document(r#"[[1,2,[3]],4,{"a":[5,6]}]"#);
    for (depth, toggled) in [
        (9, vec![]),
        (1, vec!["0", "0.2", "2", "2.0"]),
        (2, vec!["2"]),
    ] {
        let open = OpenPaths::new(depth, toggled);
        let rows = document.rows(&open, 0, 99).rows;
        for (index, row) in rows.iter().enumerate() {
            let found = document.row_index("", &open, &row.path);
            assert_eq!(found, Some(Some(index as u64)), "{} {depth}", row.path);
        }
    }
    let below = |depth| document.row_index("2", &OpenPaths::new(depth, []), "0.1");
    assert_eq!((below(1), below(2)), (Some(None), Some(Some(3))));
    let closed = OpenPaths::new(1, []);
    assert_eq!(document.row_index("", &closed, "0.2.0"), Some(None));
    assert_eq!(document.row_index("", &closed, "7"), None);
}
