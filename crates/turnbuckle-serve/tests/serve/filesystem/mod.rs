//! Files: read, written, edited, listed, searched, and nothing outside.

mod hostile;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use turnbuckle::testing::{self, Checker, TestClient};
use turnbuckle_serve::filesystem::{Limits, Options, server};

/// A served directory `inside`, with a file beside it that is not served.
struct Served {
    scratch: TempDir,
    client: TestClient,
}

impl Served {
    async fn new() -> Self {
        Self::with_limits(Limits::default()).await
    }

    async fn with_limits(limits: Limits) -> Self {
        let scratch = TempDir::new().unwrap();
        fs::create_dir(scratch.path().join("inside")).unwrap();
        fs::write(scratch.path().join("secret"), "secret").unwrap();
        let options = Options::new()
            .directory(scratch.path().join("inside"))
            .limits(limits);
        let client = testing::connect(server(options).unwrap()).await.unwrap();
        Self { scratch, client }
    }

    fn path(&self, name: &str) -> String {
        let inside = self.scratch.path().canonicalize().unwrap().join("inside");
        inside.join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn content(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Calls a tool, and returns whether it failed, and its text.
    async fn call(&self, tool: &str, arguments: Value) -> (bool, String) {
        let result = self.client.call_tool(tool, &arguments).await.unwrap();
        let text = result.text().into_owned();
        (result.is_error == Some(true), text)
    }

    async fn ok(&self, tool: &str, arguments: Value) -> String {
        let (failed, text) = self.call(tool, arguments).await;
        assert!(!failed, "{text}");
        text
    }

    async fn fail(&self, tool: &str, arguments: Value) -> String {
        let (failed, text) = self.call(tool, arguments).await;
        assert!(failed, "{text}");
        text
    }
}

#[tokio::test]
async fn text_is_read_whole_and_in_parts() {
    let served = Served::new().await;
    let lines: String = (1..=20_000)
        .map(|number| format!("line {number}\n"))
        .collect();
    served.write("lines", &lines);
    let read = async |more: Value| {
        let mut arguments = json!({"path": served.path("lines")});
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        served.ok("read_text_file", arguments).await
    };
    assert_eq!(read(json!({})).await, lines);
    assert_eq!(read(json!({"head": 2})).await, "line 1\nline 2");
    assert_eq!(read(json!({"tail": 2})).await, "line 20000\n");
    let tail = read(json!({"tail": 10_001})).await;
    assert!(tail.starts_with("line 10001\n") && tail.ends_with("line 20000\n"));
    let head = read(json!({"head": 15_000})).await;
    assert!(head.ends_with("\nline 15000"));
    assert_eq!(read(json!({"head": 30_000})).await, lines.trim_end());
    assert_eq!(read(json!({"tail": 30_000})).await, lines);
    let both = json!({"path": served.path("lines"), "head": 1, "tail": 1});
    let text = served.fail("read_text_file", both).await;
    assert_eq!(
        text,
        "Cannot specify both head and tail parameters simultaneously"
    );
    assert_eq!(
        served
            .ok("read_file", json!({"path": "lines", "head": 1}))
            .await,
        "line 1"
    );
}

#[tokio::test]
async fn a_file_of_10_gb_is_read_in_parts_only() {
    let served = Served::new().await;
    served.write("huge", "first\n");
    let file = fs::OpenOptions::new()
        .append(true)
        .open(served.path("huge"))
        .unwrap();
    file.set_len(10 << 30).unwrap();
    let text = served.fail("read_text_file", json!({"path": "huge"})).await;
    assert!(text.contains("--max-read-bytes"), "{text}");
    assert!(text.contains("a part with `head` or `tail`"), "{text}");
    assert_eq!(
        served
            .ok("read_text_file", json!({"path": "huge", "head": 1}))
            .await,
        "first"
    );
    let text = served
        .fail("read_text_file", json!({"path": "huge", "tail": 1}))
        .await;
    assert!(text.contains("--max-read-bytes"), "{text}");
    assert!(text.contains("the lines are long"), "{text}");
    let text = served
        .fail("edit_file", json!({"path": "huge", "edits": []}))
        .await;
    assert!(text.contains("a larger file cannot be edited"), "{text}");
}

#[tokio::test]
async fn media_are_images_sounds_or_resources() {
    let served = Served::new().await;
    let read = async |name: &str| {
        served.write(name, "abc");
        let arguments = json!({"path": served.path(name)});
        let result = served
            .client
            .call_tool("read_media_file", &arguments)
            .await
            .unwrap();
        let content = serde_json::to_value(&result.content).unwrap();
        content[0].clone()
    };
    assert_eq!(
        read("a.PNG").await,
        json!({"type": "image", "data": "YWJj", "mimeType": "image/png"})
    );
    assert_eq!(
        read("a.mp3").await,
        json!({"type": "audio", "data": "YWJj", "mimeType": "audio/mpeg"})
    );
    let uri = format!("file://{}", served.path("a.bin"));
    assert_eq!(
        read("a.bin").await,
        json!({"type": "resource", "resource": {"uri": uri, "mimeType": "application/octet-stream", "blob": "YWJj"}})
    );
}

#[tokio::test]
async fn a_file_that_fails_does_not_stop_the_others() {
    let served = Served::new().await;
    served.write("a", "one");
    let (a, b) = (served.path("a"), served.path("b"));
    let text = served
        .ok("read_multiple_files", json!({"paths": [a, b, "../secret"]}))
        .await;
    let parts: Vec<_> = text.split("\n---\n").collect();
    assert_eq!(parts[0], format!("{a}:\none\n"));
    assert!(parts[1].starts_with(&format!("{b}: Error - ")), "{text}");
    assert!(
        parts[2].contains("Access denied") && !text.contains("secret\n"),
        "{text}"
    );
    let none = served
        .fail("read_multiple_files", json!({"paths": []}))
        .await;
    assert!(none.contains("arguments.paths"), "{none}");
}

#[tokio::test]
async fn files_are_written_and_replaced_as_a_whole() {
    let served = Served::new().await;
    let path = served.path("a");
    let text = served
        .ok("write_file", json!({"path": path, "content": "one"}))
        .await;
    assert_eq!(text, format!("Successfully wrote to {path}"));
    served
        .ok("write_file", json!({"path": "a", "content": "two"}))
        .await;
    assert_eq!(served.content("a"), "two");
    assert_eq!(
        served.ok("list_directory", json!({"path": "."})).await,
        "[FILE] a",
        "no temporary file is left"
    );
    let text = served
        .fail("write_file", json!({"path": "no/a", "content": ""}))
        .await;
    assert!(
        text.starts_with("Parent directory does not exist: "),
        "{text}"
    );
    served
        .fail("write_file", json!({"path": ".", "content": ""}))
        .await;
}

#[tokio::test]
async fn edits_are_shown_and_made() {
    let served = Served::new().await;
    served.write("a", "one\n  two\nthree\n");
    let edit = |old: &str, new: &str, dry: bool| json!({"path": "a", "dryRun": dry, "edits": [{"oldText": old, "newText": new}]});
    let path = served.path("a");
    let line = "=".repeat(67);
    let expected = format!(
        "```diff\nIndex: {path}\n{line}\n--- {path}\toriginal\n+++ {path}\tmodified\n@@ -1,3 +1,3 @@\n-one\n+1\n   two\n three\n```\n\n"
    );
    assert_eq!(
        served.ok("edit_file", edit("one", "1", true)).await,
        expected
    );
    assert_eq!(
        served.content("a"),
        "one\n  two\nthree\n",
        "a dry run changes nothing"
    );
    assert_eq!(
        served.ok("edit_file", edit("one", "1", false)).await,
        expected
    );
    assert_eq!(served.content("a"), "1\n  two\nthree\n");
    served
        .ok("edit_file", edit("two\nthree ", "2\n3", false))
        .await;
    assert_eq!(
        served.content("a"),
        "1\n  2\n3\n",
        "space around lines does not matter, indentation stays"
    );
    let text = served.fail("edit_file", edit("four", "4", false)).await;
    assert_eq!(text, "Could not find exact match for edit:\nfour");
    served.write("a", "one\r\ntwo\r\n");
    served
        .ok("edit_file", edit("one\ntwo", "1\n2", false))
        .await;
    assert_eq!(served.content("a"), "1\r\n2\r\n", "line ends stay");
    served.write("a", [0xff]);
    served.fail("edit_file", edit("", "", false)).await;
}

/// Texts and what takes their place.
type Replacements = [(&'static str, &'static str)];

/// Files, their edits, and what they are then.
const EDITS: &[(&str, &Replacements, &str)] = &[
    ("a\nb\nc\n", &[("a", "A"), ("c", "C")], "A\nb\nC\n"),
    ("a\nb\n", &[("a", "b"), ("b\nb", "c")], "c\n"),
    ("a\na\n", &[("a", "b")], "b\na\n"),
    ("x = 1\n", &[("1", "$$ $& $1 \\0")], "x = $$ $& $1 \\0\n"),
    ("  a\n    b\n  c\n", &[("b", "B")], "  a\n    B\n  c\n"),
    (
        "fn f() {\n  one();\n  two();\n}",
        &[("  one();\n  two();", "  one();\n  more();\n  two();")],
        "fn f() {\n  one();\n  more();\n  two();\n}",
    ),
    (
        "    if x {\n        y();\n    }",
        &[("y();", "y();\n        z();")],
        "    if x {\n        y();\n        z();\n    }",
    ),
    ("a\r\nb\r\nc\r\n", &[("b", "B")], "a\r\nB\r\nc\r\n"),
    // Lines that stay keep their ends, also in a file of both kinds.
    ("a\r\nb\nc\n", &[("c", "C")], "a\r\nb\nC\n"),
    ("a\nb\r\nc", &[("c", "c\nd")], "a\nb\r\nc\r\nd"),
    ("a\r\nb\nc\r\n", &[("b", "b\nx")], "a\r\nb\nx\nc\r\n"),
    (
        "a\r\nb\nc\n",
        &[("a\nb\nc", "x\na\nb\nc")],
        "x\r\na\r\nb\nc\n",
    ),
    (
        "a\nb\r\nc\nd\r\n",
        &[("a\nb\nc\n", "a\nc\n")],
        "a\nc\nd\r\n",
    ),
    ("a\r\n  b\nc\r\n", &[("b ", "x\ny")], "a\r\n  x\ny\nc\r\n"),
    ("a\r\r\nb\n", &[("b", "c")], "a\r\r\nc\n"),
    ("ä\nö\n", &[("ö", "")], "ä\n\n"),
];

#[tokio::test]
async fn edits_change_what_they_name() {
    let served = Served::new().await;
    for (before, edits, after) in EDITS {
        served.write("file", before);
        let edits: Vec<_> = edits
            .iter()
            .map(|(old, new)| json!({"oldText": old, "newText": new}))
            .collect();
        let text = served
            .ok("edit_file", json!({"path": "file", "edits": edits}))
            .await;
        assert_eq!(served.content("file"), *after, "{before:?}");
        assert!(text.contains("\n--- ") && text.contains("\n+++ "), "{text}");
    }
    let edits = json!([{"oldText": "ä", "newText": "a"}, {"oldText": "missing", "newText": ""}]);
    served
        .fail("edit_file", json!({"path": "file", "edits": edits}))
        .await;
    assert_eq!(served.content("file"), "ä\n\n", "all edits or none");
}

#[tokio::test]
async fn sizes_have_two_digits_behind_the_point() {
    let served = Served::new().await;
    for (bytes, shown) in [
        (0, "0 B"),
        (1, "1 B"),
        (512, "512 B"),
        (1_023, "1023 B"),
        (1_024, "1.00 KB"),
        (1_025, "1.00 KB"),
        (1_536, "1.50 KB"),
        ((1 << 20) - 1, "1024.00 KB"),
        (1 << 20, "1.00 MB"),
        (1 << 30, "1.00 GB"),
        (1 << 40, "1.00 TB"),
        (5 << 41, "10.00 TB"),
    ] {
        let file = fs::File::create(served.path("file")).unwrap();
        file.set_len(bytes).unwrap();
        let text = served
            .ok("list_directory_with_sizes", json!({"path": "."}))
            .await;
        assert!(
            text.ends_with(&format!("\nCombined size: {shown}")),
            "{text}"
        );
    }
}

#[tokio::test]
async fn excluded_patterns_leave_out_files_and_directories() {
    let served = Served::new().await;
    for name in [
        "src/a.js",
        "src/a.test.js",
        ".env",
        ".hidden/x",
        "lib/lib/x",
        "lib/y",
        "a.log",
        "z.log",
    ] {
        served.write(name, "");
    }
    for (excluded, left) in [
        (
            &[] as &[&str],
            ".env .hidden x a.log lib lib x y src a.js a.test.js z.log",
        ),
        (&["*.log"], ".env .hidden x lib lib x y src a.js a.test.js"),
        (&["lib"], ".env .hidden x a.log src a.js a.test.js z.log"),
        (&["**/*.test.js", ".*"], "a.log lib lib x y src a.js z.log"),
        (&["src/*"], ".env .hidden x a.log lib lib x y src z.log"),
    ] {
        let arguments = json!({"path": ".", "excludePatterns": excluded});
        let tree = served.ok("directory_tree", arguments).await;
        let lines = tree
            .lines()
            .filter_map(|line| line.trim().strip_prefix("\"name\": \""));
        let mut names: Vec<_> = lines.map(|name| name.trim_end_matches("\",")).collect();
        let mut left: Vec<_> = left.split(' ').collect();
        names.sort_unstable();
        left.sort_unstable();
        assert_eq!(names, left, "{excluded:?}");
    }
}

#[tokio::test]
async fn directories_are_made_listed_and_searched() {
    let served = Served::new().await;
    served
        .ok("create_directory", json!({"path": "x/y/z"}))
        .await;
    served
        .ok("create_directory", json!({"path": served.path("x/y")}))
        .await;
    served.write("x/b.txt", vec![b'.'; 1536]);
    served.write("x/A.txt", "");
    served.write("x/y/c.txt", "");
    let list = served.ok("list_directory", json!({"path": "x"})).await;
    assert_eq!(list, "[FILE] A.txt\n[FILE] b.txt\n[DIR] y");
    let sizes = served
        .ok(
            "list_directory_with_sizes",
            json!({"path": "x", "sortBy": "size"}),
        )
        .await;
    let expected = format!(
        "[DIR] {:30} \n[FILE] {:30} {:>10}\n[FILE] {:30} {:>10}\n\nTotal: 2 files, 1 directories\nCombined size: 1.50 KB",
        "y", "b.txt", "1.50 KB", "A.txt", "0 B"
    );
    assert_eq!(
        sizes.replace(&format!("[DIR] {:30} \n", "y"), ""),
        expected.replace(&format!("[DIR] {:30} \n", "y"), "")
    );
    let tree = served
        .ok(
            "directory_tree",
            json!({"path": "x", "excludePatterns": ["c.txt"]}),
        )
        .await;
    let tree: Value = serde_json::from_str(&tree).unwrap();
    assert_eq!(
        tree,
        json!([
            {"name": "A.txt", "type": "file"}, {"name": "b.txt", "type": "file"},
            {"name": "y", "type": "directory", "children": [{"name": "z", "type": "directory", "children": []}]},
        ])
    );
    let search = async |pattern: &str, excluded: &[&str]| {
        let arguments = json!({"path": "x", "pattern": pattern, "excludePatterns": excluded});
        let text = served.ok("search_files", arguments).await;
        text.replace(&served.path("x/"), "")
    };
    assert_eq!(search("*.txt", &[]).await, "A.txt\nb.txt");
    assert_eq!(search("**/*.txt", &[]).await, "A.txt\nb.txt\ny/c.txt");
    assert_eq!(search("**/*.txt", &["y"]).await, "A.txt\nb.txt");
    assert_eq!(search("**/*.{md,rs}", &[]).await, "No matches found");
    let info = served.ok("get_file_info", json!({"path": "x/b.txt"})).await;
    assert!(info.starts_with("size: 1536\ncreated: 20"), "{info}");
    assert!(
        info.contains("isDirectory: false\nisFile: true\npermissions: "),
        "{info}"
    );
    let allowed = served.ok("list_allowed_directories", json!({})).await;
    assert!(
        allowed.contains(served.path("").trim_end_matches('/')),
        "{allowed}"
    );
}

#[tokio::test]
async fn a_move_replaces_nothing() {
    let served = Served::new().await;
    served.write("a", "one");
    served.write("b", "two");
    let text = served
        .fail("move_file", json!({"source": "a", "destination": "b"}))
        .await;
    assert!(text.starts_with("the destination exists: "), "{text}");
    served
        .ok("move_file", json!({"source": "a", "destination": "c"}))
        .await;
    assert_eq!(
        (served.content("b"), served.content("c")),
        ("two".to_owned(), "one".to_owned())
    );
    served
        .fail("move_file", json!({"source": "c", "destination": "../c"}))
        .await;
    served
        .fail("move_file", json!({"source": ".", "destination": "d"}))
        .await;
}

#[tokio::test]
async fn the_check_is_clean() {
    let scratch = TempDir::new().unwrap();
    let options = Options::new().directory(scratch.path());
    let checked = Checker::new(server(options).unwrap()).run().await.unwrap();
    checked.assert_clean();
}
