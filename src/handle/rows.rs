//! The rows that a statement command returns, taken out of SQLite.

use std::fmt;
use std::ops::Index;

use rusqlite::types::{FromSql, FromSqlError, Value, ValueRef};

use super::params::value_bytes;
use crate::error::SqliteError;
use crate::sync::Arc;

/// All rows that a statement returned, in memory.
///
/// Their size is bounded by [`StoreBuilder::largest_result`](crate::StoreBuilder::largest_result). Text that is
/// not UTF-8 makes the statement fail. `Debug` shows the columns and the number of rows, and no values.
#[derive(Clone, Default, PartialEq)]
pub struct ResultRows {
    columns: Arc<[String]>,
    rows: Vec<ResultRow>,
    bytes: usize,
}

/// Why a row could not be added.
#[derive(Debug)]
pub(crate) enum RowsError {
    /// A value could not be taken, such as text that is not UTF-8.
    Sqlite(rusqlite::Error),
    /// The rows would take more than the limit.
    TooLarge,
}

impl ResultRows {
    pub(crate) fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { columns, rows: Vec::new(), bytes: 0 }
    }

    /// Copies a row, unless the rows would then take more than `limit` bytes. Nothing is copied before that
    /// is known.
    pub(crate) fn push(&mut self, row: &rusqlite::Row<'_>, limit: usize) -> Result<(), RowsError> {
        let mut bytes = size_of::<ResultRow>();
        for at in 0..self.columns.len() {
            let value = row.get_ref(at).map_err(RowsError::Sqlite)?;
            bytes = bytes.saturating_add(size_of::<Value>()).saturating_add(value_bytes(value));
        }
        let total = self.bytes.saturating_add(bytes);
        if total > limit {
            return Err(RowsError::TooLarge);
        }
        let values: Result<Box<[Value]>, _> = (0..self.columns.len()).map(|at| row.get(at)).collect();
        let values = values.map_err(RowsError::Sqlite)?;
        self.rows.push(ResultRow { columns: Arc::clone(&self.columns), values });
        self.bytes = total;
        Ok(())
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The row at a place, from 0.
    pub fn get(&self, at: usize) -> Option<&ResultRow> {
        self.rows.get(at)
    }

    /// The rows, one after the other.
    pub fn iter(&self) -> std::slice::Iter<'_, ResultRow> {
        self.rows.iter()
    }

    /// The memory that the rows take, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl IntoIterator for ResultRows {
    type Item = ResultRow;
    type IntoIter = std::vec::IntoIter<ResultRow>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.into_iter()
    }
}

impl<'a> IntoIterator for &'a ResultRows {
    type Item = &'a ResultRow;
    type IntoIter = std::slice::Iter<'a, ResultRow>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Index<usize> for ResultRows {
    type Output = ResultRow;

    /// Panics if there is no such row; [`get`](Self::get) does not.
    fn index(&self, at: usize) -> &ResultRow {
        &self.rows[at]
    }
}

impl fmt::Debug for ResultRows {
    // Hand-written: values stay out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultRows")
            .field("columns", &self.columns)
            .field("rows", &self.rows.len())
            .field("bytes", &self.bytes)
            .finish()
    }
}

/// One row of a result. `Debug` shows its columns and no values.
#[derive(Clone, PartialEq)]
pub struct ResultRow {
    columns: Arc<[String]>,
    values: Box<[Value]>,
}

