//! Why a write failed, and what of it is on disk.

use std::fmt;
use std::time::Duration;

use super::{ClosureError, InvalidValue, Outcome, SqliteError, StoreFailure};
use crate::protocol::work::Refusal;
use crate::sqlite::reason::Reason;
use crate::sync::Arc;

/// Why a write was not acknowledged. [`outcome`](Self::outcome) says what is on disk.
///
/// Messages name no values of rows, but revisions.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// A constraint of the schema refused the change, also a foreign key that was left open. Expected in normal
    /// work; nothing was applied.
    Constraint(SqliteError),
    /// SQLite refused the statement: bad SQL, a wrong type, a missing table, parameters that do not match, a
    /// second statement in the text. Nothing was applied.
    Sql(SqliteError),
    /// The database file is damaged where the command looked. Nothing was applied.
    Corrupt(SqliteError),
    /// Reading or writing the file failed before COMMIT. Nothing was applied; the store goes on.
    Io(SqliteError),
    /// The disk is full. Nothing was applied; writes work again when there is room, without reopening.
    DiskFull(Arc<SqliteError>),
    /// Another program held the lock of the database file for longer than the busy budget. The command
    /// was not started; send it again.
    Busy(Arc<SqliteError>),
    /// The transaction could not be begun. The command was not started.
    Begin(Arc<SqliteError>),
    /// The SQL does something that users of the store must not do: it begins or ends a transaction,
    /// attaches a file, creates temporary objects, changes a setting. Nothing was applied.
    NotAllowed {
        /// What it tried to do.
        what: String,
    },
    /// A closure of the caller returned an error. Everything it did was undone.
    Closure(ClosureError),
    /// A closure of the caller panicked. Everything it did was undone; the store goes on.
    Panic {
        /// The panic's message.
        message: String,
    },
    /// The command ran for longer than the run limit of writes. Everything it did was undone.
    RunLimit {
        /// The limit.
        limit: Duration,
    },
    /// The store was closed with a time limit, and the command was still running when it passed.
    /// Everything it did was undone.
    CloseTimedOut,
    /// The rows that the statement returns are larger than the limit. Everything it did was undone.
    ResultTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The guard of a row command does not hold: the row is not there, or not as it was expected. Nothing was
    /// applied. Read the row again and decide anew.
    Conflict(Conflict),
    /// A column could not be added to: it holds something else than an integer or NULL, or the sum would be no integer
    /// of 64 bits. Nothing was applied.
    NotCountable {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// The table is not the one any more that its handle was opened on: it was dropped, or its key, its revision
    /// column or the type of a column has changed. Nothing was applied. Open the table again.
    SchemaChanged {
        /// The table.
        table: String,
    },
    /// Work on many rows stopped after some of its pieces were committed. Those stay; nothing else of it is
    /// on disk.
    Partial {
        /// Rows changed by the pieces that were committed.
        rows: u64,
        /// What stopped it.
        source: Box<WriteError>,
    },
    /// A row command names a column that the table does not have. The command was not queued.
    UnknownColumn {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// The key of a row command has not as many parts as that of the table. The command was not queued.
    WrongKey {
        /// The table.
        table: String,
        /// Columns of its key.
        expected: usize,
        /// Values that were given.
        given: usize,
    },
    /// A row command asks for something that its table does not offer. The command was not queued.
    InvalidCommand {
        /// The table.
        table: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A value cannot be stored as it is. The command was not queued.
    InvalidValue(InvalidValue),
    /// A value or a command is larger than its limit. The command was not queued.
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The queue is full, and the call was one that does not wait. The command was not queued.
    Overloaded,
    /// The deadline passed before the command was started. It was not and will not be carried out.
    Expired,
    /// The call came from a closure that runs inside a store. Waiting there would wait for itself.
    ///
    /// The command was not queued, unless it had been before (a [`Pending`](crate::Pending) that is
    /// awaited inside a closure): then it is carried out, and only this answer is lost.
    Reentrant {
        /// Whether the command had been admitted before.
        admitted: bool,
    },
    /// `wait()` was called on a thread of an async runtime, which it would block. Use `.await` there.
    ///
    /// The command was not queued, unless it had been before (a [`Pending`](crate::Pending)): then it is
    /// carried out, and only this answer is lost.
    WouldBlockRuntime {
        /// Whether the command had been admitted before.
        admitted: bool,
    },
    /// The store is closing or closed. The command was not started.
    Closed,
    /// The process was forked after the store was opened; only the parent can use it. Open stores after
    /// daemonizing.
    ///
    /// The command was not queued, unless the parent had sent it before: then it is the parent's.
    Forked {
        /// Whether the command may have been admitted before.
        admitted: bool,
    },
    /// The engine has stopped and acknowledges nothing more until the store is opened again. The command
    /// was not started.
    Stopped(Arc<StoreFailure>),
    /// The engine stopped while the command was in progress. Whether it is on disk shows when the store
    /// is opened again. Of work on many rows some pieces may be.
    Unknown(Arc<StoreFailure>),
}

impl WriteError {
    /// What the failed write left on disk.
    ///
    /// ```
    /// use walwright::{Outcome, Store, WriteError};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = Store::temporary().open().wait()?;
    /// store.execute("CREATE TABLE name (name TEXT PRIMARY KEY)", ()).wait()?;
    /// store.execute("INSERT INTO name VALUES ('ada')", ()).wait()?;
    ///
    /// let error = store.execute("INSERT INTO name VALUES ('bob'), ('ada')", ()).wait().unwrap_err();
    /// match error.outcome() {
    ///     Outcome::NotStarted | Outcome::NotApplied => {} // nothing of it is on disk, not even 'bob'
    ///     _ => panic!("open the store again and look"),
    /// }
    /// assert!(matches!(error, WriteError::Constraint(_)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Constraint(_)
            | Self::Sql(_)
            | Self::Corrupt(_)
            | Self::Io(_)
            | Self::DiskFull(_)
            | Self::NotAllowed { .. }
            | Self::Closure(_)
            | Self::Panic { .. }
            | Self::RunLimit { .. }
            | Self::CloseTimedOut
            | Self::ResultTooLarge { .. }
            | Self::Conflict(_)
            | Self::NotCountable { .. }
            | Self::SchemaChanged { .. } => Outcome::NotApplied,
            Self::Partial { source, .. } if source.outcome() == Outcome::Unknown => Outcome::Unknown,
            Self::Partial { rows, .. } => Outcome::Partial { rows: *rows },
            Self::Unknown(_)
            | Self::Reentrant { admitted: true }
            | Self::WouldBlockRuntime { admitted: true }
            | Self::Forked { admitted: true } => Outcome::Unknown,
            Self::Busy(_)
            | Self::Begin(_)
            | Self::UnknownColumn { .. }
            | Self::WrongKey { .. }
            | Self::InvalidCommand { .. }
            | Self::InvalidValue(_)
            | Self::TooLarge { .. }
            | Self::Overloaded
            | Self::Expired
            | Self::Reentrant { admitted: false }
            | Self::WouldBlockRuntime { admitted: false }
            | Self::Closed
            | Self::Forked { admitted: false }
            | Self::Stopped(_) => Outcome::NotStarted,
        }
    }

    /// Whether sending the same command again may succeed without any other change: a lock or a full queue
    /// gets free, a full disk gets room. Nothing of the command is on disk in these cases.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Busy(_) | Self::Begin(_) | Self::Overloaded | Self::Expired | Self::DiskFull(_))
    }
}

