//! A serde serializer into a byte buffer: compact, on one line, raw JSON passed through.
//!
//! `serde_json`'s own formatter cannot replace its string scan, and a result's envelope fields have
//! to be written while the object is, not merged into it afterwards.

use std::fmt::Display;

use serde::ser::{self, Serialize};

use super::additions::{AdditionTracker, Additions, TrackedMember};
use super::text::Text;
use super::{write_raw, write_str};

const RAW_VALUE: &str = "$serde_json::private::RawValue";
const RAW_NUMBER: &str = "$serde_json::private::Number";

/// A value that has no JSON form (a map with a structured key, a failing `Serialize`).
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WriteError(pub(super) Box<str>);

impl ser::Error for WriteError {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string().into())
    }
}

/// Appends `value` as JSON.
///
/// # Errors
/// When the value cannot be expressed in JSON. `out` is then as it was.
pub fn write<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) -> Result<(), WriteError> {
    let start = out.len();
    value
        .serialize(Serializer {
            out,
            additions: None,
        })
        .inspect_err(|_| out.truncate(start))
}

/// Returns `value` as JSON text.
///
/// # Errors
/// When the value cannot be expressed in JSON.
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, WriteError> {
    let mut out = Vec::with_capacity(128);
    write(&mut out, value)?;
    Ok(out)
}

/// Appends `value`, which must be an object, with the additions its envelope asks for.
///
/// # Errors
/// When the value cannot be expressed in JSON or is not an object. `out` is then as it was.
pub fn write_object<T: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    value: &T,
    additions: Additions<'_>,
) -> Result<(), WriteError> {
    let start = out.len();
    let written = value.serialize(Serializer {
        out,
        additions: Some(additions),
    });
    if written.is_ok() && out.get(start) == Some(&b'{') {
        return Ok(());
    }
    out.truncate(start);
    Err(written
        .err()
        .unwrap_or_else(|| WriteError("a result must be a JSON object".into())))
}

struct Serializer<'o, 'a> {
    out: &'o mut Vec<u8>,
    additions: Option<Additions<'a>>,
}

/// An array or object that is being written.
struct Compound<'o, 'a> {
    out: &'o mut Vec<u8>,
    /// `true` until something is written behind the opening bracket.
    empty: bool,
    close: &'static [u8],
    outer: Option<AdditionTracker<'a>>,
    kind: Kind,
}

/// The relation of an open array or object to the additions.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// The members of the object itself count.
    Plain,
    /// The content is JSON text that is copied.
    Raw,
    /// The only member of an object, whose brace is the last that closes it.
    Variant,
}

impl<'o, 'a> Compound<'o, 'a> {
    fn open(out: &'o mut Vec<u8>, open: &[u8], close: &'static [u8]) -> Self {
        out.extend_from_slice(open);
        Self {
            out,
            empty: true,
            close,
            outer: None,
            kind: Kind::Plain,
        }
    }

    /// Opens the content of a variant, as the only member of an object that takes the additions.
    fn variant(
        serializer: Serializer<'o, 'a>,
        name: &str,
        open: &[u8],
        close: &'static [u8],
    ) -> Self {
        let Serializer { out, additions } = serializer;
        out.push(b'{');
        write_str(out, name);
        out.push(b':');
        let mut compound = Self::open(out, open, close);
        compound.kind = Kind::Variant;
        compound.outer = additions.map(|additions| {
            let mut outer = AdditionTracker::new(additions);
            outer.record_name(name);
            outer
        });
        compound
    }

    fn comma(&mut self) {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteError> {
        self.comma();
        value.serialize(Serializer {
            out: self.out,
            additions: None,
        })
    }

    fn member<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), WriteError> {
        self.comma();
        write_str(self.out, key);
        self.out.push(b':');
        let own = self.outer.as_ref().filter(|_| self.kind == Kind::Plain);
        let tracked = own.and_then(|outer| outer.tracked_member(key));
        self.member_value(tracked, value)
    }

    /// Writes a field of a struct, which may be serde_json's way to pass raw JSON.
    fn field<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), WriteError> {
        if self.kind == Kind::Raw {
            return self.text(value);
        }
        self.member(key, value)
    }

    fn member_value<T: Serialize + ?Sized>(
        &mut self,
        tracked: Option<TrackedMember>,
        value: &T,
    ) -> Result<(), WriteError> {
        let start = self.out.len();
        value.serialize(Serializer {
            out: self.out,
            additions: None,
        })?;
        if let (Some(outer), Some(tracked)) = (&mut self.outer, tracked) {
            outer.record(tracked, &mut *self.out, start);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), WriteError> {
        let mut close = self.close;
        if let Some(outer) = self.outer.take() {
            if self.kind == Kind::Variant
                && let [inner, last @ ..] = close
            {
                self.out.push(*inner);
                close = last;
                self.empty = false;
            }
            outer.add_missing(self.out, self.empty);
        }
        self.out.extend_from_slice(close);
        Ok(())
    }

    /// Writes what is JSON text already.
    fn text<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteError> {
        let mut written = Ok(());
        value.serialize(Text(|json: &str| match self.outer.take() {
            Some(outer) => written = outer.write_text(self.out, json),
            None => write_raw(self.out, json),
        }))?;
        written.map_err(ser::Error::custom)
    }
}

