//! Why a table could not be opened.

use std::fmt;

use super::ReadError;

/// Why a table could not be opened. Nothing was changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum TableError {
    /// There is no such table in the database file. Names are compared in any case.
    NoSuchTable {
        /// The name that was asked for.
        table: String,
    },
    /// It is no table of rows that commands could change: a view, a virtual table, or one of SQLite's or the
    /// engine's own. Use statements and closures there.
    NotATable {
        /// The name that was asked for.
        table: String,
        /// What it is instead.
        what: &'static str,
    },
    /// The table has no primary key. Name the columns of a UNIQUE index with
    /// [`TableBuilder::key`](crate::TableBuilder::key).
    NoKey {
        /// The table.
        table: String,
    },
    /// The columns that were named as the key are not exactly those of the primary key or of a UNIQUE index
    /// over all rows.
    KeyIsNotUnique {
        /// The table.
        table: String,
        /// The columns.
        columns: Vec<String>,
    },
    /// The database computes a column of the key, so that no command could make a row with a given key.
    KeyIsGenerated {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A field of the row type, or a column named to the builder, is not a column of the table.
    UnknownColumn {
        /// The table.
        table: String,
        /// The name of the field or column.
        column: String,
    },
    /// The row type has no field for a column that every insert has to give: it is NOT NULL and has no default.
    MissingColumn {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// The revision column cannot be one: it must be an ordinary column that is declared INTEGER, outside of the
    /// key.
    NotARevision {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// The column by which rows expire is of type TEXT: times have to be numbers.
    NotATime {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// The schema could not be read.
    Read(ReadError),
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchTable { table } => {
                write!(f, "there is no table {table}; create it in a migration before it is opened")
            }
            Self::NotATable { table, what } => {
                write!(f, "{table} is {what}, whose rows cannot be changed by row commands; use SQL")
            }
            Self::NoKey { table } => {
                write!(
                    f,
                    "the table {table} has no primary key; name the columns of a UNIQUE index as its key"
                )
            }
            Self::KeyIsNotUnique { table, columns } => write!(
                f,
                "rows of the table {table} may be equal in ({}): a key needs a primary key or a UNIQUE index on exactly \
                 its columns, over all rows and with their own collations",
                columns.join(", ")
            ),
            Self::KeyIsGenerated { table, column } => {
                write!(f, "the column {column} of the table {table} is generated and cannot be part of a key")
            }
            Self::UnknownColumn { table, column } => write!(
                f,
                "the table {table} has no column {column}; the fields of the row type and the names given to the builder must be its columns"
            ),
            Self::MissingColumn { table, column } => write!(
                f,
                "the row type has no field for the column {column} of the table {table}, which is NOT NULL and has no default"
            ),
            Self::NotATime { table, column } => write!(
                f,
                "column {column} of {table} is of type TEXT; rows expire by numbers, in an INTEGER column"
            ),
            Self::NotARevision { table, column } => write!(
                f,
                "the column {column} of the table {table} cannot hold revisions: it must be an ordinary INTEGER column outside of the key"
            ),
            Self::Read(error) => write!(f, "the schema of the table could not be read: {error}"),
        }
    }
}

impl std::error::Error for TableError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            _ => None,
        }
    }
}
