//! The arguments that headers mirror: picked out of a call, and spelled as a header spells them.
//!
//! Specification: basic/transports/streamable-http, "Schema Extension" and "Value Encoding"
//! (2026-07-28).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use turnbuckle_types::{Number, RawJson};

use crate::era::ParamHeader;

/// The largest integer that every reader of a header can hold exactly: 2⁵³ − 1.
const LARGEST: i64 = (1 << 53) - 1;

/// Returns the argument of each declared header, in the same order; `None` for one that is absent
/// or `null`.
///
/// Every object on the way is read once, and none where nothing is declared. A member that stands twice on a declared path is an error:
/// its readers could disagree about which one counts.
pub(super) fn extract<'a>(
    declared: &[ParamHeader],
    arguments: Option<RawJson<'a>>,
) -> Result<Vec<Option<RawJson<'a>>>, String> {
    let mut found = vec![None; declared.len()];
    if let (Some(arguments), false) = (arguments, declared.is_empty()) {
        let wanted: Vec<_> = declared
            .iter()
            .map(|param| param.path.as_slice())
            .enumerate()
            .collect();
        descend(arguments, &wanted, &mut found)?;
    }
    Ok(found)
}

/// A declared header by its index, and what is left of its path.
type Wanted<'p> = (usize, &'p [Arc<str>]);

fn descend<'a, 'w>(
    object: RawJson<'a>,
    wanted: &[Wanted<'w>],
    found: &mut [Option<RawJson<'a>>],
) -> Result<(), String> {
    if !object.as_str().starts_with('{') {
        return Ok(());
    }
    let mut members = vec![None; wanted.len()];
    let pick = Pick {
        wanted,
        members: &mut members,
    };
    serde_json::Deserializer::from_str(object.as_str())
        .deserialize_map(pick)
        .map_err(|error| format!("the arguments cannot be read: {error}"))?;

    for (at, (&(index, path), member)) in wanted.iter().zip(&members).enumerate() {
        let (Some(member), Some((name, rest))) = (*member, path.split_first()) else {
            continue;
        };
        if rest.is_empty() {
            found[index] = (!member.is_null()).then_some(member);
            continue;
        }
        // The first of those that go on inside this member reads it for all of them.
        let inside = |(index, path): &Wanted<'w>| match path.split_first() {
            Some((other, rest)) if other == name && !rest.is_empty() => Some((*index, rest)),
            _ => None,
        };
        if !wanted[..at].iter().any(|other| inside(other).is_some()) {
            let deeper: Vec<_> = wanted.iter().filter_map(inside).collect();
            descend(member, &deeper, found)?;
        }
    }
    Ok(())
}

/// Picks the wanted members out of one object.
struct Pick<'w, 'm, 'a> {
    wanted: &'w [Wanted<'w>],
    members: &'m mut [Option<RawJson<'a>>],
}

impl<'de> Visitor<'de> for Pick<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key_seed(Name(self.wanted))? {
            let Some(name) = name else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let value = map.next_value::<RawJson<'de>>()?;
            for ((_, path), member) in self.wanted.iter().zip(self.members.iter_mut()) {
                if path.first() == Some(name) && member.replace(value).is_some() {
                    return Err(A::Error::custom(format_args!("{name:?} is there twice")));
                }
            }
        }
        Ok(())
    }
}

/// A member name, as far as it is wanted.
struct Name<'w>(&'w [Wanted<'w>]);

impl<'de, 'w> DeserializeSeed<'de> for Name<'w> {
    type Value = Option<&'w Arc<str>>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_identifier(self)
    }
}

impl<'w> Visitor<'_> for Name<'w> {
    type Value = Option<&'w Arc<str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self
            .0
            .iter()
            .filter_map(|(_, path)| path.first())
            .find(|name| ***name == *key))
    }
}

/// Returns whether a header can mirror the value.
pub(super) fn is_mirrorable(value: RawJson<'_>) -> bool {
    match value.as_str().as_bytes().first() {
        Some(b'"' | b't' | b'f') => true,
        _ => integer(value).is_some(),
    }
}