impl From<SqliteError> for WriteError {
    fn from(error: SqliteError) -> Self {
        use rusqlite::ffi;
        match error.code() {
            ffi::SQLITE_CONSTRAINT => Self::Constraint(error),
            ffi::SQLITE_FULL => Self::DiskFull(Arc::new(error)),
            ffi::SQLITE_BUSY => Self::Busy(Arc::new(error)),
            ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => Self::Corrupt(error),
            ffi::SQLITE_IOERR | ffi::SQLITE_CANTOPEN => Self::Io(error),
            _ => Self::Sql(error),
        }
    }
}

impl From<Refusal<Reason>> for WriteError {
    fn from(refusal: Refusal<Reason>) -> Self {
        match refusal {
            Refusal::Overloaded => Self::Overloaded,
            Refusal::TooLarge { bytes, limit } => Self::TooLarge { size: bytes, limit },
            Refusal::Expired => Self::Expired,
            Refusal::Closed => Self::Closed,
            Refusal::Stopped(Reason::Failure(failure)) => Self::Stopped(failure),
            Refusal::Stopped(Reason::Begin(error)) | Refusal::Begin(Reason::Begin(error)) => {
                match error.code() {
                    rusqlite::ffi::SQLITE_BUSY => Self::Busy(error),
                    rusqlite::ffi::SQLITE_FULL => Self::DiskFull(error),
                    _ => Self::Begin(error),
                }
            }
            Refusal::Begin(Reason::Failure(failure)) => Self::Stopped(failure),
        }
    }
}

