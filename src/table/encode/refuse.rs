//! Refusing in one line what a `Serializer` does not take.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// Why something cannot be stored: the reason of an [`InvalidValue`](crate::InvalidValue) to be.
#[derive(Debug)]
pub(super) struct Reason(pub(super) Cow<'static, str>);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Reason {}

impl serde::ser::Error for Reason {
    // The message may repeat the value.
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self("the Serialize implementation of its type reports an error of its own".into())
    }
}

/// Like `to_string`, which panics for a `Display` that fails.
pub(super) fn text_of(shown: &(impl fmt::Display + ?Sized)) -> Result<String, Reason> {
    let mut text = String::new();
    write!(text, "{shown}").map_err(<Reason as serde::ser::Error>::custom)?;
    Ok(text)
}

/// The methods of a `Serializer` that take none of these kinds of values, and answer with `Self::refused(what)`,
/// where `what` says in words what came.
macro_rules! refuse {
    ($($kind:ident)+) => { $(refuse_one!($kind);)+ };
}

macro_rules! refuse_one {
    (bool) => { refuse_one!(@plain serialize_bool, bool, "a bool"); };
    (i8) => { refuse_one!(@plain serialize_i8, i8, "an integer"); };
    (i16) => { refuse_one!(@plain serialize_i16, i16, "an integer"); };
    (i32) => { refuse_one!(@plain serialize_i32, i32, "an integer"); };
    (i64) => { refuse_one!(@plain serialize_i64, i64, "an integer"); };
    (i128) => { refuse_one!(@plain serialize_i128, i128, "an integer"); };
    (u8) => { refuse_one!(@plain serialize_u8, u8, "an integer"); };
    (u16) => { refuse_one!(@plain serialize_u16, u16, "an integer"); };
    (u32) => { refuse_one!(@plain serialize_u32, u32, "an integer"); };
    (u64) => { refuse_one!(@plain serialize_u64, u64, "an integer"); };
    (u128) => { refuse_one!(@plain serialize_u128, u128, "an integer"); };
    (f32) => { refuse_one!(@plain serialize_f32, f32, "a real number"); };
    (f64) => { refuse_one!(@plain serialize_f64, f64, "a real number"); };
    (char) => { refuse_one!(@plain serialize_char, char, "a character"); };
    (str) => { refuse_one!(@plain serialize_str, &str, "text"); };
    (bytes) => { refuse_one!(@plain serialize_bytes, &[u8], "bytes"); };
    (unit_struct) => { refuse_one!(@plain serialize_unit_struct, &'static str, "nothing"); };
    (none) => {
        fn serialize_none(self) -> Result<Self::Ok, Self::Error> {
            Err(Self::refused("nothing"))
        }
    };
    (unit) => {
        fn serialize_unit(self) -> Result<Self::Ok, Self::Error> {
            Err(Self::refused("nothing"))
        }
    };
    (some) => {
        fn serialize_some<T: serde::Serialize + ?Sized>(self, _: &T) -> Result<Self::Ok, Self::Error> {
            Err(Self::refused("an Option"))
        }
    };
    (unit_variant) => {
        fn serialize_unit_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
        ) -> Result<Self::Ok, Self::Error> {
            Err(Self::refused("an enum"))
        }
    };
    (newtype_variant) => {
        fn serialize_newtype_variant<T: serde::Serialize + ?Sized>(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: &T,
        ) -> Result<Self::Ok, Self::Error> {
            Err(Self::refused("an enum with data"))
        }
    };
    (seq) => {
        type SerializeSeq = serde::ser::Impossible<Self::Ok, Self::Error>;
        fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Self::Error> {
            Err(Self::refused("a list"))
        }
    };
    (tuple) => {
        type SerializeTuple = serde::ser::Impossible<Self::Ok, Self::Error>;
        fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Self::Error> {
            Err(Self::refused("a tuple or array"))
        }
    };
    (tuple_struct) => {
        type SerializeTupleStruct = serde::ser::Impossible<Self::Ok, Self::Error>;
        fn serialize_tuple_struct(
            self,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeTupleStruct, Self::Error> {
            Err(Self::refused("a tuple struct"))
        }
    };
    (tuple_variant) => {
        type SerializeTupleVariant = serde::ser::Impossible<Self::Ok, Self::Error>;
        fn serialize_tuple_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeTupleVariant, Self::Error> {
            Err(Self::refused("an enum with data"))
        }
    };
    (map) => {
        type SerializeMap = serde::ser::Impossible<Self::Ok, Self::Error>;
        fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Self::Error> {
            Err(Self::refused("a map"))
        }
    };
    (structure) => {
        type SerializeStruct = serde::ser::Impossible<Self::Ok, Self::Error>;
        fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Self::Error> {
            Err(Self::refused("a struct"))
        }
    };
    (struct_variant) => {
        type SerializeStructVariant = serde::ser::Impossible<Self::Ok, Self::Error>;
        fn serialize_struct_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeStructVariant, Self::Error> {
            Err(Self::refused("an enum with data"))
        }
    };
    (@plain $method:ident, $type:ty, $what:literal) => {
        fn $method(self, _: $type) -> Result<Self::Ok, Self::Error> {
            Err(Self::refused($what))
        }
    };
}
