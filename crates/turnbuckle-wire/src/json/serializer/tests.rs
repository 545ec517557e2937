use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::*;
use crate::json::Additions;

#[derive(serde::Serialize)]
struct Everything {
    text: &'static str,
    list: Vec<u8>,
    tuple: (i64, f64, bool),
    none: Option<u8>,
    map: BTreeMap<u32, char>,
    unit: Variant,
    newtype: Variant,
    tuple_variant: Variant,
    struct_variant: Variant,
    raw: Box<RawValue>,
    value: serde_json::Value,
}

#[derive(serde::Serialize)]
enum Variant {
    Unit,
    Newtype(u8),
    Tuple(u8, u8),
    Struct { a: u8 },
}

#[test]
fn equals_serde_json_for_every_shape_of_data() {
    let value = Everything {
        text: "a \"b\"\n",
        list: vec![1, 2],
        tuple: (-5, 1.5, true),
        none: None,
        map: BTreeMap::from([(7, 'x')]),
        unit: Variant::Unit,
        newtype: Variant::Newtype(1),
        tuple_variant: Variant::Tuple(1, 2),
        struct_variant: Variant::Struct { a: 3 },
        raw: RawValue::from_string("{\"n\":1.50}".into()).unwrap(),
        value: serde_json::json!({"a": [null, 1e300]}),
    };
    assert_eq!(to_vec(&value).unwrap(), serde_json::to_vec(&value).unwrap());
}

#[test]
fn raw_json_never_brings_a_line_break() {
    let raw = RawValue::from_string("{\n \"a\":\r\n 1\n}".into()).unwrap();
    let text = to_vec(&raw).unwrap();
    assert!(!text.contains(&b'\n') && !text.contains(&b'\r'));
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&text).unwrap()["a"],
        1
    );
}

fn with_additions<T: Serialize + ?Sized>(value: &T) -> serde_json::Value {
    let additions = Additions {
        members: &[("resultType", b"\"complete\""), ("ttlMs", b"0")],
        meta: &[("k/s", b"1")],
    };
    let mut out = Vec::new();
    write_object(&mut out, value, additions).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn added_members_do_not_replace_members_of_the_object() {
    use serde_json::json;
    assert_eq!(
        with_additions(&json!({})),
        json!({"resultType": "complete", "ttlMs": 0, "_meta": {"k/s": 1}})
    );
    assert_eq!(
        with_additions(&json!({"ttlMs": 9, "_meta": {"a": 2}})),
        json!({"resultType": "complete", "ttlMs": 9, "_meta": {"a": 2, "k/s": 1}})
    );
    assert_eq!(
        with_additions(&json!({"_meta": {"k/s": 5}, "resultType": "x"})),
        json!({"resultType": "x", "ttlMs": 0, "_meta": {"k/s": 5}})
    );
    assert_eq!(
        with_additions(&json!({"_meta": {}, "inner": {"_meta": {}}})),
        json!({"resultType": "complete", "ttlMs": 0, "_meta": {"k/s": 1}, "inner": {"_meta": {}}})
    );
}

#[test]
fn white_space_in_raw_metadata_adds_no_member() {
    for raw in ["{ }", "{\n\t\r }", r#"{ "a" : 1 }"#, "{\"a\":1\n}"] {
        let raw: Box<RawValue> = serde_json::from_str(raw).unwrap();
        let written = with_additions(&BTreeMap::from([("_meta", &raw)]));
        assert_eq!(written["_meta"]["k/s"], 1, "{raw}");
        assert_eq!(written["_meta"].get("a").is_some(), raw.get().contains('a'));
    }
}

#[test]
fn members_are_added_to_encoded_json() {
    use serde_json::json;
    for (raw, expected) in [
        (
            "{}",
            json!({"resultType": "complete", "ttlMs": 0, "_meta": {"k/s": 1}}),
        ),
        (
            "{ \"a\" : [1,\n2], \"ttl\\u004ds\" : 9, \"_meta\" : { \"b\" : 2 } }",
            json!({"a": [1, 2], "resultType": "complete", "ttlMs": 9, "_meta": {"b": 2, "k/s": 1}}),
        ),
        (
            r#"{"resultType":"x","_meta":{"k/s":5},"ttlMs":1}"#,
            json!({"resultType": "x", "ttlMs": 1, "_meta": {"k/s": 5}}),
        ),
    ] {
        let raw: Box<RawValue> = serde_json::from_str(raw).unwrap();
        assert_eq!(with_additions(&raw), expected);
        assert_eq!(with_additions(&Some(&raw)), expected);
        let inside = with_additions(&BTreeMap::from([("in", &raw)]));
        assert_eq!(
            inside["in"].to_string(),
            serde_json::from_str::<serde_json::Value>(raw.get())
                .unwrap()
                .to_string()
        );
    }
    let mut out = Vec::new();
    let list: Box<RawValue> = serde_json::from_str("[1]").unwrap();
    assert!(write_object(&mut out, &list, Additions::default()).is_err());
}

#[test]
fn variants_take_additions() {
    use serde_json::json;
    #[derive(serde::Serialize)]
    #[serde(rename_all = "camelCase")]
    enum Named {
        TtlMs { ttl_ms: u8 },
        Pair(u8, u8),
    }
    for (value, mut expected) in [
        (
            with_additions(&Variant::Newtype(1)),
            json!({"Newtype": 1, "ttlMs": 0}),
        ),
        (
            with_additions(&Variant::Tuple(1, 2)),
            json!({"Tuple": [1, 2], "ttlMs": 0}),
        ),
        (
            with_additions(&Variant::Struct { a: 3 }),
            json!({"Struct": {"a": 3}, "ttlMs": 0}),
        ),
        (
            with_additions(&Named::Pair(1, 2)),
            json!({"pair": [1, 2], "ttlMs": 0}),
        ),
        (
            with_additions(&Named::TtlMs { ttl_ms: 5 }),
            json!({"ttlMs": {"ttl_ms": 5}}),
        ),
    ] {
        expected["resultType"] = "complete".into();
        expected["_meta"] = json!({"k/s": 1});
        assert_eq!(value, expected);
    }
}

#[test]
fn only_an_object_takes_additions() {
    let mut out = b"kept".to_vec();
    assert!(write_object(&mut out, &[1], Additions::default()).is_err());
    assert_eq!(out, b"kept");
}
