//! Ids and numbers keep their exact text.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};

use turnbuckle_types::{NotFinite, Number, ProgressToken, RequestId};

use crate::canonical::{decode, survives};

#[test]
fn an_id_is_a_string_or_an_integer_and_echoed_exactly() {
    for text in [
        "0",
        "1",
        "-1",
        "-0",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "123456789012345678901234567890",
        "\"\"",
        "\"1\"",
        r#""a\n\"b""#,
    ] {
        survives::<RequestId>(text);
        assert_eq!(RequestId::from_json(text), Some(decode(text)));
        assert_eq!(
            serde_json::from_reader::<_, RequestId>(text.as_bytes()).unwrap(),
            decode(text)
        );
    }
}

#[test]
fn nothing_else_is_an_id() {
    for text in [
        "null", "true", "1.0", "1.5", "1e3", "1E3", "-1e0", "[]", "{}", "[1]",
    ] {
        assert!(serde_json::from_str::<RequestId>(text).is_err(), "{text}");
        assert_eq!(RequestId::from_json(text), None, "{text}");
    }
    for text in [
        "", "-", "01", "-01", "+1", " 1", "1 ", "0x1", "\"open", "1\n", "\"a\"b",
    ] {
        assert_eq!(RequestId::from_json(text), None, "{text}");
    }
}

#[test]
fn ids_differ_by_type_and_by_text() {
    let ids: Vec<RequestId> = [
        "1",
        "\"1\"",
        "0",
        "-0",
        "123456789012345678901",
        "\"123456789012345678901\"",
    ]
    .map(decode)
    .into();
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    assert_eq!(decode::<RequestId>("7"), RequestId::from(7));
    assert_eq!(decode::<RequestId>("\"7\""), RequestId::from("7"));
    assert_eq!(decode::<ProgressToken>("\"\\u0037\""), RequestId::from("7"));
}

#[test]
fn a_log_tells_a_number_from_a_string() {
    assert_eq!(RequestId::from(1).to_string(), "1");
    assert_eq!(RequestId::from("1").to_string(), "\"1\"");
    assert_eq!(RequestId::from("a\nb").to_string(), "\"a\\nb\"");
    assert_eq!(
        decode::<RequestId>("12345678901234567890123").to_string(),
        "12345678901234567890123"
    );
}

#[test]
fn an_id_is_small() {
    assert!(size_of::<RequestId>() <= 24);
    assert!(size_of::<Number>() <= 24);
}

#[test]
fn a_number_keeps_its_text() {
    for text in [
        "0",
        "-0",
        "1.0",
        "1.10",
        "1e3",
        "1E+3",
        "-1.5e-7",
        "1e400",
        "12345678901234567890123",
    ] {
        let number: Number = survives(text);
        assert_eq!(number.to_string(), text);
        assert_eq!(text.parse::<Number>().unwrap(), number);
    }
    for text in ["null", "\"1\"", "true", "[]", "{}"] {
        assert!(serde_json::from_str::<Number>(text).is_err(), "{text}");
    }
    for text in ["NaN", "01", ".5", "1.", "+1", "1 2", ""] {
        assert!(text.parse::<Number>().is_err(), "{text}");
    }
}

#[test]
fn numbers_come_from_rust() {
    assert_eq!(Number::from(-3).to_string(), "-3");
    assert_eq!(Number::from(u64::MAX).to_string(), "18446744073709551615");
    assert_eq!(Number::try_from(0.5).unwrap().to_string(), "0.5");
    assert_eq!(Number::try_from(50.0).unwrap().to_string(), "50");
    assert_eq!(Number::try_from(-0.0).unwrap().to_string(), "0");
    for value in [1e300, 5e-324, 1e16, -1.25e-9, f64::MAX] {
        let number = Number::from_f64(value).unwrap();
        survives::<Number>(&number.to_string());
        assert_eq!(number.as_f64(), value);
    }
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(Number::try_from(value), Err(NotFinite));
    }
}

#[test]
fn numbers_have_a_value() {
    let int = |text: &str| decode::<Number>(text).as_i64();
    assert_eq!(int("3.0"), Some(3));
    assert_eq!(int("-3e2"), Some(-300));
    assert_eq!(int("12300e-2"), Some(123));
    assert_eq!(int("-0.0"), Some(0));
    assert_eq!(int("9223372036854775807.000"), Some(i64::MAX));
    assert_eq!(int("-9223372036854775808e0"), Some(i64::MIN));
    assert_eq!(int("9223372036854775808"), None);
    assert_eq!(int("1.5"), None);
    assert_eq!(int("1e99999999999999999999"), None);
    assert_eq!(int("1e-99999999999999999999"), None);
    assert_eq!(int("0e99999999999999999999"), Some(0));
    assert_eq!(decode::<Number>("-1").as_u64(), None);
    assert!(decode::<Number>("1e99999999999999999999").is_integer());
    assert!(!decode::<Number>("1e-1").is_integer());
    assert_eq!(decode::<Number>("1.5").as_f64(), 1.5);
}

#[test]
fn numbers_compare_by_value() {
    let ascending = [
        "-1e99999999999999999999",
        "-9223372036854775809",
        "-9223372036854775808",
        "-1.5",
        "-1",
        "-1e-400",
        "0",
        "1e-400",
        "0.0999",
        "0.1",
        "9",
        "10",
        "9007199254740992",
        "9007199254740993",
        "123456789012345678901",
        "123456789012345678902",
        "1e400",
        "1e401",
    ]
    .map(decode::<Number>);
    for (i, a) in ascending.iter().enumerate() {
        for (j, b) in ascending.iter().enumerate() {
            assert_eq!(a.numeric_cmp(b), i.cmp(&j), "{a} and {b}");
        }
    }
    for [a, b] in [
        ["1", "1.0"],
        ["100", "1e2"],
        ["0", "-0.0"],
        ["0.10", "1e-1"],
        ["0", "0e9"],
    ] {
        let (a, b): (Number, Number) = (decode(a), decode(b));
        assert_eq!(a.numeric_cmp(&b), Ordering::Equal);
        assert_ne!(a, b, "equality is of the text");
    }
}