/// Returns the text by which a header mirrors the value; `None` when no header can.
pub(super) fn header_text(value: RawJson<'_>) -> Option<Cow<'_, str>> {
    match value.as_str() {
        json @ ("true" | "false") => Some(json.into()),
        json if json.starts_with('"') => value.text(),
        _ => integer(value).map(|number| number.to_string().into()),
    }
}

fn integer(value: RawJson<'_>) -> Option<i64> {
    let number = value.as_str().parse::<Number>().ok()?.as_i64()?;
    (-LARGEST..=LARGEST).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::era::param_headers;

    fn extract_json(schema: &str, arguments: &str) -> Result<Vec<Option<String>>, String> {
        let declared = param_headers(&schema.parse().unwrap()).unwrap();
        let arguments: RawJson<'_> = serde_json::from_str(arguments).unwrap();
        let found = extract(&declared, Some(arguments))?;
        Ok(found
            .into_iter()
            .map(|value| value.map(|value| value.as_str().to_owned()))
            .collect())
    }

    const NESTED: &str = r#"{"properties":{
        "a":{"type":"string","x-mcp-header":"A"},
        "b":{"properties":{
            "c":{"type":"integer","x-mcp-header":"C"},
            "d":{"properties":{"e":{"type":"boolean","x-mcp-header":"E"}}}}}}}"#;

    #[test]
    fn each_argument_is_read_at_its_exact_path() {
        let text = |text: &str| Some(text.to_owned());
        let table = [
            ("{}", [None, None, None]),
            (r#"{"c":1,"e":true,"d":{"e":true}}"#, [None, None, None]),
            (
                r#"{"b":{"d":{"e":true},"c": 7 },"a":"x"}"#,
                [text("\"x\""), text("7"), text("true")],
            ),
            (r#"{"a":null,"b":{"c":null,"d":null}}"#, [None, None, None]),
            (r#"{"a":{},"b":[{"c":1}]}"#, [text("{}"), None, None]),
            (r#"{"\u0061":"x"}"#, [text("\"x\""), None, None]),
            ("[]", [None, None, None]),
            ("null", [None, None, None]),
        ];
        for (arguments, expected) in table {
            assert_eq!(
                extract_json(NESTED, arguments),
                Ok(expected.into()),
                "{arguments}"
            );
        }
    }

    #[test]
    fn arguments_are_read_only_where_a_header_is_declared() {
        let unreadable = r#"{"a":"x","\udddd":1}"#;
        assert_eq!(extract_json("{}", unreadable), Ok(Vec::new()));
        let error = extract_json(NESTED, unreadable).unwrap_err();
        assert!(error.contains("surrogate"), "{error}");
    }

    #[test]
    fn a_repeated_mirrored_argument_is_refused() {
        for arguments in [
            r#"{"a":"x","a":"y"}"#,
            r#"{"b":{"c":1,"\u0063":1}}"#,
            r#"{"b":{},"b":{}}"#,
        ] {
            assert!(extract_json(NESTED, arguments).is_err(), "{arguments}");
        }
        assert!(extract_json(NESTED, r#"{"z":"x","z":"y"}"#).is_ok());
    }

    #[test]
    fn values_are_spelled_as_the_page_says() {
        let table = [
            ("\"a b\"", Some("a b")),
            ("\"\"", Some("")),
            ("true", Some("true")),
            ("false", Some("false")),
            ("42", Some("42")),
            ("-7", Some("-7")),
            ("42.0", Some("42")),
            ("1e3", Some("1000")),
            ("9007199254740991", Some("9007199254740991")),
            ("9007199254740992", None),
            ("-9007199254740992", None),
            ("1e400", None),
            ("1.5", None),
            ("null", None),
            ("[]", None),
            ("{}", None),
        ];
        for (json, expected) in table {
            let value: RawJson<'_> = serde_json::from_str(json).unwrap();
            assert_eq!(header_text(value).as_deref(), expected, "{json}");
            assert_eq!(is_mirrorable(value), expected.is_some(), "{json}");
        }
    }
}
