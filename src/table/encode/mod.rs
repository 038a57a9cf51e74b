//! A row of the program's own type, taken apart into columns and their values.
//!
//! It is on the way of every insert: one vector of the right size, names of struct fields by reference, and each
//! text or BLOB copied once, into the value that travels to the writer.

#[macro_use]
mod refuse;

mod name;
#[cfg(test)]
mod tests;
mod value;

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer, ser};

use self::name::NameEncoder;
use self::refuse::Reason;
use self::value::ValueEncoder;
use crate::error::InvalidValue;
use crate::row::Value;

/// Columns and their values, in the order of the fields. Names may repeat, if the type says them twice.
pub(crate) type Encoded = Vec<(Cow<'static, str>, Value)>;

/// More places are not reserved on the word of a `Serialize` alone. SQLite's tables have at most 32,767 columns,
/// by default 2,000.
const GREATEST_RESERVE: usize = 2_000;

/// Takes a row apart: a struct, a map with text as keys, or a newtype or `Some` around one.
///
/// A field that is skipped (`#[serde(skip_serializing_if = "...")]`) is left out, so that the database fills it
/// in; `None` is NULL, which is not the same for a column with a DEFAULT.
///
/// Fails for the first field that cannot be stored as one value. Its position counts skipped fields, too.
pub(crate) fn encode<T: Serialize + ?Sized>(row: &T) -> Result<Encoded, InvalidValue> {
    row.serialize(RowEncoder).map_err(|refused| refused.0)
}

struct RowEncoder;

impl RowEncoder {
    fn refused(what: &str) -> Refused {
        Refused::row(
            format!(
                "it is {what}, and a row has to be a struct or a map with text as keys (for an enum with data: \
                 #[serde(tag = \"...\")])"
            )
            .into(),
        )
    }
}

impl Serializer for RowEncoder {
    type Ok = Encoded;
    type Error = Refused;
    type SerializeStruct = Columns;
    type SerializeMap = Columns;

    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Columns, Refused> {
        Ok(Columns::with_room(length))
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Columns, Refused> {
        Ok(Columns::with_room(length.unwrap_or(0)))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, row: &T) -> Result<Encoded, Refused> {
        row.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        row: &T,
    ) -> Result<Encoded, Refused> {
        row.serialize(self)
    }

    refuse! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str bytes none unit unit_struct unit_variant
        newtype_variant seq tuple tuple_struct tuple_variant struct_variant
    }
}

struct Columns {
    columns: Encoded,
    /// Fields that came by, skipped ones included.
    fields: usize,
    /// The key of a map's entry whose value is still to come.
    name: Option<String>,
}

impl Columns {
    fn with_room(columns: usize) -> Self {
        Self { columns: Vec::with_capacity(columns.min(GREATEST_RESERVE)), fields: 0, name: None }
    }

    fn push<T: Serialize + ?Sized>(&mut self, name: Cow<'static, str>, value: &T) -> Result<(), Refused> {
        self.fields += 1;
        match value.serialize(ValueEncoder) {
            Ok(value) => {
                self.columns.push((name, value));
                Ok(())
            }
            Err(reason) => Err(Refused::field(self.fields, name, reason)),
        }
    }
}

impl ser::SerializeStruct for Columns {
    type Ok = Encoded;
    type Error = Refused;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Refused> {
        self.push(Cow::Borrowed(name), value)
    }

    fn skip_field(&mut self, _: &'static str) -> Result<(), Refused> {
        self.fields += 1;
        Ok(())
    }

    fn end(self) -> Result<Encoded, Refused> {
        Ok(self.columns)
    }
}

impl ser::SerializeMap for Columns {
    type Ok = Encoded;
    type Error = Refused;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refused> {
        self.name = Some(key.serialize(NameEncoder).map_err(Refused::from)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        let name =
            self.name.take().ok_or_else(|| Refused::row("a value of the map came without a key".into()))?;
        self.push(Cow::Owned(name), value)
    }

    fn end(self) -> Result<Encoded, Refused> {
        Ok(self.columns)
    }
}

/// The answer of [`encode`], as an error that serde takes.
#[derive(Debug)]
struct Refused(InvalidValue);

impl Refused {
    fn row(reason: Cow<'static, str>) -> Self {
        Self(InvalidValue { position: 0, name: None, reason: reason.into_owned() })
    }

    fn field(position: usize, name: Cow<'static, str>, reason: Reason) -> Self {
        Self(InvalidValue { position, name: Some(name.into_owned()), reason: reason.0.into_owned() })
    }
}

impl From<Reason> for Refused {
    fn from(reason: Reason) -> Self {
        Self::row(reason.0)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Refused {}

impl ser::Error for Refused {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Reason::custom(message).into()
    }
}
