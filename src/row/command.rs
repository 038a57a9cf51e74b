//! What a table's handle asks the writer to do.

use super::shape::TableShape;
use super::value::Value;
use super::values::{RowValues, ValueRef};
use crate::sync::Arc;

/// One change of one row, as data.
#[derive(Clone, PartialEq)]
pub(crate) struct RowCommand {
    pub(crate) table: Arc<TableShape>,
    pub(crate) op: RowOp,
    /// The key: one value for each key column, in the key's order. Empty for an insert or upsert whose key the
    /// database makes; what is known of a part of it is then among the columns to set.
    ///
    /// The columns to set: places in the shape, rising, each once. Neither the revision column nor, unless an update
    /// changes it or the key is empty, a key column is among them.
    pub(crate) values: RowValues,
    /// Columns that an update or upsert changes by what they hold. None of them is in `values`.
    pub(crate) adjust: Option<Box<Adjustments>>,
    pub(crate) guard: Guard,
}

/// New values that depend on those that are stored. Columns in the order in which they were named, each once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Adjustments {
    /// Set to the value, which is not NULL, where the stored one is not greater.
    pub(crate) raised: Vec<(usize, Value)>,
    /// Added to; NULL counts as 0.
    pub(crate) added: Vec<(usize, i64)>,
}

/// What a row command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RowOp {
    /// Fails if the row is there.
    Insert,
    /// Leaves everything as it is if a row with the same key, or another unique value of it, is there.
    InsertOrIgnore,
    /// Updates the row with this key, or inserts it if there is none.
    Upsert,
    /// Does nothing if the row is not there.
    Update,
    /// Does nothing if the row is not there.
    Delete,
}

/// What must hold for an update or a delete to be carried out.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Guard {
    /// The row has this revision.
    pub(crate) revision: Option<i64>,
    /// This column holds this value, compared as SQLite's `IS` does. Boxed: it is rare, and a command is moved often.
    pub(crate) column: Option<Box<(usize, Value)>>,
}

/// Work on many rows as one command, done in pieces that share groups with others.
#[derive(Clone, PartialEq)]
pub(crate) struct BulkCommand {
    pub(crate) table: Arc<TableShape>,
    pub(crate) work: BulkWork,
    /// All in one transaction.
    pub(crate) is_atomic: bool,
}

/// What bulk work does.
#[derive(Clone, PartialEq)]
pub(crate) enum BulkWork {
    /// Carries out one row command after the other: a list of rows to insert, or of keys to delete or update.
    Each(Vec<RowCommand>),
    /// Updates the rows with these keys, all to the same values, of which there is one copy.
    UpdateKeys { keys: Vec<RowValues>, set: RowValues },
    /// Deletes every row whose column holds the value.
    DeleteWhere { column: usize, value: Value },
    /// Updates every row whose column holds the value.
    UpdateWhere { column: usize, value: Value, set: RowValues },
}

impl Adjustments {
    /// Whether the column is one of them.
    pub(crate) fn names(&self, column: usize) -> bool {
        self.raised.iter().any(|(of, _)| *of == column) || self.added.iter().any(|(of, _)| *of == column)
    }
}

impl RowCommand {
    /// Values that it carries beside those of the row: of its guard, and those that columns are raised to.
    fn others(&self) -> impl Iterator<Item = &Value> {
        let guard = self.guard.column.as_deref();
        let raised = self.adjust.iter().flat_map(|adjust| &adjust.raised);
        guard.into_iter().chain(raised).map(|(_, value)| value)
    }

    /// The memory that it holds beside itself, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        // Mostly there is nothing else.
        if self.adjust.is_none() && self.guard.column.is_none() {
            return self.values.heap_bytes();
        }
        let adjust = self.adjust.as_ref().map_or(0, |adjust| {
            let raised = adjust.raised.capacity() * size_of::<(usize, Value)>();
            size_of::<Adjustments>() + raised + adjust.added.capacity() * size_of::<(usize, i64)>()
        });
        let guard = self.guard.column.as_deref().map_or(0, size_of_val);
        self.values.heap_bytes() + adjust + guard + self.others().map(Value::bytes).sum::<usize>()
    }

    /// The size of its texts and BLOBs together, in bytes.
    pub(crate) fn text_bytes(&self) -> usize {
        let values = self.values.all().values().map(ValueRef::bytes);
        values.chain(self.others().map(Value::bytes)).sum()
    }

    /// The size of its largest text or BLOB, in bytes.
    pub(crate) fn largest_value(&self) -> usize {
        self.others().map(Value::bytes).fold(self.values.largest(), usize::max)
    }
}

impl BulkCommand {
    /// Rows, keys or columns to set that are there once, and a value that is there once.
    fn parts(&self) -> (&[RowCommand], impl Iterator<Item = &RowValues>, Option<&Value>) {
        type Parts<'b> = (&'b [RowCommand], &'b [RowValues], Option<&'b RowValues>, Option<&'b Value>);
        let (rows, keys, set, value): Parts<'_> = match &self.work {
            BulkWork::Each(rows) => (rows, &[], None, None),
            BulkWork::UpdateKeys { keys, set } => (&[], keys, Some(set), None),
            BulkWork::DeleteWhere { value, .. } => (&[], &[], None, Some(value)),
            BulkWork::UpdateWhere { value, set, .. } => (&[], &[], Some(set), Some(value)),
        };
        (rows, keys.iter().chain(set), value)
    }

    /// The memory that it holds beside itself, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let (rows, values, value) = self.parts();
        let rows: usize = rows.iter().map(|row| size_of::<RowCommand>() + row.heap_bytes()).sum();
        let values: usize = values.map(|values| size_of::<RowValues>() + values.heap_bytes()).sum();
        rows + values + value.map_or(0, Value::bytes)
    }

    /// The size of its largest text or BLOB, in bytes.
    pub(crate) fn largest_value(&self) -> usize {
        let (rows, values, value) = self.parts();
        let rows = rows.iter().map(RowCommand::largest_value);
        rows.chain(values.map(RowValues::largest)).chain(value.map(Value::bytes)).max().unwrap_or(0)
    }
}
