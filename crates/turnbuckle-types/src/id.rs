//! Request ids and progress tokens.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::number::write_text;

/// The id of a JSON-RPC request: a string or an integer, echoed exactly as it came.
///
/// `1` and `"1"` are two ids. An integer beyond `i64` keeps its text; `null`, fractions and exponents
/// are no ids. Specification: basic/index, Requests (2026-07-28).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestId {
    /// An integer in `i64`'s range.
    Int(i64),
    /// A string.
    Str(Box<str>),
    /// An integer whose text is not the plain form of an `i64`: longer, or `-0`.
    Big(BigId),
}

/// The text of an integer that an `i64` cannot give back exactly; only decoding makes one.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BigId(Box<str>);

impl BigId {
    /// Returns the digits, with a sign if there was one.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The token by which progress notifications name their request: a value like a request id.
///
/// Specification: basic/patterns/progress (2026-07-28).
pub type ProgressToken = RequestId;

impl RequestId {
    /// Reads the text of one JSON value, without surrounding space; `None` if it is no id.
    #[must_use]
    pub fn from_json(text: &str) -> Option<Self> {
        if text.starts_with('"') {
            return serde_json::from_str::<Box<str>>(text).ok().map(Self::Str);
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        let plain = match digits.as_bytes() {
            [] => false,
            [b'0', rest @ ..] => rest.is_empty(),
            all => all.iter().all(u8::is_ascii_digit),
        };
        if !plain {
            return None;
        }
        Some(match text.parse() {
            Ok(value) if text != "-0" => Self::Int(value),
            _ => Self::Big(BigId(text.into())),
        })
    }
}

impl From<i64> for RequestId {
    fn from(id: i64) -> Self {
        Self::Int(id)
    }
}

impl From<&str> for RequestId {
    fn from(id: &str) -> Self {
        Self::Str(id.into())
    }
}

impl From<String> for RequestId {
    fn from(id: String) -> Self {
        Self::Str(id.into())
    }
}

/// Quoted and escaped if it is a string, so that a log tells `1` from `"1"`.
impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(id) => id.fmt(f),
            Self::Str(id) => write!(f, "{id:?}"),
            Self::Big(id) => f.write_str(id.as_str()),
        }
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for BigId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(id) => serializer.serialize_i64(*id),
            Self::Str(id) => serializer.serialize_str(id),
            Self::Big(id) => write_text(id.as_str(), serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Raw first: a number visitor would round integers beyond 64 bits.
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_json(raw.get())
            .ok_or_else(|| de::Error::custom("an id must be a string or an integer"))
    }
}
