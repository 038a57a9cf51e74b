//! What a table's handle asks the writer to do.

use super::shape::TableShape;
use super::value::Value;
use crate::sync::Arc;

/// One change of one row, as data.
#[derive(Clone, PartialEq)]
pub(crate) struct RowCommand {
    pub(crate) table: Arc<TableShape>,
    pub(crate) op: RowOp,
    /// One value for each key column, in the key's order. Empty for an insert or upsert whose key the database
    /// makes; what is known of a part of it then stands in `set`.
    pub(crate) key: Vec<Value>,
    /// Columns (places in the shape, rising, each once) and their new values. Neither the revision column nor,
    /// unless an update changes it or `key` is empty, a key column is among them.
    pub(crate) set: Vec<(usize, Value)>,
    /// Columns that an update or upsert changes by what they hold. None of them is in `set` or in the key.
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
    /// This column holds this value, compared as SQLite's `IS` does.
    pub(crate) column: Option<(usize, Value)>,
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
    UpdateKeys { keys: Vec<Vec<Value>>, set: Vec<(usize, Value)> },
    /// Deletes every row whose column holds the value.
    DeleteWhere { column: usize, value: Value },
    /// Updates every row whose column holds the value.
    UpdateWhere { column: usize, value: Value, set: Vec<(usize, Value)> },
}

impl RowCommand {
    /// The values that it carries.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        let guard = self.guard.column.as_ref().map(|(_, value)| value);
        let raised = self.adjust.iter().flat_map(|adjust| &adjust.raised);
        self.key.iter().chain(self.set.iter().chain(raised).map(|(_, value)| value)).chain(guard)
    }

    /// The memory that it holds beside itself, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let places =
            self.key.capacity() * size_of::<Value>() + self.set.capacity() * size_of::<(usize, Value)>();
        let adjust = self.adjust.as_ref().map_or(0, |adjust| {
            size_of::<Adjustments>()
                + adjust.raised.capacity() * size_of::<(usize, Value)>()
                + adjust.added.capacity() * size_of::<(usize, i64)>()
        });
        places + adjust + self.values().map(Value::bytes).sum::<usize>()
    }

    /// The size of its largest text or BLOB, in bytes.
    pub(crate) fn largest_value(&self) -> usize {
        self.values().map(Value::bytes).max().unwrap_or(0)
    }
}

impl BulkCommand {
    /// Rows, keys, and the values that are there once.
    fn values(&self) -> (&[RowCommand], &[Vec<Value>], impl Iterator<Item = &Value>) {
        type Parts<'b> = (&'b [RowCommand], &'b [Vec<Value>], Option<&'b Value>, &'b [(usize, Value)]);
        let (rows, keys, value, set): Parts<'_> = match &self.work {
            BulkWork::Each(rows) => (rows, &[], None, &[]),
            BulkWork::UpdateKeys { keys, set } => (&[], keys, None, set),
            BulkWork::DeleteWhere { value, .. } => (&[], &[], Some(value), &[]),
            BulkWork::UpdateWhere { value, set, .. } => (&[], &[], Some(value), set),
        };
        (rows, keys, value.into_iter().chain(set.iter().map(|(_, value)| value)))
    }

    /// The memory that it holds beside itself, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let (rows, keys, values) = self.values();
        let rows: usize = rows.iter().map(|row| size_of::<RowCommand>() + row.heap_bytes()).sum();
        let key = |key: &Vec<Value>| {
            let values = key.iter().map(Value::bytes).sum::<usize>();
            size_of_val(key) + key.capacity() * size_of::<Value>() + values
        };
        let keys: usize = keys.iter().map(key).sum();
        rows + keys + values.map(|value| size_of::<(usize, Value)>() + value.bytes()).sum::<usize>()
    }

    /// The size of its largest text or BLOB, in bytes.
    pub(crate) fn largest_value(&self) -> usize {
        let (rows, keys, values) = self.values();
        let rows = rows.iter().map(RowCommand::largest_value);
        rows.chain(keys.iter().flatten().chain(values).map(Value::bytes)).max().unwrap_or(0)
    }
}
