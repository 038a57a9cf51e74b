//! The handle that programs hold.

use std::any::Any;
use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use super::batch::Batch;
use super::builder::StoreBuilder;
use super::changes::ChangeStream;
use super::close::Close;
use super::engine::Engine;
use super::params::IntoParams;
use super::read::Read;
use super::receipt::{Applied, Receipt};
use super::rows::ResultRows;
use super::stats::Stats;
use super::threads;
use super::write::Write;
use crate::contained::Contained;
use crate::error::{ClosureError, ReadError, WriteError};
use crate::fixup::{FixupStatus, FixupsDone};
use crate::keeper::{Chore, KeepError};
use crate::protocol::level::AckLevel;
use crate::retention::WallClock;
use crate::settings::Settings;
use crate::sqlite::reader::{ReadOutput, ReadTask};
use crate::sqlite::session::{Db, Tx};
use crate::sqlite::writer::{StatementCall, WriteCommand, WriteOutput, WriteTask, WriteValue};
use crate::sync::Arc;
use crate::table::TableBuilder;

/// A store: a SQLite file with one writer, group commit and honest acknowledgements.
///
/// Clones are handles to the same store; cloning is cheap. Send them to any task or thread. Calls return
/// requests that are awaited, or waited for with `wait()` on threads that may block.
///
/// Dropping the last handle closes the store without blocking: the engine's own threads finish what was
/// admitted. A program that is about to exit should [`close`](Self::close) instead, and wait for it: the
/// threads end with the process. So should one that opens the file again: until the threads are done, that is
/// [`OpenError::AlreadyOpen`](crate::OpenError::AlreadyOpen).
///
/// A process that was forked after the store was opened cannot use it: every call fails, and nothing that
/// the child does or drops touches the file. Open stores after daemonizing.
///
/// ```
/// use walwright::{Migration, Store};
///
/// const MIGRATIONS: &[Migration] =
///     &[Migration::sql("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")];
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Store::temporary().migrations(MIGRATIONS).open().wait()?;
/// let receipt = store.execute("INSERT INTO note (text) VALUES (?1)", ("hello",)).wait()?;
/// assert_eq!(receipt.rows_changed, 1);
/// let text: String = store.read(|db| db.query_row("SELECT text FROM note", [], |row| row.get(0))).wait()?;
/// assert_eq!(text, "hello");
/// store.close().wait()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Store {
    core: Arc<StoreCore>,
}

/// What goes away with the last handle.
struct StoreCore {
    engine: Arc<Engine>,
    settings: Settings,
    level: AckLevel,
    largest_value: usize,
    clock: WallClock,
}

impl Drop for StoreCore {
    fn drop(&mut self) {
        // Never blocks: on a runtime's thread it must not, on one of the engine's own it would wait for
        // itself. In a forked child nothing is touched.
        if !self.engine.is_forked() {
            self.engine.close();
        }
    }
}

impl Store {
    /// Starts opening the database file at `path`. Nothing happens before [`StoreBuilder::open`].
    ///
    /// The path is that of a plain file, not a `file:` URI or `:memory:`. Symbolic links are followed.
    pub fn builder(path: impl Into<PathBuf>) -> StoreBuilder {
        StoreBuilder::at(path.into())
    }

    /// Starts opening an empty store in a temporary folder, for tests: a real file with the same behaviour
    /// as any other. The folder is made in [`std::env::temp_dir`] and goes away when the store has closed; it
    /// stays if the process ends before.
    pub fn temporary() -> StoreBuilder {
        StoreBuilder::temporary()
    }

    pub(crate) fn new(
        engine: Arc<Engine>,
        settings: Settings,
        level: AckLevel,
        largest_value: usize,
        clock: WallClock,
    ) -> Self {
        Self { core: Arc::new(StoreCore { engine, settings, level, largest_value, clock }) }
    }

