//! Read, change and write one row as one command.

use super::desk::TableDesk;
use super::row::{Changes, Row};
use super::text::Form;
use super::{RowEffect, RowFailure};
use crate::row::{Guard, RowValues, Value, Values};
use crate::sqlite::session::Session;

/// Gives the row's columns to `change`, which gives the columns to set, and writes those. `None`: the row is not
/// there.
///
/// An error of `change` comes back in its own type, before anything was written.
pub(in crate::sqlite::writer) fn modify<E: From<RowFailure>>(
    desk: &mut TableDesk,
    session: &Session<'_>,
    key: Values<'_>,
    columns: &[usize],
    sequence: u64,
    change: impl FnOnce(Vec<Value>) -> Result<RowValues, E>,
) -> Result<Option<RowEffect>, E> {
    let Some(values) = read(desk, session, key, columns)? else { return Ok(None) };
    let set = change(values)?;
    if set.set().is_empty() {
        return Ok(Some(RowEffect::default()));
    }
    let mut row = Row { desk, session, sequence };
    let rows_changed = row.change(key, &set, &Guard::default(), Changes::ONE)?;
    let revision = if rows_changed == 1 { row.revision_of(key, &set, None)? } else { None };
    Ok(Some(RowEffect { rows_changed, revision, ..RowEffect::default() }))
}

fn read(
    desk: &mut TableDesk,
    session: &Session<'_>,
    key: Values<'_>,
    columns: &[usize],
) -> Result<Option<Vec<Value>>, RowFailure> {
    let query = desk.statement(session, Form::Columns, columns.iter().copied())?;
    let mut found = None;
    session.run_for_rows(&query.statement, &query.facts, key.values(), |row| {
        found = Some((0..columns.len()).map(|at| row.value(at)).collect());
    })?;
    Ok(found)
}
