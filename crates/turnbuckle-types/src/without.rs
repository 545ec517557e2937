//! An object read without one of its members.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::tagged::Text;

/// Decodes the JSON object `text`; the member `name` is passed over as if it were absent.
pub(crate) fn decode<'de, T: Deserialize<'de>>(
    text: &'de str,
    name: &'static str,
) -> Result<T, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    let decoded = json.deserialize_map(Without(name, PhantomData))?;
    json.end()?;
    Ok(decoded)
}

struct Without<T>(&'static str, PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Without<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(Others { name: self.0, map }))
    }
}

/// The other members.
struct Others<A> {
    name: &'static str,
    map: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Others<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(Text(key)) = self.map.next_key()? {
            if key == self.name {
                self.map.next_value::<IgnoredAny>()?;
                continue;
            }
            return match key {
                Cow::Borrowed(key) => seed.deserialize(BorrowedStrDeserializer::new(key)),
                Cow::Owned(key) => seed.deserialize(StrDeserializer::new(&key)),
            }
            .map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
