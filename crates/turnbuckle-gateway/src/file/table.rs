//! Tables of the file: structs whose unknown keys are errors that name the key which was meant.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, Visitor};
use turnbuckle_types::base::mismatch::describe_without_value;
use turnbuckle_types::base::nearest::did_you_mean;

/// Makes a struct whose fields are the keys of a table. A key can be left out.
macro_rules! table {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* }
    )*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Default)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $name {
            /// The keys of the table.
            pub(crate) const KEYS: &'static [&'static str] = &[$(stringify!($field)),*];
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
                struct Keys;
                impl<'de> serde::de::Visitor<'de> for Keys {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("a table")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<$name, A::Error> {
                        let mut table = $name::default();
                        let mut seen = Vec::new();
                        loop {
                            let key = $crate::file::table::KnownKey { keys: $name::KEYS, seen: &seen };
                            let Some(key) = map.next_key_seed(key)? else {
                                return Ok(table);
                            };
                            seen.push(key);
                            $(if key == stringify!($field) {
                                table.$field = map.next_value_seed($crate::file::table::NamedValue::new(key))?;
                            })*
                        }
                    }
                }
                table.deserialize_map(Keys)
            }
        }
    )*};
}
pub(crate) use table;

/// Reads the value of a key. A value of a wrong kind is not in the error: it may be a secret.
pub(super) struct NamedValue<T> {
    key: &'static str,
    value: PhantomData<T>,
}

impl<T> NamedValue<T> {
    pub(super) fn new(key: &'static str) -> Self {
        let value = PhantomData;
        Self { key, value }
    }
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for NamedValue<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<T, D::Error> {
        T::deserialize(value).map_err(|error| match describe_without_value(&error.to_string()) {
            // Here, and not outside, so that the error gets the place of the value.
            Some(reason) => D::Error::custom(format!("`{}`: {reason}", self.key)),
            None => error,
        })
    }
}

/// Reads a key of a table, which must be one of the known ones and new.
pub(super) struct KnownKey<'a> {
    pub(super) keys: &'static [&'static str],
    pub(super) seen: &'a [&'static str],
}

impl<'de> DeserializeSeed<'de> for KnownKey<'_> {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<&'static str, D::Error> {
        key.deserialize_str(self)
    }
}

impl Visitor<'_> for KnownKey<'_> {
    type Value = &'static str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<&'static str, E> {
        match self.keys.iter().find(|known| **known == key) {
            Some(known) if self.seen.contains(known) => {
                Err(E::custom(format!("the key {key:?} is there twice")))
            }
            Some(known) => Ok(known),
            None => {
                let keys = self.keys.join(", ");
                let help = did_you_mean(key, self.keys.iter().copied())
                    .unwrap_or_else(|| format!("the keys here are {keys}"));
                Err(E::custom(format!("unknown key {key:.64?}: {help}")))
            }
        }
    }
}
