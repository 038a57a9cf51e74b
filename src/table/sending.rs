//! From rows, keys and column names to what travels.

use serde::Serialize;

use super::encode::encode;
use super::table::Table;
use crate::error::{InvalidValue, WriteError};
use crate::row::{IntoKey, IntoValue, RowCommand, RowOp, TableShape, Value};
use crate::sync::Arc;

/// Sorts the fields of rows to the columns of a table.
pub(super) struct RowFields {
    shape: Arc<TableShape>,
}

/// A row, sorted: its key if it has all of it, and the other columns that can be written.
pub(super) struct SortedRow {
    pub(super) key: Vec<Value>,
    pub(super) set: Vec<(usize, Value)>,
}

/// Why a row cannot be sent.
#[derive(Debug)]
pub(super) enum RowError {
    InvalidValue(InvalidValue),
    UnknownColumn { table: String, column: String },
}

impl RowFields {
    pub(super) fn new(shape: Arc<TableShape>) -> Self {
        Self { shape }
    }

    pub(super) fn of_row<T: Serialize + ?Sized>(&self, row: &T) -> Result<SortedRow, RowError> {
        sort_row(&self.shape, row)
    }
}

/// Sorts the fields of a row to the columns. The revision and generated columns are the database's own and left
/// out.
fn sort_row<T: Serialize + ?Sized>(shape: &TableShape, row: &T) -> Result<SortedRow, RowError> {
    let fields = encode(row).map_err(RowError::InvalidValue)?;
    let revision = shape.revision.map(|revision| revision.column);
    let mut key: Vec<Option<Value>> = vec![None; shape.key.len()];
    let mut set = Vec::with_capacity(fields.len());
    for (at, (field, value)) in fields.into_iter().enumerate() {
        // Fields mostly stand in the order of the columns.
        let here = shape.columns.get(at).filter(|column| column.name == *field);
        let Some(column) = here.map(|_| at).or_else(|| shape.column(&field)) else {
            return Err(RowError::UnknownColumn { table: shape.name.clone(), column: field.into() });
        };
        if Some(column) == revision || shape.columns[column].is_generated {
            continue;
        }
        match shape.key.iter().position(|part| *part == column) {
            // The database makes the key.
            Some(_) if shape.key_is_rowid && value.is_null() => {}
            Some(part) => key[part] = Some(value),
            None => set.push((column, value)),
        }
    }
    let key = if key.iter().all(Option::is_some) {
        key.into_iter().flatten().collect()
    } else {
        // Some of its parts have defaults, then.
        let given = shape.key.iter().zip(key);
        set.extend(given.filter_map(|(column, value)| value.map(|value| (*column, value))));
        Vec::new()
    };
    set.sort_unstable_by_key(|(column, _)| *column);
    Ok(SortedRow { key, set })
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
        value.into_value().map_err(|reason| {
            let name = Some(self.shape.columns[column].name.clone());
            WriteError::InvalidValue(InvalidValue { position: column + 1, name, reason: reason.to_string() })
        })
    }

    pub(super) fn invalid(&self, what: &'static str) -> WriteError {
        WriteError::InvalidCommand { table: self.shape.name.clone(), what }
    }
}

impl From<RowError> for WriteError {
    fn from(error: RowError) -> Self {
        match error {
            RowError::InvalidValue(error) => Self::InvalidValue(error),
            RowError::UnknownColumn { table, column } => Self::UnknownColumn { table, column },
        }
    }
}

impl std::fmt::Display for RowError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::InvalidValue(error) => error.fmt(f),
            Self::UnknownColumn { table, column } => write!(f, "the table {table} has no column {column}"),
        }
    }
}

impl std::error::Error for RowError {}

/// Puts a column among those to set; the last value given for a column counts.
pub(super) fn put(set: &mut Vec<(usize, Value)>, column: usize, value: Value) {
    match set.binary_search_by_key(&column, |(column, _)| *column) {
        Ok(at) => set[at].1 = value,
        Err(at) => set.insert(at, (column, value)),
    }
}