impl ResultRow {
    /// The value of a column, by its number from 0 or by its name (in any case), converted to `T`.
    ///
    /// Fails if there is no such column, or if its value does not convert.
    pub fn get<T: FromSql>(&self, column: impl ColumnIndex) -> Result<T, SqliteError> {
        let at = column.place(&self.columns)?;
        let Some(value) = self.values.get(at) else {
            return Err(rusqlite::Error::InvalidColumnIndex(at).into());
        };
        let value = ValueRef::from(value);
        let kind = value.data_type();
        FromSql::column_result(value).map_err(|error| {
            SqliteError::from(match error {
                FromSqlError::InvalidType => {
                    let name = self.columns.get(at).cloned().unwrap_or_default();
                    rusqlite::Error::InvalidColumnType(at, name, kind)
                }
                FromSqlError::OutOfRange(integer) => rusqlite::Error::IntegralValueOutOfRange(at, integer),
                FromSqlError::Utf8Error(error) => rusqlite::Error::Utf8Error(at, error),
                error => rusqlite::Error::FromSqlConversionFailure(at, kind, Box::new(error)),
            })
        })
    }

    /// How many columns it has.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether it has no columns.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The values as SQLite stores them, in the order of the columns.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The values as SQLite stores them, taken out.
    pub fn into_values(self) -> Vec<Value> {
        self.values.into_vec()
    }
}

impl fmt::Debug for ResultRow {
    // Hand-written: values stay out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultRow").field("columns", &self.columns).finish_non_exhaustive()
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for usize {}
    impl Sealed for &str {}
}

/// How a column is named: its number from 0, or its name. Not for others to implement.
pub trait ColumnIndex: sealed::Sealed {
    #[doc(hidden)]
    fn place(&self, columns: &[String]) -> Result<usize, SqliteError>;
}

impl ColumnIndex for usize {
    fn place(&self, columns: &[String]) -> Result<usize, SqliteError> {
        if *self < columns.len() { Ok(*self) } else { Err(rusqlite::Error::InvalidColumnIndex(*self).into()) }
    }
}

impl ColumnIndex for &str {
    fn place(&self, columns: &[String]) -> Result<usize, SqliteError> {
        let place = columns.iter().position(|column| column.eq_ignore_ascii_case(self));
        place.ok_or_else(|| rusqlite::Error::InvalidColumnName((*self).to_owned()).into())
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    fn take(sql: &str, limit: usize) -> Result<ResultRows, RowsError> {
        let connection = Connection::open_in_memory().unwrap();
        let mut statement = connection.prepare(sql).unwrap();
        let mut taken = ResultRows::new(statement.column_names());
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().map_err(RowsError::Sqlite)? {
            taken.push(row, limit)?;
        }
        Ok(taken)
    }

    #[test]
    fn gives_values_by_number_and_name() {
        let rows =
            take("SELECT 1 AS id, 'x' AS Name, NULL AS gone UNION ALL SELECT 2, 'zz', 3", 10_000).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows.columns(), ["id", "Name", "gone"]);
        assert_eq!(rows[0].get::<i64>(0).unwrap(), 1);
        assert_eq!(rows[1].get::<String>("name").unwrap(), "zz");
        assert_eq!(rows[0].get::<Option<i64>>("gone").unwrap(), None);
        assert!(rows[0].get::<i64>(3).unwrap_err().to_string().contains("no column 3"));
        assert!(rows[0].get::<i64>("other").is_err());
        assert!(rows[0].get::<i64>("name").is_err());
        assert!(!format!("{rows:?} {:?}", rows[1]).contains("zz"));
        let sum: i64 = rows.iter().map(|row| row.get::<i64>("id").unwrap()).sum();
        assert_eq!(sum, 3);
        assert_eq!(rows.into_iter().next().unwrap().into_values()[0], Value::Integer(1));
    }

    #[test]
    fn stops_before_it_takes_more_than_its_limit() {
        let rows = take("SELECT zeroblob(1000)", 2_000).unwrap();
        assert!(rows.bytes() >= 1_000 && rows.bytes() < 1_200);
        assert!(matches!(take("SELECT zeroblob(1000)", 999), Err(RowsError::TooLarge)));
        let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
        assert!(matches!(take(many, 100_000), Err(RowsError::TooLarge)));
    }

    #[test]
    fn text_that_is_not_utf8_is_an_error() {
        assert!(matches!(take("SELECT CAST(x'ff' AS TEXT)", 1_000), Err(RowsError::Sqlite(_))));
    }
}
