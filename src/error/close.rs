//! Why a close did not end as it should.

use std::fmt;
use std::time::Duration;

use super::StoreFailure;
use crate::sync::Arc;

/// What a close has to report. No acknowledged write is lost in any of these cases.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CloseError {
    /// A closure of the caller is still running and cannot be stopped, or the final checkpoint takes its time;
    /// the files are released when that ends. Everything that had not started was answered *not started*.
    StillRunning {
        /// What is running.
        what: String,
        /// The time that the close was given.
        limit: Duration,
    },
    /// The store had stopped before. All files are released; open the store again to settle what is on
    /// disk.
    Stopped(Arc<StoreFailure>),
    /// Closed, but the write-ahead log could not be copied into the database file. It stays beside it and
    /// is taken up at the next open.
    Checkpoint(Arc<super::SqliteError>),
    /// Closed, but SQLite keeps the files open until the process ends: a closure has forgotten
    /// ([`std::mem::forget`]) a statement, and it cannot be told from one that is SQLite's own.
    StatementsLeft(Arc<super::SqliteError>),
    /// The call came from a closure that runs inside a store.
    Reentrant,
    /// `wait()` was called on a thread of an async runtime, which it would block. Use `.await` there. The
    /// store is closing all the same.
    WouldBlockRuntime,
    /// The process was forked after the store was opened; only the parent can close it.
    Forked,
}

impl fmt::Display for CloseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StillRunning { what, limit } => write!(
                f,
                "after {limit:?} {what} is still running; the store takes no more calls and releases its files when that ends"
            ),
            Self::Stopped(failure) => write!(f, "the store is closed, but it had stopped before: {failure}"),
            Self::Checkpoint(error) => write!(
                f,
                "the store is closed, but its write-ahead log could not be copied into the database file and stays beside it: {error}"
            ),
            Self::StatementsLeft(error) => write!(
                f,
                "the store is closed, but its files stay open until the process ends: a closure has forgotten a \
                 statement instead of dropping it ({error})"
            ),
            Self::Reentrant => {
                write!(f, "a store cannot be closed and waited for from inside a closure of a store")
            }
            Self::WouldBlockRuntime => {
                write!(
                    f,
                    "wait() would block a thread of the async runtime, use .await; the store is closing all the same"
                )
            }
            Self::Forked => {
                write!(f, "the store was opened before this process was forked; only the parent can close it")
            }
        }
    }
}

impl std::error::Error for CloseError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Stopped(failure) => Some(failure),
            Self::Checkpoint(error) | Self::StatementsLeft(error) => Some(error),
            _ => None,
        }
    }
}
