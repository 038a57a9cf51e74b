//! Updates that change columns by what they hold.

use super::row::{Row, guard_form, revision_value};
use super::text::Form;
use super::{RowEffect, RowFailure};
use crate::row::{Adjustments, Guard, RowValues, Value, ValueRef, Values};

impl Row<'_, '_> {
    /// Sets and adjusts columns of the row with one statement. If the row is not there, `or_insert` makes it of the
    /// same values.
    ///
    /// A row in which nothing would be raised, and that is to be changed in no other way, stays as it is, its
    /// revision too.
    pub(super) fn adjust(
        &mut self,
        key: Values<'_>,
        set: &RowValues,
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
        let raised = adjust.raised.iter().map(|(column, value)| (*column, value.into()));
        let added = adjust.added.iter().map(|(column, by)| (*column, ValueRef::Integer(*by)));
        let mut row: Vec<_> = set.set().iter().chain(raised).chain(added).collect();
        row.sort_unstable_by_key(|(column, _)| *column);
        let row: RowValues = row.into_iter().collect();
        self.insert(false, key, &row, 1)
    }

    /// Gives whether the row was changed: 1 or 0.
    fn change_by_adjusting(
        &mut self,
        key: Values<'_>,
        set: &RowValues,
        adjust: &Adjustments,
        guard: &Guard,
    ) -> Result<u64, RowFailure> {
        let Adjustments { raised, added } = adjust;
        let step = revision_value(self.desk.shape(), 1, self.sequence);
        let form =
            Form::Adjust { guard: guard_form(guard), set: set.set().columns().count(), raised: raised.len() };
        let raised_columns = raised.iter().map(|(column, _)| *column);
        let named = set.set().columns().chain(raised_columns).chain(added.iter().map(|(column, _)| *column));
        let update = self.desk.statement(self.session, form, named)?;
        let expected = guard.revision.map(Value::Integer);
        let held = guard.column.as_deref().map(|(_, value)| value);
        let by = added.iter().map(|(_, by)| ValueRef::Integer(*by));
        let room = added.iter().flat_map(|(_, by)| room_for(*by)).map(ValueRef::Integer);
        let is_only_raised = set.set().is_empty() && added.is_empty();
        let compared = if is_only_raised { raised.as_slice() } else { &[] };
        let values = set
            .set()
            .values()
            .chain(raised.iter().flat_map(|(_, value)| [value.into(), value.into()]))
            .chain(by)
            .chain(step.map(ValueRef::Integer))
            .chain(key.values())
            .chain(expected.iter().chain(held).map(ValueRef::from))
            .chain(compared.iter().map(|(_, value)| value.into()))
            .chain(room);
        self.session.run_for_rows(&update.statement, &update.facts, values, |_| {})?;
        Ok(self.session.connection().changes())
    }

    /// Whether the row is there. An error if it is, and a column cannot be added to.
    fn check_countable(&mut self, key: Values<'_>, adjust: &Adjustments) -> Result<bool, RowFailure> {
        if adjust.added.is_empty() {
            return Ok(self.ask(Form::Revision, key.values())?.is_some());
        }
        let asked = adjust.added.iter().map(|(column, _)| *column);
        let query = self.desk.statement(self.session, Form::Columns, asked)?;
        let mut found: Option<Vec<Value>> = None;
        self.session.run_for_rows(&query.statement, &query.facts, key.values(), |row| {
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
    fn holds(&mut self, key: Values<'_>, guard: &Guard) -> Result<bool, RowFailure> {
        let query = self.desk.statement(self.session, Form::Holds(guard_form(guard)), std::iter::empty())?;
        let expected = guard.revision.map(Value::Integer);
        let held = guard.column.as_deref().map(|(_, value)| value);
        let values = key.values().chain(expected.iter().chain(held).map(ValueRef::from));
        let mut found = false;
        self.session.run_for_rows(&query.statement, &query.facts, values, |_| found = true)?;
        Ok(found)
    }
}

/// The least and the greatest integer to which this much can be added.
fn room_for(by: i64) -> [i64; 2] {
    if by >= 0 { [i64::MIN, i64::MAX - by] } else { [i64::MIN - by, i64::MAX] }
}
