//! One field's value.

use std::fmt::Display;

use serde::{Serialize, Serializer, ser};

use super::refuse::{Reason, text_of};
use crate::row::{Unstorable, Value};

/// More than this is not reserved on the word of a `Serialize` alone, in bytes.
const GREATEST_RESERVE: usize = 64 * 1024;

/// Turns what one field holds into a value.
pub(super) struct ValueEncoder;

impl ValueEncoder {
    fn refused(what: &str) -> Reason {
        Reason(
            format!(
                "it is {what}, and a column holds one value: store it as JSON text, or spread its fields \
                 over columns with #[serde(flatten)]"
            )
            .into(),
        )
    }

    fn real(real: f64) -> Result<Value, Reason> {
        if real.is_nan() { Err(Unstorable::nan().into()) } else { Ok(Value::Real(real)) }
    }
}

impl From<Unstorable> for Reason {
    fn from(error: Unstorable) -> Self {
        Self(error.into_reason())
    }
}

macro_rules! integers {
    ($($method:ident $type:ty;)+) => {$(
        fn $method(self, value: $type) -> Result<Value, Reason> {
            Ok(Value::Integer(value.into()))
        }
    )+};
}

macro_rules! wide_integers {
    ($($method:ident $type:ty;)+) => {$(
        fn $method(self, value: $type) -> Result<Value, Reason> {
            i64::try_from(value).map(Value::Integer).map_err(|_| Unstorable::too_wide().into())
        }
    )+};
}

impl Serializer for ValueEncoder {
    type Ok = Value;
    type Error = Reason;
    type SerializeSeq = Bytes;
    type SerializeTuple = Bytes;
    type SerializeTupleStruct = Bytes;

    integers! {
        serialize_bool bool;
        serialize_i8 i8;
        serialize_i16 i16;
        serialize_i32 i32;
        serialize_i64 i64;
        serialize_u8 u8;
        serialize_u16 u16;
        serialize_u32 u32;
    }

    wide_integers! {
        serialize_u64 u64;
        serialize_i128 i128;
        serialize_u128 u128;
    }

    fn serialize_f32(self, value: f32) -> Result<Value, Reason> {
        Self::real(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<Value, Reason> {
        Self::real(value)
    }

    fn serialize_char(self, value: char) -> Result<Value, Reason> {
        Ok(Value::Text(value.into()))
    }

    fn serialize_str(self, value: &str) -> Result<Value, Reason> {
        Ok(Value::Text(value.to_owned()))
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<Value, Reason> {
        Ok(Value::Text(text_of(value)?))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Value, Reason> {
        Ok(Value::Blob(value.to_vec()))
    }

    fn serialize_none(self) -> Result<Value, Reason> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, Reason> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, Reason> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, Reason> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Value, Reason> {
        Ok(Value::Text(variant.to_owned()))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Value, Reason> {
        value.serialize(self)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Bytes, Reason> {
        Ok(Bytes::with_room(length.unwrap_or(0)))
    }

    fn serialize_tuple(self, length: usize) -> Result<Bytes, Reason> {
        Ok(Bytes::with_room(length))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Bytes, Reason> {
        Ok(Bytes::with_room(length))
    }

    refuse! { newtype_variant tuple_variant map structure struct_variant }
}

/// Collects a sequence, which has to be one of bytes. serde does not tell a `Vec<u8>` from other lists.
pub(super) struct Bytes(Vec<u8>);

impl Bytes {
    fn with_room(length: usize) -> Self {
        Self(Vec::with_capacity(length.min(GREATEST_RESERVE)))
    }

    fn push<T: Serialize + ?Sized>(&mut self, element: &T) -> Result<(), Reason> {
        self.0.push(element.serialize(ByteEncoder)?);
        Ok(())
    }
}

macro_rules! collect_bytes {
    ($($trait:ident $method:ident)+) => {$(
        impl ser::$trait for Bytes {
            type Ok = Value;
            type Error = Reason;

            fn $method<T: Serialize + ?Sized>(&mut self, element: &T) -> Result<(), Reason> {
                self.push(element)
            }

            fn end(self) -> Result<Value, Reason> {
                Ok(Value::Blob(self.0))
            }
        }
    )+};
}

collect_bytes! {
    SerializeSeq serialize_element
    SerializeTuple serialize_element
    SerializeTupleStruct serialize_field
}

/// Takes a `u8` and nothing else.
struct ByteEncoder;

impl ByteEncoder {
    fn refused(what: &str) -> Reason {
        Reason(
            format!(
                "it is a list with {what} in it; only a list of u8 becomes a column, as a BLOB: store it as \
                 JSON text, or as rows of a table of its own"
            )
            .into(),
        )
    }
}

impl Serializer for ByteEncoder {
    type Ok = u8;
    type Error = Reason;

    fn serialize_u8(self, value: u8) -> Result<u8, Reason> {
        Ok(value)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<u8, Reason> {
        value.serialize(self)
    }

    refuse! {
        bool i8 i16 i32 i64 i128 u16 u32 u64 u128 f32 f64 char str bytes none some unit unit_struct unit_variant
        newtype_variant seq tuple tuple_struct tuple_variant map structure struct_variant
    }
}
