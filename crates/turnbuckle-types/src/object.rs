//! One macro writes every JSON object of the vocabulary, so that all of them treat the wire alike.
//!
//! An object knows the names of its fields and keeps every other member as raw JSON, in order. Values
//! are decoded once, straight into their field, without a buffering station. A known name that stands
//! twice is an error, because two readers could then see two different messages.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};

/// Writes structs with public fields, their constructors, chainable setters and both halves of serde.
///
/// Each field is `kind name: Type = "wireName"`, where the kind says how presence is treated:
///
/// | kind     | field type  | absent on decode | `null` on decode | encoded           | setter |
/// |----------|-------------|------------------|------------------|-------------------|--------|
/// | `req`    | `T`         | error            | `T` decides      | always            | no, an argument of the constructor |
/// | `opt`    | `Option<T>` | `None`           | `None`           | if `Some`         | yes    |
/// | `bare`   | `Option<T>` | `None`           | `None`           | if `Some`         | no, written by hand |
/// | `raw`    | `Option<T>` | `None`           | a value          | if `Some`         | yes    |
/// | `map`    | `T`         | empty            | empty            | unless empty      | yes    |
/// | `always` | `T`         | default          | default          | always            | yes    |
/// | `few`    | `Vec<T>`    | empty            | empty            | always            | yes    |
/// | `ttl`    | `Option<u64>` | `None`         | `None`           | if `Some`         | yes    |
/// | `lifetime` | `Option<u64>` | `None`       | `None`           | always, `null` for `None` | yes |
///
/// `as name` renames the constructor, and `as pub(crate) name` keeps it here; `tagged "type" = "text"` adds a constant member that is written
/// first and must be present, with that very value, on decode. `is form` behind a field says what its type
/// cannot: a method of [`Shape`](crate::describe::Shape), for the schemas that are made of the types.
macro_rules! object {
    ($(
        $(#[$doc:meta])*
        pub struct $Name:ident $(as $seen:vis $ctor:ident)?
        $(tagged $tag:literal = $tag_value:literal)? { $($body:tt)* }
    )+) => {$(
        $crate::object::object! {
            @one $(#[$doc])*
            pub struct $Name $(as $seen $ctor)? $(tagged $tag = $tag_value)? { $($body)* }
        }
    )+};
    (
        @one $(#[$doc:meta])*
        pub struct $Name:ident $(tagged $tag:literal = $tag_value:literal)? { $($body:tt)* }
    ) => {
        $crate::object::object! {
            @one $(#[$doc])*
            pub struct $Name as pub new $(tagged $tag = $tag_value)? { $($body)* }
        }
    };
    (
        @one $(#[$doc:meta])*
        pub struct $Name:ident as $seen:vis $ctor:ident $(tagged $tag:literal = $tag_value:literal)? {
            $( $(#[$field_doc:meta])* $kind:ident $field:ident: $ty:ty = $key:literal $(is $form:ident)?, )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $Name {
            $( $(#[$field_doc])* pub $field: $crate::object::object!(@type $kind $ty), )*
            /// Members that this vocabulary has no name for, as they arrived and in their order.
            pub extra: $crate::Extra,
        }

        $crate::object::object!(@new $Name ($seen $ctor) [] [] $( ($kind $field: $ty) )*);

        impl $Name {
            /// The names of the fields in the order of their declaration, `extra` last.
            ///
            /// Code that must decide about every field compares its own list with this one at
            /// compile time: a field that is added here then does not compile there.
            pub const FIELDS: &'static [&'static str] =
                &[$( stringify!($field), )* "extra"];

            $( $crate::object::object!(@setter $kind $field: $ty, $key); )*
        }

        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                self.write_into(&mut map)?;
                map.end()
            }
        }

        #[cfg(feature = "describe")]
        impl $crate::describe::Describe for $Name {
            fn shape() -> $crate::describe::Shape {
                let tags: &[(&str, &str)] = &[$( ($tag, $tag_value) )?];
                $crate::describe::Shape::Struct($crate::describe::StructShape {
                    name: stringify!($Name),
                    tag: tags.first().copied(),
                    fields: vec![$( $crate::describe::FieldShape {
                        field: stringify!($field),
                        key: $key,
                        is_required: $crate::object::object!(@required $kind),
                        shape: $crate::object::object!(@shape $kind $ty)$( .$form() )?,
                    } ),*],
                })
            }
        }

        impl $Name {
            /// Writes the members of the object into an object that is being written.
            #[inline]
            pub(crate) fn write_into<M: serde::ser::SerializeMap>(
                &self,
                map: &mut M,
            ) -> Result<(), M::Error> {
                $( map.serialize_entry($tag, $tag_value)?; )?
                $( $crate::object::object!(@write map, $kind self.$field, $key); )*
                self.extra.write_into(map)
            }
        }

        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[allow(non_camel_case_types)]
                enum Key {
                    $( $field, )*
                    $( #[doc = $tag] Tag, )?
                    Unknown(Box<str>),
                }
                impl<'de> serde::Deserialize<'de> for Key {
                    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                        struct KeyVisitor;
                        impl serde::de::Visitor<'_> for KeyVisitor {
                            type Value = Key;
                            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                                f.write_str("a member name")
                            }
                            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Key, E> {
                                Ok(match name {
                                    $( $key => Key::$field, )*
                                    $( $tag => Key::Tag, )?
                                    _ => Key::Unknown(name.into()),
                                })
                            }
                        }
                        d.deserialize_identifier(KeyVisitor)
                    }
                }
                struct ObjectVisitor;
                impl<'de> serde::de::Visitor<'de> for ObjectVisitor {
                    type Value = $Name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("a ", stringify!($Name), " object"))
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<$Name, A::Error> {
                        $( let mut $field: $crate::object::object!(@slot $kind $ty) = None; )*
                        $( let mut tag = $crate::object::Tag::new($tag_value); )?
                        let mut extra = $crate::Extra::new();
                        while let Some(key) = map.next_key::<Key>()? {
                            match key {
                                $( Key::$field => {
                                    if $field.is_some() {
                                        return Err(serde::de::Error::duplicate_field($key));
                                    }
                                    $field = Some($crate::object::object!(@read map, $kind $ty));
                                } )*
                                $( Key::Tag => tag.read($tag, &mut map)?, )?
                                Key::Unknown(name) => extra.push(name, map.next_value()?),
                            }
                        }
                        $( tag.check($tag)?; )?
                        Ok($Name {
                            $( $field: $crate::object::object!(@finish $kind $field, $key), )*
                            extra,
                        })
                    }
                }
                deserializer.deserialize_map(ObjectVisitor)
            }
        }
    };

    (@type req $ty:ty) => { $ty };
    (@type map $ty:ty) => { $ty };
    (@type always $ty:ty) => { $ty };
    (@type few $ty:ty) => { $ty };
    (@type $kind:ident $ty:ty) => { Option<$ty> };

    (@required req) => { true };
    (@required always) => { true };
    (@required few) => { true };
    (@required lifetime) => { true };
    (@required $kind:ident) => { false };

    (@shape lifetime $ty:ty) => { $crate::describe::Shape::NullableInteger };
    (@shape $kind:ident $ty:ty) => { <$ty as $crate::describe::Describe>::shape() };

    (@slot req $ty:ty) => { Option<$ty> };
    (@slot $kind:ident $ty:ty) => { Option<Option<$ty>> };

    (@read $map:ident, req $ty:ty) => { $map.next_value::<$ty>()? };
    (@read $map:ident, raw $ty:ty) => { Some($map.next_value::<$ty>()?) };
    (@read $map:ident, ttl $ty:ty) => {
        $map.next_value::<Option<$crate::cache::Millis>>()?.map(|millis| millis.0)
    };
    (@read $map:ident, lifetime $ty:ty) => { $crate::object::object!(@read $map, ttl $ty) };
    (@read $map:ident, few $ty:ty) => {
        $map.next_value::<Option<$crate::object::Few<_>>>()?.map(|few| few.0)
    };
    (@read $map:ident, $kind:ident $ty:ty) => { $map.next_value::<Option<$ty>>()? };

    (@finish req $field:ident, $key:literal) => {
        match $field {
            Some(value) => value,
            None => return Err(serde::de::Error::missing_field($key)),
        }
    };
    (@finish map $field:ident, $key:literal) => { $field.flatten().unwrap_or_default() };
    (@finish always $field:ident, $key:literal) => { $field.flatten().unwrap_or_default() };
    (@finish few $field:ident, $key:literal) => { $field.flatten().unwrap_or_default() };
    (@finish $kind:ident $field:ident, $key:literal) => { $field.flatten() };

    (@write $map:ident, req $self:ident.$field:ident, $key:literal) => {
        $map.serialize_entry($key, &$self.$field)?;
    };
    (@write $map:ident, always $self:ident.$field:ident, $key:literal) => {
        $map.serialize_entry($key, &$self.$field)?;
    };
    (@write $map:ident, few $self:ident.$field:ident, $key:literal) => {
        $map.serialize_entry($key, &$self.$field)?;
    };
    (@write $map:ident, lifetime $self:ident.$field:ident, $key:literal) => {
        $map.serialize_entry($key, &$self.$field)?;
    };
    (@write $map:ident, map $self:ident.$field:ident, $key:literal) => {
        if !$self.$field.is_empty() {
            $map.serialize_entry($key, &$self.$field)?;
        }
    };
    (@write $map:ident, $kind:ident $self:ident.$field:ident, $key:literal) => {
        if let Some(value) = &$self.$field {
            $map.serialize_entry($key, value)?;
        }
    };

    (@setter req $field:ident: $ty:ty, $key:literal) => {};
    (@setter bare $field:ident: $ty:ty, $key:literal) => {};
    (@setter map $field:ident: $ty:ty, $key:literal) => {
        #[doc = concat!("Sets `", $key, "`: see the field of the same name.")]
        #[must_use]
        pub fn $field(mut self, value: impl Into<$ty>) -> Self {
            self.$field = value.into();
            self
        }
    };
    (@setter always $field:ident: $ty:ty, $key:literal) => {
        $crate::object::object!(@setter map $field: $ty, $key);
    };
    (@setter few $field:ident: $ty:ty, $key:literal) => {
        $crate::object::object!(@setter map $field: $ty, $key);
    };
    (@setter $kind:ident $field:ident: $ty:ty, $key:literal) => {
        #[doc = concat!("Sets `", $key, "`: see the field of the same name.")]
        #[must_use]
        pub fn $field(mut self, value: impl Into<$ty>) -> Self {
            self.$field = Some(value.into());
            self
        }
    };

    // The constructor takes the `req` fields in order; everything else starts out empty.
    (@new $Name:ident ($seen:vis $ctor:ident) [$($arg:ident: $arg_ty:ty,)*] [$($rest:ident)*]
        (req $field:ident: $ty:ty) $($more:tt)*) => {
        $crate::object::object!(
            @new $Name ($seen $ctor) [$($arg: $arg_ty,)* $field: $ty,] [$($rest)*] $($more)*
        );
    };
    (@new $Name:ident ($seen:vis $ctor:ident) [$($arg:ident: $arg_ty:ty,)*] [$($rest:ident)*]
        ($kind:ident $field:ident: $ty:ty) $($more:tt)*) => {
        $crate::object::object!(
            @new $Name ($seen $ctor) [$($arg: $arg_ty,)*] [$($rest)* $field] $($more)*
        );
    };
    (@new $Name:ident ($seen:vis $ctor:ident) [] [$($rest:ident)*]) => {
        impl $Name {
            /// Creates the object without any field.
            #[must_use]
            $seen fn $ctor() -> Self {
                Self { $( $rest: Default::default(), )* extra: $crate::Extra::new() }
            }
        }
        impl Default for $Name {
            fn default() -> Self {
                Self::$ctor()
            }
        }
    };
    (@new $Name:ident ($seen:vis $ctor:ident) [$($arg:ident: $arg_ty:ty,)+] [$($rest:ident)*]) => {
        impl $Name {
            /// Creates the object from the required fields; the optional ones are absent until set.
            #[must_use]
            $seen fn $ctor($($arg: impl Into<$arg_ty>),+) -> Self {
                Self {
                    $( $arg: $arg.into(), )+
                    $( $rest: Default::default(), )*
                    extra: $crate::Extra::new(),
                }
            }
        }
    };
}
pub(crate) use object;

/// A list that nearly always holds one thing: it has no room for others until there are some.
pub(crate) struct Few<T>(pub(crate) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
            type Value = Few<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Few<T>, A::Error> {
                let Some(first) = items.next_element()? else {
                    return Ok(Few(Vec::new()));
                };
                let mut list = vec![first];
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Few(list))
            }
        }
        deserializer.deserialize_seq(List(PhantomData))
    }
}

/// Checks the constant member of a tagged object while its members go by.
pub(crate) struct Tag {
    value: &'static str,
    seen: bool,
}

impl Tag {
    pub(crate) fn new(value: &'static str) -> Self {
        Self { value, seen: false }
    }

    pub(crate) fn read<'de, A: serde::de::MapAccess<'de>>(
        &mut self,
        name: &'static str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        use serde::de::Error as _;
        if self.seen {
            return Err(A::Error::duplicate_field(name));
        }
        let (crate::tagged::Text(found), value) = (map.next_value()?, self.value);
        if found != value {
            return Err(A::Error::custom(format_args!(
                "`{name}` must be \"{value}\""
            )));
        }
        self.seen = true;
        Ok(())
    }

    pub(crate) fn check<E: serde::de::Error>(&self, name: &'static str) -> Result<(), E> {
        if self.seen {
            Ok(())
        } else {
            Err(E::missing_field(name))
        }
    }
}
