//! A row of a schema that is known only at run time.

use std::fmt;

use serde::de::{
    self, Deserialize, DeserializeOwned, Deserializer, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::DecodeError;
use super::decode::ValueDecoder;
use crate::error::InvalidValue;
use crate::row::{IntoValue, Value};

/// A row of a table whose columns are known only at run time: names of columns and their values, in order.
///
/// Names compare as SQLite compares them, without the case of ASCII letters, and each is there once. Columns that
/// are not in the row are left to the database when it is inserted. Two rows are equal if they have the same
/// columns, spelled alike and in the same order, with equal values.
///
/// ```
/// use walwright::{Row, Value};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut row = Row::new().with("id", "a1")?.with("revoked", false)?;
/// row.set("expires_at_ms", 5_000_u64)?;
/// assert_eq!(row.get::<bool>("revoked")?, false);
/// assert_eq!(row.value("expires_at_ms"), Some(&Value::Integer(5_000)));
///
/// let refused = row.set("load", f64::NAN).unwrap_err();
/// assert_eq!(refused.name.as_deref(), Some("load"));
/// # Ok(())
/// # }
/// ```
#[doc = include_str!("mapping.md")]
#[derive(Clone, Default, PartialEq)]
pub struct Row {
    columns: Vec<(String, Value)>,
}

impl Row {
    /// A row without columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// The row with this column, in a chain.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn with(mut self, column: impl Into<String>, value: impl IntoValue) -> Result<Self, InvalidValue> {
        self.set(column, value)?;
        Ok(self)
    }

    /// Sets a column: replaces its value where it stands, or adds it at the end.
    ///
    /// # Errors
    /// [`InvalidValue`] that names the column, if SQLite could not store the value as it is: a NaN, or an integer
    /// beyond `i64`. The row then is as it was.
    pub fn set(&mut self, column: impl Into<String>, value: impl IntoValue) -> Result<(), InvalidValue> {
        let column = column.into();
        match value.into_value() {
            Ok(value) => {
                self.put(column, value);
                Ok(())
            }
            Err(error) => {
                let position = self.place(&column).unwrap_or(self.columns.len()) + 1;
                Err(error.at(position, Some(&column)))
            }
        }
    }

    /// Takes a column out of the row, and gives its value.
    pub fn remove(&mut self, column: &str) -> Option<Value> {
        let place = self.place(column)?;
        Some(self.columns.remove(place).1)
    }

    /// A column's value; `None` if the row does not have the column.
    pub fn value(&self, column: &str) -> Option<&Value> {
        self.iter().find(|(name, _)| name.eq_ignore_ascii_case(column)).map(|(_, value)| value)
    }

    /// A column's value as a type of the program, by the same rules as a field of a typed row.
    ///
    /// # Errors
    /// [`DecodeError`] that names the column, if the row does not have it or its value does not fit.
    pub fn get<T: DeserializeOwned>(&self, column: &str) -> Result<T, DecodeError> {
        let value = self.value(column).ok_or_else(|| DecodeError::missing(column))?;
        T::deserialize(ValueDecoder(value.clone())).map_err(|error| error.in_column(column))
    }

    /// The columns and their values, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.columns.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// How many columns it has.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether it has no columns.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    fn place(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|(name, _)| name.eq_ignore_ascii_case(column))
    }

    fn put(&mut self, column: String, value: Value) {
        match self.columns.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(&column)) {
            Some((_, stands)) => *stands = value,
            None => self.columns.push((column, value)),
        }
    }
}

/// Of a column that comes more than once the last value stays.
impl<N: Into<String>, V: Into<Value>> FromIterator<(N, V)> for Row {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(columns: I) -> Self {
        let mut row = Self::new();
        row.extend(columns);
        row
    }
}

impl<N: Into<String>, V: Into<Value>> Extend<(N, V)> for Row {
    fn extend<I: IntoIterator<Item = (N, V)>>(&mut self, columns: I) {
        for (column, value) in columns {
            self.put(column.into(), value.into());
        }
    }
}

impl IntoIterator for Row {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.columns.into_iter()
    }
}

impl fmt::Debug for Row {
    // Hand-written: values stay out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(|(name, _)| name).collect();
        f.debug_struct("Row").field("columns", &names).finish_non_exhaustive()
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (name, value) in self.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RowVisitor;