    /// Runs one statement that writes. Rows that it returns are dropped.
    ///
    /// Parameters are a tuple, an array, what [`rusqlite::params!`](crate::rusqlite::params) makes, or
    /// [`Params`](crate::Params). `sql` may end with `;`, blanks and comments; a second statement is refused
    /// before anything runs. Statements cannot begin or end transactions, attach files, create temporary
    /// objects or change settings.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = walwright::Store::temporary().open().wait()?;
    /// store.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)", ()).wait()?;
    /// store.execute("INSERT INTO note (text) VALUES (?1), (?2)", ("a", "b")).wait()?;
    /// let receipt = store.execute("UPDATE note SET text = 'c' WHERE id > ?1", [1]).wait()?;
    /// assert_eq!(receipt.rows_changed, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`WriteError`]; each says what is on disk.
    pub fn execute(&self, sql: impl Into<Cow<'static, str>>, params: impl IntoParams) -> Write<Receipt> {
        self.write_task(statement(sql.into(), params, false), |output| Ok(output.receipt))
    }

    /// Runs one statement that writes, and gives the rows of its RETURNING clause.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = walwright::Store::temporary().open().wait()?;
    /// # store.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)", ()).wait()?;
    /// let applied = store.execute_returning("INSERT INTO note (text) VALUES ('a') RETURNING id", ()).wait()?;
    /// let id: i64 = applied.value[0].get("id")?;
    /// assert_eq!((id, applied.receipt.rows_changed), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`WriteError`]; each says what is on disk. [`WriteError::ResultTooLarge`] if the rows take more
    /// memory than the builder's limit for results: then nothing was applied.
    pub fn execute_returning(
        &self,
        sql: impl Into<Cow<'static, str>>,
        params: impl IntoParams,
    ) -> Write<Applied<ResultRows>> {
        self.write_task(statement(sql.into(), params, true), |output| {
            let value = match output.value {
                WriteValue::Rows(rows) => rows,
                _ => ResultRows::default(),
            };
            Ok(Applied { value, receipt: output.receipt })
        })
    }

    /// Starts opening a table whose rows are `T`s, a struct with fields named like its columns, or
    /// [`Row`](crate::Row) for a schema that is known only at run time. Nothing happens before
    /// [`TableBuilder::open`]. The table must be there: create it in a migration. See
    /// [`Table`](crate::Table) for what can be done with it.
    pub fn table<T>(&self, name: impl Into<String>) -> TableBuilder<T> {
        TableBuilder::new(self.clone(), name.into())
    }

    /// Starts a batch of statements and row commands that are applied all or none. See [`Batch`].
    pub fn batch(&self) -> Batch {
        Batch::new(self.clone())
    }

