//! What a successful row command returns.

use super::value::Value;
use crate::sync::Arc;

/// What a successful row command returns.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RowReceipt {
    /// The command's place in the order of all writes to this file, as in [`Receipt`](crate::Receipt).
    pub sequence: u64,
    /// 1 if the row was inserted, changed or deleted; 0 if there was nothing to do: the row to update or delete
    /// was not there, or the row to insert or ignore was.
    pub rows_changed: u64,
    /// The row's revision after the command; `None` if the table has no revision column, or nothing was changed,
    /// or the row was deleted.
    pub revision: Option<i64>,
    /// The command made the row: an insert always, an insert-or-ignore or upsert if it was not there.
    pub created: bool,
    /// The rowid of a row that was made, which is its INTEGER PRIMARY KEY if it has one; `None` for tables
    /// without rowids.
    pub rowid: Option<i64>,
    pub(crate) filled: Filled,
}

/// Columns that the database filled in. Mostly there are none, and an answer is moved often: then it takes one word.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Filled(Option<Box<FilledColumns>>);

#[derive(Clone, Debug, Default, PartialEq)]
struct FilledColumns {
    columns: Vec<(Arc<str>, Value)>,
}

impl Filled {
    pub(crate) fn push(&mut self, name: Arc<str>, value: Value) {
        self.0.get_or_insert_default().columns.push((name, value));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Arc<str>, Value)> {
        self.0.iter().flat_map(|filled| &filled.columns)
    }
}

impl RowReceipt {
    /// A value that the database filled in when it made the row, because the command left the column out: an id,
    /// or the column's DEFAULT. As the insert itself stored it, before any trigger that runs after it.
    pub fn filled(&self, column: &str) -> Option<&Value> {
        self.filled.iter().find(|(name, _)| name.eq_ignore_ascii_case(column)).map(|(_, value)| value)
    }
}

/// What successful work on many rows returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkReceipt {
    /// The last piece's place in the order of all writes to this file, as in [`Receipt`](crate::Receipt).
    pub sequence: u64,
    /// Rows inserted, changed or deleted by all pieces.
    pub rows_changed: u64,
}
