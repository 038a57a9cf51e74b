//! The handle of one table.

use std::any::Any;
use std::borrow::Borrow;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::bulk::{BulkUpdate, BulkWrite};
use super::change::{Delete, Update};
use super::decode::decode;
use super::fields::names_of;
use super::sending::RowError;
use super::sorter::RowSorter;
use crate::contained::Contained;
use crate::error::{ClosureError, WriteError};
use crate::handle::{Store, Write};
use crate::retention::TimeUnit;
use crate::row::{
    BulkWork, Guard, IntoKey, IntoValue, RowCommand, RowOp, RowReceipt, RowValues, TableShape, Value,
    ValueRef,
};
use crate::search::SearchIndexBuilder;
use crate::sqlite::writer::{ModifyCall, RowEffect, WriteOutput, WriteTask, WriteValue};
use crate::sync::Arc;

/// A handle of one table whose rows are `T`s. Made by [`Store::table`]; cheap to clone. Open a table once and keep the
/// handle: each opening reads the schema, and its commands have prepared statements of their own on the writer.
///
/// `T` is a struct that implements serde's `Serialize` and `DeserializeOwned`, its fields named like columns (in
/// any case), or the untyped [`Row`](crate::Row). Fields hold integers, floats, booleans, text, bytes
/// (`Vec<u8>`), enums without data, and `Option`s of them: [`Row`](crate::Row#how-fields-become-columns) has the
/// whole list.
///
/// Changes of single rows are *row commands*: the writer carries them out in the order in which they were
/// admitted, each with an answer of its own, and where nobody can tell it carries out several of them on one key
/// as one statement.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use walwright::{Store, WriteError};
///
/// #[derive(Serialize, Deserialize, Debug, PartialEq)]
/// struct Session {
///     id: String,
///     revoked: bool,
///     version: i64,
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Store::temporary().open().wait()?;
/// let create = "CREATE TABLE session (id TEXT PRIMARY KEY, revoked INTEGER NOT NULL, version INTEGER NOT NULL)";
/// store.execute(create, ()).wait()?;
/// let sessions = store.table::<Session>("session").revision("version").open().wait()?;
///
/// // Sent one behind the other, without waiting: one statement and one sync carry out both.
/// let session = Session { id: "a1".into(), revoked: false, version: 0 };
/// let inserted = sessions.insert(&session).try_submit()?;
/// let updated = sessions.update("a1").set("revoked", true).try_submit()?;
/// assert_eq!(inserted.wait()?.revision, Some(1));
/// assert_eq!(updated.wait()?.revision, Some(2));
///
/// // A guard: the row has changed since.
/// let late = sessions.update("a1").set("revoked", false).if_revision(1).wait();
/// assert!(matches!(late, Err(WriteError::Conflict(conflict)) if conflict.revision == Some(2)));
///
/// let found = sessions.get("a1").wait()?;
/// assert_eq!(found, Some(Session { id: "a1".into(), revoked: true, version: 2 }));
/// # Ok(())
/// # }
/// ```
///
/// # When the schema changes
///
/// The handle has read the schema when it was opened. The writer looks at it again whenever it has changed: as long
/// as the handle's commands still mean the same (columns or indexes were added, say) they are carried out by the
/// new schema, otherwise they fail with [`WriteError::SchemaChanged`] and change nothing. Reads run on the schema as it
/// is, and fail with [`ReadError::SchemaChanged`](crate::ReadError::SchemaChanged) only when the table or a column of
/// theirs has gone.
pub struct Table<T> {
    pub(super) store: Store,
    pub(super) shape: Arc<TableShape>,
    /// The columns of `T`, by their places in the shape.
    pub(super) columns: Arc<[usize]>,
    pub(super) sorter: RowSorter,
    pub(super) rows: PhantomData<fn(T) -> T>,
    /// The column whose time hides rows from reads once it has passed.
    pub(super) hidden: Option<(usize, TimeUnit)>,
}

// By hand: a derived one would ask `T` to be `Clone`.
impl<T> Clone for Table<T> {
    fn clone(&self) -> Self {
        let (store, shape) = (self.store.clone(), self.shape.clone());
        let (columns, sorter) = (self.columns.clone(), self.sorter.clone());
        Self { store, shape, columns, sorter, rows: PhantomData, hidden: self.hidden }
    }
}

impl<T> std::fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("name", &self.shape.name).finish_non_exhaustive()
    }
}

impl<T> Table<T> {
    /// The table's name, as the schema has it.
    pub fn name(&self) -> &str {
        &self.shape.name
    }

    /// Changes columns of the row with this key. See [`Update`].
    ///
    /// A row that is not there is no error: the receipt says that no row was changed. A key with NULL in it, such as
    /// an `Option` that is `None`, names no row.
    pub fn update(&self, key: impl IntoKey) -> Update<T> {
        Update::new(self, self.key(key))
    }

    /// Deletes the row with this key. Acknowledged when the delete is durable, whatever level is asked for. See
    /// [`Delete`].
    ///
    /// A row that is not there is no error: the receipt says that no row was changed, and that, too, is durable.
    pub fn delete(&self, key: impl IntoKey) -> Delete<T> {
        Delete::new(self, self.key(key))
    }

