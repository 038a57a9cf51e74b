//! Why a table cannot be used by rows.

use crate::error::{RetentionFailure, SqliteError, TableError};

/// Why a table cannot be used by rows.
#[derive(Debug)]
pub(crate) enum ShapeError {
    /// The database has nothing of this name.
    NoSuchTable { table: String },
    /// What has this name is no ordinary table of the user's.
    NotATable { table: String, what: NoTable },
    /// The table has no primary key, and no other key was named.
    NoKey { table: String },
    /// Rows with the same values in these columns are possible: neither the primary key nor a UNIQUE index is on
    /// exactly them, or it compares them in another way than the columns do.
    KeyIsNotUnique { columns: Vec<String> },
    /// The database computes this key column, so no command could make a row with a given key.
    KeyIsGenerated { column: String },
    /// The table has no such column.
    UnknownColumn { column: String },
    /// The revision column has no INTEGER affinity, or is a generated one.
    RevisionNotInteger { column: String },
    /// The revision column is part of the key, or of the primary key.
    RevisionInKey { column: String },
    /// The schema could not be read.
    Sqlite(SqliteError),
}

/// What stands in the place of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoTable {
    View,
    Virtual,
    /// The storage of a virtual table.
    Shadow,
    /// The table in which the engine keeps commit sequences.
    Engines,
    /// A table of SQLite itself.
    Sqlites,
}

impl ShapeError {
    /// What the caller is told who wanted to open this table.
    pub(crate) fn into_table_error(self, table: &str) -> TableError {
        let table = table.to_owned();
        match self {
            Self::NoSuchTable { table } => TableError::NoSuchTable { table },
            Self::NotATable { table, what } => TableError::NotATable { table, what: what.name() },
            Self::NoKey { table } => TableError::NoKey { table },
            Self::KeyIsNotUnique { columns } => TableError::KeyIsNotUnique { table, columns },
            Self::KeyIsGenerated { column } => TableError::KeyIsGenerated { table, column },
            Self::UnknownColumn { column } => TableError::UnknownColumn { table, column },
            Self::RevisionNotInteger { column } | Self::RevisionInKey { column } => {
                TableError::NotARevision { table, column }
            }
            Self::Sqlite(error) => TableError::Read(error.into()),
        }
    }
}

impl From<ShapeError> for RetentionFailure {
    fn from(error: ShapeError) -> Self {
        match error {
            ShapeError::NotATable { what, .. } => Self::NotATable { what: what.name() },
            ShapeError::Sqlite(error) => Self::Sqlite(error),
            // The others are about keys and revisions, which a policy does not have.
            _ => Self::NoSuchTable,
        }
    }
}

impl From<rusqlite::Error> for ShapeError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error.into())
    }
}

impl NoTable {
    fn name(self) -> &'static str {
        match self {
            Self::View => "a view",
            Self::Virtual => "a virtual table",
            Self::Shadow => "the storage of a virtual table",
            Self::Engines => "the engine's own table",
            Self::Sqlites => "a table of SQLite itself",
        }
    }
}
