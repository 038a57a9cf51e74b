//! What row commands did to the rows that they name: known from the commands and their effects.

use crate::changes::{ChangeKey, Operation};
use crate::row::{Affinity, RowCommand, RowOp, TableShape, Value, ValueRef, Values};
use crate::sqlite::session::MOST_ROWS;
use crate::sqlite::writer::rows::RowEffect;

/// What a row command, or many, did to rows of its table.
#[derive(Default)]
pub(in crate::sqlite::writer) struct OwnChanges {
    pub(super) changes: Vec<OwnChange>,
    /// Rows that were changed, as SQLite counts them.
    pub(super) rows: u64,
    /// There are more than those.
    pub(super) is_incomplete: bool,
}

pub(super) struct OwnChange {
    pub(super) operation: Operation,
    pub(super) key: ChangeKey,
    pub(super) revision: Option<i64>,
}

impl OwnChanges {
    /// Of one command.
    pub(in crate::sqlite::writer) fn of(command: &RowCommand, effect: &RowEffect) -> Self {
        let mut own = Self::default();
        own.command(command, effect);
        own
    }

    /// One command did this.
    pub(in crate::sqlite::writer) fn command(&mut self, command: &RowCommand, effect: &RowEffect) {
        let RowCommand { table, op, values, .. } = command;
        let (key, set) = (values.key(), values.set());
        if effect.created {
            self.rows += effect.rows_changed;
            self.push(Operation::Insert, key_of_new_row(table, key, set, effect), effect);
        } else if *op == RowOp::Delete {
            self.rows += effect.rows_changed;
            self.push(Operation::Delete, stored(table, key.iter()), effect);
        } else {
            self.update(table, key, set, effect);
        }
    }

    /// The row with this key was updated. With another key it is another row.
    pub(in crate::sqlite::writer) fn update(
        &mut self,
        table: &TableShape,
        key: Values<'_>,
        set: Values<'_>,
        effect: &RowEffect,
    ) {
        let after = |(column, before)| (column, set.value_of(column).unwrap_or(before));
        let (old, new) = (stored(table, key.iter()), stored(table, key.iter().map(after)));
        self.rows += effect.rows_changed;
        if old == new {
            self.push(Operation::Update, new, effect);
        } else {
            self.push(Operation::Delete, old, effect);
            self.push(Operation::Insert, new, effect);
        }
    }

    /// Rows that a statement over many told of itself.
    pub(in crate::sqlite::writer) fn row_of_many(
        &mut self,
        operation: Operation,
        key: Vec<Value>,
        revision: Option<i64>,
    ) {
        if self.changes.len() < MOST_ROWS {
            let key = ChangeKey::Key(key);
            self.changes.push(OwnChange { operation, key, revision });
        } else {
            self.is_incomplete = true;
        }
    }

    /// A statement over many rows has changed so many.
    pub(in crate::sqlite::writer) fn count(&mut self, rows: u64) {
        self.rows += rows;
    }

    fn push(&mut self, operation: Operation, key: Vec<Value>, effect: &RowEffect) {
        if effect.rows_changed == 0 {
            return;
        }
        let revision = if operation == Operation::Delete { None } else { effect.revision };
        self.changes.push(OwnChange { operation, key: ChangeKey::Key(key), revision });
    }
}

/// The key of a row that was inserted. The database may have made it, or a part of it.
fn key_of_new_row(table: &TableShape, key: Values<'_>, set: Values<'_>, effect: &RowEffect) -> Vec<Value> {
    if table.key_is_rowid
        && let Some(rowid) = effect.rowid
    {
        return vec![Value::Integer(rowid)];
    }
    if !key.is_empty() {
        return stored(table, key.iter());
    }
    let filled = |column: usize| {
        let name = table.columns.get(column).map(|column| column.name.as_str());
        let found = effect.filled.iter().find(|(of, _)| Some(&**of) == name);
        found.map_or(ValueRef::Null, |(_, value)| ValueRef::from(value))
    };
    let part = |column: &usize| (*column, set.value_of(*column).unwrap_or_else(|| filled(*column)));
    stored(table, table.key.iter().map(part))
}

/// The values of a key as its columns store them, where that is plain.
fn stored<'v>(table: &TableShape, key: impl Iterator<Item = (usize, ValueRef<'v>)>) -> Vec<Value> {
    let affinity = |column: usize| table.columns.get(column).map(|column| column.affinity);
    key.map(|(column, value)| converted(value.to_value(), affinity(column))).collect()
}

fn converted(value: Value, affinity: Option<Affinity>) -> Value {
    /// Reals up to here are integers without a gap.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = |real: f64| (real.fract() == 0.0 && real.abs() <= EXACT).then_some(real as i64);
    let number = |text: &str| text.parse().ok().or_else(|| text.parse().ok().and_then(whole));
    let integer = match (affinity, &value) {
        (Some(Affinity::Integer | Affinity::Numeric), Value::Text(text)) => number(text.trim_ascii()),
        (Some(Affinity::Integer | Affinity::Numeric), Value::Real(real)) => whole(*real),
        (Some(Affinity::Text), Value::Integer(integer)) => return Value::Text(integer.to_string()),
        _ => None,
    };
    integer.map_or(value, Value::Integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_as_they_are_stored() {
        let integer = |value: Value| converted(value, Some(Affinity::Integer));
        assert_eq!(integer(Value::from(" 12 ")), Value::Integer(12));
        assert_eq!(integer(Value::from("1e1")), Value::Integer(10));
        assert_eq!(integer(Value::Real(3.0)), Value::Integer(3));
        assert_eq!(integer(Value::Real(3.5)), Value::Real(3.5));
        assert_eq!(integer(Value::from("x")), Value::from("x"));
        assert_eq!(converted(Value::Integer(7), Some(Affinity::Text)), Value::from("7"));
        assert_eq!(converted(Value::Integer(7), Some(Affinity::Blob)), Value::Integer(7));
    }
}