    /// Deletes the rows with these keys, as one command. Any number; see [`BulkWrite`].
    pub fn delete_many<K: IntoKey>(&self, keys: impl IntoIterator<Item = K>) -> BulkWrite<T> {
        let delete = |key: K| Ok(self.command(RowOp::Delete, self.key(key)?));
        let commands: Result<Vec<_>, WriteError> = keys.into_iter().map(delete).collect();
        BulkWrite::new(self, commands.map(BulkWork::Each))
    }

    /// Deletes every row whose column holds the value, compared as SQLite's `IS` does, as one command. An index
    /// on the column is not required, but without one the table is read from end to end. See [`BulkWrite`].
    pub fn delete_where(&self, column: &str, value: impl IntoValue) -> BulkWrite<T> {
        let work = self.place(column).and_then(|column| {
            let value = self.value(column, value)?;
            Ok(BulkWork::DeleteWhere { column, value })
        });
        BulkWrite::new(self, work)
    }

    /// Changes columns of the rows with these keys, as one command. Any number; see [`BulkWrite`].
    pub fn update_many<K: IntoKey>(&self, keys: impl IntoIterator<Item = K>) -> BulkUpdate<T> {
        let keys: Result<Vec<_>, _> = keys.into_iter().map(|key| self.key(key)).collect();
        BulkUpdate::of_keys(self, keys)
    }

    /// Changes columns of every row whose column holds the value, compared as SQLite's `IS` does, as one command.
    /// See [`BulkWrite`].
    pub fn update_where(&self, column: &str, value: impl IntoValue) -> BulkUpdate<T> {
        let rows = self.place(column).and_then(|column| Ok((column, self.value(column, value)?)));
        BulkUpdate::of_rows(self, rows)
    }

    /// Starts opening a search index over columns of this table, which needs an `INTEGER PRIMARY KEY`. It is made if
    /// it is not there. See [`SearchIndex`](crate::SearchIndex).
    ///
    /// `name` is that of the index in the database file, where it stands beside the tables; triggers get names that
    /// begin with it.
    pub fn search_index(&self, name: impl Into<String>) -> SearchIndexBuilder<T>
    where
        T: 'static,
    {
        SearchIndexBuilder::new(self.clone(), name.into())
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn shape(&self) -> &Arc<TableShape> {
        &self.shape
    }

    pub(super) fn command(&self, op: RowOp, values: RowValues) -> RowCommand {
        let table = Arc::clone(&self.shape);
        RowCommand { table, op, values, adjust: None, guard: Guard::default() }
    }

    pub(super) fn send(&self, command: Result<RowCommand, WriteError>) -> Write<RowReceipt> {
        self.store.write_task(command.map(WriteTask::Row), row_receipt)
    }
}

impl<T: Serialize> Table<T> {
    /// Inserts a row. The engine writes its revision, whatever the row's own field holds; a field that is only
    /// read can have serde's `skip_serializing`.
    ///
    /// A field that is left out (serde's `skip_serializing_if`) is filled in by the database: the receipt tells
    /// with what. So is an INTEGER PRIMARY KEY that is `None`; its value is the receipt's
    /// [`rowid`](crate::RowReceipt::rowid).
    ///
    /// # Errors
    /// [`WriteError::Constraint`] if a row with its key, or another unique value of it, is there already.
    pub fn insert(&self, row: &T) -> Write<RowReceipt> {
        self.send(self.row_command(RowOp::Insert, row))
    }

    /// Inserts a row unless one with its key, or another unique value of it, is there already; the receipt's
    /// `created` tells. Other constraints are errors, unlike with SQL's `INSERT OR IGNORE`.
    pub fn insert_or_ignore(&self, row: &T) -> Write<RowReceipt> {
        self.send(self.row_command(RowOp::InsertOrIgnore, row))
    }

    /// Updates the row with this key to the given values, or inserts it if it is not there; the receipt's
    /// `created` tells which.
    ///
    /// A row that is there stays the same row: columns that are not given keep what they hold, the revision rises by
    /// one, rows that reference it stay. Its triggers for UPDATE run, not those for INSERT.
    pub fn upsert(&self, row: &T) -> Write<RowReceipt> {
        self.send(self.row_command(RowOp::Upsert, row))
    }

    /// Inserts many rows as one command: any number. See [`BulkWrite`].
    pub fn insert_many<R: Borrow<T>>(&self, rows: impl IntoIterator<Item = R>) -> BulkWrite<T> {
        self.many(RowOp::Insert, rows)
    }

    /// [`insert_or_ignore`](Self::insert_or_ignore) of many rows as one command; the receipt counts those that
    /// were new. See [`BulkWrite`].
    pub fn insert_or_ignore_many<R: Borrow<T>>(&self, rows: impl IntoIterator<Item = R>) -> BulkWrite<T> {
        self.many(RowOp::InsertOrIgnore, rows)
    }

