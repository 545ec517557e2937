//! JSON Schemas, kept as the text their author wrote.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::Json;
use crate::json::constant;

/// A JSON Schema object: any dialect, any keyword, untouched. A clone shares the text.
///
/// Specification: basic/index, JSON Schema Usage (2026-07-28).
#[derive(Clone)]
pub struct Schema(Arc<RawValue>);

impl Schema {
    /// Creates the schema `{"type":"object"}`: any arguments at all.
    #[must_use]
    pub fn object() -> Self {
        static OBJECT: OnceLock<Arc<RawValue>> = OnceLock::new();
        let object = OBJECT.get_or_init(|| constant(r#"{"type":"object"}"#).into());
        Self(object.clone())
    }

    /// Creates a schema from raw JSON.
    ///
    /// # Errors
    /// If it is not an object.
    pub fn from_raw(raw: Box<RawValue>) -> Result<Self, NotAnObject> {
        if raw.get().starts_with('{') {
            Ok(Self(raw.into()))
        } else {
            Err(NotAnObject)
        }
    }

    /// Creates a schema from a value that serialises as one, such as the output of a derive macro.
    ///
    /// # Errors
    /// If the value cannot be serialised or is not an object.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        Self::from_raw(Json::encode(value)?.into_raw()).map_err(de::Error::custom)
    }

    /// Returns the text, as serde_json's raw value.
    #[must_use]
    pub fn as_raw(&self) -> &RawValue {
        &self.0
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

/// A schema must be a JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a schema must be a JSON object")]
pub struct NotAnObject;

impl FromStr for Schema {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text)
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Schema {}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_ref().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_raw(Box::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}
