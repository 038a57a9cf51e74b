//! What kind of table a name means, as far as SQLite's update hook makes a difference.

use rusqlite::{Connection, OptionalExtension};

use super::words::text;
use crate::search::is_search_index;
use crate::sqlite::is_engine_table;
use crate::sqlite::session::says_replace;

/// A table, as far as its changes can be heard of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableKind {
    pub(crate) storage: TableStorage,
    /// Its text says REPLACE: a row that is put may remove others.
    pub(crate) replaces: bool,
}

/// How the rows of a table are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TableStorage {
    /// By rowid.
    Rowid {
        /// The column that is the rowid, if the primary key is.
        key_column: Option<String>,
    },
    WithoutRowid,
    Virtual,
    /// A search index. What it holds follows from its table, whose changes are told.
    SearchIndex,
    /// It is not the user's business: the storage of a virtual table, SQLite's own, the engine's own, a view.
    Hidden,
    /// There is no such table any more.
    Gone,
}

impl TableStorage {
    fn replacing(self, replaces: bool) -> TableKind {
        TableKind { storage: self, replaces }
    }
}

/// Reads the kind of a table, named in any case.
pub(crate) fn read_kind(connection: &Connection, table: &str) -> rusqlite::Result<TableKind> {
    let is_sqlites = table.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("sqlite_"));
    if is_sqlites || is_engine_table(table) {
        return Ok(TableStorage::Hidden.replacing(false));
    }
    let sql = "SELECT type, wr FROM pragma_table_list(?1) WHERE schema = 'main'";
    let found: Option<(String, bool)> =
        connection.prepare(sql)?.query_row([table], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((kind, is_without_rowid)) = found else { return Ok(TableStorage::Gone.replacing(false)) };
    let sql = "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE";
    let sql: Option<Vec<u8>> = connection.prepare(sql)?.query_row([table], |row| text(row, 0)).optional()?;
    let is_index = || sql.as_deref().and_then(|sql| str::from_utf8(sql).ok()).is_some_and(is_search_index);
    let storage = match kind.as_str() {
        "table" if is_without_rowid => TableStorage::WithoutRowid,
        "table" => TableStorage::Rowid { key_column: rowid_key(connection, table)? },
        "virtual" if is_index() => TableStorage::SearchIndex,
        "virtual" => TableStorage::Virtual,
        _ => TableStorage::Hidden,
    };
    Ok(storage.replacing(sql.is_some_and(|sql| says_replace(&sql))))
}

/// Whether the text of a trigger says REPLACE.
pub(crate) fn trigger_replaces(connection: &Connection, trigger: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT sql FROM main.sqlite_schema WHERE type = 'trigger' AND name = ?1 COLLATE NOCASE";
    let sql: Option<Vec<u8>> =
        connection.prepare(sql)?.query_row([trigger], |row| text(row, 0)).optional()?;
    Ok(sql.is_some_and(|sql| says_replace(&sql)))
}

/// The column of the primary key, if it is the rowid: an ordinary one has an index.
fn rowid_key(connection: &Connection, table: &str) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT min(name) FROM pragma_table_xinfo(?1, 'main') WHERE pk > 0 \
               HAVING count(*) = 1 AND min(lower(type)) = 'integer' \
               AND NOT EXISTS (SELECT 1 FROM pragma_index_list(?1, 'main') WHERE origin = 'pk')";
    connection.prepare(sql)?.query_row([table], |row| row.get(0)).optional()
}
