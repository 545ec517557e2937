//! The parameters of a message that the protocol itself reads, captured while its envelope is read.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use turnbuckle_types::{RawJson, meta as meta_key};

use crate::json::{Reader, read_members};
use crate::rpc::Capture;

/// The parameters that the protocol itself reads, as raw JSON.
///
/// Every value is borrowed from the frame. Other members are skipped; code that needs them decodes
/// the frame's `params` whole with [`raw_params`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Params<'a> {
    /// `name`: of a tool or prompt.
    pub name: Option<RawJson<'a>>,
    /// `uri`: of a resource.
    pub uri: Option<RawJson<'a>>,
    /// `arguments`: of a tool or prompt.
    pub arguments: Option<RawJson<'a>>,
    /// `cursor`: the position from which a list continues.
    pub cursor: Option<RawJson<'a>>,
    /// `inputResponses`: the answers to the questions of an earlier round.
    pub input_responses: Option<RawJson<'a>>,
    /// `requestState`: the opaque state that the result of an earlier round contained.
    pub request_state: Option<RawJson<'a>>,
    /// `requestId`: of the request to cancel.
    pub request_id: Option<RawJson<'a>>,
    /// The members of `_meta` that the protocol itself reads.
    pub meta: MetaFields<'a>,
    /// `_meta` as it arrived.
    pub raw_meta: Option<RawJson<'a>>,
}

/// The members of `_meta` with a meaning to the protocol itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct MetaFields<'a> {
    /// `progressToken`: the peer asks for progress under this token.
    pub progress_token: Option<RawJson<'a>>,
    /// The revision of the request.
    pub protocol_version: Option<RawJson<'a>>,
    /// The name and version of the sender.
    pub client_info: Option<RawJson<'a>>,
    /// The capabilities of the sender.
    pub client_capabilities: Option<RawJson<'a>>,
    /// The least level of log messages that the sender wants.
    pub log_level: Option<RawJson<'a>>,
}

impl MetaFields<'_> {
    /// Returns whether these members mark the message as one of the modern era: the revision or the
    /// client's capabilities are present.
    #[must_use]
    pub fn marks_modern_era(&self) -> bool {
        self.protocol_version.is_some() || self.client_capabilities.is_some()
    }
}

macro_rules! capture {
    ($what:literal, $kind:ident, { $($name:pat => $field:ident),* $(,)? }) => {
        impl<'de> Deserialize<'de> for $kind<'de> {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Fields;

                impl<'de> Visitor<'de> for Fields {
                    type Value = $kind<'de>;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!($what, " as an object"))
                    }

                    fn visit_map<A: MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<Self::Value, A::Error> {
                        let mut fields = $kind::default();
                        while let Some(key) = map.next_key::<Key<'de>>()? {
                            match &*key.0 {
                                $($name => capture!(@take fields.$field, map, $field),)*
                                _ => {
                                    map.next_value::<IgnoredAny>()?;
                                }
                            }
                        }
                        Ok(fields)
                    }
                }

                from.deserialize_map(Fields)
            }
        }

        impl<'a> Capture<'a> for $kind<'a> {
            fn read(from: &mut Reader<'a>) -> Option<Self> {
                let mut fields = Self::default();
                from.members(|from, name| {
                    match name {
                        $($name => capture!(@read fields.$field, from, $field),)*
                        _ => {
                            from.value()?;
                        }
                    }
                    Some(())
                })?;
                Some(fields)
            }
        }
    };
    (@read $fields:ident . meta, $from:ident, meta) => {{
        let (meta, text) = $from.with_text(Capture::read)?;
        $fields.meta = meta;
        if $fields.raw_meta.replace(text).is_some() {
            return None;
        }
    }};
    (@read $fields:ident . $field:ident, $from:ident, $name:ident) => {
        if $fields.$field.replace($from.value()?).is_some() {
            return None;
        }
    };
    (@take $fields:ident . meta, $map:ident, meta) => {{
        let text: RawJson<'de> = $map.next_value()?;
        $fields.meta = text.decode().map_err(A::Error::custom)?;
        if $fields.raw_meta.replace(text).is_some() {
            return Err(A::Error::duplicate_field("_meta"));
        }
    }};
    (@take $fields:ident . $field:ident, $map:ident, $name:ident) => {
        if $fields.$field.replace($map.next_value()?).is_some() {
            return Err(A::Error::duplicate_field(stringify!($field)));
        }
    };
}