    /// [`upsert`](Self::upsert) of many rows as one command. See [`BulkWrite`].
    pub fn upsert_many<R: Borrow<T>>(&self, rows: impl IntoIterator<Item = R>) -> BulkWrite<T> {
        self.many(RowOp::Upsert, rows)
    }

    fn many<R: Borrow<T>>(&self, op: RowOp, rows: impl IntoIterator<Item = R>) -> BulkWrite<T> {
        let commands: Result<Vec<_>, WriteError> =
            rows.into_iter().map(|row| self.row_command(op, row.borrow())).collect();
        BulkWrite::new(self, commands.map(BulkWork::Each))
    }
}

impl<T: Serialize + DeserializeOwned + 'static> Table<T> {
    /// Reads the row with this key, lets `change` change it, and writes what it changed: one command on the writer,
    /// so that no other write comes in between and nothing has to be tried again. Gives what `change` returned,
    /// with the receipt, or `None` if the row is not there.
    ///
    /// `change` runs on the writer's thread and **may run again** if its group has to be carried out anew, each
    /// time on a row that was read anew; so it is `FnMut`, should do nothing slow, and should change nothing but the
    /// row. Changes of the key or the revision are not written.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use serde::{Deserialize, Serialize};
    /// # let store = walwright::Store::temporary().open().wait()?;
    /// # store.execute("CREATE TABLE counter (name TEXT PRIMARY KEY, hits INTEGER NOT NULL)", ()).wait()?;
    /// #[derive(Serialize, Deserialize)]
    /// struct Counter {
    ///     name: String,
    ///     hits: i64,
    /// }
    ///
    /// let counters = store.table::<Counter>("counter").open().wait()?;
    /// counters.insert(&Counter { name: "a".into(), hits: 1 }).wait()?;
    /// let hits = counters
    ///     .modify("a", |counter| {
    ///         counter.hits += 1;
    ///         Ok(counter.hits)
    ///     })
    ///     .wait()?;
    /// assert_eq!(hits.map(|modified| modified.value), Some(2));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What `change` returns comes back as [`WriteError::Closure`], a panic of it as [`WriteError::Panic`], a row
    /// that does not fit `T` as [`WriteError::Closure`] with a [`DecodeError`](crate::DecodeError). Nothing
    /// was changed then.
    pub fn modify<R, F>(&self, key: impl IntoKey, change: F) -> Write<Option<Modified<R>>>
    where
        F: FnMut(&mut T) -> Result<R, ClosureError> + Send + 'static,
        R: Send + 'static,
    {
        let Self { shape, columns, sorter, .. } = self.clone();
        let mut change = Contained::new(change);
        let changed = move |values: Vec<Value>| {
            let names = names_of::<T>(&shape, &columns);
            let mut row: T = decode(&names, values)?;
            // As the type shows it, which need not be the kind of value that the column holds. A row that cannot be
            // written as it is has to be changed first.
            let before = sorter.sort(&shape, &row).unwrap_or_default();
            let returned = change.get_mut()(&mut row)?;
            let after = sorter.sort(&shape, &row).map_err(RowError::into_closure)?;
            // What was not changed is not written.
            let is_changed = |(column, value): &(usize, ValueRef<'_>)| {
                let was = before.set().value_of(*column);
                !was.is_some_and(|was| was.is_same(*value)) && !shape.key.contains(column)
            };
            let set: RowValues = after.set().iter().filter(is_changed).collect();
            Ok((set, Box::new(Contained::new(returned)) as Box<dyn Any + Send>))
        };
        let task = self.key(key).map(|key| {
            let (table, columns) = (Arc::clone(&self.shape), Arc::clone(&self.columns));
            WriteTask::Modify(Box::new(ModifyCall { table, key, columns, change: Box::new(changed) }))
        });
        self.store.write_task(task, |WriteOutput { receipt, value }| match value {
            WriteValue::Modified(modified) => {
                let (effect, value) = *modified;
                // The box was made above from an `R`, and nothing in between looks into it.
                let Ok(value) = value.downcast::<Contained<R>>() else {
                    unreachable!("a closure's value has the closure's type")
                };
                let receipt = receipt_of(receipt.sequence, effect);
                Ok(Some(Modified { value: value.into_inner(), receipt }))
            }
            _ => Ok(None),
        })
    }
}

/// What [`Table::modify`] gives: what the closure returned, and the receipt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Modified<R> {
    /// What the closure returned.
    pub value: R,
    /// The command's receipt. It counts no row if the closure changed nothing.
    pub receipt: RowReceipt,
}

fn row_receipt(output: WriteOutput) -> Result<RowReceipt, WriteError> {
    let effect = match output.value {
        WriteValue::Row(effect) => effect,
        _ => unreachable!("a row command is answered with what it did to its row"),
    };
    Ok(receipt_of(output.receipt.sequence, effect))
}

fn receipt_of(sequence: u64, effect: RowEffect) -> RowReceipt {
    let RowEffect { rows_changed, revision, created, rowid, filled } = effect;
    RowReceipt { sequence, rows_changed, revision, created, rowid, filled }
}
