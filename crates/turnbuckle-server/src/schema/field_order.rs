//! The declaration order of a struct's fields, which clients should see in forms and argument
//! lists, and which a derived schema does not keep.

use std::fmt;

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::value::RawValue;
use turnbuckle_types::{Map, Schema};

/// Returns the names of the fields of `T` in their order, if `T` is a plain struct.
pub(crate) fn field_names<T: DeserializeOwned>() -> Option<&'static [&'static str]> {
    let mut fields = None;
    // Deserialization reports its fields to the probe and then fails, since there is no value.
    drop(T::deserialize(Probe(&mut fields)));
    fields
}

/// Returns an object schema with these properties first, in this order.
pub(crate) fn reorder_properties(schema: Schema, fields: &[&str]) -> Schema {
    try_reorder(&schema, fields).unwrap_or(schema)
}

/// Returns the reordered schema, if it has properties.
fn try_reorder(schema: &Schema, fields: &[&str]) -> Option<Schema> {
    let root: Map<&RawValue> = serde_json::from_str(schema.as_str()).ok()?;
    let properties: Map<&RawValue> = serde_json::from_str(root.get("properties")?.get()).ok()?;
    let declared = fields
        .iter()
        .filter_map(|name| Some((*name, *properties.get(name)?)));
    let others = properties.iter().filter(|(name, _)| !fields.contains(name));
    let others = others.map(|(name, schema)| (name, *schema));
    let mut ordered: Map<&RawValue> = Map::new();
    for (name, schema) in declared.chain(others) {
        ordered.insert(name, schema);
    }
    let ordered = serde_json::value::to_raw_value(&ordered).ok()?;
    let mut whole: Map<&RawValue> = Map::new();
    for (name, value) in root.iter() {
        whole.insert(
            name,
            if name == "properties" {
                &ordered
            } else {
                *value
            },
        );
    }
    Schema::encode(&whole).ok()
}

/// A deserializer that records the fields that a struct asks for.
struct Probe<'a>(&'a mut Option<&'static [&'static str]>);

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = ProbeFinished;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ProbeFinished> {
        Err(ProbeFinished)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ProbeFinished> {
        *self.0 = Some(fields);
        Err(ProbeFinished)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ProbeFinished> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The error that ends every probe.
#[derive(Debug, thiserror::Error)]
#[error("there is nothing to decode")]
struct ProbeFinished;

impl de::Error for ProbeFinished {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its fields are of interest")]
    struct Person {
        name: String,
        #[serde(rename = "years")]
        age: u8,
        active: bool,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its fields are of interest")]
    struct Wrapped(Person);

    #[test]
    fn the_order_is_that_of_the_declaration() {
        let fields: &[&str] = &["name", "years", "active"];
        assert_eq!(field_names::<Person>(), Some(fields));
        assert_eq!(field_names::<Wrapped>(), Some(fields));
        assert_eq!(field_names::<String>(), None);
        assert_eq!(field_names::<()>(), None);
    }

    #[test]
    fn properties_come_in_that_order_and_nothing_else_changes() {
        let schema: Schema = r#"{"type":"object","properties":{"a":{"type":"null"},"b":{},"c":{}},"required":["c"]}"#
            .parse()
            .unwrap();
        let ordered = reorder_properties(schema.clone(), &["c", "x", "a"]);
        assert_eq!(
            ordered.as_str(),
            r#"{"type":"object","properties":{"c":{},"a":{"type":"null"},"b":{}},"required":["c"]}"#
        );
        assert_eq!(reorder_properties(schema.clone(), &["a", "b", "c"]), schema);
        let bare: Schema = r#"{"type":"object"}"#.parse().unwrap();
        assert_eq!(reorder_properties(bare.clone(), &["a"]), bare);
    }
}