    /// Runs a closure that writes: several statements, with values computed in between, applied all or
    /// none. Returning an error or panicking undoes everything that it did.
    ///
    /// The closure runs on the writer's thread, inside the group's transaction: everybody waits for it, so
    /// it should do nothing slow. It **may run again** if its group has to be carried out anew; so it is
    /// `FnMut` and should change nothing outside its transaction. What it needs it takes with `move`, and borrows
    /// or clones it inside, since it cannot give it away. It must not call the store: that is
    /// [`WriteError::Reentrant`]. What it returns is only for the caller, and not counted or limited. The receipt
    /// counts the changes of triggers and foreign-key actions too.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = walwright::Store::temporary().open().wait()?;
    /// # store.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, cents INTEGER)", ()).wait()?;
    /// # store.execute("INSERT INTO account VALUES (1, 500), (2, 0)", ()).wait()?;
    /// use walwright::ClosureError;
    ///
    /// let amount = 200;
    /// let left = store
    ///     .write(move |tx| {
    ///         let cents: i64 = tx.query_row("SELECT cents FROM account WHERE id = 1", [], |row| row.get(0))?;
    ///         if cents < amount {
    ///             return Err(ClosureError::message("not enough")); // undoes everything
    ///         }
    ///         tx.execute("UPDATE account SET cents = cents - ?1 WHERE id = 1", [amount])?;
    ///         tx.execute("UPDATE account SET cents = cents + ?1 WHERE id = 2", [amount])?;
    ///         Ok(cents - amount)
    ///     })
    ///     .wait()?;
    /// assert_eq!(left.value, 300);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`WriteError`]; each says what is on disk. An error of the closure's own comes back as
    /// [`WriteError::Closure`], one of SQLite's that it passed on as [`WriteError::Constraint`],
    /// [`WriteError::Sql`] and so on, a panic as [`WriteError::Panic`]. After each of them nothing of the
    /// closure is on disk.
    pub fn write<R, F>(&self, closure: F) -> Write<Applied<R>>
    where
        F: FnMut(&Tx<'_>) -> Result<R, ClosureError> + Send + 'static,
        R: Send + 'static,
    {
        let mut closure = Contained::new(closure);
        let boxed = Box::new(move |tx: &Tx<'_>| closure.get_mut()(tx).map(boxed_value));
        self.write_task(Ok(WriteTask::Closure(boxed)), |WriteOutput { receipt, value }| match value {
            WriteValue::Closure(value) => match value.downcast::<Contained<R>>() {
                Ok(value) => Ok(Applied { value: value.into_inner(), receipt }),
                // The box was made above from an `R`, and nothing in between looks into it.
                Err(_) => unreachable!("a closure's value has the closure's type"),
            },
            _ => unreachable!("a closure is answered with a closure's value"),
        })
    }

    /// Waits until everything that was admitted before it is answered and durable, also what was sent at
    /// [`AckLevel::Committed`].
    ///
    /// It changes nothing itself. Its receipt has a commit sequence like any other, that of the moment at which it
    /// is carried out: where it waits for [`BulkWrite`](crate::BulkWrite)s, later than those of commands that were
    /// sent behind it, which do not wait. Leave its [`ack`](Write::ack) level as it is.
    ///
    /// # Errors
    /// See [`WriteError`]. Then nothing can be said about the writes before it; each has an answer of its own.
    pub fn flush(&self) -> Write<Receipt> {
        self.write_task(Ok(WriteTask::Flush), |output| Ok(output.receipt)).ack(AckLevel::Durable)
    }

    /// Runs a closure on one snapshot: every query in it sees the same state, which holds every write that
    /// was acknowledged before the read started.
    ///
    /// The closure runs on a reader's thread, and the snapshot is held until it ends. It must not call the
    /// store. What it collects is not limited; for large results read in pieces.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = walwright::Store::temporary().open().wait()?;
    /// # store.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)", ()).wait()?;
    /// # store.execute("INSERT INTO note (text) VALUES ('a'), ('b')", ()).wait()?;
    /// let (count, last) = store
    ///     .read(|db| {
    ///         let count: i64 = db.query_row("SELECT count(*) FROM note", [], |row| row.get(0))?;
    ///         let last: Option<String> =
    ///             db.query_optional("SELECT text FROM note WHERE id = ?1", [count], |row| row.get(0))?;
    ///         Ok((count, last))
    ///     })
    ///     .wait()?;
    /// assert_eq!((count, last.as_deref()), (2, Some("b")));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn read<R, F>(&self, closure: F) -> Read<R>
    where
        F: FnOnce(&Db<'_>) -> Result<R, ClosureError> + Send + 'static,
        R: Send + 'static,
    {
        let closure = Contained::new(closure);
        let boxed = Box::new(move |db: &Db<'_>| closure.into_inner()(db).map(boxed_value));
        Read::new(self.clone(), Ok(ReadTask::Closure(boxed)), |output| match output {
            ReadOutput::Closure(value) => match value.downcast::<Contained<R>>() {
                Ok(value) => Ok(value.into_inner()),
                // The box was made above from an `R`, and nothing in between looks into it.
                Err(_) => unreachable!("a closure's value has the closure's type"),
            },
            _ => unreachable!("a closure is answered with a closure's value"),
        })
    }

    /// Runs one query and gives all its rows. Bounded: a result larger than
    /// [`StoreBuilder::largest_result`] is [`ReadError::ResultTooLarge`].
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = walwright::Store::temporary().open().wait()?;
    /// for row in store.query("SELECT 1 AS id, 'a' AS text UNION SELECT 2, 'b'", ()).wait()? {
    ///     let (id, text): (i64, String) = (row.get("id")?, row.get("text")?);
    ///     println!("{id} {text}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`ReadError`]. A statement that would write is [`ReadError::NotAllowed`].
    pub fn query(&self, sql: impl Into<Cow<'static, str>>, params: impl IntoParams) -> Read<ResultRows> {
        let sql = sql.into();
        let task =
            params.into_params().map(|params| ReadTask::Query { sql, params }).map_err(ReadError::from);
        Read::new(self.clone(), task, |output| match output {
            ReadOutput::Rows(rows) => Ok(rows),
            _ => unreachable!("a query is answered with rows"),
        })
    }

    /// Subscribes to what is committed from now on, in all tables. See [`ChangeStream`] for what is told of what.
    ///
    /// Ends when the stream is dropped. On a store that is closed it ends at once.
    pub fn changes(&self) -> ChangeStream {
        ChangeStream::new(self.engine(), None)
    }

    /// How the fix-ups are doing, in their order. See [`Fixup`](crate::Fixup). Never waits for the writer.
    pub fn fixups(&self) -> Vec<FixupStatus> {
        // In a fork its lock may be held by a thread that is not there.
        if self.core.engine.is_forked() { Vec::new() } else { self.core.engine.fixups.all() }
    }

    /// Waits until all fix-ups are done, and durable: see [`FixupsDone`]. At once if there are none.
    ///
    /// # Errors
    /// [`FixupsError::Closed`](crate::FixupsError::Closed) if the store is closed before.
    pub fn fixups_done(&self) -> FixupsDone {
        FixupsDone::new(self.core.engine.clone())
    }

    /// How the store is doing, now. Never waits for the writer or a reader.
    pub fn stats(&self) -> Stats {
        Stats::of(&self.core.engine)
    }

    /// Has all retention policies look for rows to remove now, instead of at their next time, which is seconds away.
    ///
    /// It does not wait for them: [`Stats::chores`](crate::Stats::chores) tells what they do. Nobody has to call it; it
    /// is for the moment after something unusual, such as a step of the clock.
    pub fn sweep(&self) {
        let engine = self.engine();
        if !engine.is_forked() {
            engine.keeper.wake_all();
        }
    }

    /// What was settled when the store was opened, as SQLite reported it.
    pub fn settings(&self) -> &Settings {
        &self.core.settings
    }

    /// Closes the store, also for all other handles: refuses new calls, carries out and answers everything
    /// that was admitted, copies the write-ahead log into the database file, and releases all files. Starts
    /// at once; awaiting or waiting tells when it is done. Writes that still wait for room in the queue are
    /// answered [`WriteError::Closed`]. Reads in progress are waited for, at most until the greatest age of
    /// reads; a closure that runs no SQL is waited for as long as it takes. A second close is harmless and
    /// gets the same answer.
    ///
    /// # Errors
    /// See [`CloseError`](crate::CloseError). No acknowledged write is lost after any of them.
    pub fn close(&self) -> Close {
        Close::start(&self.core.engine, None)
    }

    /// Like [`close`](Self::close), but when `limit` has passed it answers what was not started
    /// [`WriteError::Closed`] and stops the SQL that runs. If a closure goes on without running any SQL, the
    /// close ends half a second later with [`CloseError::StillRunning`](crate::CloseError::StillRunning); the
    /// files are released when that closure ends. A [`close`](Self::close) behind it waits for that.
    ///
    /// # Errors
    /// See [`CloseError`](crate::CloseError). No acknowledged write is lost after any of them.
    pub fn close_within(&self, limit: Duration) -> Close {
        Close::start(&self.core.engine, Some(limit))
    }

    pub(crate) fn write_task<T>(
        &self,
        task: Result<WriteTask, WriteError>,
        extract: fn(WriteOutput) -> Result<T, WriteError>,
    ) -> Write<T> {
        let level = self.core.level;
        Write::new(self.clone(), task.map(|task| WriteCommand::new(task, level)), extract)
    }

    /// Gives the keeper work to do that nobody waits for.
    pub(crate) fn keep(&self, chore: Box<dyn Chore>) -> Result<(), KeepError> {
        threads::keep(&self.core.engine, chore)
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.core.engine
    }

    pub(crate) fn engine_handle(&self) -> Arc<Engine> {
        Arc::clone(&self.core.engine)
    }

    /// Whether both are handles of one store.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.core, &other.core)
    }

    /// What says which rows have expired.
    pub(crate) fn clock(&self) -> &WallClock {
        &self.core.clock
    }

    pub(crate) fn largest_value(&self) -> usize {
        self.core.largest_value
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.core.settings.path).finish_non_exhaustive()
    }
}

/// What a closure returned, on its way through the engine, which knows nothing of its type.
fn boxed_value<R: Send + 'static>(value: R) -> Box<dyn Any + Send> {
    Box::new(Contained::new(value))
}

fn statement(
    sql: Cow<'static, str>,
    params: impl IntoParams,
    wants_rows: bool,
) -> Result<WriteTask, WriteError> {
    Ok(WriteTask::Statement(StatementCall { sql, params: params.into_params()?, wants_rows }))
}
