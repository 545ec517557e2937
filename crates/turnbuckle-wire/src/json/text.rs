//! A serializer that takes only text: member names, and the inside of a raw value.

use serde::ser::{self, Impossible, Serialize};

use super::Unwritable;

/// Accepts what can stand as a member name (or the text inside a raw value) and hands it on.
pub(super) struct Text<F>(pub(super) F);

macro_rules! text_numbers {
    ($($name:ident: $kind:ty),*) => {$(
        fn $name(mut self, value: $kind) -> Result<(), Unwritable> {
            (self.0)(itoa::Buffer::new().format(value));
            Ok(())
        }
    )*};
}

fn not_text<T>() -> Result<T, Unwritable> {
    Err(Unwritable("a member name must be text".into()))
}

impl<F: FnMut(&str)> ser::Serializer for Text<F> {
    type Ok = ();
    type Error = Unwritable;
    type SerializeSeq = Impossible<(), Unwritable>;
    type SerializeTuple = Impossible<(), Unwritable>;
    type SerializeTupleStruct = Impossible<(), Unwritable>;
    type SerializeTupleVariant = Impossible<(), Unwritable>;
    type SerializeMap = Impossible<(), Unwritable>;
    type SerializeStruct = Impossible<(), Unwritable>;
    type SerializeStructVariant = Impossible<(), Unwritable>;

    text_numbers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    }

    fn serialize_str(mut self, value: &str) -> Result<(), Unwritable> {
        (self.0)(value);
        Ok(())
    }

    fn serialize_char(mut self, value: char) -> Result<(), Unwritable> {
        (self.0)(value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_bool(mut self, value: bool) -> Result<(), Unwritable> {
        (self.0)(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_unit_variant(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Unwritable> {
        (self.0)(variant);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Unwritable> {
        value.serialize(self)
    }

    fn serialize_f32(self, _: f32) -> Result<(), Unwritable> {
        not_text()
    }

    fn serialize_f64(self, _: f64) -> Result<(), Unwritable> {
        not_text()
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Unwritable> {
        not_text()
    }

    fn serialize_none(self) -> Result<(), Unwritable> {
        not_text()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<(), Unwritable> {
        not_text()
    }

    fn serialize_unit(self) -> Result<(), Unwritable> {
        not_text()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Unwritable> {
        not_text()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Unwritable> {
        not_text()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Unwritable> {
        not_text()
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Unwritable> {
        not_text()
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Unwritable> {
        not_text()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Unwritable> {
        not_text()
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Unwritable> {
        not_text()
    }

    fn serialize_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStruct, Unwritable> {
        not_text()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Unwritable> {
        not_text()
    }
}
