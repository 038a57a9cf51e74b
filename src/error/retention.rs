//! Why a retention policy cannot be carried out.

use std::fmt;

use super::SqliteError;

/// Why a retention policy cannot be carried out on this database.
#[derive(Debug)]
#[non_exhaustive]
pub enum RetentionFailure {
    /// The database has no table of this name.
    NoSuchTable,
    /// What has this name is no ordinary table of the program's.
    NotATable {
        /// What it is.
        what: &'static str,
    },
    /// The table has no such column.
    NoSuchColumn {
        /// The column.
        column: String,
    },
    /// The time column has type TEXT: texts do not compare like the numbers in them.
    TextColumn {
        /// The column.
        column: String,
    },
    /// No index begins with these columns, in this order, and holds all rows that the policy is about.
    NoIndex {
        /// The columns.
        columns: Vec<String>,
    },
    /// Nothing tells the rows of the table apart: columns have all the names of its rowid, and it has no primary key.
    NoKey,
    /// SQLite refused to show the schema.
    Sqlite(SqliteError),
}

impl fmt::Display for RetentionFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchTable => f.write_str("there is no such table; create it in a migration"),
            Self::NotATable { what } => write!(f, "it is {what}; name an ordinary table"),
            Self::NoSuchColumn { column } => write!(f, "it has no column {column}"),
            Self::TextColumn { column } => {
                write!(
                    f,
                    "its column {column} is of type TEXT; times have to be numbers, in an INTEGER column"
                )
            }
            Self::NoIndex { columns } => {
                let columns = columns.join(", ");
                write!(f, "it has no index that begins with ({columns}); create one in a migration")
            }
            Self::NoKey => f.write_str("nothing tells its rows apart; give it a primary key"),
            Self::Sqlite(error) => write!(f, "{error}"),
        }
    }
}
