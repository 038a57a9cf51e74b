//! Answering questions about rows on a reader's snapshot.

use rusqlite::params_from_iter;

use super::row_finder::{self, FinderLimits};
use super::row_text::{self, GroupStep, PageSource};
use crate::error::ClosureError;
use crate::row::{Condition, OrderTerm, PageQuery, RowQuery, RowQueryKind, SearchTerm, Value};
use crate::sqlite::SEARCH_TABLE;
use crate::sqlite::row_value::{Bound, copied, heap_bytes};
use crate::sqlite::session::{Db, Rows};

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
    /// One for each key.
    Exist(Vec<bool>),
}

/// Why it was not answered.
#[derive(Debug)]
pub(super) enum RowFailure {
    /// What a closure that asks the same would return.
    Closure(ClosureError),
    /// The rows would take more than the limit.
    TooLarge,
    /// The search index is not complete.
    NotReady,
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
        RowQueryKind::Count(condition) => return count(db, &query, condition).map(RowAnswer::Count),
        RowQueryKind::Exist(keys) => return exist(db, &query, keys).map(RowAnswer::Exist),
        RowQueryKind::Keys(keys) => by_keys(db, &query, keys, &mut taken).map(|()| false)?,
        RowQueryKind::LastOfEach(order) => last_of_each(db, &query, order, &mut taken).map(|()| false)?,
        RowQueryKind::Page(page) => by_page(db, &query, page, FinderLimits::default(), &mut taken)?,
    };
    Ok(RowAnswer::Rows(TableRows { query, rows: taken.rows, more }))
}

fn count(db: &Db<'_>, query: &RowQuery, condition: &Condition) -> Result<u64, RowFailure> {
    let statement = row_text::count(query, condition);
    let params = params_from_iter(statement.params.into_iter().map(Bound));
    let rows: i64 = db.query_row(&statement.sql, params, |row| row.get(0))?;
    Ok(rows.unsigned_abs())
}

/// One statement for all keys: there is no limit to how many, and SQLite plans it once.
fn by_keys(db: &Db<'_>, query: &RowQuery, keys: &[Vec<Value>], taken: &mut Taken) -> Result<(), RowFailure> {
    let (mut statement, now) = (db.prepare(&row_text::by_key(query))?, row_text::now(query));
    for key in keys {
        let mut rows = statement.query(params_from_iter(key.iter().chain(now).map(Bound)))?;
        if let Some(row) = rows.next()? {
            taken.push(row)?;
        }
    }
    Ok(())
}

fn exist(db: &Db<'_>, query: &RowQuery, keys: &[Vec<Value>]) -> Result<Vec<bool>, RowFailure> {
    let (mut statement, now) = (db.prepare(&row_text::by_key(query))?, row_text::now(query));
    let found = keys.iter().map(|key| {
        let mut rows = statement.query(params_from_iter(key.iter().chain(now).map(Bound)))?;
        Ok(rows.next()?.is_some())
    });
    found.collect()
}

/// Jumps from group to group, from the greatest down: each costs one look-up in an index on the order.
fn last_of_each(
    db: &Db<'_>,
    query: &RowQuery,
    order: &[OrderTerm],
    taken: &mut Taken,
) -> Result<(), RowFailure> {
    let Some(group) = order.first() else { return Ok(()) };
    let Some(at) = query.selected().iter().position(|part| *part == group.of) else { return Ok(()) };
    let mut next = db.prepare(&row_text::last_of_next(query, order, GroupStep::Below))?;
    let (mut below, now): (Option<Value>, _) = (None, row_text::now(query));
    loop {
        let found = match &below {
            None => {
                let mut first = db.prepare(&row_text::last_of_next(query, order, GroupStep::First))?;
                taken.push_first(first.query(params_from_iter(now.map(Bound)))?)?
            }
            Some(Value::Null) => false,
            Some(group) => {
                taken.push_first(next.query(params_from_iter([group].into_iter().chain(now).map(Bound)))?)?
            }
        };
        if !found {
            break;
        }
        below = taken.rows.last().and_then(|row| row.get(at)).cloned();
    }
    // In a descending order NULL comes last, and nothing is below it.
    if group.nullable && below.is_some_and(|below| !below.is_null()) {
        let mut of_null = db.prepare(&row_text::last_of_next(query, order, GroupStep::Null))?;
        taken.push_first(of_null.query(params_from_iter(now.map(Bound)))?)?;
    }
    taken.rows.reverse();
    Ok(())
}

/// Whether there are more rows than the page takes.
fn by_page(
    db: &Db<'_>,
    query: &RowQuery,
    page: &PageQuery,
    limits: FinderLimits,
    taken: &mut Taken,
) -> Result<bool, RowFailure> {
    let list;
    let source = match &page.search {
        None => PageSource::Table,
        Some(search) if !is_ready(db, search)? => return Err(RowFailure::NotReady),
        Some(search) => match row_finder::find(db, query, page, search, limits)? {
            None => PageSource::Search(search),
            Some(rowids) => {
                list = row_finder::listed(&rowids);
                PageSource::List(&list)
            }
        },
    };
    for statement in row_text::page(query, page, source) {
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

/// Whether all rows are in the index. Asked on the snapshot on which it is searched.
fn is_ready(db: &Db<'_>, search: &SearchTerm) -> Result<bool, RowFailure> {
    let sql = format!("SELECT 1 FROM {SEARCH_TABLE} WHERE name = ?1");
    Ok(db.query_optional(&sql, [&search.index], |_| Ok(()))?.is_none())
}

/// Rows, and what they take.
struct Taken {
    rows: Vec<Vec<Value>>,
    bytes: usize,
    limit: usize,
}

impl Taken {
    /// Copies the first of the rows, and gives whether there is one.
    fn push_first(&mut self, mut rows: Rows<'_>) -> Result<bool, RowFailure> {
        match rows.next()? {
            Some(row) => self.push(row).map(|()| true),
            None => Ok(false),
        }
    }

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
