//! Why a table cannot be used by rows.

use std::fmt;

use crate::error::SqliteError;

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

impl From<rusqlite::Error> for ShapeError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error.into())
    }
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchTable { table } => write!(f, "there is no table named {table}"),
            Self::NotATable { table, what } => write!(f, "{table} is {what}"),
            Self::NoKey { table } => write!(f, "table {table} has no primary key, and no key was named"),
            Self::KeyIsNotUnique { columns } => write!(
                f,
                "no two rows may be equal in ({}): that needs a primary key or a UNIQUE index on exactly these \
                 columns, with their own collations",
                columns.join(", ")
            ),
            Self::KeyIsGenerated { column } => write!(f, "key column {column} is generated"),
            Self::UnknownColumn { column } => write!(f, "there is no column named {column}"),
            Self::RevisionNotInteger { column } => {
                write!(f, "revision column {column} is generated, or not declared as an INTEGER")
            }
            Self::RevisionInKey { column } => write!(f, "revision column {column} is part of a key"),
            Self::Sqlite(error) => write!(f, "the schema could not be read: {error}"),
        }
    }
}

impl std::error::Error for ShapeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Sqlite(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for NoTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::View => "a view",
            Self::Virtual => "a virtual table",
            Self::Shadow => "the storage of a virtual table",
            Self::Engines => "the engine's own table",
            Self::Sqlites => "a table of SQLite itself",
        })
    }
}
