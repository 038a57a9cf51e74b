//! From keys, column names and single values to what travels.

use serde::Serialize;

use super::table::Table;
use crate::error::{ClosureError, InvalidValue, WriteError};
use crate::row::{Affinity, ColumnShape, IntoKey, IntoValue, RowCommand, RowOp, RowValues, Value, ValueRef};

/// Why a row cannot be sent.
#[derive(Debug)]
pub(super) enum RowError {
    InvalidValue(InvalidValue),
    UnknownColumn {
        table: String,
        column: String,
    },
    /// Two fields of the row name one column.
    NamedTwice {
        table: String,
    },
}

const NAMED_TWICE: &str = "two fields of the row name the same column";

impl<T> Table<T> {
    pub(super) fn row_command(&self, op: RowOp, row: &T) -> Result<RowCommand, WriteError>
    where
        T: Serialize,
    {
        Ok(self.command(op, self.sorter.sort(&self.shape, row)?))
    }

    /// The values of a key, as many as the table's key has columns.
    pub(super) fn key(&self, key: impl IntoKey) -> Result<RowValues, WriteError> {
        let key = key.into_key()?;
        let (expected, given) = (self.shape.key.len(), key.len());
        if expected != given {
            return Err(WriteError::WrongKey { table: self.shape.name.clone(), expected, given });
        }
        Ok(RowValues::of_key(&self.shape.key, &key))
    }

    /// The place of a column.
    pub(super) fn place(&self, column: &str) -> Result<usize, WriteError> {
        self.shape.column(column).ok_or_else(|| WriteError::UnknownColumn {
            table: self.shape.name.clone(),
            column: column.to_owned(),
        })
    }

    /// The place of a column that users can write.
    pub(super) fn writable_place(&self, column: &str) -> Result<usize, WriteError> {
        let place = self.place(column)?;
        if self.shape.revision.is_some_and(|revision| revision.column == place) {
            return Err(self.invalid("the revision column is written by the engine alone"));
        }
        if self.shape.columns[place].is_generated {
            return Err(self.invalid("a generated column cannot be set"));
        }
        Ok(place)
    }

    pub(super) fn value(&self, column: usize, value: impl IntoValue) -> Result<Value, WriteError> {
        let column_shape = &self.shape.columns[column];
        let value = value.into_value().map_err(|reason| reason.into_reason().into_owned());
        let kept = value.and_then(|value| keeps(column_shape, (&value).into()).map(|()| value));
        kept.map_err(|reason| {
            let name = Some(column_shape.name.clone());
            WriteError::InvalidValue(InvalidValue { position: column + 1, name, reason })
        })
    }

    pub(super) fn invalid(&self, what: &'static str) -> WriteError {
        WriteError::InvalidCommand { table: self.shape.name.clone(), what }
    }
}

impl RowError {
    /// As the error of a closure, in a type that callers can name if there is one.
    pub(super) fn into_closure(self) -> ClosureError {
        match self {
            Self::InvalidValue(error) => error.into(),
            other => other.into(),
        }
    }
}

impl From<RowError> for WriteError {
    fn from(error: RowError) -> Self {
        match error {
            RowError::InvalidValue(error) => Self::InvalidValue(error),
            RowError::UnknownColumn { table, column } => Self::UnknownColumn { table, column },
            RowError::NamedTwice { table } => Self::InvalidCommand { table, what: NAMED_TWICE },
        }
    }
}

impl std::fmt::Display for RowError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::InvalidValue(error) => error.fmt(f),
            Self::UnknownColumn { table, column } => write!(f, "the table {table} has no column {column}"),
            Self::NamedTwice { table } => write!(f, "{NAMED_TWICE} (table {table})"),
        }
    }
}

impl std::error::Error for RowError {}

/// Whether the column keeps a value, or one that means the same: SQLite converts what does not fit the declared type,
/// and then another value would be read than was sent.
pub(super) fn keeps(column: &ColumnShape, value: ValueRef<'_>) -> Result<(), String> {
    let declared = || column.declared_type.to_ascii_uppercase();
    match (column.affinity, value) {
        (Affinity::Text, ValueRef::Integer(_) | ValueRef::Real(_)) => Err(format!(
            "the column is declared {} and would turn the number into text; send text",
            declared()
        )),
        (Affinity::Integer | Affinity::Real | Affinity::Numeric, ValueRef::Text(text)) if is_number(text) => {
            Err(format!(
                "the column is declared {} and would turn the text into a number; send a number",
                declared()
            ))
        }
        // Beyond 2^53 not every integer is a floating-point number.
        (Affinity::Real, ValueRef::Integer(integer))
            if integer.unsigned_abs() > 1 << f64::MANTISSA_DIGITS =>
        {
            Err(format!("the column is declared {} and would round so large an integer", declared()))
        }
        _ => Ok(()),
    }
}

/// Whether SQLite takes the text for a number where a column prefers numbers.
fn is_number(text: &[u8]) -> bool {
    let is_space = |byte: &u8| b" \t\n\x0b\x0c\r".contains(byte);
    let Some(start) = text.iter().position(|byte| !is_space(byte)) else { return false };
    let end = text.iter().rposition(|byte| !is_space(byte)).unwrap_or(start);
    let text = &text[start..=end];
    // What else Rust takes for a number, "inf" and the like, has no digit or another letter.
    let plain = text.iter().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte));
    plain
        && text.iter().any(u8::is_ascii_digit)
        && str::from_utf8(text).is_ok_and(|text| text.parse::<f64>().is_ok())
}
