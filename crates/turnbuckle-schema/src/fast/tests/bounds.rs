//! Values and schemas that would make more work than there is.

use serde_json::{Map, json};

use super::*;

#[test]
fn hostile_values_end_in_bounds() {
    let doubling = json!({
        "$defs": { "a": { "anyOf": [
            { "type": "array", "items": { "$ref": "#/$defs/a" } },
            { "type": "array", "items": { "$ref": "#/$defs/a" } },
        ] } },
        "$ref": "#/$defs/a",
    });
    let text = "[".repeat(100) + "1" + &"]".repeat(100);
    let violations = shape(doubling.clone()).validate(raw(&text)).unwrap_err();
    assert!(violations.is_too_costly());
    assert!(shape(doubling).repair(raw(&text)).is_none());

    let many = format!("[{}1]", "\"\\u001b[31m\",".repeat(100_000));
    let found = faults(json!({ "items": { "type": "null" } }), &many);
    assert_eq!(found.len(), 8);
    assert!(
        found.iter().all(|line| !line.contains('\u{1b}')),
        "{found:?}"
    );
    let long = format!(r#"{{"{}":1}}"#, "k\\n".repeat(100_000));
    let found = faults(json!({ "additionalProperties": false }), &long);
    assert!(found[0].len() < 400 && !found[0].contains('\n'));

    let pattern = json!({ "pattern": "(a|aa|a*)*b$" });
    let text = format!("\"{}\"", "a".repeat(2_000_000));
    assert!(
        shape(pattern)
            .validate(raw(&text))
            .unwrap_err()
            .is_too_costly()
    );
}

fn within(schema: Value, work: u64) -> FastValidator {
    let limits = SchemaLimits::new().max_work(work);
    FastValidator::compile_within(&Schema::encode(&schema).unwrap(), &limits).unwrap()
}

#[test]
fn the_length_of_the_text_counts_as_work() {
    let again = json!({ "$ref": "#" });
    let inside = json!({ "items": again, "properties": { "x": again } });
    let mut thrice = inside.clone();
    thrice["allOf"] = json!([inside, inside]);
    let many = 1 << 16;
    let (x, zero, space) = ("x".repeat(many), "0".repeat(many), " ".repeat(many));
    for (short, long) in [
        ("\"\"", format!("\"{x}\"")),
        ("0.1", format!("0.{zero}1")),
        ("[0]", format!("[{space}0]")),
        ("[]", format!("[{space}]")),
        (r#"{"x":0}"#, format!(r#"{{{space}"x":0}}"#)),
        (r#"{"x":0}"#, format!(r#"{{"x":{space}0}}"#)),
        ("{}", format!("{{{space}}}")),
    ] {
        for (leaf, costly) in [(short, false), (&long, true)] {
            // Each level reads what is in it three times.
            let text = "[".repeat(5) + leaf + &"]".repeat(5);
            let checked = within(thrice.clone(), 250_000).validate(raw(&text));
            assert_eq!(
                checked.is_err_and(|it| it.is_too_costly()),
                costly,
                "{short}"
            );
        }
    }
}

#[test]
fn counting_members_and_matching_their_names_counts_as_work() {
    let counted = json!({ "minProperties": 1, "additionalProperties": { "$ref": "#" } });
    let nested = |leaf: &str| r#"{"a":"#.repeat(100) + leaf + &"}".repeat(100);
    let long = nested(&format!("\"{}\"", "x".repeat(1 << 16)));
    assert!(
        within(counted.clone(), 25_000)
            .validate(raw(&nested("0")))
            .is_ok()
    );
    let violations = within(counted, 250_000).validate(raw(&long)).unwrap_err();
    assert!(violations.is_too_costly());

    let patterns: Map<String, Value> = (0..100).map(|n| (format!("^{n}"), json!(true))).collect();
    let matched = json!({ "patternProperties": patterns });
    let nameless = format!("{{{}\"\":0}}", "\"\":0,".repeat(999));
    let violations = within(matched, 250_000)
        .validate(raw(&nameless))
        .unwrap_err();
    assert!(violations.is_too_costly());
}

#[test]
fn the_length_of_repaired_text_counts_as_work() {
    let text = format!(r#"{{"a":"5","b":"{}"}}"#, "x".repeat(1 << 20));
    let schema = json!({ "properties": { "a": { "type": "integer" } } });
    assert!(within(schema.clone(), 100_000).repair(raw(&text)).is_some());
    assert!(within(schema, 25_000).repair(raw(&text)).is_none());
}

#[test]
fn absent_members_count_as_work() {
    let members: Map<String, Value> = (0..1_900).map(|n| (format!("m{n}"), json!(true))).collect();
    let rows = within(json!({ "items": { "properties": members } }), 300_000);
    let text = |rows: usize| format!("[{}{{}}]", "{},".repeat(rows - 1));
    assert!(rows.validate(raw(&text(900))).is_ok());
    assert!(
        rows.validate(raw(&text(1_100)))
            .unwrap_err()
            .is_too_costly()
    );
}

#[test]
fn the_work_limit_is_settable() {
    // One for the list, and one for each of its nine items; another where an item has a schema. A
    // shape has two fifths of the work.
    for (schema, work, fits) in [
        (json!({ "minItems": 1 }), 25, true),
        (json!({ "minItems": 1 }), 24, false),
        (json!({ "items": { "type": "integer" } }), 50, true),
        (json!({ "items": { "type": "integer" } }), 49, false),
    ] {
        let checked = within(schema, work).validate(raw("[1,2,3,4,5,6,7,8,9]"));
        assert_eq!(checked.is_ok(), fits, "{work}");
        assert_eq!(checked.is_err_and(|it| it.is_too_costly()), !fits);
    }
}

#[test]
fn the_longest_chain_that_is_followed_fits_the_stack() {
    let mut inner = json!({ "type": "array", "items": { "$ref": "#" } });
    for n in 0..20 {
        let keyword = ["anyOf", "oneOf", "allOf"][n % 3];
        inner = json!({ keyword: [inner], "minItems": 0 });
    }
    let text = "[".repeat(120) + &"]".repeat(120);
    let violations = shape(inner).validate(raw(&text)).unwrap_err();
    assert!(violations.is_too_costly());
}

#[test]
fn patterns_are_bounded_by_a_setting() {
    let schema: Schema = r#"{"pattern":"^(abc){50}$"}"#.parse().unwrap();
    for (bytes, fits) in [(1 << 20, true), (64, false)] {
        let limits = SchemaLimits::new().max_pattern_bytes(bytes);
        let compiled = FastValidator::compile_within(&schema, &limits);
        assert_eq!(compiled.is_ok(), fits, "{bytes}");
        if let Err(fault) = compiled {
            let fault = fault.to_string();
            assert!(
                fault.contains("(SchemaLimits::max_pattern_bytes)"),
                "{fault}"
            );
        }
    }
}
