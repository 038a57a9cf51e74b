//! One field's value.

use std::fmt::Display;

use serde::{Serialize, Serializer, ser};

use super::refuse::{Reason, text_of};
use crate::row::{Unstorable, ValueRef};

/// More than this is not reserved on the word of a `Serialize` alone, in bytes.
const GREATEST_RESERVE: usize = 64 * 1024;

/// Turns what one field holds into a value, and gives that to the function, which is called at most once. A text
/// stays where it is. The kinds that rows are mostly made of go the whole way in one piece, so that it is known
/// which kind it is.
pub(super) struct ValueEncoder<F>(pub(super) F);

impl<F> ValueEncoder<F> {
    fn refused(what: &str) -> Reason {
        Reason(
            format!(
                "it is {what}, and a column holds one value: store it as JSON text, or spread its fields \
                 over columns with #[serde(flatten)]"
            )
            .into(),
        )
    }
}

impl<F: FnOnce(ValueRef<'_>)> ValueEncoder<F> {
    #[inline(always)]
    fn take(self, value: ValueRef<'_>) -> Result<(), Reason> {
        (self.0)(value);
        Ok(())
    }
}

impl From<Unstorable> for Reason {
    fn from(error: Unstorable) -> Self {
        Self(error.into_reason())
    }
}

macro_rules! integers {
    ($($method:ident $type:ty;)+) => {$(
        #[inline(always)]
        fn $method(self, value: $type) -> Result<(), Reason> {
            self.take(ValueRef::Integer(value.into()))
        }
    )+};
}

macro_rules! wide_integers {
    ($($method:ident $type:ty;)+) => {$(
        fn $method(self, value: $type) -> Result<(), Reason> {
            let integer = i64::try_from(value).map_err(|_| Unstorable::too_wide())?;
            self.take(ValueRef::Integer(integer))
        }
    )+};
}

impl<F: FnOnce(ValueRef<'_>)> Serializer for ValueEncoder<F> {
    type Ok = ();
    type Error = Reason;
    type SerializeSeq = Bytes<F>;
    type SerializeTuple = Bytes<F>;
    type SerializeTupleStruct = Bytes<F>;

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

    fn serialize_f32(self, value: f32) -> Result<(), Reason> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Reason> {
        if value.is_nan() { Err(Unstorable::nan().into()) } else { self.take(ValueRef::Real(value)) }
    }

    fn serialize_char(self, value: char) -> Result<(), Reason> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    #[inline(always)]
    fn serialize_str(self, value: &str) -> Result<(), Reason> {
        self.take(ValueRef::Text(value.as_bytes()))
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Reason> {
        self.serialize_str(&text_of(value)?)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Reason> {
        self.take(ValueRef::Blob(value))
    }

    fn serialize_none(self) -> Result<(), Reason> {
        self.take(ValueRef::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Reason> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Reason> {
        self.take(ValueRef::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Reason> {
        self.take(ValueRef::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Reason> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Reason> {
        value.serialize(self)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Bytes<F>, Reason> {
        Ok(Bytes::with_room(length.unwrap_or(0), self))
    }

    fn serialize_tuple(self, length: usize) -> Result<Bytes<F>, Reason> {
        Ok(Bytes::with_room(length, self))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Bytes<F>, Reason> {
        Ok(Bytes::with_room(length, self))
    }

    refuse! { newtype_variant tuple_variant map structure struct_variant }
}

/// Collects a sequence, which has to be one of bytes. serde does not tell a `Vec<u8>` from other lists.
pub(super) struct Bytes<F> {
    bytes: Vec<u8>,
    encoder: ValueEncoder<F>,
}

impl<F> Bytes<F> {
    fn with_room(length: usize, encoder: ValueEncoder<F>) -> Self {
        Self { bytes: Vec::with_capacity(length.min(GREATEST_RESERVE)), encoder }
    }

    fn push<T: Serialize + ?Sized>(&mut self, element: &T) -> Result<(), Reason> {
        self.bytes.push(element.serialize(ByteEncoder)?);
        Ok(())
    }
}

macro_rules! collect_bytes {
    ($($trait:ident $method:ident)+) => {$(
        impl<F: FnOnce(ValueRef<'_>)> ser::$trait for Bytes<F> {
            type Ok = ();
            type Error = Reason;

            fn $method<T: Serialize + ?Sized>(&mut self, element: &T) -> Result<(), Reason> {
                self.push(element)
            }

            fn end(self) -> Result<(), Reason> {
                self.encoder.take(ValueRef::Blob(&self.bytes))
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
