//! The columns that a type asks for.

use std::fmt;

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};

use crate::row::TableShape;

/// The columns that a type asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fields {
    /// These, in the order of its fields. With `#[serde(alias)]` every name that the field goes by is among them,
    /// and a field with a default need not be there: not each has to be a column of the table.
    Named(&'static [&'static str]),
    /// Whatever there is: it is a map, an untyped row, or has a field with `#[serde(flatten)]`.
    Any,
}

/// Newtypes and `Option`s around a struct, at most. A type that contains itself would go on for ever.
const GREATEST_DEPTH: u8 = 16;

/// Finds the columns that a type asks for, without a value of it: the type is offered a row, says what it looks
/// for, and is then told that there is none.
pub(crate) fn fields_of<T: DeserializeOwned>() -> Fields {
    match T::deserialize(Probe { depth: 0 }) {
        Err(Found(fields)) => fields,
        // It asked for nothing.
        Ok(_) => Fields::Any,
    }
}

/// The names by which `T` knows these columns, which are those of its fields: it may spell them in another case
/// than the schema.
pub(crate) fn names_of<'a, T: DeserializeOwned>(shape: &'a TableShape, columns: &[usize]) -> Vec<&'a str> {
    match fields_of::<T>() {
        Fields::Named(fields) if fields.len() == columns.len() => fields.to_vec(),
        _ => columns.iter().map(|column| shape.columns[*column].name.as_str()).collect(),
    }
}

struct Probe {
    depth: u8,
}

impl Probe {
    fn deeper(self) -> Result<Self, Found> {
        if self.depth < GREATEST_DEPTH { Ok(Self { depth: self.depth + 1 }) } else { Err(Found(Fields::Any)) }
    }
}

/// What was found, as the error that ends the probe.
#[derive(Debug)]
struct Found(Fields);

impl<'de> Deserializer<'de> for Probe {
    type Error = Found;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Found> {
        Err(Found(Fields::Any))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Found> {
        Err(Found(Fields::Named(fields)))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Found> {
        visitor.visit_newtype_struct(self.deeper()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Found> {
        visitor.visit_some(self.deeper()?)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map enum identifier ignored_any
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the columns of the type are known")
    }
}

impl std::error::Error for Found {}

impl de::Error for Found {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(Fields::Any)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde::Deserialize;

    use super::*;
    use crate::row::Value;
    use crate::table::Row;

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its fields' names matter")]
    struct Session {
        id: String,
        #[serde(rename = "sandbox_id")]
        sandbox: String,
        #[serde(skip)]
        here_only: u8,
        #[serde(default, alias = "since")]
        started: Option<i64>,
    }

    #[test]
    fn a_struct_names_its_columns() {
        let named = Fields::Named(&["id", "sandbox_id", "since", "started"]);
        assert_eq!(fields_of::<Session>(), named);
        assert_eq!(fields_of::<Option<Box<Session>>>(), named);
        #[derive(Deserialize)]
        #[expect(dead_code, reason = "only its fields' names matter")]
        struct Newtype(Session);
        assert_eq!(fields_of::<Newtype>(), named);
        #[derive(Deserialize)]
        #[serde(from = "Session")]
        struct Converted;
        impl From<Session> for Converted {
            fn from(_: Session) -> Self {
                Self
            }
        }
        assert_eq!(fields_of::<Converted>(), named);
    }

    #[test]
    fn others_take_what_there_is() {
        assert_eq!(fields_of::<Row>(), Fields::Any);
        assert_eq!(fields_of::<HashMap<String, Value>>(), Fields::Any);
        assert_eq!(fields_of::<i64>(), Fields::Any);
        #[derive(Deserialize)]
        #[expect(dead_code, reason = "only its fields' names matter")]
        struct Open {
            id: String,
            #[serde(flatten)]
            rest: HashMap<String, Value>,
        }
        assert_eq!(fields_of::<Open>(), Fields::Any);
        #[derive(Deserialize)]
        #[expect(dead_code, reason = "only its shape matters")]
        struct Endless(Option<Box<Endless>>);
        assert_eq!(fields_of::<Endless>(), Fields::Any);
    }
}
