use serde_json::json;

use super::*;

fn parse(yaml: &str) -> Result<Frontmatter, InvalidSkill> {
    Frontmatter::parse(format!("---\nname: a\ndescription: b\n{yaml}\n---\n# Text\n").as_bytes())
}

fn field(yaml: &str) -> Value {
    parse(&format!("x: {yaml}"))
        .unwrap_or_else(|error| panic!("{yaml}: {error}"))
        .fields()
        .get("x")
        .unwrap()
        .clone()
}

fn reason(yaml: &str) -> String {
    parse(yaml).expect_err(yaml).to_string()
}

// requirement: 75984a8d27ec d8b3cf2a376b
#[test]
fn fields_pass_through_as_json() {
    let text = "license: Apache-2.0\nmetadata:\n  version: \"1.0\"\n  tags: [a, b]\n  1: one\n  io.modelcontextprotocol/new: {a: 1}\nallowed-tools: Bash(git:*) Read";
    let all = parse(text).unwrap();
    assert_eq!((all.name(), all.description()), ("a", "b"));
    assert_eq!(
        serde_json::to_value(&all).unwrap(),
        json!({
            "name": "a", "description": "b", "license": "Apache-2.0",
            "metadata": {
                "version": "1.0", "tags": ["a", "b"], "1": "one", "io.modelcontextprotocol/new": {"a": 1},
            },
            "allowed-tools": "Bash(git:*) Read",
        })
    );
}

#[test]
fn scalars_have_the_types_of_the_core_schema() {
    for (yaml, value) in [
        ("", json!(null)),
        ("~", json!(null)),
        ("NULL", json!(null)),
        ("true", json!(true)),
        ("False", json!(false)),
        ("yes", json!("yes")),
        ("off", json!("off")),
        ("12", json!(12)),
        ("+12", json!(12)),
        ("-7", json!(-7)),
        ("007", json!(7)),
        ("18446744073709551615", json!(u64::MAX)),
        ("0o17", json!(15)),
        ("0x1F", json!(31)),
        ("0x", json!("0x")),
        ("1.5", json!(1.5)),
        (".5", json!(0.5)),
        ("1.", json!(1.0)),
        ("1e3", json!(1000.0)),
        ("1.2.3", json!("1.2.3")),
        ("1e", json!("1e")),
        ("2024-01-01", json!("2024-01-01")),
        ("1_000", json!("1_000")),
        ("'12'", json!("12")),
        ("\"a\\tb\\u00e9\"", json!("a\tbé")),
        ("|\n  a\n  b", json!("a\nb\n")),
        (">-\n  a\n  b", json!("a b")),
    ] {
        assert_eq!(field(yaml), value, "{yaml}");
    }
}

#[test]
fn lines_may_end_with_cr_lf() {
    let parsed =
        Frontmatter::parse(b"---\r\nname: a\r\ndescription: >\r\n  b\r\n  c\r\n---\r\ntext")
            .unwrap();
    assert_eq!((parsed.name(), parsed.description()), ("a", "b c\n"));
    assert!(Frontmatter::parse(b"---\nname: a\rdescription: b\n---\n").is_err());
}

// requirement: 3ceafdeed526
#[test]
fn a_file_without_frontmatter_is_refused() {
    for (file, reason) in [
        ("", "the file is empty"),
        ("# Title\n", "the first line is not `---`"),
        ("\n---\nname: a\n---\n", "the first line is not `---`"),
        ("----\nname: a\n---\n", "the first line is not `---`"),
        ("\u{feff}---\nname: a\n---\n", "byte order mark"),
        ("---\nname: a\ndescription: b\n", "no line `---` ends"),
        ("---\n---\n", "the frontmatter is"),
        ("---\n- a\n---\n", "is not an object"),
        ("---\ntext\n---\n", "is not an object"),
        ("---\ndescription: b\n---\n", "has no `name`"),
        ("---\nname: a\n---\n", "has no `description`"),
        (
            "---\nname: a\ndescription: 1\n---\n",
            "`description` is not a string",
        ),
        (
            "---\nname: 2024\ndescription: b\n---\n",
            "`name` is not a string: put it in quotes",
        ),
        ("---\nname: A\ndescription: b\n---\n", "the name \"A\""),
        (
            "---\nname: a\ndescription: ''\n---\n",
            "the description is empty",
        ),
    ] {
        let error = Frontmatter::parse(file.as_bytes())
            .expect_err(file)
            .to_string();
        assert!(error.contains(reason), "{file:?}: {error}");
    }
    assert!(Frontmatter::parse(b"---\nname: a\ndescription: \xff\n---\n").is_err());
}

