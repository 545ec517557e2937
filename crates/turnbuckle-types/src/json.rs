//! JSON that nobody needs to look into: kept as its text, or left where it is.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// One JSON value as the text it arrived in: no number is rounded, no member reordered.
///
/// Two values are equal if their texts are. The depth of the text is not limited here; `decode`
/// applies serde_json's limit of 127 levels.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Encodes a value.
    ///
    /// # Errors
    /// If the value's `Serialize` fails or it has a map whose keys are not strings.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        to_raw_value(value).map(Self)
    }

    /// Creates the value `{}`.
    #[must_use]
    pub fn empty_object() -> Self {
        Self(constant("{}"))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Returns the text, as serde_json's raw value.
    #[must_use]
    pub fn as_raw(&self) -> &RawValue {
        &self.0
    }

    /// Returns the text, as serde_json's raw value, without a copy.
    #[must_use]
    pub(crate) fn into_raw(self) -> Box<RawValue> {
        self.0
    }

    /// Decodes the text as a type.
    ///
    /// # Errors
    /// If the text is not such a value.
    pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0.get())
    }

    /// Returns whether the value is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0.get().starts_with('{')
    }

    /// Returns whether the value is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0.get() == "null"
    }
}

/// Returns the message of a decoding error, as serde_json writes it; of a text that is nested too deep, how deep it
/// may be.
// Hidden, since only the other crates of this workspace write such errors.
#[doc(hidden)]
#[must_use]
pub fn describe_decode_error(error: &impl fmt::Display) -> String {
    let message = error.to_string();
    message.replace(
        "recursion limit exceeded",
        "it is nested deeper than 127 levels",
    )
}

/// Returns raw JSON from a literal of this crate.
pub(crate) fn constant(text: &'static str) -> Box<RawValue> {
    valid(text)
}

/// Returns raw JSON from text that is known to be a value; `null` only avoids a panic path.
fn valid(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw)
    }
}

impl From<&RawValue> for Json {
    fn from(raw: &RawValue) -> Self {
        Self(raw.to_owned())
    }
}

impl FromStr for Json {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        RawValue::from_string(text.to_owned()).map(Self)
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One JSON value as text inside the message that it came in.
///
/// Two values are equal if their texts are. The depth of the text is not limited here; `decode`
/// applies serde_json's limit of 127 levels.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RawJson<'a>(&'a str);

impl<'a> RawJson<'a> {
    /// Wraps text that is known to be one JSON value, without white space around it.
    // Hidden, since it does not check the text: for readers of this workspace that have checked it.
    #[doc(hidden)]
    #[must_use]
    pub const fn from_valid_text(text: &'a str) -> Self {
        Self(text)
    }

    /// Returns the text.
    #[must_use]
    pub const fn as_str(self) -> &'a str {
        self.0
    }

    /// Decodes the text as a type.
    ///
    /// # Errors
    /// If the text is not such a value.
    pub fn decode<T: Deserialize<'a>>(self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0)
    }

    /// Returns whether the value is an object.
    #[must_use]
    pub fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    /// Returns whether the value is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// Copies the value.
    #[must_use]
    pub fn to_json(self) -> Json {
        Json(valid(self.0))
    }

    /// Returns the text of a string, borrowed where it has no escapes; `None` when the value is another.
    #[must_use]
    pub fn text(self) -> Option<Cow<'a, str>> {
        let inner = self.0.strip_prefix('"')?.strip_suffix('"')?;
        if !inner.contains('\\') {
            return Some(Cow::Borrowed(inner));
        }
        self.decode().ok().map(Cow::Owned)
    }
}

impl<'a> From<&'a RawValue> for RawJson<'a> {
    fn from(raw: &'a RawValue) -> Self {
        Self(raw.get())
    }
}

impl<'a> From<&'a Json> for RawJson<'a> {
    fn from(json: &'a Json) -> Self {
        Self(json.as_str())
    }
}

impl<'a> From<&'a RawObject> for RawJson<'a> {
    fn from(object: &'a RawObject) -> Self {
        Self(object.as_str())
    }
}

impl fmt::Debug for RawJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for RawJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawJson<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(Self::from)
    }
}

/// A JSON object as its text, for members whose content belongs to the application.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Json")]
pub struct RawObject(Json);

impl RawObject {
    /// Creates the object `{}`.
    #[must_use]
    pub fn empty() -> Self {
        Self(Json::empty_object())
    }

    /// Encodes a value that serialises as an object.
    ///
    /// # Errors
    /// If the value cannot be serialised or is not an object.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        Self::try_from(Json::encode(value)?)
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the text, as serde_json's raw value.
    #[must_use]
    pub fn as_raw(&self) -> &RawValue {
        self.0.as_raw()
    }

    /// Decodes the object as a type.
    ///
    /// # Errors
    /// If the object is not such a value.
    pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        self.0.decode()
    }
}

impl Default for RawObject {
    fn default() -> Self {
        Self::empty()
    }
}

impl TryFrom<Json> for RawObject {
    type Error = serde_json::Error;

    fn try_from(json: Json) -> Result<Self, Self::Error> {
        if json.is_object() {
            Ok(Self(json))
        } else {
            Err(de::Error::custom("expected an object"))
        }
    }
}

impl From<RawObject> for Json {
    fn from(object: RawObject) -> Self {
        object.0
    }
}

impl FromStr for RawObject {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::try_from(text.parse::<Json>()?)
    }
}

impl fmt::Debug for RawObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