macro_rules! integers {
    ($($name:ident: $kind:ty),*) => {$(
        fn $name(self, value: $kind) -> Result<(), WriteError> {
            self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
            Ok(())
        }
    )*};
}

impl<'o, 'a> ser::Serializer for Serializer<'o, 'a> {
    type Ok = ();
    type Error = WriteError;
    type SerializeSeq = Compound<'o, 'a>;
    type SerializeTuple = Compound<'o, 'a>;
    type SerializeTupleStruct = Compound<'o, 'a>;
    type SerializeTupleVariant = Compound<'o, 'a>;
    type SerializeMap = MapCompound<'o, 'a>;
    type SerializeStruct = Compound<'o, 'a>;
    type SerializeStructVariant = Compound<'o, 'a>;

    integers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128
    }

    fn serialize_bool(self, value: bool) -> Result<(), WriteError> {
        self.out
            .extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), WriteError> {
        serde_json::to_writer(self.out, &value).map_err(ser::Error::custom)
    }

    fn serialize_f64(self, value: f64) -> Result<(), WriteError> {
        serde_json::to_writer(self.out, &value).map_err(ser::Error::custom)
    }

    fn serialize_char(self, value: char) -> Result<(), WriteError> {
        write_str(self.out, value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Result<(), WriteError> {
        write_str(self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), WriteError> {
        let mut list = Compound::open(self.out, b"[", b"]");
        value.iter().try_for_each(|byte| list.element(byte))?;
        list.finish()
    }

    fn serialize_none(self) -> Result<(), WriteError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), WriteError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), WriteError> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), WriteError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), WriteError> {
        write_str(self.out, variant);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), WriteError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), WriteError> {
        let mut object = Compound::open(self.out, b"{", b"}");
        object.outer = self.additions.map(AdditionTracker::new);
        object.member(variant, value)?;
        object.finish()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, WriteError> {
        Ok(Compound::open(self.out, b"[", b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, WriteError> {
        Ok(Compound::open(self.out, b"[", b"]"))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, WriteError> {
        Ok(Compound::open(self.out, b"[", b"]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, WriteError> {
        Ok(Compound::variant(self, variant, b"[", b"]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, WriteError> {
        let additions = self.additions;
        let mut object = Compound::open(self.out, b"{", b"}");
        object.outer = additions.map(AdditionTracker::new);
        Ok(MapCompound {
            object,
            tracked: None,
        })
    }

    fn serialize_struct(
        self,
        name: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStruct, WriteError> {
        if name == RAW_VALUE || name == RAW_NUMBER {
            return Ok(Compound {
                out: self.out,
                empty: true,
                close: b"",
                outer: self.additions.map(AdditionTracker::new),
                kind: Kind::Raw,
            });
        }
        let additions = self.additions;
        let mut object = Compound::open(self.out, b"{", b"}");
        object.outer = additions.map(AdditionTracker::new);
        Ok(object)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, WriteError> {
        Ok(Compound::variant(self, variant, b"{", b"}}"))
    }
}

/// Writes the traits of serde whose elements or fields come one by one.
macro_rules! compounds {
    ($($kind:ident: $method:ident($($key:ident)?) => $write:ident;)*) => {$(
        impl ser::$kind for Compound<'_, '_> {
            type Ok = ();
            type Error = WriteError;
            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($key: &'static str,)?
                value: &T,
            ) -> Result<(), WriteError> {
                self.$write($($key,)? value)
            }
            fn end(self) -> Result<(), WriteError> {
                self.finish()
            }
        }
    )*};
}

compounds! {
    SerializeSeq: serialize_element() => element;
    SerializeTuple: serialize_element() => element;
    SerializeTupleStruct: serialize_field() => element;
    SerializeTupleVariant: serialize_field() => element;
    SerializeStruct: serialize_field(key) => field;
    SerializeStructVariant: serialize_field(key) => member;
}

/// A map, whose keys come apart from their values.
struct MapCompound<'o, 'a> {
    object: Compound<'o, 'a>,
    /// The addition that the current key stands for.
    tracked: Option<TrackedMember>,
}

impl ser::SerializeMap for MapCompound<'_, '_> {
    type Ok = ();
    type Error = WriteError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), WriteError> {
        let Self { object, tracked } = self;
        object.comma();
        key.serialize(Text(|text: &str| {
            write_str(object.out, text);
            *tracked = object
                .outer
                .as_ref()
                .and_then(|outer| outer.tracked_member(text));
        }))?;
        self.object.out.push(b':');
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteError> {
        self.object.member_value(self.tracked, value)
    }

    fn end(self) -> Result<(), WriteError> {
        self.object.finish()
    }
}

#[cfg(test)]
mod tests;
