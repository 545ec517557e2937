//! Canonical JSON: the same text for equal values, which may differ in spacing and in the order of members.

use std::borrow::Cow;
use std::ops::Range;

use turnbuckle_types::RawJson;

use crate::schema::end_of_string;

/// The deepest nesting that has a canonical form: the limit of serde_json.
const MAX_DEPTH: usize = 128;

/// An error: JSON is nested deeper than any handler can decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooDeep;

/// Returns the canonical form of a call's `arguments`; absent ones count as `{}`.
///
/// `_meta` is not part of the arguments, so a retry may have another one.
///
/// # Errors
/// If the arguments are nested more than 128 levels deep.
pub(crate) fn canonical_arguments(arguments: Option<RawJson<'_>>) -> Result<String, TooDeep> {
    canonical(arguments.map_or("{}", RawJson::as_str))
}

/// Returns canonical JSON: no spaces, members sorted by key, strings escaped in one way, numbers as
/// written.
///
/// `json` must be valid. For anything else the result is meaningless, but the function does not
/// panic.
pub(crate) fn canonical(json: &str) -> Result<String, TooDeep> {
    let mut writer = Writer {
        json,
        at: 0,
        out: String::with_capacity(json.len()),
    };
    writer.value(0)?;
    Ok(writer.out)
}

struct Writer<'a> {
    json: &'a str,
    at: usize,
    out: String,
}

impl<'a> Writer<'a> {
    fn value(&mut self, depth: usize) -> Result<(), TooDeep> {
        if depth > MAX_DEPTH {
            return Err(TooDeep);
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => {
                let text = self.string();
                self.push_string(&text);
                Ok(())
            }
            _ => {
                let scalar = self.scalar();
                self.out.push_str(scalar);
                Ok(())
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), TooDeep> {
        self.at += 1;
        self.out.push('[');
        while !self.closes(b']') {
            self.value(depth + 1)?;
            self.out.push(',');
        }
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<(), TooDeep> {
        self.at += 1;
        self.out.push('{');
        let start = self.out.len();
        let mut members: Vec<(Cow<'a, str>, Range<usize>)> = Vec::new();
        while !self.closes(b'}') {
            let from = self.out.len();
            let key = self.string();
            self.push_string(&key);
            self.out.push(':');
            if self.peek() == Some(b':') {
                self.at += 1;
            }
            self.value(depth + 1)?;
            self.out.push(',');
            members.push((key, from..self.out.len()));
        }
        if !members.is_sorted_by(|a, b| a.0 <= b.0) {
            // Stable, so that the members of a doubled key keep their order.
            members.sort_by(|a, b| a.0.cmp(&b.0));
            let sorted: String = members
                .iter()
                .map(|(_, at)| &self.out[at.clone()])
                .collect();
            self.out.replace_range(start.., &sorted);
        }
        self.out.push('}');
        Ok(())
    }

    /// Skips a comma, and the closing bracket (or the end) if it is next.
    fn closes(&mut self, bracket: u8) -> bool {
        if self.peek() == Some(b',') {
            self.at += 1;
        }
        match self.peek() {
            Some(byte) if byte == bracket => {
                self.at += 1;
                true
            }
            next => next.is_none(),
        }
    }

    /// Returns the next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.json.as_bytes()[self.at..];
        let space = rest
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        self.at += space;
        rest.get(space).copied()
    }

    /// Returns the string at the cursor, unescaped; one with a lone surrogate as written.
    fn string(&mut self) -> Cow<'a, str> {
        self.peek();
        let close = end_of_string(self.json.as_bytes(), self.at);
        let end = self.json.len().min(close + 1);
        let token = self.json.get(self.at..end).unwrap_or_default();
        self.at = end;
        match token.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
            Some(inner) if !inner.contains('\\') => Cow::Borrowed(inner),
            _ => serde_json::from_str::<String>(token).map_or(Cow::Borrowed(token), Cow::Owned),
        }
    }

    fn scalar(&mut self) -> &'a str {
        let rest = &self.json.as_bytes()[self.at..];
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b",]}\":".contains(byte);
        // At least one byte, so that every step makes progress.
        let length = rest.iter().position(ends).unwrap_or(rest.len()).max(1);
        let end = self.json.len().min(self.at + length);
        let text = self.json.get(self.at..end).unwrap_or_default();
        self.at = end;
        text
    }

    fn push_string(&mut self, text: &str) {
        self.out.push('"');
        for character in text.chars() {
            match character {
                '"' | '\\' => self.out.extend(['\\', character]),
                _ => self.out.push(character),
            }
        }
        self.out.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn form(json: &str) -> String {
        canonical_arguments(Some(serde_json::from_str(json).unwrap())).unwrap()
    }

    #[test]
    fn spacing_order_and_escapes_do_not_matter() {
        let one = r#"{"a":1,"b":[true,{"x":"é","y":null}]}"#;
        let other = "{ \"b\" : [ true , {\"y\":null, \"x\" : \"\\u00e9\"} ] ,\n\"\\u0061\":1 }";
        assert_eq!(form(one), form(other));
    }

    #[test]
    fn any_other_difference_matters() {
        let texts = [
            "{}",
            "[]",
            r#"{"a":1}"#,
            r#"{"a":1.0}"#,
            r#"{"a":"1"}"#,
            r#"{"a":10000000000000000000001}"#,
            r#"{"a":10000000000000000000002}"#,
            r#"{"a":[1,2]}"#,
            r#"{"a":[2,1]}"#,
            r#"{"a":[12]}"#,
            r#"{"a":[[1],2]}"#,
            r#"{"a":"x\",\"b\":\"y"}"#,
            r#"{"a":"x","b":"y"}"#,
            r#"{"a":null}"#,
            r#"{"a":{}}"#,
            r#"{"a":1,"a":2}"#,
            r#"{"a":2,"a":1}"#,
            r#"{"a":"\ud800"}"#,
            r#"{"a":"\ud801"}"#,
        ];
        for (i, one) in texts.iter().enumerate() {
            for other in &texts[..i] {
                assert_ne!(form(one), form(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn absent_arguments_are_empty_ones() {
        assert_eq!(canonical_arguments(None), Ok(form("{}")));
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(canonical(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(canonical(&nested(100_000)), Err(TooDeep));
    }

    fn shuffle(value: &Value, salt: usize) -> String {
        match value {
            Value::Object(members) => {
                let mut parts: Vec<String> = members
                    .iter()
                    .map(|(k, v)| format!(" {} :\t{}", Value::from(k.as_str()), shuffle(v, salt)))
                    .collect();
                let by = salt % parts.len().max(1);
                parts.rotate_left(by);
                format!("{{{}}}", parts.join(" ,"))
            }
            Value::Array(items) => {
                let parts: Vec<String> = items.iter().map(|v| shuffle(v, salt)).collect();
                format!("[ {}\n]", parts.join(","))
            }
            scalar => scalar.to_string(),
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(".{0,4}", inner, 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn another_order_has_the_same_form(value in any_json(), salt in 0usize..5) {
            prop_assert_eq!(form(&value.to_string()), form(&shuffle(&value, salt)));
        }

        #[test]
        fn another_value_has_another_form(one in any_json(), other in any_json()) {
            let equal = form(&one.to_string()) == form(&other.to_string());
            prop_assert_eq!(equal, one == other);
        }

        #[test]
        fn text_that_is_not_json_does_not_panic(text in ".{0,40}|[\\[\\]{}\":,\\\\a1 ]{0,40}") {
            let _ = canonical(&text);
        }
    }
}
