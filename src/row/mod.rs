//! Row commands and row queries as plain data: what travels between a table's handle and the engine's threads.
//!
//! Nothing here knows how a row is stored. The handle makes these from typed rows, coalescing plans with
//! them, and SQLite's folders carry them out.

mod command;
mod draft;
mod key;
mod mask;
mod query;
mod quote;
mod receipt;
mod shape;
mod value;
mod values;

pub(crate) use command::{Adjustments, BulkCommand, BulkWork, Guard, RowCommand, RowOp};
pub(crate) use draft::RowDraft;
pub(crate) use mask::ColumnMask;
pub(crate) use query::{
    Condition, Live, Order, OrderTerm, PageQuery, PageStart, RowPart, RowQuery, RowQueryKind, SearchTerm,
    column_sql, total_order,
};
pub(crate) use quote::quoted;
pub(crate) use shape::{Affinity, ColumnShape, Revision, ShapeRequest, TableShape};
pub(crate) use values::{ColumnMark, RowValues, ValueRef, Values};

pub use key::IntoKey;
pub(crate) use receipt::Filled;
pub use receipt::{BulkReceipt, RowReceipt};
pub use shape::RevisionKind;
pub use value::{IntoValue, Unstorable, Value};
