//! A row of the program's own type, taken apart into columns and their values.
//!
//! It is on the way of every insert: names of struct fields and texts go by reference, and nothing is copied here.

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
#[cfg(test)]
use crate::row::Value;
use crate::row::ValueRef;

/// Takes a row apart: a struct, a map with text as keys, or a newtype or `Some` around one. Each column goes to
/// `take`, in the order of the fields: the field's place from 1, its name, which may come twice if the type says it
/// twice, and its value.
///
/// A field that is skipped (`#[serde(skip_serializing_if = "...")]`) is left out, so that the database fills it
/// in; `None` is NULL, which is not the same for a column with a DEFAULT.
///
/// Fails for the first field that cannot be stored as one value. Its position counts skipped fields, too.
pub(crate) fn encode<T: Serialize + ?Sized>(row: &T, take: impl Take) -> Result<(), InvalidValue> {
    row.serialize(RowEncoder { take }).map_err(|refused| refused.0)
}

/// All columns of a row.
#[cfg(test)]
pub(crate) fn encoded<T: Serialize + ?Sized>(row: &T) -> Result<Vec<(String, Value)>, InvalidValue> {
    let mut columns = Vec::new();
    let take = |_: usize, name: &str, value: ValueRef<'_>| columns.push((name.to_owned(), value.to_value()));
    encode(row, take)?;
    Ok(columns)
}

/// Gets the columns of a row.
pub(crate) trait Take {
    /// What is known of a field before its value is there.
    type Expected: Copy;

    /// The field in this place, from 1, if it is the one that is expected there.
    fn expected(&self, position: usize, name: &str) -> Option<Self::Expected>;

    /// Takes the value of a field that was expected.
    fn take_expected(&mut self, field: Self::Expected, value: ValueRef<'_>);

    /// Takes the value of any other one.
    fn take(&mut self, position: usize, name: &str, value: ValueRef<'_>);
}

#[cfg(test)]
impl<F: FnMut(usize, &str, ValueRef<'_>)> Take for F {
    type Expected = std::convert::Infallible;

    fn expected(&self, _: usize, _: &str) -> Option<Self::Expected> {
        None
    }

    fn take_expected(&mut self, field: Self::Expected, _: ValueRef<'_>) {
        match field {}
    }

    fn take(&mut self, position: usize, name: &str, value: ValueRef<'_>) {
        self(position, name, value);
    }
}

struct RowEncoder<F> {
    take: F,
}

impl<F> RowEncoder<F> {
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

impl<F: Take> Serializer for RowEncoder<F> {
    type Ok = ();
    type Error = Refused;
    type SerializeStruct = Columns<F>;
    type SerializeMap = Entries<F>;

    #[inline]
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Columns<F>, Refused> {
        Ok(Columns { take: self.take, fields: 0 })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries<F>, Refused> {
        Ok(Entries { columns: Columns { take: self.take, fields: 0 }, name: None })
    }

    fn serialize_some<T: Serialize + ?Sized>(self, row: &T) -> Result<(), Refused> {
        row.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        row: &T,
    ) -> Result<(), Refused> {
        row.serialize(self)
    }

    refuse! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str bytes none unit unit_struct unit_variant
        newtype_variant seq tuple tuple_struct tuple_variant struct_variant
    }
}

struct Columns<F> {
    take: F,
    /// Fields that came by, skipped ones included.
    fields: usize,
}

/// The columns that a map gives.
struct Entries<F> {
    columns: Columns<F>,
    /// The key of an entry whose value is still to come.
    name: Option<String>,
}

impl<F: Take> Columns<F> {
    #[inline(always)]
    fn push<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Refused> {
        self.fields += 1;
        let Some(field) = self.take.expected(self.fields, name) else { return self.push_other(name, value) };
        let encoder = ValueEncoder(|value: ValueRef<'_>| self.take.take_expected(field, value));
        value.serialize(encoder).map_err(|reason| Refused::field(self.fields, name, reason))
    }

    #[inline(never)]
    fn push_other<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Refused> {
        let Self { take, fields } = self;
        let encoder = ValueEncoder(|value: ValueRef<'_>| take.take(*fields, name, value));
        value.serialize(encoder).map_err(|reason| Refused::field(*fields, name, reason))
    }
}

impl<F: Take> ser::SerializeStruct for Columns<F> {
    type Ok = ();
    type Error = Refused;

    #[inline(always)]
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Refused> {
        self.push(name, value)
    }

    #[inline]
    fn skip_field(&mut self, _: &'static str) -> Result<(), Refused> {
        self.fields += 1;
        Ok(())
    }

    fn end(self) -> Result<(), Refused> {
        Ok(())
    }
}

impl<F: Take> ser::SerializeMap for Entries<F> {
    type Ok = ();
    type Error = Refused;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refused> {
        self.name = Some(key.serialize(NameEncoder).map_err(Refused::from)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        let name =
            self.name.take().ok_or_else(|| Refused::row("a value of the map came without a key".into()))?;
        self.columns.push(&name, value)
    }

    fn end(self) -> Result<(), Refused> {
        Ok(())
    }
}

/// The answer of [`encode`], as an error that serde takes.
#[derive(Debug)]
struct Refused(InvalidValue);

impl Refused {
    fn row(reason: Cow<'static, str>) -> Self {
        Self(InvalidValue { position: 0, name: None, reason: reason.into_owned() })
    }

    #[cold]
    fn field(position: usize, name: &str, reason: Reason) -> Self {
        Self(InvalidValue { position, name: Some(name.to_owned()), reason: reason.0.into_owned() })
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
