//! Unions that one string member tells apart.
//!
//! Where the member comes first, as it nearly always does, the rest is decoded at once, as the one
//! type that it names. Else the members are gathered, the name is looked for among them, and they
//! are decoded then: no variant is ever tried and thrown away, and an unknown name keeps its raw
//! JSON.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::{SerializeMap as _, Serializer as _};

use crate::Json;

/// Writes an enum over tagged objects, with an `Unknown` variant for names not in its list.
macro_rules! tagged {
    (
        $(#[$doc:meta])*
        pub enum $Name:ident by $tag:literal {
            $( $(#[$variant_doc:meta])* $Variant:ident($Type:ty) = $value:literal, )+
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        #[serde(untagged)]
        #[non_exhaustive]
        pub enum $Name {
            $( $(#[$variant_doc])* $Variant($Type), )+
            /// An object whose tag this vocabulary does not know, as it arrived.
            Unknown($crate::Json),
        }

        $crate::tagged::variants! { $Name { $( $Variant($Type), )+ } Unknown }

        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Tagged;
                impl<'de> serde::de::Visitor<'de> for Tagged {
                    type Value = $Name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<$Name, A::Error> {
                        let first = $crate::tagged::First::read(&mut map, $tag)?;
                        match first.tag() {
                            $( Some($value) => {
                                return first.decode(map, $tag).map($Name::$Variant);
                            } )+
                            _ => {}
                        }
                        let raw = first.gather(map, $tag)?;
                        let tag = $crate::tagged::peek(raw.as_str(), $tag);
                        match tag.as_deref() {
                            $( Some($value) => raw.decode().map($Name::$Variant), )+
                            Some(_) => return Ok($Name::Unknown(raw)),
                            None => {
                                return Err(serde::de::Error::custom(concat!(
                                    "`", $tag, "` must be there and a string"
                                )));
                            }
                        }
                        .map_err(serde::de::Error::custom)
                    }
                }
                deserializer.deserialize_map(Tagged)
            }
        }
    };
}
pub(crate) use tagged;

/// Writes the list of an enum's variants, which does not compile unless it has all of them, and the
/// conversions from the types that stand behind them. The variant behind the list is the one for what
/// the vocabulary does not know.
macro_rules! variants {
    ($Name:ident { $( $Variant:ident $(($Type:ty))?, )+ } $( $Unknown:ident )?) => {
        impl $Name {
            /// The names of the variants in the order of their declaration, without `Unknown`.
            ///
            /// Code that must decide about every variant compares its own list with this one at
            /// compile time: a variant that is added here then does not compile there.
            pub const VARIANTS: &'static [&'static str] = &[$( stringify!($Variant), )+];
        }

        #[cfg(feature = "describe")]
        impl $crate::describe::Describe for $Name {
            fn shape() -> $crate::describe::Shape {
                $crate::describe::Shape::Union($crate::describe::UnionShape {
                    name: stringify!($Name),
                    variants: vec![$( $(
                        (stringify!($Variant), <$Type as $crate::describe::Describe>::shape()),
                    )? )+],
                })
            }
        }

        const _: fn(&$Name) = |value| match value {
            $( $Name::$Variant { .. } => {} )+
            $( $Name::$Unknown { .. } => {} )?
        };

        $( $( impl From<$Type> for $Name {
            fn from(value: $Type) -> Self {
                Self::$Variant(value)
            }
        } )? )+
    };
}
pub(crate) use variants;

/// The first member of an object.
pub(crate) enum First<'de> {
    /// The tag.
    Tag(Cow<'de, str>),
    /// Another member, or a tag that is no string.
    Other(Cow<'de, str>, Json),
    /// The object is empty.
    Nothing,
}

impl<'de> First<'de> {
    pub(crate) fn read<A: MapAccess<'de>>(map: &mut A, name: &str) -> Result<Self, A::Error> {
        Ok(match map.next_key()? {
            Some(Text(key)) if key == name => Self::Tag(map.next_value::<Text<'de>>()?.0),
            Some(Text(key)) => Self::Other(key, map.next_value()?),
            None => Self::Nothing,
        })
    }

    pub(crate) fn tag(&self) -> Option<&str> {
        match self {
            Self::Tag(tag) => Some(tag),
            _ => None,
        }
    }

    /// Decodes the object that began with the tag.
    pub(crate) fn decode<T, A>(self, map: A, name: &'static str) -> Result<T, A::Error>
    where
        T: serde::Deserialize<'de>,
        A: MapAccess<'de>,
    {
        let tag = match self {
            Self::Tag(tag) => Some(tag),
            _ => None,
        };
        T::deserialize(MapAccessDeserializer::new(Whole {
            name: Some(name),
            tag,
            rest: map,
        }))
    }

    /// Returns the object as text, its members as they arrived and in their order.
    pub(crate) fn gather<A: MapAccess<'de>>(
        self,
        mut map: A,
        name: &'static str,
    ) -> Result<Json, A::Error> {
        let mut text = Vec::new();
        let mut to = serde_json::Serializer::new(&mut text);
        let mut object = to.serialize_map(None).map_err(A::Error::custom)?;
        match &self {
            Self::Tag(tag) => object.serialize_entry(name, tag),
            Self::Other(key, value) => object.serialize_entry(key, value),
            Self::Nothing => Ok(()),
        }
        .map_err(A::Error::custom)?;
        while let Some((Text(key), value)) = map.next_entry::<Text<'de>, Json>()? {
            let written = object.serialize_entry(&key, &value);
            written.map_err(A::Error::custom)?;
        }
        object.end().map_err(A::Error::custom)?;
        let text = String::from_utf8(text).map_err(A::Error::custom)?;
        serde_json::value::RawValue::from_string(text)
            .map(Json::from)
            .map_err(A::Error::custom)
    }
}

/// An object whose first member was read already.
struct Whole<'de, A> {
    name: Option<&'static str>,
    tag: Option<Cow<'de, str>>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Whole<'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        match self.name.take() {
            Some(name) => seed
                .deserialize(BorrowedStrDeserializer::new(name))
                .map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.tag.take() {
            Some(Cow::Borrowed(tag)) => seed.deserialize(BorrowedStrDeserializer::new(tag)),
            Some(Cow::Owned(tag)) => seed.deserialize(StrDeserializer::new(&tag)),
            None => self.rest.next_value_seed(seed),
        }
    }
}

/// Returns the string under `name` in the JSON object `text`, read no further than needed.
pub(crate) fn peek<'a>(text: &'a str, name: &'static str) -> Option<Cow<'a, str>> {
    let mut found = None;
    // Stopping early leaves input behind, which the deserializer reports; the caller's full decode
    // is the one that judges the object.
    let _ = serde_json::Deserializer::from_str(text).deserialize_map(Peek {
        name,
        found: &mut found,
    });
    found
}

struct Peek<'a, 'f> {
    name: &'static str,
    found: &'f mut Option<Cow<'a, str>>,
}

impl<'de> Visitor<'de> for Peek<'de, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(key)) = map.next_key()? {
            if key == self.name {
                *self.found = Some(map.next_value::<Text<'de>>()?.0);
                return Ok(());
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// A string that borrows from the input unless it holds escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);
