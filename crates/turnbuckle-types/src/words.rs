//! Fixed vocabularies: strings of which the specification lists the possible values.

/// Writes an enum over strings. With `open`, an unlisted string is kept in `Other`; without, it is a
/// decode error, because acting on a misread value would be worse than refusing it. A value after `|`
/// is read like the one before it, and never written.
macro_rules! words {
    (
        $(#[$doc:meta])*
        pub enum $Name:ident {
            $( $(#[$variant_doc:meta])* $Variant:ident = $word:literal $(| $also:literal)*, )+
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $Name { $( $(#[$variant_doc])* $Variant, )+ }

        impl $Name {
            /// Every value, in the order of the specification's severity or listing.
            pub const ALL: &'static [Self] = &[ $( Self::$Variant, )+ ];

            /// Returns the text on the wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$Variant => $word, )+ }
            }

            /// Returns the value that a text on the wire stands for.
            fn from_name(name: &str) -> Option<Self> {
                match name { $( $word $(| $also)* => Some(Self::$Variant), )+ _ => None }
            }
        }

        #[cfg(feature = "describe")]
        impl $crate::describe::Describe for $Name {
            fn shape() -> $crate::describe::Shape {
                $crate::describe::Shape::Words($crate::describe::WordsShape {
                    name: stringify!($Name),
                    values: vec![$( $word, )+],
                })
            }
        }

        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct WordVisitor;
                impl serde::de::Visitor<'_> for WordVisitor {
                    type Value = $Name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("one of", $( " \"", $word, "\"", )+))
                    }
                    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<$Name, E> {
                        $Name::from_name(name)
                            .ok_or_else(|| E::unknown_variant(name, &[ $( $word, )+ ]))
                    }
                }
                deserializer.deserialize_str(WordVisitor)
            }
        }
    };
    (
        $(#[$doc:meta])*
        pub open enum $Name:ident { $( $(#[$variant_doc:meta])* $Variant:ident = $word:literal, )+ }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $Name {
            $( $(#[$variant_doc])* $Variant, )+
            /// A value that the specification does not list, as it arrived.
            Other(Box<str>),
        }

        impl $Name {
            /// Returns the text on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self { $( Self::$Variant => $word, )+ Self::Other(word) => word }
            }
        }

        impl From<&str> for $Name {
            fn from(name: &str) -> Self {
                match name { $( $word => Self::$Variant, )+ other => Self::Other(other.into()) }
            }
        }

        #[cfg(feature = "describe")]
        impl $crate::describe::Describe for $Name {
            fn shape() -> $crate::describe::Shape {
                $crate::describe::Shape::Words($crate::describe::WordsShape {
                    name: stringify!($Name),
                    values: vec![$( $word, )+],
                })
            }
        }

        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct WordVisitor;
                impl serde::de::Visitor<'_> for WordVisitor {
                    type Value = $Name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("a string")
                    }
                    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<$Name, E> {
                        Ok($Name::from(name))
                    }
                }
                deserializer.deserialize_str(WordVisitor)
            }
        }
    };
}
pub(crate) use words;
