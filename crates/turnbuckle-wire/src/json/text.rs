//! A serializer that takes only text: member names, and the inside of a raw value.

use serde::ser::{self, Impossible, Serialize};

use super::WriteError;

/// Accepts what can stand as a member name (or the text inside a raw value) and hands it on.
pub(super) struct Text<F>(pub(super) F);

macro_rules! text_numbers {
    ($($name:ident: $kind:ty),*) => {$(
        fn $name(mut self, value: $kind) -> Result<(), WriteError> {
            (self.0)(itoa::Buffer::new().format(value));
            Ok(())
        }
    )*};
}

/// Refuses every kind of value in the table.
macro_rules! not_text {
    ($($name:ident($($Argument:ty),*) -> $Output:ty;)*) => {$(
        fn $name(self, $(_: $Argument),*) -> Result<$Output, WriteError> {
            not_text()
        }
    )*};
}

fn not_text<T>() -> Result<T, WriteError> {
    Err(WriteError("a member name must be text".into()))
}

impl<F: FnMut(&str)> ser::Serializer for Text<F> {
    type Ok = ();
    type Error = WriteError;
    type SerializeSeq = Impossible<(), WriteError>;
    type SerializeTuple = Impossible<(), WriteError>;
    type SerializeTupleStruct = Impossible<(), WriteError>;
    type SerializeTupleVariant = Impossible<(), WriteError>;
    type SerializeMap = Impossible<(), WriteError>;
    type SerializeStruct = Impossible<(), WriteError>;
    type SerializeStructVariant = Impossible<(), WriteError>;

    text_numbers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    }

    fn serialize_str(mut self, value: &str) -> Result<(), WriteError> {
        (self.0)(value);
        Ok(())
    }

    fn serialize_char(mut self, value: char) -> Result<(), WriteError> {
        (self.0)(value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_bool(mut self, value: bool) -> Result<(), WriteError> {
        (self.0)(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_unit_variant(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), WriteError> {
        (self.0)(variant);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), WriteError> {
        value.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<(), WriteError> {
        not_text()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), WriteError> {
        not_text()
    }

    not_text! {
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }
}
