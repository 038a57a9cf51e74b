//! One row command.

use super::desk::TableDesk;
use super::text::{Form, GuardForm};
use super::{RowEffect, RowFailure};
use crate::error::Conflict;
use crate::row::{
    Filled, Guard, RevisionKind, RowCommand, RowOp, RowValues, TableShape, Value, ValueRef, Values,
};
use crate::sqlite::session::Session;
use crate::sync::Arc;

/// Carries out one command on its table's desk. A failure may leave something behind where the desk says that a
/// savepoint is needed.
#[inline]
pub(in crate::sqlite::writer) fn carry_out(
    desk: &mut TableDesk,
    session: &Session<'_>,
    command: &RowCommand,
    sequence: u64,
) -> Result<RowEffect, RowFailure> {
    let mut row = Row { desk, session, sequence };
    let RowCommand { op, values, adjust, guard, .. } = command;
    let (key, set) = (values.key(), values);
    if let Some(adjust) = adjust {
        return row.adjust(key, set, adjust, guard, *op == RowOp::Upsert);
    }
    match op {
        RowOp::Insert => row.insert(false, key, set, 1),
        RowOp::InsertOrIgnore => row.insert(true, key, set, 1),
        RowOp::Upsert => row.upsert(key, set, Changes::ONE),
        RowOp::Update => row.update(key, set, guard),
        RowOp::Delete => row.delete(key, guard),
    }
}

/// Updates the row with this key, without a guard. Otherwise like [`carry_out`].
pub(super) fn update(
    desk: &mut TableDesk,
    session: &Session<'_>,
    key: Values<'_>,
    set: &RowValues,
    sequence: u64,
) -> Result<RowEffect, RowFailure> {
    Row { desk, session, sequence }.update(key, set, &Guard::default())
}

/// How many changes of a row a statement stands for.
#[derive(Clone, Copy)]
pub(super) struct Changes {
    pub(super) count: u32,
    /// The row is only changed if its counting revision is an integer that can be counted up by each, so that
    /// the revisions in between are known.
    pub(super) must_count: bool,
}

impl Changes {
    pub(super) const ONE: Self = Self { count: 1, must_count: false };
}

/// A row under a command.
pub(super) struct Row<'r, 's> {
    pub(super) desk: &'r mut TableDesk,
    pub(super) session: &'r Session<'s>,
    pub(super) sequence: u64,
}

impl Row<'_, '_> {
    /// Inserts the row at its `changes`-th revision.
    pub(super) fn insert(
        &mut self,
        or_ignore: bool,
        key: Values<'_>,
        set: &RowValues,
        changes: u32,
    ) -> Result<RowEffect, RowFailure> {
        let revision = revision_value(self.desk.shape(), changes, self.sequence);
        let is_quiet = self.desk.is_quiet();
        let form = Form::Insert { with_key: !key.is_empty(), or_ignore };
        let (shape, insert) = self.desk.statement_of_row(self.session, form, set)?;
        let mut filled = Filled::default();
        self.session.run_bound(
            &insert.statement,
            &insert.facts,
            |binder| {
                binder.values(key);
                binder.values(set.set());
                binder.integer(revision);
            },
            |row| {
                for (at, column) in insert.filled.iter().enumerate() {
                    filled.push(name(shape, *column), row.value(at));
                }
            },
        )?;
        let connection = self.session.connection();
        // Without a trigger that skips it the row is there now.
        if (or_ignore || !is_quiet) && connection.changes() == 0 {
            return Ok(RowEffect::default());
        }
        let rowid = shape.rowid_name.map(|_| connection.last_insert_rowid());
        let is_given = |column| shape.key.contains(&column) && !key.is_empty() || set.sets(column);
        if let Some(column) = shape.rowid_column.filter(|column| !is_given(*column)) {
            let made = rowid.map_or(Value::Null, Value::Integer);
            filled.push(name(shape, column), made);
        }
        let revision = match (shape.revision, rowid) {
            // A trigger may have changed it since.
            (Some(_), Some(rowid)) if !is_quiet => {
                self.ask(Form::RevisionAtRowid, [ValueRef::Integer(rowid)])?.and_then(integer)
            }
            (Some(_), None) if !is_quiet => self.ask(Form::Revision, key.values())?.and_then(integer),
            _ => revision,
        };
        Ok(RowEffect { rows_changed: 1, revision, created: true, rowid, filled })
    }

    /// Updates the row, or inserts it if it is not there.
    pub(super) fn upsert(
        &mut self,
        key: Values<'_>,
        set: &RowValues,
        changes: Changes,
    ) -> Result<RowEffect, RowFailure> {
        // Without a key there is no row to find.
        if !key.is_empty() {
            let nothing_to_set = set.set().is_empty() && self.desk.shape().revision.is_none();
            if !nothing_to_set && self.change(key, set, &Guard::default(), changes)? == 1 {
                let revision = self.revision_of(key, set, None)?;
                return Ok(RowEffect { rows_changed: 1, revision, ..RowEffect::default() });
            }
            // A trigger may have skipped a row that is there.
            let may_be_there = nothing_to_set || !self.desk.is_quiet();
            if may_be_there && self.ask(Form::Revision, key.values())?.is_some() {
                return Ok(RowEffect::default());
            }
        }
        self.insert(false, key, set, changes.count)
    }

