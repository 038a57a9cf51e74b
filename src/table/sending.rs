//! From rows, keys and column names to what travels.

use std::cell::Cell;

use serde::Serialize;

use super::encode::encode;
use super::table::Table;
use crate::error::{ClosureError, InvalidValue, WriteError};
use crate::row::{
    Affinity, ColumnShape, IntoKey, IntoValue, RowCommand, RowOp, RowValues, TableShape, Value, ValueRef,
};

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

/// Sorts the fields of a row to the columns: its key, if it has all of it, and then the others that can be written,
/// rising. The revision and generated columns are the database's own and left out.
pub(super) fn sort_row<T: Serialize + ?Sized>(shape: &TableShape, row: &T) -> Result<RowValues, RowError> {
    let mut sorter =
        RowSorter { shape, values: take_scratch(), key_parts: 0, next: 0, is_sorted: true, error: None };
    let encoded = encode(row, |position, field, value| sorter.take(position, field, value));
    let sorted = match sorter.error.take() {
        Some(error) => Err(error),
        None => encoded.map_err(RowError::InvalidValue).and_then(|()| sorter.sorted()),
    };
    give_back_scratch(sorter.values);
    sorted
}

/// Takes the fields of a row as they come.
struct RowSorter<'s> {
    shape: &'s TableShape,
    values: RowValues,
    /// How many of the values are parts of the key.
    key_parts: usize,
    /// The least rank that the next value may have.
    next: usize,
    /// Each value so far had a higher rank than the one before.
    is_sorted: bool,
    error: Option<RowError>,
}

impl RowSorter<'_> {
    fn take(&mut self, position: usize, field: &str, value: ValueRef<'_>) {
        if self.error.is_some() {
            return;
        }
        match column_of(self.shape, position, field, value) {
            Ok(Some(column)) => self.push(column, value),
            Ok(None) => {}
            Err(error) => self.error = Some(error),
        }
    }

    fn push(&mut self, column: usize, value: ValueRef<'_>) {
        // The key in its own order, and behind it the columns in theirs.
        let key = &self.shape.key;
        let part = key.iter().position(|part| *part == column);
        let rank = part.unwrap_or(key.len() + column);
        self.is_sorted &= rank >= self.next;
        self.next = rank + 1;
        self.values.push(column, value);
        if part.is_some() {
            self.key_parts += 1;
            self.values.end_key();
        }
    }

    /// The values in a piece of memory of just their size.
    fn sorted(&self) -> Result<RowValues, RowError> {
        // Fields mostly stand in the order of the columns, and the key in front.
        if self.is_sorted && (self.key_parts == self.shape.key.len() || self.key_parts == 0) {
            return Ok(self.values.clone());
        }
        let mut values: Vec<_> = self.values.all().iter().collect();
        values.sort_unstable_by_key(|(column, _)| *column);
        if values.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(RowError::NamedTwice { table: self.shape.name.clone() });
        }
        // Without a part of the key, which has a default then, what there is of it is set like any other column.
        let value_of = |part| self.values.all().value_of(part).map(|value| (part, value));
        let key: Option<Vec<_>> = self.shape.key.iter().map(|part| value_of(*part)).collect();
        let key = key.unwrap_or_default();
        let mut sorted = RowValues::default();
        sorted.extend(key.iter().copied());
        sorted.end_key();
        sorted.extend(values.into_iter().filter(|value| !key.iter().any(|part| part.0 == value.0)));
        Ok(sorted)
    }
}

/// A thread keeps no more than this between two rows, in bytes.
const LARGEST_SCRATCH: usize = 64 * 1024;

thread_local! {
    /// Where rows are put together: how much memory one takes shows only at its end.
    static SCRATCH: Cell<RowValues> = const { Cell::new(RowValues::NONE) };
}

fn take_scratch() -> RowValues {
    // A thread that ends may have none any more.
    let mut scratch = SCRATCH.try_with(Cell::take).unwrap_or_default();
    scratch.clear();
    scratch
}

fn give_back_scratch(scratch: RowValues) {
    if scratch.heap_bytes() <= LARGEST_SCRATCH {
        let _ = SCRATCH.try_with(|kept| kept.set(scratch));
    }
}

/// The column that a field is to set, if it is one that can be written.
fn column_of(
    shape: &TableShape,
    position: usize,
    field: &str,
    value: ValueRef<'_>,
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

impl<T> Table<T> {
    pub(super) fn row_command(&self, op: RowOp, row: &T) -> Result<RowCommand, WriteError>
    where
        T: Serialize,
    {
        Ok(self.command(op, sort_row(&self.shape, row)?))
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
fn keeps(column: &ColumnShape, value: ValueRef<'_>) -> Result<(), String> {
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
