//! Work on many rows as one command.

use std::future::IntoFuture;
use std::time::Duration;

use super::change::sends;
use super::table::Table;
use crate::error::WriteError;
use crate::handle::{Pending, Submit, Write, WriteFuture};
use crate::protocol::level::AckLevel;
use crate::row::{BulkCommand, BulkReceipt, BulkWork, IntoValue, RowValues, Value};
use crate::sqlite::writer::{BulkCall, WriteTask};

/// Work on many rows as one command: a list of rows to insert, rows to delete or to update.
///
/// It is carried out in pieces of 0.1 to 2 ms (longer on slower disks), each in a group with the commands that others
/// sent meanwhile, so that it keeps nobody waiting. Its answer comes once, when the last piece is as safe as its
/// [`ack`](Self::ack) level asks (a delete: durable).
///
/// # What holds together
///
/// - Each piece is applied all or none, each row in it like a command of its own. A piece that fails is undone.
/// - The whole is not: readers may see some of its pieces before the others. If it stops half-way (a constraint,
///   a full disk, a close that ran out of time), what was committed stays, and the error is
///   [`WriteError::Partial`] with the number of those rows. [`atomic`](Self::atomic) asks for all or none; then
///   everybody waits for it.
/// - Its first piece keeps its place in the order of commands: everything that was admitted before is applied
///   before any of it. Work that needs one piece is a command like any other. Commands that are admitted later
///   may be applied between its pieces.
/// - Work on all rows whose column holds a value covers the rows that are there when it begins. Rows that others
///   change, insert or delete while it runs are taken as they are when its pieces reach them: one that is inserted
///   meanwhile behind the last of them (by rowid, or by key in a table without rowids) is left alone. Where the
///   rows have no lasting places, it is one piece: an update of the primary key in a table without rowids, and any
///   such work in a table whose columns took all names of the rowid and whose key may be NULL.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use serde::{Deserialize, Serialize};
/// # let store = walwright::Store::temporary().open().wait()?;
/// # store.execute("CREATE TABLE message (id INTEGER PRIMARY KEY, room TEXT NOT NULL)", ()).wait()?;
/// #[derive(Serialize, Deserialize)]
/// struct Message {
///     id: i64,
///     room: String,
/// }
///
/// let messages = store.table::<Message>("message").open().wait()?;
/// let backfill: Vec<Message> = (1..=500).map(|id| Message { id, room: "a".into() }).collect();
/// assert_eq!(messages.insert_many(&backfill).wait()?.rows_changed, 500);
/// assert_eq!(messages.delete_many([1, 2, 3, 1000]).wait()?.rows_changed, 3);
/// assert_eq!(messages.delete_where("room", "a").wait()?.rows_changed, 497);
/// # Ok(())
/// # }
/// ```
///
/// # Limits
///
/// Rows and keys travel as one command, which must fit into the queue
/// ([`StoreBuilder::write_queue`](crate::StoreBuilder::write_queue)); send longer lists in several.
#[must_use = "bulk work does nothing until it is awaited, waited for or submitted"]
pub struct BulkWrite<T> {
    table: Table<T>,
    work: Result<BulkWork, WriteError>,
    is_atomic: bool,
}

/// Changes of columns of many rows, made by [`Table::update_many`] and [`Table::update_where`]. See [`BulkWrite`] for
/// what holds.
#[must_use = "bulk work does nothing until it is awaited, waited for or submitted"]
pub struct BulkUpdate<T> {
    table: Table<T>,
    rows: Result<UpdatedRows, WriteError>,
    set: RowValues,
    is_atomic: bool,
}

enum UpdatedRows {
    Keys(Vec<RowValues>),
    Where { column: usize, value: Value },
}

impl<T> BulkWrite<T> {
    pub(super) fn new(table: &Table<T>, work: Result<BulkWork, WriteError>) -> Self {
        Self { table: table.clone(), work, is_atomic: false }
    }

    /// All or none, in one transaction, for which all other writes wait. The run limit of writes holds for it.
    pub fn atomic(mut self) -> Self {
        self.is_atomic = true;
        self
    }

    /// The write that carries it out.
    pub fn send(self) -> Write<BulkReceipt> {
        let Self { table, work, is_atomic } = self;
        let call = work.map(|work| {
            let command = BulkCommand { table: table.shape.clone(), work, is_atomic };
            WriteTask::Bulk(Box::new(BulkCall::new(command)))
        });
        table.store.write_task(call, |output| {
            let receipt = output.receipt;
            Ok(BulkReceipt { sequence: receipt.sequence, rows_changed: receipt.rows_changed })
        })
    }
}

impl<T> BulkUpdate<T> {
    pub(super) fn of_keys(table: &Table<T>, keys: Result<Vec<RowValues>, WriteError>) -> Self {
        Self::new(table, keys.map(UpdatedRows::Keys))
    }

    pub(super) fn of_rows(table: &Table<T>, rows: Result<(usize, Value), WriteError>) -> Self {
        Self::new(table, rows.map(|(column, value)| UpdatedRows::Where { column, value }))
    }

    fn new(table: &Table<T>, rows: Result<UpdatedRows, WriteError>) -> Self {
        Self { table: table.clone(), rows, set: RowValues::default(), is_atomic: false }
    }

    /// Sets a column, to the same value in each row. The last value that is given for a column counts. A key column
    /// cannot be set.
    pub fn set(mut self, column: &str, value: impl IntoValue) -> Self {
        self.rows = self.rows.and_then(|rows| {
            let column = self.table.writable_place(column)?;
            if self.table.shape.key.contains(&column) {
                return Err(self.table.invalid("the key of many rows cannot be set to one value"));
            }
            self.set.put(column, (&self.table.value(column, value)?).into());
            Ok(rows)
        });
        self
    }

    /// All or none, see [`BulkWrite::atomic`].
    pub fn atomic(mut self) -> Self {
        self.is_atomic = true;
        self
    }

    /// The write that carries it out.
    pub fn send(self) -> Write<BulkReceipt> {
        let Self { table, rows, set, is_atomic } = self;
        let work = rows.and_then(|rows| {
            if set.set().is_empty() {
                return Err(table.invalid("an update sets at least one column"));
            }
            Ok(match rows {
                UpdatedRows::Where { column, value } => BulkWork::UpdateWhere { column, value, set },
                UpdatedRows::Keys(keys) => BulkWork::UpdateKeys { keys, set },
            })
        });
        BulkWrite { table, work, is_atomic }.send()
    }
}

sends!(BulkWrite, BulkReceipt);
sends!(BulkUpdate, BulkReceipt);
