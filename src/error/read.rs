//! Why a read failed.

use std::fmt;
use std::time::Duration;

use super::{ClosureError, InvalidValue, SqliteError, StoreFailure};
use crate::sync::Arc;
use crate::table::DecodeError;

/// Why a read gave no result. A read never changes anything.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// SQLite refused the query, or a value did not convert.
    Sql(SqliteError),
    /// The database file is damaged where the read looked.
    Corrupt(SqliteError),
    /// Reading the file failed.
    Io(SqliteError),
    /// The SQL does something that a read must not do: it writes, begins a transaction, attaches a file,
    /// creates temporary objects, changes a setting.
    NotAllowed {
        /// What it tried to do.
        what: String,
    },
    /// The closure returned an error of its own.
    Closure(ClosureError),
    /// The closure panicked. The reader goes on.
    Panic {
        /// The panic's message.
        message: String,
    },
    /// The deadline passed, in the queue or while the SQL ran.
    Expired,
    /// The read held its snapshot for longer than the greatest age of reads.
    TooOld {
        /// The greatest age.
        greatest_age: Duration,
    },
    /// The read was ended because its snapshot kept the write-ahead log from shrinking below its hard
    /// limit. Send it again, in smaller pieces.
    WalPressure,
    /// The result is larger than the limit. Ask for less, page by page.
    ResultTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A parameter, or a value of a key or filter, cannot be passed to SQLite as it is.
    InvalidValue(InvalidValue),
    /// The table has no column of this name. The read was not queued.
    UnknownColumn {
        /// The table.
        table: String,
        /// The name that was given.
        column: String,
    },
    /// The key has another number of values than the key of the table. The read was not queued.
    WrongKey {
        /// The table.
        table: String,
        /// How many columns the table's key has.
        expected: usize,
        /// How many values were given.
        given: usize,
    },
    /// A filter cannot stand by itself in a query: see [`Filter::sql`](crate::Filter::sql). The read was not queued.
    InvalidFilter {
        /// What is wrong with it.
        reason: String,
    },
    /// A cursor is damaged, or belongs to another table, order or key. The read was not queued. Start at the first
    /// page again.
    InvalidCursor {
        /// What is wrong with it.
        reason: String,
    },
    /// A page cannot have this many rows. The read was not queued.
    InvalidLimit {
        /// The number that was asked for.
        limit: usize,
        /// The greatest number; the smallest is 1.
        greatest: usize,
    },
    /// The text to search for has more than 1,000 characters. The read was not queued.
    SearchTooLong,
    /// The search index is being built. Wait for [`SearchIndex::ready`](crate::SearchIndex::ready).
    IndexNotReady {
        /// The index.
        index: String,
    },
    /// There is no such search index any more. Open it again, which makes it.
    NoSearchIndex {
        /// The index.
        index: String,
    },
    /// The search index is damaged; the table is not. Build the index anew:
    /// [`SearchIndex::rebuild`](crate::SearchIndex::rebuild).
    IndexDamaged {
        /// The index.
        index: String,
        /// What SQLite said.
        source: SqliteError,
    },
    /// The table's rows have no order in which each has a place of its own: its key may be NULL, and it has no
    /// rowid, or none that can be asked for because columns took its names. The read was not queued.
    NoTotalOrder {
        /// The table.
        table: String,
    },
    /// The table is not the one any more that its handle was opened on: it was dropped, or columns that the read
    /// needs have gone. Open the table again.
    SchemaChanged {
        /// The table.
        table: String,
    },
    /// A row that was found does not fit the type of the table's handle.
    Decode(DecodeError),
    /// A value is larger than its limit, or a read larger than the queue of reads. It was not queued.
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The queue of reads is full, and the call was one that does not wait. The read was not queued.
    Overloaded,
    /// The call came from a closure that runs inside a store. Use the closure's own `db` or `tx` there.
    Reentrant,
    /// `wait()` was called on a thread of an async runtime, which it would block. Use `.await` there.
    WouldBlockRuntime,
    /// The store is closing or closed.
    Closed,
    /// The process was forked after the store was opened; only the parent can use it.
    Forked,
    /// The reader thread ended unexpectedly.
    Stopped(Arc<StoreFailure>),
}

impl ReadError {
    /// Whether the same read may succeed when it is sent again, without any other change.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Expired | Self::WalPressure | Self::Overloaded)
    }
}

