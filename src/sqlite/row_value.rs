//! Values of rows, into SQLite and out of it.

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, Type, ValueRef};

use crate::row::Value;

/// A value as a parameter; nothing is copied.
pub(crate) struct Bound<'v>(pub(crate) &'v Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Integer(integer) => ValueRef::Integer(*integer),
            Value::Real(real) => ValueRef::Real(*real),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// The memory that a value will hold beside itself, in bytes.
pub(crate) fn heap_bytes(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => 0,
    }
}

/// Copies what a row has in its column `at`. Fails for text that is not UTF-8.
pub(crate) fn copied(at: usize, value: ValueRef<'_>) -> rusqlite::Result<Value> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(integer) => Value::Integer(integer),
        ValueRef::Real(real) => Value::Real(real),
        ValueRef::Text(text) => match str::from_utf8(text) {
            Ok(text) => Value::Text(text.to_owned()),
            Err(error) => {
                return Err(rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(error)));
            }
        },
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_owned()),
    })
}
