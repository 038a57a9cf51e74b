//! A row of the program's own type, put together from columns and their values.

#[cfg(test)]
mod tests;
mod value;

use std::{slice, vec};

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};

use super::DecodeError;
use crate::row::Value;

pub(super) use value::ValueDecoder;

/// Puts a row together. The values are those of the columns, in the same order.
///
/// A column without a field is ignored, unless the type says `#[serde(deny_unknown_fields)]`. A field without a
/// column takes its default, if it has one; an `Option` has one.
pub(crate) fn decode<T: DeserializeOwned>(
    columns: &[impl AsRef<str>],
    values: Vec<Value>,
) -> Result<T, DecodeError> {
    T::deserialize(RowDecoder { columns, values })
}

struct RowDecoder<'a, N> {
    columns: &'a [N],
    values: Vec<Value>,
}

impl<'de, N: AsRef<str>> Deserializer<'de> for RowDecoder<'_, N> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_map(Columns {
            columns: self.columns.iter(),
            values: self.values.into_iter(),
            current: None,
        })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The columns that are still to come.
struct Columns<'a, N> {
    columns: slice::Iter<'a, N>,
    values: vec::IntoIter<Value>,
    /// The column whose name was asked for, and whose value was not yet.
    current: Option<(&'a str, Value)>,
}

impl<'de, N: AsRef<str>> MapAccess<'de> for Columns<'_, N> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        let (Some(column), Some(value)) = (self.columns.next(), self.values.next()) else {
            return Ok(None);
        };
        let name = column.as_ref();
        self.current = Some((name, value));
        let key: StrDeserializer<'_, DecodeError> = name.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DecodeError> {
        // A visitor that asks for a value without a name finds NULL.
        let (name, value) = self.current.take().unwrap_or_default();
        seed.deserialize(ValueDecoder(value)).map_err(|error| error.in_column(name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.values.len())
    }
}