impl From<SqliteError> for ReadError {
    fn from(error: SqliteError) -> Self {
        use rusqlite::ffi;
        match error.code() {
            ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => Self::Corrupt(error),
            ffi::SQLITE_IOERR | ffi::SQLITE_CANTOPEN => Self::Io(error),
            _ => Self::Sql(error),
        }
    }
}

impl From<DecodeError> for ReadError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

impl From<InvalidValue> for ReadError {
    fn from(error: InvalidValue) -> Self {
        Self::InvalidValue(error)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sql(error) => write!(f, "SQLite refused the read: {error}"),
            Self::Corrupt(error) => {
                write!(
                    f,
                    "the database file is damaged: {error}; run PRAGMA integrity_check and restore a backup"
                )
            }
            Self::Io(error) => write!(f, "reading the database failed: {error}"),
            Self::NotAllowed { what } => write!(f, "{what} is not allowed in a read"),
            Self::Closure(error) => write!(f, "the closure failed: {error}"),
            Self::Panic { message } => write!(f, "the closure panicked: {message}"),
            Self::Expired => write!(f, "the deadline of the read passed"),
            Self::TooOld { greatest_age } => {
                write!(
                    f,
                    "the read held its snapshot for longer than {greatest_age:?}; read in smaller pieces"
                )
            }
            Self::WalPressure => {
                write!(
                    f,
                    "the read was ended because its snapshot kept the write-ahead log from shrinking; send it again"
                )
            }
            Self::ResultTooLarge { limit } => {
                write!(f, "the result is larger than {limit} bytes; read it in pages")
            }
            Self::InvalidValue(error) => write!(f, "the read was not queued: {error}"),
            Self::UnknownColumn { table, column } => {
                write!(f, "table {table} has no column {column}")
            }
            Self::WrongKey { table, expected, given } => {
                write!(f, "the key of table {table} has {expected} columns, but {given} values were given")
            }
            Self::InvalidFilter { reason } => write!(f, "the filter cannot be used: {reason}"),
            Self::InvalidCursor { reason } => {
                write!(f, "the cursor cannot be used: {reason}; start at the first page again")
            }
            Self::InvalidLimit { limit, greatest } => {
                write!(f, "a page cannot have {limit} rows, ask for 1 to {greatest}")
            }
            Self::SearchTooLong => {
                write!(f, "the text to search for has more than 1,000 characters; shorten it")
            }
            Self::IndexNotReady { index } => {
                write!(f, "the search index {index} is being built; wait until it is ready")
            }
            Self::NoSearchIndex { index } => {
                write!(f, "there is no search index {index} any more; open it again")
            }
            Self::IndexDamaged { index, source } => {
                write!(f, "the search index {index} is damaged: {source}; rebuild it")
            }
            Self::NoTotalOrder { table } => {
                write!(f, "table {table} cannot be read in pages; declare the columns of its key NOT NULL")
            }
            Self::SchemaChanged { table } => {
                write!(f, "the table {table} has changed since it was opened; open it again")
            }
            Self::Decode(error) => write!(f, "a row does not fit its type: {error}"),
            Self::TooLarge { size, limit } => {
                write!(
                    f,
                    "{size} bytes are more than the limit of {limit} bytes, the read was not queued; send less at once, or raise largest_value or read_queue"
                )
            }
            Self::Overloaded => write!(f, "the queue of reads is full"),
            Self::Reentrant => {
                write!(
                    f,
                    "a store cannot be called from inside a closure of a store; use what the closure was given"
                )
            }
            Self::WouldBlockRuntime => {
                write!(f, "wait() would block a thread of the async runtime, use .await")
            }
            Self::Closed => write!(f, "the store is closed"),
            Self::Forked => {
                write!(
                    f,
                    "the store was opened before this process was forked and cannot be used here; open it after forking"
                )
            }
            Self::Stopped(failure) => write!(f, "the reader has stopped: {failure}"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Sql(error) | Self::Corrupt(error) | Self::Io(error) => Some(error),
            Self::IndexDamaged { source, .. } => Some(source),
            Self::Closure(error) => Some(error.as_error()),
            Self::InvalidValue(error) => Some(error),
            Self::Decode(error) => Some(error),
            Self::Stopped(failure) => Some(failure),
            _ => None,
        }
    }
}
