//! The order in which a struct's fields were declared: people see them so, in forms and in lists of
//! arguments, and a derived schema does not keep it.

use std::fmt;

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::value::RawValue;
use turnbuckle_types::{Map, Schema};

/// The names of the fields of `T` in their order, where `T` is a plain struct.
pub(crate) fn fields_of<T: DeserializeOwned>() -> Option<&'static [&'static str]> {
    let mut fields = None;
    // The answer is the question that the type asks; there is no value to give.
    drop(T::deserialize(Probe(&mut fields)));
    fields
}

/// A schema of an object with its properties in this order; the others follow.
pub(crate) fn in_order(schema: Schema, fields: &[&str]) -> Schema {
    arranged(&schema, fields).unwrap_or(schema)
}

fn arranged(schema: &Schema, fields: &[&str]) -> Option<Schema> {
    let root: Map<&RawValue> = serde_json::from_str(schema.as_str()).ok()?;
    let properties: Map<&RawValue> = serde_json::from_str(root.get("properties")?.get()).ok()?;
    let known = fields
        .iter()
        .filter_map(|name| Some((*name, *properties.get(name)?)));
    let others = properties.iter().filter(|(name, _)| !fields.contains(name));
    let others = others.map(|(name, schema)| (name, *schema));
    let mut ordered: Map<&RawValue> = Map::new();
    for (name, schema) in known.chain(others) {
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
    Schema::of(&whole).ok()
}

struct Probe<'a>(&'a mut Option<&'static [&'static str]>);

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Asked;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Asked> {
        Err(Asked)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Asked> {
        *self.0 = Some(fields);
        Err(Asked)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Asked> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The type has told what it is.
#[derive(Debug)]
struct Asked;

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is nothing to decode")
    }
}

impl std::error::Error for Asked {}

impl de::Error for Asked {
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
        assert_eq!(fields_of::<Person>(), Some(fields));
        assert_eq!(fields_of::<Wrapped>(), Some(fields));
        assert_eq!(fields_of::<String>(), None);
        assert_eq!(fields_of::<()>(), None);
    }

    #[test]
    fn properties_come_in_that_order_and_nothing_else_changes() {
        let schema: Schema = r#"{"type":"object","properties":{"a":{"type":"null"},"b":{},"c":{}},"required":["c"]}"#
            .parse()
            .unwrap();
        let ordered = in_order(schema.clone(), &["c", "x", "a"]);
        assert_eq!(
            ordered.as_str(),
            r#"{"type":"object","properties":{"c":{},"a":{"type":"null"},"b":{}},"required":["c"]}"#
        );
        assert_eq!(in_order(schema.clone(), &["a", "b", "c"]), schema);
        let bare: Schema = r#"{"type":"object"}"#.parse().unwrap();
        assert_eq!(in_order(bare.clone(), &["a"]), bare);
    }
}