        impl<'de> Visitor<'de> for RowVisitor {
            type Value = Row;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a row: names of columns and their values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row, A::Error> {
                // No more than a table can have by default, whatever the input claims.
                let columns = map.size_hint().unwrap_or(0).min(2_000);
                let mut row = Row { columns: Vec::with_capacity(columns) };
                while let Some((name, value)) = map.next_entry()? {
                    row.put(name, value);
                }
                Ok(row)
            }
        }

        deserializer.deserialize_map(RowVisitor)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Integer(integer) => serializer.serialize_i64(*integer),
            Self::Real(real) => serializer.serialize_f64(*real),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Blob(bytes) => serializer.serialize_bytes(bytes),
        }
    }
}

/// From anything plain; a sequence has to be one of bytes, as formats without bytes (JSON) write a BLOB.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NULL, a bool, a number that SQLite can store, text or bytes")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        value.into_value().map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        value.into_value().map_err(|_| E::invalid_value(Unexpected::Float(value), &self))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_bytes<E: de::Error>(self, value: &[u8]) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_byte_buf<E: de::Error>(self, value: Vec<u8>) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = sequence.next_element::<u8>()? {
            bytes.push(byte);
        }
        Ok(Value::Blob(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_set_once_and_keep_their_order() {
        let mut row = Row::new().with("b", 1).unwrap().with("a", "x").unwrap();
        row.set("B", None::<i64>).unwrap();
        row.extend([("c", 2.5), ("A", 0.5)]);
        let expected = [("b", &Value::Null), ("a", &Value::Real(0.5)), ("c", &Value::Real(2.5))];
        assert_eq!(row.iter().collect::<Vec<_>>(), expected);
        assert_eq!((row.len(), row.is_empty()), (3, false));
        assert_eq!((row.remove("C"), row.remove("c")), (Some(Value::Real(2.5)), None));
        assert_eq!(row, [("b", Value::Null), ("a", 0.5.into())].into_iter().collect());
        assert_eq!(row.into_iter().map(|(name, _)| name).collect::<Vec<_>>(), ["b", "a"]);
    }

    #[test]
    fn a_refused_value_changes_nothing() {
        let mut row = Row::new().with("a", 1).unwrap().with("b", 2).unwrap();
        let before = row.clone();
        for (column, position) in [("c", 3), ("A", 1)] {
            let error = row.set(column, u64::MAX).unwrap_err();
            assert_eq!((error.position, error.name.as_deref()), (position, Some(column)));
        }
        assert_eq!(row, before);
    }

    #[test]
    fn gives_values_as_types_of_the_program() {
        let row = Row::new().with("flag", true).unwrap().with("note", None::<String>).unwrap();
        assert_eq!(row.get::<bool>("FLAG"), Ok(true));
        assert_eq!(row.get::<Option<String>>("note"), Ok(None));
        let error = row.get::<String>("note").unwrap_err();
        assert_eq!((error.column(), error.found()), (Some("note"), Some("NULL")));
        let error = row.get::<Option<String>>("nope").unwrap_err();
        assert_eq!((error.column(), error.found()), (Some("nope"), None));
    }

    #[test]
    fn travels_through_other_formats_and_shows_no_values() {
        let row: Row = [("a", Value::Null), ("b", 1.into()), ("c", 1.5.into()), ("d", "secret".into())]
            .into_iter()
            .chain([("e", Value::Blob(vec![1, 255])), ("f", i64::MIN.into())])
            .collect();
        let json = serde_json::to_string(&row).unwrap();
        assert_eq!(serde_json::from_str::<Row>(&json).unwrap(), row);
        assert_eq!(serde_json::from_str::<Row>(r#"{"a": true}"#).unwrap().value("a"), Some(&1.into()));
        for refused in [r#"{"a": 18446744073709551615}"#, r#"{"a": [256]}"#, r#"{"a": {}}"#, "[]"] {
            assert!(serde_json::from_str::<Row>(refused).is_err(), "{refused}");
        }
        let shown = format!("{row:?}");
        assert!(shown.contains("\"d\"") && !shown.contains("secret"), "{shown}");
    }
}
