//! Answering questions about rows on a reader's snapshot.

use rusqlite::params_from_iter;

use super::row_text;
use crate::error::ClosureError;
use crate::row::{Condition, PageQuery, RowQuery, RowQueryKind, TableShape, Value};
use crate::sqlite::row_value::{Bound, copied, heap_bytes};
use crate::sqlite::session::Db;

/// Rows of a table, not yet of any type of the caller's.
pub(crate) struct TableRows {
    pub(crate) query: RowQuery,
    /// The values of what [`RowQuery::selected`] says.
    pub(crate) rows: Vec<Vec<Value>>,
    /// There are more rows behind the last, in the page's direction.
    pub(crate) more: bool,
}

/// What a question about rows is answered with.
pub(super) enum RowAnswer {
    Rows(TableRows),
    Count(u64),
}

/// Why it was not answered.
#[derive(Debug)]
pub(super) enum RowFailure {
    /// What a closure that asks the same would return.
    Closure(ClosureError),
    /// The rows would take more than the limit.
    TooLarge,
}

impl<E: Into<ClosureError>> From<E> for RowFailure {
    fn from(error: E) -> Self {
        Self::Closure(error.into())
    }
}

/// Answers the question, unless its rows would take more than `limit` bytes.
pub(super) fn answer(db: &Db<'_>, query: RowQuery, limit: usize) -> Result<RowAnswer, RowFailure> {
    let mut taken = Taken { rows: Vec::new(), bytes: 0, limit };
    let more = match &query.kind {
        RowQueryKind::Count(condition) => return count(db, &query.table, condition).map(RowAnswer::Count),
        RowQueryKind::Keys(keys) => by_keys(db, &query, keys, &mut taken).map(|()| false)?,
        RowQueryKind::Page(page) => by_page(db, &query, page, &mut taken)?,
    };
    Ok(RowAnswer::Rows(TableRows { query, rows: taken.rows, more }))
}

fn count(db: &Db<'_>, table: &TableShape, condition: &Condition) -> Result<u64, RowFailure> {
    let statement = row_text::count(table, condition);
    let params = params_from_iter(statement.params.into_iter().map(Bound));
    let rows: i64 = db.query_row(&statement.sql, params, |row| row.get(0))?;
    Ok(rows.unsigned_abs())
}

/// One statement for all keys: there is no limit to how many, and SQLite plans it once.
fn by_keys(db: &Db<'_>, query: &RowQuery, keys: &[Vec<Value>], taken: &mut Taken) -> Result<(), RowFailure> {
    let mut statement = db.prepare(&row_text::by_key(query))?;
    for key in keys {
        let mut rows = statement.query(params_from_iter(key.iter().map(Bound)))?;
        if let Some(row) = rows.next()? {
            taken.push(row)?;
        }
    }
    Ok(())
}

/// Whether there are more rows than the page takes.
fn by_page(db: &Db<'_>, query: &RowQuery, page: &PageQuery, taken: &mut Taken) -> Result<bool, RowFailure> {
    for statement in row_text::page(query, page) {
        // One more than the page takes shows that there are more.
        let wanted = page.limit.saturating_sub(taken.rows.len()).saturating_add(1);
        let wanted = Value::Integer(i64::try_from(wanted).unwrap_or(i64::MAX));
        let mut prepared = db.prepare(&statement.sql)?;
        let params = statement.params.into_iter().chain([&wanted]).map(Bound);
        let mut rows = prepared.query(params_from_iter(params))?;
        while let Some(row) = rows.next()? {
            if taken.rows.len() == page.limit {
                return Ok(true);
            }
            taken.push(row)?;
        }
    }
    Ok(false)
}

/// Rows, and what they take.
struct Taken {
    rows: Vec<Vec<Value>>,
    bytes: usize,
    limit: usize,
}

impl Taken {
    /// Copies a row. Nothing is copied before it is known that there is room for it.
    fn push(&mut self, row: &rusqlite::Row<'_>) -> Result<(), RowFailure> {
        let columns = row.as_ref().column_count();
        let mut bytes = size_of::<Vec<Value>>();
        for at in 0..columns {
            bytes = bytes.saturating_add(size_of::<Value>()).saturating_add(heap_bytes(row.get_ref(at)?));
        }
        let total = self.bytes.saturating_add(bytes);
        if total > self.limit {
            return Err(RowFailure::TooLarge);
        }
        let values: rusqlite::Result<Vec<Value>> =
            (0..columns).map(|at| row.get_ref(at).and_then(|value| copied(at, value))).collect();
        self.rows.push(values?);
        self.bytes = total;
        Ok(())
    }
}

#[cfg(test)]
#[path = "row_query_tests.rs"]
mod tests;
