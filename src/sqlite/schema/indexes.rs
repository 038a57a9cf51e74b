//! The indexes of a table, those of its constraints included.

use rusqlite::Connection;

/// One index.
pub(super) struct Index {
    pub(super) name: String,
    pub(super) is_unique: bool,
    /// It is that of the PRIMARY KEY. A rowid that is the primary key has none.
    pub(super) is_primary: bool,
    /// It has a WHERE clause.
    pub(super) is_partial: bool,
    /// Its columns in order, without those that SQLite adds to find the row.
    pub(super) columns: Vec<IndexColumn>,
}

pub(super) struct IndexColumn {
    /// The place in the table; `None` for an expression or the rowid.
    pub(super) column: Option<usize>,
    pub(super) collation: String,
}

impl Index {
    pub(super) fn has_expression(&self) -> bool {
        self.columns.iter().any(|column| column.column.is_none())
    }

    /// Whether no two rows can be equal in these columns, as the index compares them. Rows with NULL can.
    pub(super) fn is_unique_on(&self, key: &[usize]) -> bool {
        self.is_unique
            && !self.is_partial
            && self.columns.iter().all(|of| of.column.is_some_and(|column| key.contains(&column)))
            && key.iter().all(|column| self.columns.iter().any(|of| of.column == Some(*column)))
    }
}

/// Reads the indexes of a table, named as in the schema.
pub(super) fn read_indexes(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Index>> {
    let sql = "SELECT name, \"unique\", origin = 'pk', partial FROM pragma_index_list(?1, 'main')";
    let mut statement = connection.prepare(sql)?;
    let indexes = statement.query_map([table], |row| {
        let name: String = row.get(0)?;
        let columns = read_columns(connection, &name)?;
        Ok(Index { name, is_unique: row.get(1)?, is_primary: row.get(2)?, is_partial: row.get(3)?, columns })
    })?;
    indexes.collect()
}

fn read_columns(connection: &Connection, index: &str) -> rusqlite::Result<Vec<IndexColumn>> {
    let sql = "SELECT cid, coll FROM pragma_index_xinfo(?1, 'main') WHERE key ORDER BY seqno";
    let mut statement = connection.prepare(sql)?;
    let columns = statement.query_map([index], |row| {
        // Expressions and the rowid have negative numbers.
        Ok(IndexColumn { column: usize::try_from(row.get::<_, i64>(0)?).ok(), collation: row.get(1)? })
    })?;
    columns.collect()
}
