//! Unions that one string member tells apart.
//!
//! The member is peeked in the raw object, then the object is decoded once, as the one type that it
//! names: no variant is ever tried and thrown away, and an unknown name keeps its raw JSON.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

/// Writes an enum over tagged objects, with an `Unknown` variant for names not in its list.
macro_rules! tagged {
    (
        $(#[$doc:meta])*
        pub enum $Name:ident by $tag:literal {
            $( $(#[$variant_doc:meta])* $Variant:ident($Type:ty) = $value:literal, )+
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum $Name {
            $( $(#[$variant_doc])* $Variant($Type), )+
            /// An object whose tag this vocabulary does not know, as it arrived.
            Unknown($crate::Json),
        }

        $( impl From<$Type> for $Name {
            fn from(value: $Type) -> Self {
                Self::$Variant(value)
            }
        } )+

        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $( Self::$Variant(value) => value.serialize(serializer), )+
                    Self::Unknown(raw) => raw.serialize(serializer),
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let raw = $crate::Json::deserialize(deserializer)?;
                let tag = $crate::tagged::peek(raw.as_str(), $tag);
                match tag.as_deref() {
                    $( Some($value) => raw.decode().map(Self::$Variant), )+
                    Some(_) => return Ok(Self::Unknown(raw)),
                    None if raw.is_object() => {
                        return Err(serde::de::Error::custom(concat!(
                            "`", $tag, "` must be there and a string"
                        )));
                    }
                    None => return Err(serde::de::Error::custom("expected an object")),
                }
                .map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use tagged;

/// The string under `name` in the JSON object `text`, read no further than needed.
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
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}
