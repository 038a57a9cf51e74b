//! The reads of a table.

use serde::de::DeserializeOwned;

use super::decode::decode;
use super::fields::names_of;
use super::filter::{Filter, known_column};
use super::page::{PageRequest, PageSearch};
use super::stream::RowStream;
use super::table::Table;
use crate::error::ReadError;
use crate::handle::{ChangeStream, Read};
use crate::row::{Condition, IntoKey, Live, Order, RowQuery, RowQueryKind, Value, total_order};
use crate::sqlite::reader::{ReadOutput, ReadTask, TableRows};
use crate::sync::Arc;

/// Reads. Each runs on one snapshot, which holds every write that was acknowledged before the read started. A read
/// changes nothing. See [`Read`] for `.deadline()`, `.await` and `.wait()`.
impl<T> Table<T> {
    /// Whether there is a row with this key.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    pub fn exists(&self, key: impl IntoKey) -> Read<bool> {
        let query = self.read_key(key).map(|key| self.question(&[], RowQueryKind::Keys(vec![key])));
        self.ask(query, |output| Ok(!rows_of(output).rows.is_empty()))
    }

    /// Which of these keys there are rows with, all in one snapshot: one answer for each key, in their order. Any number
    /// of keys, as for [`get_many`](Self::get_many); only the key's index is read.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = walwright::Store::temporary().open().wait()?;
    /// # store.execute("CREATE TABLE message (id TEXT PRIMARY KEY)", ()).wait()?;
    /// # store.execute("INSERT INTO message VALUES ('m1'), ('m3')", ()).wait()?;
    /// let messages = store.table::<walwright::Row>("message").open().wait()?;
    /// let received = ["m1", "m2", "m3", "m4"];
    /// let known = messages.exists_many(received).wait()?;
    /// let new: Vec<_> = received.iter().zip(known).filter(|(_, known)| !known).map(|(id, _)| *id).collect();
    /// assert_eq!(new, ["m2", "m4"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`get`](Self::get), and [`ReadError::TooLarge`] for more keys than the queue of reads takes.
    pub fn exists_many<K: IntoKey>(&self, keys: impl IntoIterator<Item = K>) -> Read<Vec<bool>> {
        let keys: Result<Vec<_>, _> = keys.into_iter().map(|key| self.read_key(key)).collect();
        let query = keys.map(|keys| self.question(&[], RowQueryKind::Exist(keys)));
        self.ask(query, |output| match output {
            ReadOutput::Exist(found) => Ok(found),
            _ => unreachable!("a question whether keys exist is answered for each of them"),
        })
    }

    /// How many rows there are. SQLite counts them one by one, over the smallest index that it finds.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn count(&self) -> Read<u64> {
        self.ask(Ok(self.question(&[], RowQueryKind::Count(Condition::default()))), count_of)
    }

    /// How many rows meet the filter.
    ///
    /// # Errors
    /// [`ReadError::UnknownColumn`], [`ReadError::InvalidValue`] and [`ReadError::InvalidFilter`] say what is wrong
    /// with the filter, before anything is queued.
    pub fn count_where(&self, filter: Filter) -> Read<u64> {
        let condition = filter.condition(&self.shape);
        self.ask(condition.map(|condition| self.question(&[], RowQueryKind::Count(condition))), count_of)
    }

    /// Subscribes to what is committed in this table from now on. [`Change::Anything`](crate::Change::Anything) and
    /// [`Change::Lagged`](crate::Change::Lagged) concern it, too. See [`ChangeStream`].
    pub fn changes(&self) -> ChangeStream {
        ChangeStream::new(self.store.engine(), Some(&self.shape.name))
    }

    fn question(&self, columns: &[usize], kind: RowQueryKind) -> RowQuery {
        RowQuery { table: Arc::clone(&self.shape), columns: columns.into(), kind, live: self.unexpired() }
    }

    /// Which rows are not hidden, now.
    pub(super) fn unexpired(&self) -> Option<Box<Live>> {
        let (column, unit) = self.hidden?;
        Some(Box::new(Live { column, now: Value::Integer(self.store.clock().now_in(unit)) }))
    }

    pub(crate) fn page_of_found(&self, search: PageSearch) -> PageRequest<T> {
        PageRequest::new(self.clone(), Some(search))
    }

    pub(super) fn ask<R>(
        &self,
        query: Result<RowQuery, ReadError>,
        extract: fn(ReadOutput) -> Result<R, ReadError>,
    ) -> Read<R> {
        Read::new(self.store.clone(), query.map(ReadTask::Rows), extract)
    }

    fn read_key(&self, key: impl IntoKey) -> Result<Vec<Value>, ReadError> {
        let key = key.into_key()?;
        let (expected, given) = (self.shape.key.len(), key.len());
        if expected != given {
            return Err(ReadError::WrongKey { table: self.shape.name.clone(), expected, given });
        }
        Ok(key)
    }
}

