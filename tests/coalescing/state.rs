//! What is in a database.

use walwright::rusqlite::types::ValueRef;
use walwright::rusqlite::{Connection, Result, Row};
use walwright::{Change, ChangeKey, Value};

use crate::answer::Sequences;

/// What one thing in the database is, by its name.
pub type Found = (String, String);

/// Everything in the database that a program can have left there: its schema, the rows of all tables with their
/// types and rowids, and if asked what SQLite thinks of the file.
pub fn everything(connection: &Connection, sequences: &Sequences, is_checked: bool) -> Result<Vec<Found>> {
    let mut found = vec![(
        "schema".to_owned(),
        rows(
            connection,
            "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE type <> 'table' OR name NOT LIKE 'sqlite%'",
            sequences,
        )?,
    )];
    for (table, is_without_rowid) in tables(connection)? {
        let sql = if is_without_rowid {
            format!("SELECT * FROM \"{table}\"")
        } else {
            format!("SELECT rowid, * FROM \"{table}\" ORDER BY rowid")
        };
        let rows = rows(connection, &sql, sequences).unwrap_or_else(|error| error.to_string());
        // It stays when the table that it was made for is dropped.
        if !(table == "sqlite_sequence" && rows.is_empty()) {
            found.push((table, rows));
        }
    }
    let checks = ["PRAGMA integrity_check", "PRAGMA foreign_key_check"];
    for check in checks.into_iter().filter(|_| is_checked) {
        let result = rows(connection, check, sequences).unwrap_or_else(|error| error.to_string());
        found.push((check.to_owned(), result));
    }
    Ok(found)
}

/// A change in words, with the name of its command in the place of its sequence.
pub fn change(change: &Change, sequences: &Sequences) -> String {
    let number = |number: u64| sequences.show(number.cast_signed(), usize::MAX);
    match change {
        Change::Row(row) => format!(
            "{} {} {:?} {} {:?}",
            number(row.sequence),
            row.table,
            row.operation,
            // A revision may be a sequence, and so may a key that a trigger made of one.
            match &row.key {
                ChangeKey::Key(values) =>
                    values.iter().map(|value| value_of(value, sequences)).collect::<Vec<_>>().join(", "),
                other => format!("{other:?}"),
            },
            row.revision.map(|revision| sequences.show(revision, usize::MAX)),
        ),
        Change::Table { sequence, table } => format!("{} {table}", number(*sequence)),
        other => format!("{other:?}"),
    }
}

fn value_of(value: &Value, sequences: &Sequences) -> String {
    match value {
        Value::Integer(integer) => sequences.show(*integer, usize::MAX),
        Value::Text(text) => format!("{text:?}"),
        Value::Real(real) => format!("{real:?}"),
        Value::Blob(bytes) => format!("x{bytes:?}"),
        Value::Null => "NULL".to_owned(),
    }
}

/// The tables, and whether each is without rowids.
fn tables(connection: &Connection) -> Result<Vec<(String, bool)>> {
    let sql = "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' \
               AND name NOT IN ('sqlite_schema', 'walwright_sequence') ORDER BY name";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// The rows that a query gives, one in a line, in their order.
fn rows(connection: &Connection, sql: &str, sequences: &Sequences) -> Result<String> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let lines = statement.query_map([], |row| line(row, columns, sequences))?;
    Ok(lines.collect::<Result<Vec<_>>>()?.join("\n"))
}

fn line(row: &Row<'_>, columns: usize, sequences: &Sequences) -> Result<String> {
    let value = |column| {
        Ok(match row.get_ref(column)? {
            ValueRef::Null => "NULL".to_owned(),
            ValueRef::Integer(integer) => sequences.show(integer, usize::MAX),
            ValueRef::Real(real) => format!("{real:?}"),
            ValueRef::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
            ValueRef::Blob(bytes) => format!("x{bytes:?}"),
        })
    };
    Ok((0..columns).map(value).collect::<Result<Vec<String>>>()?.join(" | "))
}