impl From<InvalidValue> for WriteError {
    fn from(error: InvalidValue) -> Self {
        Self::InvalidValue(error)
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constraint(error) => {
                write!(f, "a constraint refused the change, nothing was applied: {error}")
            }
            Self::Sql(error) => write!(f, "SQLite refused the statement, nothing was applied: {error}"),
            Self::Corrupt(error) => write!(
                f,
                "the database file is damaged, nothing was applied: {error}; run PRAGMA integrity_check and restore a backup"
            ),
            Self::Io(error) => {
                write!(f, "reading or writing the database failed, nothing was applied: {error}")
            }
            Self::DiskFull(error) => {
                write!(f, "the disk is full, nothing was applied: {error}; make room and send it again")
            }
            Self::Busy(error) => {
                write!(
                    f,
                    "another program holds the lock of the database, the command was not started: {error}; send it again"
                )
            }
            Self::Begin(error) => {
                write!(f, "no transaction could be begun, the command was not started: {error}")
            }
            Self::NotAllowed { what } => {
                write!(f, "{what} is not allowed inside the store, nothing was applied")
            }
            Self::Closure(error) => write!(f, "the closure failed, everything it did was undone: {error}"),
            Self::Panic { message } => {
                write!(f, "the closure panicked, everything it did was undone: {message}")
            }
            Self::RunLimit { limit } => {
                write!(
                    f,
                    "the command ran for longer than {limit:?}, everything it did was undone; do the work in smaller pieces"
                )
            }
            Self::CloseTimedOut => {
                write!(f, "the store was closed while the command was running, everything it did was undone")
            }
            Self::ResultTooLarge { limit } => {
                write!(
                    f,
                    "the statement returns more than {limit} bytes of rows, everything it did was undone"
                )
            }
            Self::Conflict(conflict) => write!(f, "{conflict}, nothing was applied; read the row again"),
            Self::NotCountable { table, column } => write!(
                f,
                "column {column} of the table {table} holds no integer, or none that can be added to so much; nothing was applied; set the column to an integer first"
            ),
            Self::SchemaChanged { table } => {
                write!(
                    f,
                    "the table {table} has changed since it was opened, nothing was applied; open it again"
                )
            }
            Self::Partial { rows, source } => {
                write!(
                    f,
                    "{rows} rows were changed and stay so; then a piece of the work failed and the rest was given up: {source}"
                )
            }
            Self::UnknownColumn { table, column } => {
                write!(f, "the table {table} has no column {column}, the command was not queued")
            }
            Self::WrongKey { table, expected, given } => write!(
                f,
                "the key of the table {table} has {expected} columns, not {given}; the command was not queued"
            ),
            Self::InvalidCommand { table, what } => {
                write!(f, "{what} (table {table}); the command was not queued")
            }
            Self::InvalidValue(error) => write!(f, "the command was not queued: {error}"),
            Self::TooLarge { size, limit } => {
                write!(
                    f,
                    "{size} bytes are more than the limit of {limit} bytes, the command was not queued; send less at once, or raise largest_value or write_queue"
                )
            }
            Self::Overloaded => {
                write!(f, "the write queue is full, the command was not queued; wait for room or try later")
            }
            Self::Expired => {
                write!(f, "the deadline passed before the command was started; it will not be carried out")
            }
            Self::Reentrant { admitted: false } => {
                write!(
                    f,
                    "a store cannot be called from inside a closure of a store; the command was not queued"
                )
            }
            Self::Reentrant { admitted: true } => write!(
                f,
                "a write cannot be waited for inside a closure of a store; it was queued before and is carried out"
            ),
            Self::WouldBlockRuntime { admitted: false } => {
                write!(
                    f,
                    "wait() would block a thread of the async runtime, use .await; the command was not queued"
                )
            }
            Self::WouldBlockRuntime { admitted: true } => write!(
                f,
                "wait() would block a thread of the async runtime, use .await; the command was queued before and is carried out"
            ),
            Self::Closed => write!(f, "the store is closed, the command was not started"),
            Self::Forked { .. } => {
                write!(
                    f,
                    "the store was opened before this process was forked and cannot be used here; open it after forking"
                )
            }
            Self::Stopped(failure) => {
                write!(f, "the store has stopped, the command was not started: {failure}")
            }
            Self::Unknown(failure) => {
                write!(
                    f,
                    "it is unknown whether the command is on disk until the store is opened again: {failure}"
                )
            }
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Constraint(error) | Self::Sql(error) | Self::Corrupt(error) | Self::Io(error) => {
                Some(error)
            }
            Self::Busy(error) | Self::Begin(error) | Self::DiskFull(error) => Some(error),
            Self::Closure(error) => Some(error.as_error()),
            Self::InvalidValue(error) => Some(error),
            Self::Stopped(failure) | Self::Unknown(failure) => Some(failure),
            Self::Partial { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// How a row was when the guard of a command on it did not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    /// The row is there.
    pub exists: bool,
    /// Its revision at that moment: that of the command before this one in the order of admission. `None` if the
    /// row is not there, or its table has no revision column.
    pub revision: Option<i64>,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { exists: false, .. } => f.write_str("the row is not there"),
            Self { revision: None, .. } => f.write_str("the row is not as the guard expects"),
            Self { revision: Some(revision), .. } => {
                write!(f, "the row is not as the guard expects, its revision is {revision}")
            }
        }
    }
}
