//! Changes of one row that are put together step by step: updates and deletes.

use std::future::IntoFuture;
use std::time::Duration;

use serde::Serialize;

use super::table::Table;
use crate::error::WriteError;
use crate::handle::{Pending, Store, Submit, Write, WriteFuture};
use crate::protocol::level::AckLevel;
use crate::row::{Adjustments, Affinity, Guard, IntoValue, RowCommand, RowOp, RowReceipt, RowValues};
use crate::sqlite::writer::WriteTask;

/// A change of columns of one row, made by [`Table::update`]. Await it, wait for it or submit it.
///
/// The command is put together here, columns and guards first; [`send`](Self::send) or any of [`ack`](Self::ack),
/// [`deadline`](Self::deadline), [`submit`](Self::submit) ends that and gives a [`Write`]. What is wrong with a column
/// or value is reported when it is sent, and nothing is queued then.
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
    pub(super) fn new(table: &Table<T>, key: Result<RowValues, WriteError>) -> Self {
        let command = key.map(|key| table.command(RowOp::Update, key));
        Self { table: table.clone(), command }
    }

    /// Sets a column. The last value that is given for a column counts.
    pub fn set(mut self, column: &str, value: impl IntoValue) -> Self {
        self.command = self.command.and_then(|mut command| {
            let column = self.table.writable_place(column)?;
            command.values.put(column, (&self.table.value(column, value)?).into());
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
            for (column, value) in self.table.sorter.sort(&self.table.shape, row)?.set().iter() {
                command.values.put(column, value);
            }
            Ok(command)
        });
        self
    }

    /// Raises a column to the value, if that is greater than what the column holds: a marker that only grows. NULL
    /// counts as smaller than everything else. Values compare as the column does.
    ///
    /// An update that only raises, where nothing is smaller, leaves the row as it is: the receipt counts no row, and
    /// the revision stays. With [`set`](Self::set) or [`add`](Self::add) in the same update the row is changed in any
    /// case, and the greater value stays.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = walwright::Store::temporary().open().wait()?;
    /// # let sql = "CREATE TABLE marker (user TEXT, buffer INTEGER, read_to INTEGER, PRIMARY KEY (user, buffer))";
    /// # store.execute(sql, ()).wait()?;
    /// let markers = store.table::<walwright::Row>("marker").open().wait()?;
    /// let read_to = |id: i64| markers.update(("ann", 7)).set_greatest("read_to", id).or_insert();
    /// assert!(read_to(812).wait()?.created);
    /// assert_eq!(read_to(640).wait()?.rows_changed, 0); // a slower device
    /// assert_eq!(read_to(813).wait()?.rows_changed, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// NULL as the value is refused with [`WriteError::InvalidCommand`], and so are a column of the key and a column
    /// that the update changes in another way too.
    pub fn set_greatest(mut self, column: &str, value: impl IntoValue) -> Self {
        self.command = self.command.and_then(|mut command| {
            let column = adjustable(&self.table, column)?;
            let value = self.table.value(column, value)?;
            if value.is_null() {
                return Err(self
                    .table
                    .invalid("NULL is greater than nothing, so no column can be raised to it"));
            }
            command.adjust.get_or_insert_default().raised.push((column, value));
            Ok(command)
        });
        self
    }

    /// Adds to a column: a counter. NULL counts as 0.
    ///
    /// It is one statement, so that nobody's count is lost, and nobody has to read before. A column that holds
    /// something else than an integer, or whose sum would not be one of 64 bits, is
    /// [`WriteError::NotCountable`], and the row stays as it was.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = walwright::Store::temporary().open().wait()?;
    /// # store.execute("CREATE TABLE page (path TEXT PRIMARY KEY, hits INTEGER)", ()).wait()?;
    /// let pages = store.table::<walwright::Row>("page").open().wait()?;
    /// for _ in 0..3 {
    ///     pages.update("/").add("hits", 1).or_insert().wait()?;
    /// }
    /// assert_eq!(pages.get("/").wait()?.and_then(|page| page.value("hits")?.as_i64()), Some(3));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A column of the key, one that is declared to hold text or real numbers, and a column that the update changes
    /// in another way too are refused with [`WriteError::InvalidCommand`] or [`WriteError::InvalidValue`].
    pub fn add(mut self, column: &str, by: i64) -> Self {
        self.command = self.command.and_then(|mut command| {
            let column = adjustable(&self.table, column)?;
            self.table.value(column, by)?;
            if self.table.shape.columns[column].affinity == Affinity::Real {
                return Err(self.table.invalid("a counter needs a column of integers, not of real numbers"));
            }
            command.adjust.get_or_insert_default().added.push((column, by));
            Ok(command)
        });
        self
    }

    /// Makes the row if it is not there, of its key and what the update gives: columns that are set or raised hold
    /// the value then, those that are added to hold what is added. Others are filled in by the database, as with
    /// [`Table::insert`]. The receipt's `created` tells.
    ///
    /// It cannot be combined with a guard, or with a new value for the key: that is [`WriteError::InvalidCommand`].
    pub fn or_insert(mut self) -> Self {
        self.command = self.command.map(|command| RowCommand { op: RowOp::Upsert, ..command });
        self
    }

    fn finished(self) -> (Table<T>, Result<RowCommand, WriteError>) {
        let Self { table, command } = self;
        let command = command.and_then(|command| check(&table, command));
        (table, command)
    }
}

/// The place of a column that is to be changed by what it holds.
fn adjustable<T>(table: &Table<T>, column: &str) -> Result<usize, WriteError> {
    let column = table.writable_place(column)?;
    if table.shape.key.contains(&column) || table.shape.rowid_column == Some(column) {
        return Err(table.invalid("a column of the key cannot be raised or added to"));
    }
    Ok(column)
}

/// What can only be judged when all of an update is there.
fn check<T>(table: &Table<T>, command: RowCommand) -> Result<RowCommand, WriteError> {
    let Some(adjust) = &command.adjust else {
        if command.values.set().is_empty() {
            return Err(table.invalid("an update sets at least one column"));
        }
        return check_upsert(table, command);
    };
    let Adjustments { raised, added } = &**adjust;
    let set = command.values.set().columns();
    let raised = raised.iter().map(|(column, _)| *column);
    let mut all: Vec<usize> = set.chain(raised).chain(added.iter().map(|(column, _)| *column)).collect();
    all.sort_unstable();
    if all.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(table.invalid("an update changes each column in one way: set, raised or added to"));
    }
    check_upsert(table, command)
}

fn check_upsert<T>(table: &Table<T>, command: RowCommand) -> Result<RowCommand, WriteError> {
    if command.op == RowOp::Upsert {
        if command.guard != Guard::default() {
            return Err(table.invalid("an update that may insert the row takes no guard"));
        }
        if command.values.set().columns().any(|column| table.shape.key.contains(&column)) {
            return Err(table.invalid("an update that may insert the row cannot change its key"));
        }
    }
    Ok(command)
}

impl<T> Delete<T> {
    pub(super) fn new(table: &Table<T>, key: Result<RowValues, WriteError>) -> Self {
        let command = key.map(|key| table.command(RowOp::Delete, key));
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
                    command.guard.column = Some(Box::new((column, self.table.value(column, value)?)));
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
