//! From rows, keys and column names to what travels.

use serde::Serialize;

use super::encode::encode;
use super::table::Table;
use crate::error::{ClosureError, InvalidValue, WriteError};
use crate::row::{Affinity, ColumnShape, IntoKey, IntoValue, RowCommand, RowOp, TableShape, Value};

/// A row, sorted: its key if it has all of it, and the other columns that can be written.
pub(super) struct SortedRow {
    pub(super) key: Vec<Value>,
    pub(super) set: Vec<(usize, Value)>,
}

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

/// Sorts the fields of a row to the columns. The revision and generated columns are the database's own and left
/// out.
pub(super) fn sort_row<T: Serialize + ?Sized>(shape: &TableShape, row: &T) -> Result<SortedRow, RowError> {
    let mut set = Vec::with_capacity(shape.columns.len());
    let mut failed = None;
    let encoded = encode(row, |position, field, value| match column_of(shape, position, &field, &value) {
        Ok(Some(column)) => set.push((column, value)),
        Ok(None) => {}
        Err(error) => {
            failed.get_or_insert(error);
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    encoded.map_err(RowError::InvalidValue)?;
    // Fields mostly stand in the order of the columns.
    if !set.is_sorted_by(|one, next| one.0 < next.0) {
        set.sort_unstable_by_key(|(column, _)| *column);
        if set.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(RowError::NamedTwice { table: shape.name.clone() });
        }
    }
    Ok(SortedRow { key: take_key(shape, &mut set), set })
}

/// The column that a field is to set, if it is one that can be written.
fn column_of(
    shape: &TableShape,
    position: usize,
    field: &str,
    value: &Value,
) -> Result<Option<usize>, RowError> {
    let same_place = position.wrapping_sub(1);
    let is_here = shape.columns.get(same_place).is_some_and(|column| column.name == field);
    let Some(place) = is_here.then_some(same_place).or_else(|| shape.column(field)) else {
        return Err(RowError::UnknownColumn { table: shape.name.clone(), column: field.to_owned() });
    };
    let column = &shape.columns[place];
    if shape.revision.is_some_and(|revision| revision.column == place) || column.is_generated {
        return Ok(None);
    }
    // The database makes the rowid, or leaves the one that is there alone.
    if shape.rowid_column == Some(place) && value.is_null() {
        return Ok(None);
    }
    match keeps(column, value) {
        Ok(()) => Ok(Some(place)),
        Err(reason) => {
            let name = Some(field.to_owned());
            Err(RowError::InvalidValue(InvalidValue { position, name, reason }))
        }
    }
}

/// Takes the key out of what is to be set, if all of it is there. Otherwise some of its parts have defaults, and
/// what there is of it is set like any other column.
fn take_key(shape: &TableShape, set: &mut Vec<(usize, Value)>) -> Vec<Value> {
    let place = |set: &[(usize, Value)], part| set.binary_search_by_key(part, |(column, _)| *column).ok();
    if !shape.key.iter().all(|part| place(set, part).is_some()) {
        return Vec::new();
    }
    let take = |part| place(set, part).map(|at| set.remove(at).1);
    shape.key.iter().filter_map(take).collect()
}

impl<T> Table<T> {
    pub(super) fn row_command(&self, op: RowOp, row: &T) -> Result<RowCommand, WriteError>
    where
        T: Serialize,
    {
        let SortedRow { key, set } = sort_row(&self.shape, row)?;
        Ok(self.command(op, key, set))
    }

    /// The values of a key, as many as the table's key has columns.
    pub(super) fn key(&self, key: impl IntoKey) -> Result<Vec<Value>, WriteError> {
        let key = key.into_key()?;
        let (expected, given) = (self.shape.key.len(), key.len());
        if expected != given {
            return Err(WriteError::WrongKey { table: self.shape.name.clone(), expected, given });
        }
        Ok(key)
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
        let kept = value.and_then(|value| keeps(column_shape, &value).map(|()| value));
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
fn keeps(column: &ColumnShape, value: &Value) -> Result<(), String> {
    let declared = || column.declared_type.to_ascii_uppercase();
    match (column.affinity, value) {
        (Affinity::Text, Value::Integer(_) | Value::Real(_)) => Err(format!(
            "the column is declared {} and would turn the number into text; send text",
            declared()
        )),
        (Affinity::Integer | Affinity::Real | Affinity::Numeric, Value::Text(text)) if is_number(text) => {
            Err(format!(
                "the column is declared {} and would turn the text into a number; send a number",
                declared()
            ))
        }
        // Beyond 2^53 not every integer is a floating-point number.
        (Affinity::Real, Value::Integer(integer)) if integer.unsigned_abs() > 1 << f64::MANTISSA_DIGITS => {
            Err(format!("the column is declared {} and would round so large an integer", declared()))
        }
        _ => Ok(()),
    }
}

/// Whether SQLite takes the text for a number where a column prefers numbers.
fn is_number(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    // What else Rust takes for a number, "inf" and the like, has no digit or another letter.
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    plain && text.bytes().any(|byte| byte.is_ascii_digit()) && text.parse::<f64>().is_ok()
}

/// Puts a column among those to set; the last value given for a column counts.
pub(super) fn put(set: &mut Vec<(usize, Value)>, column: usize, value: Value) {
    match set.binary_search_by_key(&column, |(column, _)| *column) {
        Ok(at) => set[at].1 = value,
        Err(at) => set.insert(at, (column, value)),
    }
}
