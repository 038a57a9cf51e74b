//! Updates that change columns by what they hold.

use super::row::{Row, columns, guard_form, revision_value, values};
use super::text::Form;
use super::{RowEffect, RowFailure};
use crate::row::{Adjustments, Guard, Value};

impl Row<'_, '_> {
    /// Sets and adjusts columns of the row with one statement. If the row is not there, `or_insert` makes it of the
    /// same values.
    ///
    /// A row in which nothing would be raised, and that is to be changed in no other way, stays as it is, its
    /// revision too.
    pub(super) fn adjust(
        &mut self,
        key: &[Value],
        set: &[(usize, Value)],
        adjust: &Adjustments,
        guard: &Guard,
        or_insert: bool,
    ) -> Result<RowEffect, RowFailure> {
        let rows_changed = self.change_by_adjusting(key, set, adjust, guard)?;
        if rows_changed > 0 {
            let revision = self.revision_of(key, set, guard.revision)?;
            return Ok(RowEffect { rows_changed, revision, ..RowEffect::default() });
        }
        if *guard != Guard::default() && !self.holds(key, guard)? {
            return self.nothing_changed(key, guard);
        }
        let is_there = self.check_countable(key, adjust)?;
        if is_there || !or_insert {
            return Ok(RowEffect::default());
        }
        let added = adjust.added.iter().map(|(column, by)| (*column, Value::Integer(*by)));
        let mut row: Vec<_> = set.iter().chain(&adjust.raised).cloned().chain(added).collect();
        row.sort_unstable_by_key(|(column, _)| *column);
        self.insert(false, key, &row, 1)
    }

    /// Gives whether the row was changed: 1 or 0.
    fn change_by_adjusting(
        &mut self,
        key: &[Value],
        set: &[(usize, Value)],
        adjust: &Adjustments,
        guard: &Guard,
    ) -> Result<u64, RowFailure> {
        let Adjustments { raised, added } = adjust;
        let step = revision_value(self.desk.shape(), 1, self.sequence);
        let form = Form::Adjust { guard: guard_form(guard), set: set.len(), raised: raised.len() };
        let named = columns(set).chain(columns(raised)).chain(added.iter().map(|(column, _)| *column));
        let update = self.desk.statement(self.session, form, named)?;
        let expected = guard.revision.map(Value::Integer);
        let held = guard.column.as_ref().map(|(_, value)| value);
        let by: Vec<Value> = added.iter().map(|(_, by)| Value::Integer(*by)).collect();
        let room: Vec<Value> = added.iter().flat_map(|(_, by)| room_for(*by)).map(Value::Integer).collect();
        let is_only_raised = set.is_empty() && added.is_empty();
        let compared = if is_only_raised { raised.as_slice() } else { &[] };
        let values = values(set)
            .chain(raised.iter().flat_map(|(_, value)| [value, value]))
            .chain(&by)
            .chain(&step)
            .chain(key)
            .chain(&expected)
            .chain(held)
            .chain(values(compared))
            .chain(&room);
        self.session.run_for_rows(&update.statement, update.facts, values, |_| {})?;
        Ok(self.session.connection().changes())
    }

    /// Whether the row is there. An error if it is, and a column cannot be added to.
    fn check_countable(&mut self, key: &[Value], adjust: &Adjustments) -> Result<bool, RowFailure> {
        if adjust.added.is_empty() {
            return Ok(self.ask(Form::Revision, key)?.is_some());
        }
        let asked = adjust.added.iter().map(|(column, _)| *column);
        let query = self.desk.statement(self.session, Form::Columns, asked)?;
        let mut found: Option<Vec<Value>> = None;
        self.session.run_for_rows(&query.statement, query.facts, key, |row| {
            found = Some((0..adjust.added.len()).map(|at| row.value(at)).collect());
        })?;
        let Some(found) = found else { return Ok(false) };
        let is_countable = |value: &Value, by: i64| match value {
            Value::Null => true,
            Value::Integer(integer) => integer.checked_add(by).is_some(),
            _ => false,
        };
        let wrong = adjust.added.iter().zip(&found).find(|((_, by), value)| !is_countable(value, *by));
        match wrong {
            None => Ok(true),
            Some(((column, _), _)) => {
                let shape = self.desk.shape();
                let column =
                    shape.columns.get(*column).map_or_else(String::new, |column| column.name.clone());
                Err(RowFailure::NotCountable { table: shape.name.clone(), column })
            }
        }
    }

    /// Whether the row is there and as the guard expects.
    fn holds(&mut self, key: &[Value], guard: &Guard) -> Result<bool, RowFailure> {
        let query = self.desk.statement(self.session, Form::Holds(guard_form(guard)), std::iter::empty())?;
        let expected = guard.revision.map(Value::Integer);
        let held = guard.column.as_ref().map(|(_, value)| value);
        let values = key.iter().chain(&expected).chain(held);
        let mut found = false;
        self.session.run_for_rows(&query.statement, query.facts, values, |_| found = true)?;
        Ok(found)
    }
}

/// The least and the greatest integer to which this much can be added.
fn room_for(by: i64) -> [i64; 2] {
    if by >= 0 { [i64::MIN, i64::MAX - by] } else { [i64::MIN - by, i64::MAX] }
}
