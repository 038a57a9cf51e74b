//! Why a command about a search index failed.

use std::fmt;
use std::io;

use super::WriteError;

/// Why a command about a search index failed. The file is as it was before the command, unless it is a
/// [`Write`](Self::Write), which [says](WriteError::outcome) so itself.
#[derive(Debug)]
#[non_exhaustive]
pub enum SearchIndexError {
    /// No column was named that is to be searched.
    NoColumns {
        /// The index.
        index: String,
    },
    /// The table has no column of this name.
    UnknownColumn {
        /// The table.
        table: String,
        /// The name that was given.
        column: String,
    },
    /// An index cannot have this name.
    InvalidName {
        /// The name.
        index: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The table has no `INTEGER PRIMARY KEY`. The index knows rows by their numbers, and VACUUM may give rows of such
    /// a table others. Add one: the key by which rows are named can be another column that is UNIQUE.
    NoLastingRowid {
        /// The table.
        table: String,
    },
    /// A table, view or index of another kind has this name, or a trigger has the name of one of the index's triggers
    /// (`name_insert`, `name_update`, `name_move`, `name_delete`). Choose another.
    NameTaken {
        /// The name.
        index: String,
    },
    /// The index that is there has another definition: of another table, other columns, words instead of substrings
    /// or the other way round; or some of its triggers are missing or changed. Open it as it is, or have it
    /// replaced: [`SearchIndexBuilder::replace_other`](crate::SearchIndexBuilder::replace_other).
    Differs {
        /// The index.
        index: String,
    },
    /// The table, or a column of the index, has gone since the table was opened. Open the table again.
    SchemaChanged {
        /// The table.
        table: String,
    },
    /// The index was dropped while somebody waited for it.
    Dropped {
        /// The index.
        index: String,
    },
    /// The store closed before the index was built. Building goes on where it stood when the index is opened again.
    Closed,
    /// The index is there, but the thread that builds it could not be started. Open it again.
    NoThread(io::Error),
    /// The command failed.
    Write(WriteError),
}

impl fmt::Display for SearchIndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoColumns { index } => {
                write!(f, "the search index {index} has no columns; name those that are to be searched")
            }
            Self::UnknownColumn { table, column } => write!(f, "table {table} has no column {column}"),
            Self::InvalidName { index, reason } => {
                write!(f, "a search index cannot be called {index:?}: {reason}")
            }
            Self::NoLastingRowid { table } => write!(
                f,
                "table {table} has no INTEGER PRIMARY KEY, so its rows have no numbers that last; add one to search it"
            ),
            Self::NameTaken { index } => {
                write!(
                    f,
                    "something that is no search index has the name {index}, or that of one of its triggers; choose \
                     another"
                )
            }
            Self::Differs { index } => write!(
                f,
                "the search index {index} is there with another definition or other triggers; open it as it is, or have it replaced"
            ),
            Self::SchemaChanged { table } => {
                write!(f, "the table {table} has changed since it was opened; open it again")
            }
            Self::Dropped { index } => write!(f, "the search index {index} was dropped"),
            Self::Closed => {
                write!(f, "the store closed before the search index was built; it goes on at the next open")
            }
            Self::NoThread(source) => {
                write!(f, "the thread that builds search indexes could not start: {source}")
            }
            Self::Write(error) => write!(f, "the command about a search index failed: {error}"),
        }
    }
}

impl std::error::Error for SearchIndexError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Write(error) => Some(error),
            Self::NoThread(source) => Some(source),
            _ => None,
        }
    }
}

impl From<crate::keeper::KeepError> for SearchIndexError {
    fn from(error: crate::keeper::KeepError) -> Self {
        use crate::keeper::KeepError;
        match error {
            KeepError::Closed => Self::Closed,
            KeepError::Forked => Self::Write(WriteError::Forked { admitted: true }),
            KeepError::NoThread(source) => Self::NoThread(source),
        }
    }
}