#[test]
fn yaml_that_readers_disagree_about_is_refused() {
    for (yaml, expected) in [
        ("x: &a 1", "anchors are not allowed"),
        ("x: &a [1]", "anchors are not allowed"),
        ("x: &a {}", "anchors are not allowed"),
        ("x: *a", "unknown anchor"),
        ("x: !!str 1", "tags are not allowed"),
        ("x: !custom [1]", "tags are not allowed"),
        ("x: !custom {}", "tags are not allowed"),
        ("name: c", "the key \"name\" stands twice"),
        ("x: {a: 1, a: 2}", "the key \"a\" stands twice"),
        ("x: {1: 1, '1': 2}", "the key \"1\" stands twice"),
        ("<<: {a: 1}", "merge keys are not allowed"),
        ("~: 1", "a key is null"),
        ("[a]: 1", "not a scalar"),
        ("? {a: 1}\n: 1", "not a scalar"),
        ("--- \nx: 1", "no line"),
        ("--- x", "a second document begins"),
        ("...\nx: 1", "document"),
        ("x: a\0b", "the character U+0000"),
        ("x: a\u{1b}b", "the character U+001B"),
        ("x: .inf", "JSON cannot express the number .inf"),
        ("x: -.INF", "JSON cannot express"),
        ("x: .nan", "JSON cannot express"),
        ("x: 1e999", "JSON cannot express"),
        ("x: 18446744073709551616", "JSON cannot express"),
        ("x: [", "not YAML"),
    ] {
        if expected == "no line" {
            // The line ends the frontmatter: the rest is text.
            assert_eq!(parse(yaml).unwrap().fields().get("x"), None);
            continue;
        }
        let error = reason(yaml);
        assert!(error.contains(expected), "{yaml:?}: {error}");
    }
}

#[test]
fn control_characters_are_refused_as_escapes_too() {
    for (yaml, character) in [
        ("x: \"\\0\"", "U+0000"),
        ("x: \"a\\x07b\"", "U+0007"),
        ("x: \"\\e[2J\"", "U+001B"),
        ("x: {y: [\"\\x7F\"]}", "U+007F"),
        ("x: {\"\\u009b\": 1}", "U+009B"),
        ("\"\\U0000001b\": 1", "U+001B"),
    ] {
        let expected = format!("a string of the frontmatter has the character {character}");
        assert_eq!(reason(yaml), expected, "{yaml}");
    }
    assert_eq!(field("\"\\t\\n\\r\\N\""), json!("\t\n\r\u{85}"));
    let decode = |json: &str| serde_json::from_str::<Frontmatter>(json);
    let entry = |text: &str| format!("{{\"name\":\"a\",\"description\":\"{text}\"}}");
    assert!(decode(&entry("b\\tb\\nb")).is_ok());
    let error = decode(&entry("\\u001b[2J")).unwrap_err().to_string();
    assert!(error.contains("U+001B"), "{error}");
}

#[test]
fn frontmatter_is_bounded_in_size_depth_and_count() {
    assert!(parse(&format!("x: {}", "y".repeat(60 * 1024))).is_ok());
    assert_eq!(
        reason(&format!("x: {}", "y".repeat(1024 * 1024))),
        "the frontmatter is longer than 64 KiB"
    );
    assert_eq!(
        reason(&"#\n".repeat(40_000)),
        "the frontmatter is longer than 64 KiB"
    );
    let nested = |depth: usize| format!("x: {}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(&nested(MAX_DEPTH - 1)).is_ok());
    assert!(reason(&nested(MAX_DEPTH)).contains("nested deeper than 16"));
    assert!(parse(&nested(20_000)).is_err());
    let many = |count: usize| format!("x: [{}]", "1,".repeat(count));
    assert!(parse(&many(4000)).is_ok());
    assert!(reason(&many(4100)).contains("more than 4096 keys and values"));
}

#[test]
fn the_object_of_an_entry_has_the_same_bounds() {
    let decode = |json: &str| serde_json::from_str::<Frontmatter>(json);
    let with = |value: &str| format!("{{\"name\":\"a\",\"description\":\"b\",\"x\":{value}}}");
    assert!(decode(&with("[1,{\"y\":null}]")).is_ok());
    for value in [
        "{\"a\":1,\"a\":2}".to_owned(),
        format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH)),
        format!("[{}1]", "1,".repeat(MAX_NODES)),
        format!("{:?}", "y".repeat(2 * MAX_FRONTMATTER_BYTES)),
    ] {
        assert!(
            decode(&with(&value)).is_err(),
            "{}",
            &value[..20.min(value.len())]
        );
    }
    for text in [
        "[]",
        "null",
        "{}",
        "{\"name\":\"a\",\"description\":\"b\",\"name\":\"a\"}",
    ] {
        assert!(decode(text).is_err(), "{text}");
    }
}

#[test]
fn frontmatter_is_compared_field_by_field() {
    let left = parse("metadata: {version: 1, list: [a, {b: c}]}").unwrap();
    assert_eq!(
        left,
        parse("metadata: {list: [a, {b: c}], version: 1.0}").unwrap()
    );
    for (other, path) in [
        (
            "metadata: {version: 2, list: [a, {b: c}]}",
            "metadata.version",
        ),
        (
            "metadata: {version: '1', list: [a, {b: c}]}",
            "metadata.version",
        ),
        (
            "metadata: {version: 1, list: [a, {b: d}]}",
            "metadata.list[1].b",
        ),
        ("metadata: {version: 1, list: [a]}", "metadata.list"),
        ("metadata: {list: [a, {b: c}]}", "metadata.version"),
        (
            "metadata: {version: 1, list: [a, {b: c}], more: 1}",
            "metadata.more",
        ),
        (
            "license: MIT\nmetadata: {version: 1, list: [a, {b: c}]}",
            "license",
        ),
    ] {
        assert_eq!(
            left.difference(&parse(other).unwrap()).as_deref(),
            Some(path)
        );
    }
    let large = parse("x: 9007199254740993").unwrap();
    assert_eq!(
        large
            .difference(&parse("x: 9007199254740992").unwrap())
            .as_deref(),
        Some("x")
    );
}