    fn update(&mut self, key: Values<'_>, set: &RowValues, guard: &Guard) -> Result<RowEffect, RowFailure> {
        let rows_changed = self.change(key, set, guard, Changes::ONE)?;
        if rows_changed == 0 {
            return self.nothing_changed(key, guard);
        }
        let revision = self.revision_of(key, set, guard.revision)?;
        Ok(RowEffect { rows_changed, revision, ..RowEffect::default() })
    }

    fn delete(&mut self, key: Values<'_>, guard: &Guard) -> Result<RowEffect, RowFailure> {
        let form = Form::Delete { guard: guard_form(guard), returns_revision: false };
        let delete = self.desk.statement(self.session, form, std::iter::empty())?;
        let expected = guard.revision.map(Value::Integer);
        let held = guard.column.as_deref().map(|(_, value)| value);
        let values = key.values().chain(expected.iter().chain(held).map(ValueRef::from));
        self.session.run_for_rows(&delete.statement, &delete.facts, values, |_| {})?;
        match self.session.connection().changes() {
            0 => self.nothing_changed(key, guard),
            rows_changed => Ok(RowEffect { rows_changed, ..RowEffect::default() }),
        }
    }

    /// Updates the row and gives whether it was there, as the guard expects: 1 or 0.
    pub(super) fn change(
        &mut self,
        key: Values<'_>,
        set: &RowValues,
        guard: &Guard,
        changes: Changes,
    ) -> Result<u64, RowFailure> {
        let shape = self.desk.shape();
        let step = revision_value(shape, changes.count, self.sequence);
        let kind = shape.revision.map(|revision| revision.kind);
        let countable = changes.must_count && kind == Some(RevisionKind::Counter);
        let bound = countable.then(|| i64::MAX - i64::from(changes.count));
        let form = Form::Update(GuardForm { countable, ..guard_form(guard) });
        let (_, update) = self.desk.statement_of_row(self.session, form, set)?;
        let held = guard.column.as_deref().map(|(_, value)| value);
        self.session.run_bound(
            &update.statement,
            &update.facts,
            |binder| {
                binder.values(set.set());
                binder.integer(step);
                binder.values(key);
                binder.integer(guard.revision);
                held.into_iter().for_each(|value| binder.value(value.into()));
                binder.integer(bound);
            },
            |_| {},
        )?;
        Ok(self.session.connection().changes())
    }

    /// The revision of a row that was just changed.
    pub(super) fn revision_of(
        &mut self,
        key: Values<'_>,
        set: &RowValues,
        before: Option<i64>,
    ) -> Result<Option<i64>, RowFailure> {
        let Some(revision) = self.desk.shape().revision else { return Ok(None) };
        if self.desk.is_quiet() {
            match (revision.kind, before) {
                (RevisionKind::Sequence, _) => return Ok(Some(sequence_value(self.sequence))),
                (RevisionKind::Counter, Some(before)) if before < i64::MAX => return Ok(Some(before + 1)),
                _ => {}
            }
        }
        // The update may have changed the key itself.
        let key = key.iter().map(|(column, old)| set.set().value_of(column).unwrap_or(old));
        Ok(self.ask(Form::Revision, key)?.and_then(integer))
    }

    /// No row was changed: because none is there, or because of the guard.
    pub(super) fn nothing_changed(
        &mut self,
        key: Values<'_>,
        guard: &Guard,
    ) -> Result<RowEffect, RowFailure> {
        if *guard == Guard::default() {
            return Ok(RowEffect::default());
        }
        let found = self.ask(Form::Revision, key.values())?;
        let has_revision = self.desk.shape().revision.is_some();
        let exists = found.is_some();
        let revision = found.filter(|_| has_revision).and_then(integer);
        Err(RowFailure::Conflict(Conflict { exists, revision }))
    }

    /// The first value of the row that a form finds.
    pub(super) fn ask<'v>(
        &mut self,
        form: Form,
        values: impl IntoIterator<Item = ValueRef<'v>>,
    ) -> Result<Option<Value>, RowFailure> {
        let query = self.desk.statement(self.session, form, std::iter::empty())?;
        let mut found = None;
        self.session
            .run_for_rows(&query.statement, &query.facts, values, |row| found = Some(row.value(0)))?;
        Ok(found)
    }
}

pub(super) fn guard_form(guard: &Guard) -> GuardForm {
    let column = guard.column.as_ref().map(|column| column.0);
    GuardForm { revision: guard.revision.is_some(), column, countable: false }
}

/// What `changes` changes at once write as the revision of a row: a counter begins at it or rises by it, a sequence
/// becomes it.
pub(super) fn revision_value(shape: &TableShape, changes: u32, sequence: u64) -> Option<i64> {
    shape.revision.map(|revision| match revision.kind {
        RevisionKind::Counter => changes.into(),
        RevisionKind::Sequence => sequence_value(sequence),
    })
}

/// Sequences are counted from 1 and reserved in ranges: they do not reach the end of 63 bits.
fn sequence_value(sequence: u64) -> i64 {
    i64::try_from(sequence).unwrap_or(i64::MAX)
}

pub(super) fn integer(value: Value) -> Option<i64> {
    match value {
        Value::Integer(integer) => Some(integer),
        _ => None,
    }
}

fn name(shape: &TableShape, column: usize) -> Arc<str> {
    Arc::from(shape.columns[column].name.as_str())
}
