//! What is in a database, as one number: two databases with the same content have the same.

use rusqlite::types::Value;
use walwright::{ClosureError, Db};
use walwright_test_support::fingerprint;

/// Something that answers queries: the store's snapshot, or the reference.
pub trait Queries {
    fn rows(&self, sql: &str) -> Result<Vec<Vec<Value>>, ClosureError>;
}

impl Queries for Db<'_> {
    fn rows(&self, sql: &str) -> Result<Vec<Vec<Value>>, ClosureError> {
        self.query(sql, (), values)
    }
}

impl Queries for rusqlite::Connection {
    fn rows(&self, sql: &str) -> Result<Vec<Vec<Value>>, ClosureError> {
        let mut statement = self.prepare(sql)?;
        let rows: rusqlite::Result<_> = statement.query_map((), values)?.collect();
        Ok(rows?)
    }
}

fn values(row: &rusqlite::Row<'_>) -> rusqlite::Result<Vec<Value>> {
    (0..row.as_ref().column_count()).map(|column| row.get(column)).collect()
}

/// Everything of the user's: schema and rows.
pub fn digest(database: &impl Queries) -> Result<u64, ClosureError> {
    let schema = database.rows(
        "SELECT type, name, sql FROM sqlite_schema
         WHERE name NOT LIKE 'sqlite_%' AND name <> 'walwright_sequence' ORDER BY name",
    )?;
    let mut bytes = Vec::new();
    write(&mut bytes, &schema);
    for entry in &schema {
        if let [Value::Text(kind), Value::Text(name), _] = &entry[..]
            && kind == "table"
        {
            write(&mut bytes, &database.rows(&format!("SELECT * FROM \"{name}\""))?);
        }
    }
    Ok(fingerprint(&bytes))
}

/// Writes rows so that different ones give different bytes.
fn write(bytes: &mut Vec<u8>, rows: &[Vec<Value>]) {
    let mut put = |kind: u8, content: &[u8]| {
        bytes.push(kind);
        bytes.extend(content.len().to_le_bytes());
        bytes.extend_from_slice(content);
    };
    put(0, &rows.len().to_le_bytes());
    for value in rows.iter().flatten() {
        match value {
            Value::Null => put(1, &[]),
            Value::Integer(integer) => put(2, &integer.to_le_bytes()),
            Value::Real(real) => put(3, &real.to_le_bytes()),
            Value::Text(text) => put(4, text.as_bytes()),
            Value::Blob(blob) => put(5, blob),
        }
    }
}

/// What SQLite finds wrong with the file, and whether money was lost: transfers keep the sum of all
/// accounts, so that half of one would show. Empty if nothing is wrong.
pub fn complaints(database: &impl Queries) -> Result<Vec<String>, ClosureError> {
    let mut complaints = Vec::new();
    for row in database.rows("PRAGMA integrity_check")? {
        match &row[..] {
            [Value::Text(line)] if line == "ok" => {}
            other => complaints.push(format!("integrity_check: {other:?}")),
        }
    }
    for row in database.rows("PRAGMA foreign_key_check")? {
        complaints.push(format!("foreign_key_check: {row:?}"));
    }
    let sums = database.rows("SELECT coalesce(sum(cents), 0) FROM account")?;
    if sums != [[Value::Integer(super::schema::CENTS)]] {
        complaints.push(format!("all accounts together hold {sums:?} cents"));
    }
    Ok(complaints)
}