impl<T: DeserializeOwned> Table<T> {
    /// The row with this key, or `None`.
    ///
    /// Values compare as the key's columns do: by their collation, and after the conversion that the declared type
    /// makes. A key with NULL in it finds no row.
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize, Debug, PartialEq)]
    /// struct Note { id: i64, text: String }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = walwright::Store::temporary().open().wait()?;
    /// # store.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL)", ()).wait()?;
    /// # store.execute("INSERT INTO note VALUES (1, 'one'), (2, 'two')", ()).wait()?;
    /// let notes = store.table::<Note>("note").open().wait()?;
    /// let two = notes.get(2).wait()?;
    /// assert_eq!(two, Some(Note { id: 2, text: "two".to_owned() }));
    /// assert_eq!(notes.get(3).wait()?, None);
    /// assert_eq!(notes.get_many([2, 3, 1]).wait()?.len(), 2);
    /// assert!(notes.exists(1).wait()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ReadError::WrongKey`] for another number of values than the key has, [`ReadError::InvalidValue`] for one
    /// that could not be stored, such as a NaN: both before anything is queued. [`ReadError::Decode`] for a row
    /// that does not fit `T`.
    pub fn get(&self, key: impl IntoKey) -> Read<Option<T>> {
        let query = self.read_key(key).map(|key| self.rows_with(vec![key]));
        self.ask(query, |output| Ok(decoded(rows_of(output))?.pop()))
    }

    /// The rows with these keys, all of one snapshot, in the order of the keys. A key that is not there is left
    /// out; one that is given twice gives its row twice.
    ///
    /// There may be any number of keys: each is looked up by itself with one prepared statement, so that no limit
    /// of SQLite is in the way. They all travel as one read, within the limits of
    /// [`StoreBuilder::largest_result`](crate::StoreBuilder::largest_result) (64 MiB of rows by default) and of the
    /// queue of reads (64 MiB of keys).
    ///
    /// # Errors
    /// Those of [`get`](Self::get), and [`ReadError::ResultTooLarge`] or [`ReadError::TooLarge`] past these limits.
    pub fn get_many<K: IntoKey>(&self, keys: impl IntoIterator<Item = K>) -> Read<Vec<T>> {
        let keys: Result<Vec<_>, _> = keys.into_iter().map(|key| self.read_key(key)).collect();
        self.ask(keys.map(|keys| self.rows_with(keys)), |output| decoded(rows_of(output)))
    }

    /// The newest row of each group: of the rows that are equal in the column `group`, the one that is greatest in the
    /// column `by`; where several are, the one with the greatest key. In the order of the groups. Rows whose group is
    /// NULL are a group, too; a NULL in `by` is smaller than everything else.
    ///
    /// With an index that begins with the two columns, such as `(buffer_id, at)`, each group costs one look-up, however
    /// many rows it has. Without one each group costs a walk over the whole table.
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Message { id: i64, buffer_id: i64, at: i64 }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = walwright::Store::temporary().open().wait()?;
    /// store.execute("CREATE TABLE message (id INTEGER PRIMARY KEY, buffer_id INTEGER, at INTEGER)", ()).wait()?;
    /// store.execute("CREATE INDEX message_buffer ON message (buffer_id, at)", ()).wait()?;
    /// # store.execute("INSERT INTO message VALUES (1, 7, 10), (2, 7, 30), (3, 8, 20), (4, 7, 20)", ()).wait()?;
    /// let messages = store.table::<Message>("message").open().wait()?;
    /// let last = messages.latest_per("buffer_id", "at").wait()?;
    /// assert_eq!(last.iter().map(|message| message.id).collect::<Vec<_>>(), [2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ReadError::UnknownColumn`] and [`ReadError::NoTotalOrder`] before anything is queued. Then those of every read,
    /// and [`ReadError::ResultTooLarge`] past
    /// [`StoreBuilder::largest_result`](crate::StoreBuilder::largest_result).
    pub fn latest_per(&self, group: &str, by: &str) -> Read<Vec<T>> {
        self.ask(self.latest(group, by), |output| decoded(rows_of(output)))
    }

    fn latest(&self, group: &str, by: &str) -> Result<RowQuery, ReadError> {
        let column =
            |name| Ok::<_, ReadError>(Order { column: known_column(&self.shape, name)?, descending: true });
        let order = total_order(&self.shape, &[column(group)?, column(by)?])
            .ok_or_else(|| ReadError::NoTotalOrder { table: self.shape.name.clone() })?;
        Ok(self.question(&self.columns, RowQueryKind::LastOfEach(order)))
    }

    /// Starts a request for a page of rows: the first 100 in the order of the key, unless it is told otherwise.
    /// See [`PageRequest`].
    pub fn page(&self) -> PageRequest<T> {
        PageRequest::new(self.clone(), None)
    }

    /// All rows in the order of the key, read page by page. See [`RowStream`].
    pub fn stream(&self) -> RowStream<T> {
        self.page().stream()
    }

    fn rows_with(&self, keys: Vec<Vec<Value>>) -> RowQuery {
        self.question(&self.columns, RowQueryKind::Keys(keys))
    }
}

pub(super) fn rows_of(output: ReadOutput) -> TableRows {
    match output {
        ReadOutput::TableRows(rows) => rows,
        _ => unreachable!("a question for rows is answered with rows"),
    }
}

fn count_of(output: ReadOutput) -> Result<u64, ReadError> {
    match output {
        ReadOutput::Count(rows) => Ok(rows),
        _ => unreachable!("a question for a count is answered with a count"),
    }
}

/// The rows as the caller's type. What was asked for beyond its columns is dropped.
pub(super) fn decoded<T: DeserializeOwned>(found: TableRows) -> Result<Vec<T>, ReadError> {
    let RowQuery { table, columns, .. } = found.query;
    let names = names_of::<T>(&table, &columns);
    let decoded = found.rows.into_iter().map(|mut values| {
        values.truncate(names.len());
        Ok(decode(&names, values)?)
    });
    decoded.collect()
}
