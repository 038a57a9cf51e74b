//! Making an index, comparing the one that is there with the one that is wanted, and dropping it.
//!
//! All of it happens in one transaction on the writer, so that there is never a part of an index.

use super::definition::{IndexDefinition, is_search_index};
use crate::error::{ClosureError, SearchIndexError};
use crate::row::quoted;
use crate::sqlite::SEARCH_TABLE;
use crate::sqlite::session::Tx;

/// What is there under the name of an index.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    /// This very index.
    Same,
    /// An index with another definition, or without some of its triggers.
    Other,
    /// A table, view or index of another kind, or a trigger that is none of an index's.
    Foreign,
}

/// Makes the index unless it is there. Gives what refuses it, or whether there are rows that have to be put in.
pub(super) fn open(
    tx: &Tx<'_>,
    index: &IndexDefinition,
    replace: bool,
) -> Result<Result<bool, SearchIndexError>, ClosureError> {
    if !has_columns(tx, index)? {
        return Ok(Err(SearchIndexError::SchemaChanged { table: index.table.name.clone() }));
    }
    match find(tx, index)? {
        Found::Same => return Ok(Ok(is_waiting(tx, index)?)),
        Found::Foreign => return Ok(Err(SearchIndexError::NameTaken { index: index.name.clone() })),
        Found::Other if !replace => {
            return Ok(Err(SearchIndexError::Differs { index: index.name.clone() }));
        }
        Found::Other => drop_parts(tx, index)?,
        Found::Nothing => {}
    }
    create(tx, index).map(Ok)
}

/// Makes the index anew, empty. Gives what refuses it, or whether there are rows that have to be put in.
///
/// A new table and not FTS5's own command: that needs what may be damaged.
pub(super) fn rebuild(
    tx: &Tx<'_>,
    index: &IndexDefinition,
) -> Result<Result<bool, SearchIndexError>, ClosureError> {
    if !has_columns(tx, index)? {
        return Ok(Err(SearchIndexError::SchemaChanged { table: index.table.name.clone() }));
    }
    if find(tx, index)? == Found::Foreign {
        return Ok(Err(SearchIndexError::NameTaken { index: index.name.clone() }));
    }
    drop_parts(tx, index)?;
    create(tx, index).map(Ok)
}

/// Drops the index with all that belongs to it, if it is there.
pub(super) fn remove(
    tx: &Tx<'_>,
    index: &IndexDefinition,
) -> Result<Result<(), SearchIndexError>, ClosureError> {
    if find(tx, index)? == Found::Foreign {
        return Ok(Err(SearchIndexError::NameTaken { index: index.name.clone() }));
    }
    drop_parts(tx, index).map(Ok)
}

fn create(tx: &Tx<'_>, index: &IndexDefinition) -> Result<bool, ClosureError> {
    tx.execute(&index.index().sql, [])?;
    tx.execute_batch(&index.settings())?;
    for trigger in index.triggers() {
        tx.execute(&trigger.sql, [])?;
    }
    tx.with_engine_tables(|| tx.execute(&IndexDefinition::places(), []))?;
    // From here on the triggers put in every row that comes. Those up to the greatest of now are for the walk.
    let last = format!("SELECT max({}) FROM {}", index.key_column(), quoted(&index.table.name));
    let last: Option<i64> = tx.query_row(&last, [], |row| row.get(0))?;
    let Some(last) = last else { return Ok(false) };
    let begin = format!("INSERT INTO {SEARCH_TABLE} (name, next, last, done) VALUES (?1, ?2, ?3, 0)");
    tx.with_engine_tables(|| tx.execute(&begin, (&index.name, i64::MIN, last)))?;
    Ok(true)
}

/// Drops what has the names of an index's parts.
fn drop_parts(tx: &Tx<'_>, index: &IndexDefinition) -> Result<(), ClosureError> {
    for trigger in index.triggers() {
        tx.execute(&format!("DROP TRIGGER IF EXISTS {}", quoted(&trigger.name)), [])?;
    }
    tx.execute(&format!("DROP TABLE IF EXISTS {}", quoted(&index.name)), [])?;
    if has_places(tx)? {
        let forget = format!("DELETE FROM {SEARCH_TABLE} WHERE name = ?1");
        tx.with_engine_tables(|| tx.execute(&forget, [&index.name]))?;
    }
    Ok(())
}

/// Whether the table has what the index is made of. A trigger with a mistake is found only when it runs.
fn has_columns(tx: &Tx<'_>, index: &IndexDefinition) -> Result<bool, ClosureError> {
    let places = index.columns.iter().chain([&index.key]);
    for place in places {
        let Some(column) = index.table.columns.get(*place) else { return Ok(false) };
        let sql = "SELECT count(*) FROM pragma_table_xinfo(?1, 'main') WHERE name = ?2 COLLATE NOCASE";
        let found: i64 = tx.query_row(sql, (&index.table.name, &column.name), |row| row.get(0))?;
        if found != 1 {
            return Ok(false);
        }
    }
    Ok(true)
}

fn find(tx: &Tx<'_>, index: &IndexDefinition) -> Result<Found, ClosureError> {
    let wanted = index.index();
    let found = sql_of(tx, &wanted.name, false)?;
    if found.as_ref().is_some_and(|sql| !is_search_index(sql)) {
        return Ok(Found::Foreign);
    }
    let mut is_same = found.as_ref() == Some(&wanted.sql);
    // Triggers without their index make commands fail.
    let mut is_there = found.is_some();
    for trigger in index.triggers() {
        let found = sql_of(tx, &trigger.name, true)?;
        // By that name the program may have one that has nothing to do with an index.
        if found.as_ref().is_some_and(|sql| !names(sql, &index.name)) {
            return Ok(Found::Foreign);
        }
        is_same &= found.as_ref() == Some(&trigger.sql);
        is_there |= found.is_some();
    }
    Ok(match (is_same, is_there) {
        (true, _) => Found::Same,
        (false, true) => Found::Other,
        (false, false) => Found::Nothing,
    })
}

/// Whether a trigger writes to the index, by its name in any case.
fn names(sql: &str, index: &str) -> bool {
    sql.to_ascii_lowercase().contains(&quoted(index).to_ascii_lowercase())
}

fn sql_of(tx: &Tx<'_>, name: &str, is_trigger: bool) -> Result<Option<String>, ClosureError> {
    let sql = "SELECT coalesce(sql, '') FROM main.sqlite_schema \
               WHERE name = ?1 COLLATE NOCASE AND (type = 'trigger') = ?2";
    tx.query_optional(sql, (name, is_trigger), |row| row.get(0))
}

fn has_places(tx: &Tx<'_>) -> Result<bool, ClosureError> {
    Ok(sql_of(tx, SEARCH_TABLE, false)?.is_some())
}

/// Whether this very index is there.
pub(super) fn is_same(tx: &Tx<'_>, index: &IndexDefinition) -> Result<bool, ClosureError> {
    Ok(find(tx, index)? == Found::Same)
}

/// Whether rows of the table have to be put in yet.
pub(super) fn is_waiting(tx: &Tx<'_>, index: &IndexDefinition) -> Result<bool, ClosureError> {
    if !has_places(tx)? {
        return Ok(false);
    }
    let sql = format!("SELECT 1 FROM {SEARCH_TABLE} WHERE name = ?1");
    Ok(tx.query_optional(&sql, [&index.name], |_| Ok(()))?.is_some())
}
