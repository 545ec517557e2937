//! Equality of JSON values with numbers compared by value, not by spelling.

use std::collections::HashSet;

use serde_json::Value;

use super::node::NumericValue;

/// Returns whether two values are equal.
pub(crate) fn values_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            NumericValue::of_number(one).compare(NumericValue::of_number(other))
                == Some(std::cmp::Ordering::Equal)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| values_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| {
                    other
                        .get(name)
                        .is_some_and(|other| values_equal(value, other))
                })
        }
        _ => one == other,
    }
}

/// Returns whether no two items are equal.
pub(crate) fn all_distinct(items: &[Value]) -> bool {
    let mut met = HashSet::new();
    items.iter().all(|item| {
        let mut key = String::new();
        write_key(item, &mut key);
        met.insert(key)
    })
}

/// Writes a value so that equal values have equal text.
fn write_key(value: &Value, key: &mut String) {
    match value {
        Value::Number(number) => {
            let text = match (
                NumericValue::of_number(number).as_integer(),
                NumericValue::of_number(number),
            ) {
                (Some(int), _) => int.to_string(),
                (None, NumericValue::Float(float)) => float.to_string(),
                (None, NumericValue::Int(int)) => int.to_string(),
            };
            key.push_str(&text);
        }
        Value::Array(items) => {
            key.push('[');
            for item in items {
                write_key(item, key);
                key.push(',');
            }
            key.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            key.push('{');
            for (name, member) in members {
                key.push_str(&Value::from(name.as_str()).to_string());
                key.push(':');
                write_key(member, key);
                key.push(',');
            }
            key.push('}');
        }
        scalar => key.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_compared_by_value() {
        let big: Value = serde_json::from_str("9007199254740993").unwrap();
        assert!(values_equal(
            &json!([1, { "a": 2.0 }]),
            &json!([1.0, { "a": 2 }])
        ));
        assert!(!values_equal(&big, &json!(9_007_199_254_740_992.0)));
        assert!(!values_equal(&json!(1), &json!("1")));
        assert!(!values_equal(&json!({ "a": 1 }), &json!({ "b": 1 })));
        assert!(!all_distinct(&[json!(1), json!(1.0)]));
        assert!(!all_distinct(&[json!({ "a": [1.0] }), json!({ "a": [1] })]));
        assert!(all_distinct(&[
            json!("1"),
            json!(1),
            json!([1]),
            json!(1.5)
        ]));
    }
}
