//! The handle that programs hold.

use std::any::Any;
use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use super::batch::Batch;
use super::builder::StoreBuilder;
use super::close::Close;
use super::engine::Engine;
use super::foreign::Foreign;
use super::params::IntoParams;
use super::read::Read;
use super::receipt::{Applied, Receipt};
use super::rows::ResultRows;
use super::stats::Stats;
use super::write::Write;
use crate::error::{ClosureError, ReadError, WriteError};
use crate::protocol::level::AckLevel;
use crate::settings::Settings;
use crate::sqlite::reader::{ReadOutput, ReadTask};
use crate::sqlite::session::{Db, Tx};
use crate::sqlite::writer::{StatementCall, WriteCommand, WriteOutput, WriteTask, WriteValue};
use crate::sync::Arc;

/// A store: a SQLite file with one writer, group commit and honest acknowledgements.
///
/// Clones are handles to the same store; send them to any task or thread. Calls return requests that are
/// awaited, or waited for with `wait()` on threads that may block.
///
/// Dropping the last handle closes the store without blocking: the engine's own threads finish what was
/// admitted. A program that is about to exit should [`close`](Self::close) instead, and wait for it: with
/// the process end its threads.
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
    /// Starts opening the database file at `path`.
    pub fn builder(path: impl Into<PathBuf>) -> StoreBuilder {
        StoreBuilder::at(path.into())
    }

    /// Starts opening an empty store in a temporary folder, for tests: a real file with the same behaviour
    /// as any other, which goes away with the store.
    pub fn temporary() -> StoreBuilder {
        StoreBuilder::temporary()
    }

    pub(crate) fn new(
        engine: Arc<Engine>,
        settings: Settings,
        level: AckLevel,
        largest_value: usize,
    ) -> Self {
        Self { core: Arc::new(StoreCore { engine, settings, level, largest_value }) }
    }

    /// Runs one statement that writes. Rows that it returns are dropped.
    ///
    /// Parameters are a tuple, an array, what [`rusqlite::params!`](crate::rusqlite::params) makes, or
    /// [`Params`](crate::Params). `sql` may end with `;`, blanks and comments; a second statement is refused
    /// before anything runs.
    ///
    /// # Errors
    /// See [`WriteError`]; each says what is on disk.
    pub fn execute(&self, sql: impl Into<Cow<'static, str>>, params: impl IntoParams) -> Write<Receipt> {
        self.write_task(statement(sql.into(), params, false), |output| Ok(output.receipt))
    }

    /// Runs one statement that writes, and gives the rows of its RETURNING clause.
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

    /// Starts a batch of statements that are applied all or none.
    pub fn batch(&self) -> Batch {
        Batch::new(self.clone())
    }

    /// Runs a closure that writes: several statements, with values computed in between, applied all or
    /// none. Returning an error or panicking undoes everything that it did.
    ///
    /// The closure runs on the writer's thread, inside the group's transaction: everybody waits for it, so
    /// it should do nothing slow. It **may run again** if its group has to be carried out anew; so it is
    /// `FnMut` and should change nothing outside its transaction. It must not call the store.
    /// The receipt counts the changes of triggers and foreign-key actions too.
    ///
    /// # Errors
    /// See [`WriteError`]; each says what is on disk.
    pub fn write<R, F>(&self, closure: F) -> Write<Applied<R>>
    where
        F: FnMut(&Tx<'_>) -> Result<R, ClosureError> + Send + 'static,
        R: Send + 'static,
    {
        let mut closure = Foreign::new(closure);
        let boxed = Box::new(move |tx: &Tx<'_>| {
            closure.get_mut()(tx).map(|value| Box::new(Foreign::new(value)) as Box<dyn Any + Send>)
        });
        self.write_task(Ok(WriteTask::Closure(boxed)), |WriteOutput { receipt, value }| match value {
            WriteValue::Closure(value) => match value.downcast::<Foreign<R>>() {
                Ok(value) => Ok(Applied { value: value.into_inner(), receipt }),
                // The box was made above from an `R`, and nothing in between looks into it.
                Err(_) => unreachable!("a closure's value has the closure's type"),
            },
            _ => unreachable!("a closure is answered with a closure's value"),
        })
    }

    /// Waits until everything that was admitted before it is answered and durable, also what was sent at
    /// [`AckLevel::Committed`].
    pub fn flush(&self) -> Write<Receipt> {
        self.write_task(Ok(WriteTask::Flush), |output| Ok(output.receipt)).ack(AckLevel::Durable)
    }

    /// Runs a closure on one snapshot: every query in it sees the same state, which holds every write that
    /// was acknowledged before the read started.
    ///
    /// The closure runs on a reader's thread. It must not call the store.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn read<R, F>(&self, closure: F) -> Read<R>
    where
        F: FnOnce(&Db<'_>) -> Result<R, ClosureError> + Send + 'static,
        R: Send + 'static,
    {
        let closure = Foreign::new(closure);
        let boxed = Box::new(move |db: &Db<'_>| {
            closure.into_inner()(db).map(|value| Box::new(Foreign::new(value)) as Box<dyn Any + Send>)
        });
        Read::new(self.clone(), Ok(ReadTask::Closure(boxed)), |output| match output {
            ReadOutput::Closure(value) => match value.downcast::<Foreign<R>>() {
                Ok(value) => Ok(value.into_inner()),
                // The box was made above from an `R`, and nothing in between looks into it.
                Err(_) => unreachable!("a closure's value has the closure's type"),
            },
            ReadOutput::Rows(_) => unreachable!("a closure is answered with a closure's value"),
        })
    }

    /// Runs one query and gives all its rows. Bounded: a result larger than the builder's limit is
    /// [`ReadError::ResultTooLarge`].
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn query(&self, sql: impl Into<Cow<'static, str>>, params: impl IntoParams) -> Read<ResultRows> {
        let sql = sql.into();
        let task =
            params.into_params().map(|params| ReadTask::Query { sql, params }).map_err(ReadError::from);
        Read::new(self.clone(), task, |output| match output {
            ReadOutput::Rows(rows) => Ok(rows),
            ReadOutput::Closure(_) => unreachable!("a query is answered with rows"),
        })
    }

    /// How the store is doing. Never waits for the writer or a reader.
    pub fn stats(&self) -> Stats {
        Stats::of(&self.core.engine)
    }

    /// What was settled when the store was opened, as SQLite reported it.
    pub fn settings(&self) -> &Settings {
        &self.core.settings
    }

    /// Closes the store, also for all other handles: refuses new calls, carries out and answers everything
    /// that was admitted, copies the write-ahead log into the database file, and releases all files. Starts
    /// at once; awaiting or waiting tells when it is done. Reads in progress are waited for, at most until
    /// the greatest age of reads. A second close is harmless.
    pub fn close(&self) -> Close {
        Close::start(&self.core.engine, None)
    }

    /// Like [`close`](Self::close), but when `limit` has passed it answers what was not started
    /// [`WriteError::Closed`] and stops the SQL that runs. If a closure goes on without running any SQL, the
    /// close ends half a second later with [`CloseError::StillRunning`](crate::CloseError::StillRunning).
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

    pub(crate) fn engine(&self) -> &Engine {
        &self.core.engine
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

fn statement(
    sql: Cow<'static, str>,
    params: impl IntoParams,
    wants_rows: bool,
) -> Result<WriteTask, WriteError> {
    Ok(WriteTask::Statement(StatementCall { sql, params: params.into_params()?, wants_rows }))
}
