//! How the columns of a table compare text.

use rusqlite::Connection;
use rusqlite::types::Null;

use super::words::has_word;
use crate::row::quoted;

/// SQLite's own order, byte for byte.
pub(super) const BINARY: &str = "BINARY";

/// The collations of a table's columns; `None` where it is not sure.
///
/// No pragma shows them. Without the word COLLATE in the table's text each column has SQLite's own; else
/// SQLite is asked with which one it would compare the column.
pub(super) fn read_collations<'a>(
    connection: &Connection,
    table: &str,
    table_sql: &[u8],
    columns: impl Iterator<Item = &'a str>,
) -> Vec<Option<String>> {
    if has_word(table_sql, "COLLATE") {
        columns.map(|column| compared_with(connection, table, column)).collect()
    } else {
        columns.map(|_| Some(BINARY.to_owned())).collect()
    }
}

/// The collation of the one comparison in a statement that compares the column with a parameter.
///
/// An error, as for a collation that this connection does not know, makes it unknown.
fn compared_with(connection: &Connection, table: &str, column: &str) -> Option<String> {
    // The sign keeps the parameter's side from having a say.
    let sql = format!("EXPLAIN SELECT +?1 = {} FROM main.{}", quoted(column), quoted(table));
    let mut statement = connection.prepare(&sql).ok()?;
    let mut rows = statement.query([Null]).ok()?;
    while let Some(row) = rows.next().ok()? {
        let opcode: String = row.get("opcode").ok()?;
        if matches!(opcode.as_str(), "Eq" | "Ne" | "Lt" | "Le" | "Gt" | "Ge") {
            // The name, cut to 18 bytes, and the encoding: "NOCASE-8", "BINARY-16LE".
            let shown: String = row.get("p4").ok()?;
            let (name, _encoding) = shown.rsplit_once('-')?;
            return (name.len() < 18).then(|| name.to_owned());
        }
    }
    None
}
