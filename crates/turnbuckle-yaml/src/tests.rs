use serde_json::{Value, json};

use super::*;

/// The rules of a document that may repeat its values.
const RULES: Rules = Rules {
    max_depth: 8,
    max_values: 100,
    strict: false,
};

const STRICT: Rules = Rules {
    strict: true,
    ..RULES
};

fn value(text: &str) -> Value {
    parse(text, &RULES).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str, rules: &Rules) -> String {
    parse(text, rules).expect_err(text).to_string()
}

#[test]
fn an_alias_repeats_the_value_of_its_anchor() {
    assert_eq!(
        value("a: &x {b: [1, two]}\nc: *x\nd: &y 0x10\ne: [*y, *x]"),
        json!({
            "a": {"b": [1, "two"]}, "c": {"b": [1, "two"]}, "d": 16, "e": [16, {"b": [1, "two"]}],
        })
    );
    assert_eq!(
        error("a: &x [*x]", &RULES),
        "line 1: an alias has no anchor"
    );
}

#[test]
fn aliases_cannot_make_a_document_large() {
    let mut text = "a0: &a0 [1, 1, 1, 1]\n".to_owned();
    for level in 1..30 {
        let before = level - 1;
        text += &format!("a{level}: &a{level} [*a{before}, *a{before}, *a{before}]\n");
    }
    assert_eq!(
        error(&text, &RULES),
        "line 3: it has more than 100 keys and values"
    );
}

#[test]
fn a_document_is_bounded_in_depth_and_count() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(&nested(8), &RULES).is_ok());
    assert_eq!(
        error(&nested(9), &RULES),
        "line 1: it is nested deeper than 8"
    );
    // The list, and its items.
    let many = |count: usize| format!("[{}]", "1,".repeat(count));
    assert!(parse(&many(99), &RULES).is_ok());
    assert_eq!(
        error(&many(100), &RULES),
        "line 1: it has more than 100 keys and values"
    );
}

#[test]
fn a_tag_of_text_makes_text() {
    assert_eq!(
        value("[!!str 1, !!str true, !!int 1, !other 1, !!seq [1]]"),
        json!(["1", "true", 1, 1, [1]])
    );
}

#[test]
fn integers_beyond_64_bits_are_the_nearest_number_unless_strict() {
    let text = "100000000000000000000";
    assert_eq!(value(text), json!(1e20));
    assert_eq!(
        error(text, &STRICT),
        "line 1: JSON cannot express the number 100000000000000000000: put it in quotes"
    );
}

#[test]
fn what_readers_disagree_about_is_refused_strictly() {
    for (text, reason) in [
        ("x: &a 1", "anchors are not allowed"),
        ("&a {}", "anchors are not allowed"),
        ("- &a []", "anchors are not allowed"),
        ("x: !!str 1", "tags are not allowed"),
        ("!!map {}", "tags are not allowed"),
        ("!!seq []", "tags are not allowed"),
    ] {
        assert!(parse(text, &RULES).is_ok(), "{text}");
        assert_eq!(error(text, &STRICT), format!("line 1: {reason}"), "{text}");
    }
}

#[test]
fn errors_have_their_line() {
    for (text, expected) in [
        ("", "it is empty"),
        ("a: 1\na: 2", "line 2: the key \"a\" stands twice"),
        ("a: 1\n<<: {}", "line 2: merge keys are not allowed"),
        ("a:\n  null: 1", "line 2: a key is null"),
        ("a:\n  ? [b]\n  : 1", "line 2: a key is not a scalar"),
        ("a\n---\nb", "line 2: a second document begins"),
        (
            "a:\n  - .inf",
            "line 2: JSON cannot express the number .inf: put it in quotes",
        ),
    ] {
        assert_eq!(error(text, &RULES), expected, "{text}");
    }
    let syntax = error("a:\n  - [", &RULES);
    assert!(syntax.contains("not YAML: "), "{syntax}");
}
