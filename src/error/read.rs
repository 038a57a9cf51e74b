//! Why a read failed.

use std::fmt;
use std::time::Duration;

use super::{ClosureError, InvalidValue, SqliteError, StoreFailure};
use crate::sync::Arc;

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
    /// A parameter cannot be passed to SQLite as it is.
    InvalidValue(InvalidValue),
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
            Self::TooLarge { size, limit } => {
                write!(f, "{size} bytes are more than the limit of {limit} bytes, the read was not queued")
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
            Self::Closure(error) => Some(error.as_error()),
            Self::InvalidValue(error) => Some(error),
            Self::Stopped(failure) => Some(failure),
            _ => None,
        }
    }
}
