//! What a table's handle asks a reader.

use super::shape::TableShape;
use super::value::Value;
use crate::sync::Arc;

/// A question about the rows of one table.
#[derive(Clone, PartialEq)]
pub(crate) struct RowQuery {
    pub(crate) table: Arc<TableShape>,
    /// The columns to return, places in the shape.
    pub(crate) columns: Arc<[usize]>,
    pub(crate) kind: RowQueryKind,
}

#[derive(Clone, PartialEq)]
pub(crate) enum RowQueryKind {
    /// The rows with these keys, in the order of the keys; a key that is not there gives no row.
    Keys(Vec<Vec<Value>>),
    /// How many rows meet the condition.
    Count(Condition),
    /// Rows that meet the condition, in order.
    Page { condition: Condition, order: Vec<Order>, start: PageStart, backward: bool, limit: usize },
}

/// A condition in SQL with its parameters (`?`, by position). Empty: every row.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Condition {
    pub(crate) sql: String,
    pub(crate) params: Vec<Value>,
}

/// One column of an order. The key follows by itself, so that the order is total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) column: usize,
    pub(crate) descending: bool,
}

/// Where a page starts.
#[derive(Clone, PartialEq)]
pub(crate) enum PageStart {
    /// At the first row in the page's direction.
    Edge,
    /// Behind the row with these values: those of the order columns, then of the key.
    Behind(Vec<Value>),
}