/// A member name, borrowed where it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

capture!("params", Params, {
    "name" => name,
    "uri" => uri,
    "arguments" => arguments,
    "cursor" => cursor,
    "inputResponses" => input_responses,
    "requestState" => request_state,
    "requestId" => request_id,
    "_meta" => meta,
});

capture!("_meta", MetaFields, {
    meta_key::PROGRESS_TOKEN => progress_token,
    meta_key::PROTOCOL_VERSION => protocol_version,
    meta_key::CLIENT_INFO => client_info,
    meta_key::CLIENT_CAPABILITIES => client_capabilities,
    meta_key::LOG_LEVEL => log_level,
});

/// Returns `params` as they arrived, decoded again from the whole frame; `None` when the frame has
/// none. For methods and members that [`Params`] does not capture.
#[must_use]
pub fn raw_params(frame: &str) -> Option<RawJson<'_>> {
    member_of(frame, "params").filter(|params| !params.is_null())
}

/// Returns `_meta` as it arrived, decoded again from the whole frame; `None` when the frame has
/// none.
#[must_use]
pub fn raw_meta(frame: &str) -> Option<RawJson<'_>> {
    member_of(raw_params(frame)?.as_str(), "_meta").filter(|meta| !meta.is_null())
}

/// Returns a member of `params`, decoded again from the whole frame. `None` when there is no such member,
/// or more than one.
#[must_use]
pub fn raw_param<'a>(frame: &'a str, name: &str) -> Option<RawJson<'a>> {
    member_of(raw_params(frame)?.as_str(), name)
}

/// Returns a member of a JSON object. `None` when there is no such member, or more than one.
#[must_use]
pub fn member_of<'a>(object: &'a str, name: &str) -> Option<RawJson<'a>> {
    struct Member<'n>(&'n str);

    impl<'de> Visitor<'de> for Member<'_> {
        type Value = Option<RawJson<'de>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = None;
            while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
                if *key != *self.0 {
                    map.next_value::<IgnoredAny>()?;
                } else if found.replace(map.next_value()?).is_some() {
                    return Err(A::Error::custom("a member stands twice"));
                }
            }
            Ok(found)
        }
    }

    let (mut found, mut is_repeated) = (None, false);
    let outline = read_members(object, |member, value| {
        is_repeated |= member == name && found.replace(value).is_some();
        Some(())
    });
    if outline.is_some() {
        return found.filter(|_| !is_repeated);
    }
    let mut json = serde_json::Deserializer::from_str(object);
    let found = json.deserialize_map(Member(name)).ok()?;
    json.end().ok()?;
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_found_by_its_decoded_name_and_only_if_it_is_the_only_one() {
        let find = |params: &str| {
            let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x/y","params":{params}}}"#);
            raw_param(&frame, "taskId").map(|found| found.as_str().to_owned())
        };
        assert_eq!(find(r#"{"a":{"taskId":1},"taskId":"t"}"#).unwrap(), "\"t\"");
        assert_eq!(find(r#"{"t\u0061skId": [1] }"#).unwrap(), "[1]");
        for none in [
            r#"{"a":{"taskId":1}}"#,
            r#"{"taskId":1,"t\u0061skId":1}"#,
            r#"{"taskId":1,"a":2,"taskId":1}"#,
            "null",
            "[]",
            "{}",
        ] {
            assert_eq!(find(none), None, "{none}");
        }
    }

    #[test]
    fn metadata_are_found_as_they_arrived() {
        let find = |params: &str| {
            let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x/y","params":{params}}}"#);
            raw_meta(&frame).map(|found| found.as_str().to_owned())
        };
        let meta = r#"{ "a": [1, 2.50] }"#;
        assert_eq!(find(&format!(r#"{{"_meta":{meta} }}"#)).unwrap(), meta);
        assert_eq!(find(&format!(r#"{{"_m\u0065ta":{meta}}}"#)).unwrap(), meta);
        for none in [
            "{}",
            "null",
            r#"{"_meta":null}"#,
            r#"{"_meta":{},"_meta":{}}"#,
            r#"{"_meta":{},}"#,
        ] {
            assert_eq!(find(none), None, "{none}");
        }
    }
}
