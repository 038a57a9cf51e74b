//! The key of a map's entry: the name of a column.

use std::fmt::Display;

use serde::{Serialize, Serializer};

use super::refuse::{Reason, text_of};

/// Takes text and nothing else.
pub(super) struct NameEncoder;

impl NameEncoder {
    fn refused(what: &str) -> Reason {
        Reason(
            format!("a key of the map is {what}: the keys of a map that is a row are names of columns")
                .into(),
        )
    }
}

impl Serializer for NameEncoder {
    type Ok = String;
    type Error = Reason;

    fn serialize_str(self, value: &str) -> Result<String, Reason> {
        Ok(value.to_owned())
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<String, Reason> {
        text_of(value)
    }

    fn serialize_char(self, value: char) -> Result<String, Reason> {
        Ok(value.into())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<String, Reason> {
        Ok(variant.to_owned())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<String, Reason> {
        value.serialize(self)
    }

    refuse! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 bytes none some unit unit_struct newtype_variant seq
        tuple tuple_struct tuple_variant map structure struct_variant
    }
}
