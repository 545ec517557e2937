//! JSON in one form for comparison: members sorted, no space, the text of numbers untouched.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use turnbuckle_types::{Json, Map};

pub(crate) fn canonical(text: &str) -> String {
    let value: Json = text
        .trim()
        .parse()
        .unwrap_or_else(|error| panic!("{error}: {text}"));
    match value.as_str().as_bytes()[0] {
        b'{' => {
            let members: Map<Json> = value.decode().unwrap();
            let mut members: Vec<String> = members
                .iter()
                .map(|(key, value)| {
                    format!(
                        "{}:{}",
                        serde_json::to_string(key).unwrap(),
                        canonical(value.as_str())
                    )
                })
                .collect();
            members.sort();
            format!("{{{}}}", members.join(","))
        }
        b'[' => {
            let items: Vec<Json> = value.decode().unwrap();
            let items: Vec<String> = items.iter().map(|item| canonical(item.as_str())).collect();
            format!("[{}]", items.join(","))
        }
        b'"' => serde_json::to_string(&value.decode::<String>().unwrap()).unwrap(),
        _ => value.as_str().to_owned(),
    }
}

pub(crate) fn decode<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Decodes and encodes; both the text and the value must survive.
pub(crate) fn survives<T: DeserializeOwned + Serialize + Debug + PartialEq>(text: &str) -> T {
    let value: T = decode(text);
    let written = serde_json::to_string(&value).unwrap();
    assert_eq!(canonical(&written), canonical(text));
    assert_eq!(decode::<T>(&written), value);
    value
}

#[test]
fn keeps_the_text_of_numbers_and_sorts_members() {
    assert_eq!(
        canonical(r#" {"b":[1.10,1e3], "a":"\u0041"} "#),
        r#"{"a":"A","b":[1.10,1e3]}"#
    );
    assert_ne!(canonical("1.0"), canonical("1"));
}
