//! What can go wrong while users' SQL runs.

use std::error::Error;
use std::fmt;

use super::stop::{StopReason, Stopped};
use crate::error::{ClosureError, SqliteError};

/// SQL that the store's connections refuse: it would outlive the call or break into the store's own work.
///
/// Closures and statements run inside a transaction that the store begins and commits, on connections that
/// others use next. They cannot begin, commit or roll back, set savepoints, attach, VACUUM, create temporary
/// objects, change settings, load extensions, or write to the store's own table. Settings belong to the builder
/// of the store. Pragmas that only look are allowed: `table_info` and its like, `integrity_check`,
/// `foreign_key_check`, and most settings when they are given no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAllowed {
    /// What was refused, such as `PRAGMA foreign_keys` or `ATTACH`.
    pub what: String,
}

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not allowed in statements and closures of the store: {}", self.what)
    }
}

impl Error for NotAllowed {}

/// What a closure's calls answer once an error has made SQLite roll back the whole transaction.
///
/// A full disk, an I/O error, `ON CONFLICT ROLLBACK` and `RAISE(ROLLBACK)` do that. Whatever the closure
/// would run after it would be committed by itself, so nothing runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionEnded;

impl fmt::Display for TransactionEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an earlier error made SQLite roll back the transaction of this call; return that error")
    }
}

impl Error for TransactionEnded {}

/// Why a statement command failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// SQLite refused it.
    Sqlite(SqliteError),
    /// It is not among the things that users' SQL may do.
    NotAllowed {
        /// What was refused, such as `PRAGMA foreign_keys` or `ATTACH`.
        what: String,
    },
    /// The text holds more than one statement. None of them was run.
    MultipleStatements,
    /// It was stopped.
    Stopped(StopReason),
    /// Its rows take more memory than a result may.
    ResultTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The transaction had been rolled back before.
    TransactionEnded,
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(error) => error.fmt(f),
            Self::NotAllowed { what } => write!(f, "not allowed in statements of the store: {what}"),
            Self::MultipleStatements => {
                f.write_str("the text holds more than one statement; send each by itself or use a closure")
            }
            Self::Stopped(reason) => write!(f, "the store stopped the statement: {reason}"),
            Self::ResultTooLarge { limit } => {
                write!(f, "the rows take more than the limit of {limit} bytes; ask for fewer at a time")
            }
            Self::TransactionEnded => TransactionEnded.fmt(f),
        }
    }
}

impl Error for SessionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Sqlite(error) => Some(error),
            _ => None,
        }
    }
}

/// The same before it is known whether a closure or a statement command takes it: closures get rusqlite's
/// own error.
#[derive(Debug)]
pub(super) enum Failure {
    Sqlite(rusqlite::Error),
    NotAllowed(NotAllowed),
    Stopped(StopReason),
    ResultTooLarge { limit: usize },
    TransactionEnded,
}

impl Failure {
    pub(super) fn into_closure(self) -> ClosureError {
        match self {
            Self::Sqlite(error) => error.into(),
            Self::NotAllowed(error) => error.into(),
            Self::Stopped(reason) => Stopped { reason }.into(),
            Self::TransactionEnded => TransactionEnded.into(),
            error @ Self::ResultTooLarge { .. } => error.into_session().into(),
        }
    }

    pub(super) fn into_session(self) -> SessionError {
        match self {
            Self::Sqlite(rusqlite::Error::MultipleStatement) => SessionError::MultipleStatements,
            Self::Sqlite(error) => SessionError::Sqlite(error.into()),
            Self::NotAllowed(error) => SessionError::NotAllowed { what: error.what },
            Self::Stopped(reason) => SessionError::Stopped(reason),
            Self::ResultTooLarge { limit } => SessionError::ResultTooLarge { limit },
            Self::TransactionEnded => SessionError::TransactionEnded,
        }
    }
}
