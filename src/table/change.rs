//! Changes of one row that are put together step by step: updates and deletes.

use std::future::IntoFuture;
use std::time::Duration;

use serde::Serialize;

use super::sending::{put, sort_row};
use super::table::Table;
use crate::error::WriteError;
use crate::handle::{Pending, Store, Submit, Write, WriteFuture};
use crate::protocol::level::AckLevel;
use crate::row::{IntoValue, RowCommand, RowOp, RowReceipt, Value};
use crate::sqlite::writer::WriteTask;

/// A change of columns of one row, made by [`Table::update`]. Await it, wait for it or submit it.
///
/// The command is put together here, columns and guards first; [`send`](Self::send) or any of [`ack`](Self::ack),
/// [`deadline`](Self::deadline), [`submit`](Self::submit) ends that and gives a [`Write`]. What is wrong with a column or value is
/// reported when it is sent, and nothing is queued then.
#[must_use = "an update does nothing until it is awaited, waited for or submitted"]
pub struct Update<T> {
    table: Table<T>,
    command: Result<RowCommand, WriteError>,
}

/// A delete of one row, made by [`Table::delete`]. Await it, wait for it or submit it.
#[must_use = "a delete does nothing until it is awaited, waited for or submitted"]
pub struct Delete<T> {
    table: Table<T>,
    command: Result<RowCommand, WriteError>,
}

impl<T> Update<T> {
    pub(super) fn new(table: &Table<T>, key: Result<Vec<Value>, WriteError>) -> Self {
        let command = key.map(|key| table.command(RowOp::Update, key, Vec::new()));
        Self { table: table.clone(), command }
    }

    /// Sets a column. The last value that is given for a column counts.
    pub fn set(mut self, column: &str, value: impl IntoValue) -> Self {
        self.command = self.command.and_then(|mut command| {
            let column = self.table.writable_place(column)?;
            put(&mut command.set, column, self.table.value(column, value)?);
            Ok(command)
        });
        self
    }

    /// Sets all columns that the row gives, but its key and its revision.
    pub fn set_row(mut self, row: &T) -> Self
    where
        T: Serialize,
    {
        self.command = self.command.and_then(|mut command| {
            for (column, value) in sort_row(&self.table.shape, row)?.set {
                put(&mut command.set, column, value);
            }
            Ok(command)
        });
        self
    }

    fn finished(self) -> (Table<T>, Result<RowCommand, WriteError>) {
        let command = self.command.and_then(|command| {
            if command.set.is_empty() {
                return Err(self.table.invalid("an update sets at least one column"));
            }
            Ok(command)
        });
        (self.table, command)
    }
}

impl<T> Delete<T> {
    pub(super) fn new(table: &Table<T>, key: Result<Vec<Value>, WriteError>) -> Self {
        let command = key.map(|key| table.command(RowOp::Delete, key, Vec::new()));
        Self { table: table.clone(), command }
    }

    fn finished(self) -> (Table<T>, Result<RowCommand, WriteError>) {
        (self.table, self.command)
    }
}

macro_rules! guarded {
    ($change:ident) => {
        impl<T> $change<T> {
            /// Carries it out only if the row has this revision: that of a receipt, or of a row that was read. A
            /// counting revision is 1 as an insert leaves it, so a change can be guarded before the receipt of the
            /// insert is there.
            /// Otherwise, also if the row is not there, it fails with [`WriteError::Conflict`].
            pub fn if_revision(mut self, revision: impl Into<Option<i64>>) -> Self {
                self.command = self.command.and_then(|mut command| {
                    let Some(revision) = revision.into() else {
                        return Err(self
                            .table
                            .invalid("a guard needs a revision, and the receipt carries none"));
                    };
                    if self.table.shape.revision.is_none() {
                        return Err(self.table.invalid("the table was opened without a revision column"));
                    }
                    command.guard.revision = Some(revision);
                    Ok(command)
                });
                self
            }

            /// Carries it out only if the column holds this value, compared as SQLite's `IS` does: NULL is equal
            /// to NULL, and the column's type and collation count. Otherwise, also if the row is not there, it
            /// fails with [`WriteError::Conflict`]. One column; a second call takes the place of the first.
            pub fn only_if(mut self, column: &str, value: impl IntoValue) -> Self {
                self.command = self.command.and_then(|mut command| {
                    let column = self.table.place(column)?;
                    command.guard.column = Some((column, self.table.value(column, value)?));
                    Ok(command)
                });
                self
            }

            /// The write that carries it out.
            pub fn send(self) -> Write<RowReceipt> {
                let (table, command) = self.finished();
                table.send(command)
            }
        }

        sends!($change, RowReceipt);

        impl<T> sealed::Sealed for $change<T> {}

        impl<T> RowRequest for $change<T> {
            fn into_request(self) -> Requested {
                let (table, command) = self.finished();
                Requested { store: table.store, command }
            }
        }
    };
}

/// What every write offers, for a type that becomes one by `send`.
macro_rules! sends {
    ($change:ident, $receipt:ty) => {
        impl<T> $change<T> {
            /// When to be answered, see [`Write::ack`].
            pub fn ack(self, level: AckLevel) -> Write<$receipt> {
                self.send().ack(level)
            }

            /// How long it may wait to be started, see [`Write::deadline`].
            pub fn deadline(self, deadline: Duration) -> Write<$receipt> {
                self.send().deadline(deadline)
            }

            /// Sends it without waiting for its answer, see [`Write::submit`].
            pub fn submit(self) -> Submit<$receipt> {
                self.send().submit()
            }

            /// Sends it if there is room now, see [`Write::try_submit`].
            pub fn try_submit(self) -> Result<Pending<$receipt>, WriteError> {
                self.send().try_submit()
            }

            /// Sends it and blocks the thread until it is answered, see [`Write::wait`].
            pub fn wait(self) -> Result<$receipt, WriteError> {
                self.send().wait()
            }
        }

        impl<T> IntoFuture for $change<T> {
            type Output = Result<$receipt, WriteError>;
            type IntoFuture = WriteFuture<$receipt>;

            fn into_future(self) -> WriteFuture<$receipt> {
                self.send().into_future()
            }
        }
    };
}
pub(super) use sends;

guarded!(Update);
guarded!(Delete);

mod sealed {
    pub trait Sealed {}
}

/// A row command that can be part of a [`Batch`](crate::Batch): what [`Table::insert`], [`Table::update`] and the
/// like return. Not for others to implement.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a batch",
    note = "a batch takes what `insert`, `insert_or_ignore`, `upsert`, `update` and `delete` of a table return, and statements"
)]
pub trait RowRequest: sealed::Sealed {
    #[doc(hidden)]
    fn into_request(self) -> Requested;
}

/// What a [`RowRequest`] asks for.
#[doc(hidden)]
pub struct Requested {
    pub(crate) store: Store,
    pub(crate) command: Result<RowCommand, WriteError>,
}

impl sealed::Sealed for Write<RowReceipt> {}

impl RowRequest for Write<RowReceipt> {
    fn into_request(self) -> Requested {
        let (store, task) = self.into_task();
        let command = task.map(|task| match task {
            WriteTask::Row(command) => command,
            _ => unreachable!("what gives a row's receipt is a row command"),
        });
        Requested { store, command }
    }
}
