//! What a subscriber is told of what was committed. Plain data.

use crate::protocol::feed::{Feed, Record, Subscription};
use crate::row::Value;
use crate::sync::Arc;

/// The feed of a store. A record is shared by all mailboxes.
pub(crate) type ChangeFeed = Feed<Arc<Change>, Arc<crate::error::StoreFailure>>;

/// A subscription to it.
pub(crate) type ChangeSubscription = Subscription<Arc<Change>, Arc<crate::error::StoreFailure>>;

/// One thing that was committed, taken from a [`ChangeStream`](crate::ChangeStream).
///
/// Whoever keeps a copy of rows has to read rows anew where it is not told which: after [`Change::Table`] those of
/// that table, after [`Change::Anything`] and [`Change::Lagged`] those of all. A read that starts after the change
/// was taken sees it and everything before it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// One row was inserted, updated or deleted.
    Row(RowChange),
    /// A command changed a table, and which of its rows is not known, or not all of them.
    Table {
        /// The command's place in the order of all writes, as in [`Receipt`](crate::Receipt).
        sequence: u64,
        /// The table's name, as the schema has it.
        table: Arc<str>,
    },
    /// Anything may have changed: another program has written to the file.
    Anything {
        /// That of the last command before it.
        sequence: u64,
    },
    /// The subscriber did not keep up, and changes are missing here. What follows comes behind them, without another
    /// gap.
    Lagged {
        /// The sequence of the first change that was missed. Others with this sequence may have been told.
        missed_from: u64,
    },
}

/// What became of one row.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RowChange {
    /// The command's place in the order of all writes, as in [`Receipt`](crate::Receipt). Changes of one command have
    /// the same. For work on many rows it is that of the piece in which it was done.
    pub sequence: u64,
    /// The table's name, as the schema has it.
    pub table: Arc<str>,
    /// What was done to it.
    pub operation: Operation,
    /// Which row it is.
    pub key: ChangeKey,
    /// The row's revision after the change. `None` if the table has no revision column, or the row was deleted, or
    /// it was changed by SQL and not by a row command.
    pub revision: Option<i64>,
}

/// What was done to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// It was made.
    Insert,
    /// It was changed, or written again as it was.
    Update,
    /// It is gone.
    Delete,
}

/// What names a row that was changed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ChangeKey {
    /// The values of the key's columns: of the primary key, or of those that
    /// [`TableBuilder::key`](crate::TableBuilder::key) names for the handle that sent the command. Numbers and
    /// numeric texts come as the column stores them; otherwise a value is spelled as the command spelled it, which
    /// may be another spelling than the row's where the column's collation holds both equal.
    Key(Vec<Value>),
    /// The rowid of a row that SQL changed, in a table whose primary key is another.
    Rowid(i64),
}

impl Change {
    /// Its place in the order; of [`Change::Lagged`] the sequence of the first change that was missed.
    pub fn sequence(&self) -> u64 {
        match self {
            Self::Row(row) => row.sequence,
            Self::Table { sequence, .. }
            | Self::Anything { sequence }
            | Self::Lagged { missed_from: sequence } => *sequence,
        }
    }

    /// The table that it is about; `None` if it may be any.
    pub fn table(&self) -> Option<&str> {
        match self {
            Self::Row(row) => Some(&row.table),
            Self::Table { table, .. } => Some(table),
            Self::Anything { .. } | Self::Lagged { .. } => None,
        }
    }
}

impl ChangeKey {
    /// The values of the key; `None` if only the rowid is known.
    pub fn values(&self) -> Option<&[Value]> {
        match self {
            Self::Key(values) => Some(values),
            Self::Rowid(_) => None,
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Key(values) => values.iter().map(|value| size_of::<Value>() + value.bytes()).sum(),
            Self::Rowid(_) => 0,
        }
    }
}

impl Record for Arc<Change> {
    /// A table's name, in any case.
    type Topic = Arc<str>;

    fn sequence(&self) -> u64 {
        Change::sequence(self)
    }

    fn bytes(&self) -> usize {
        let heap = match &**self {
            Change::Row(row) => row.key.heap_bytes(),
            _ => 0,
        };
        size_of::<Change>() + heap
    }

    fn concerns(&self, table: &Arc<str>) -> bool {
        self.table().is_none_or(|of| of.eq_ignore_ascii_case(table))
    }
}
