//! What is in a database, as one number: two databases with the same content have the same.

use rusqlite::types::Value;
use std::hash::{DefaultHasher, Hash, Hasher};
use walwright::{ClosureError, Db};

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

/// Everything of the user's: schema, version and rows.
pub fn digest(database: &impl Queries) -> Result<u64, ClosureError> {
    let mut hasher = DefaultHasher::new();
    let schema = database.rows(
        "SELECT type, name, sql FROM sqlite_schema
         WHERE name NOT LIKE 'sqlite_%' AND name <> 'walwright_sequence' ORDER BY name",
    )?;
    feed(&mut hasher, &schema);
    for entry in &schema {
        if let [Value::Text(kind), Value::Text(name), _] = &entry[..]
            && kind == "table"
        {
            feed(&mut hasher, &database.rows(&format!("SELECT * FROM \"{name}\""))?);
        }
    }
    Ok(hasher.finish())
}

fn feed(hasher: &mut DefaultHasher, rows: &[Vec<Value>]) {
    rows.len().hash(hasher);
    for value in rows.iter().flatten() {
        match value {
            Value::Null => 0.hash(hasher),
            Value::Integer(integer) => (1, integer).hash(hasher),
            Value::Real(real) => (2, real.to_bits()).hash(hasher),
            Value::Text(text) => (3, text).hash(hasher),
            Value::Blob(bytes) => (4, bytes).hash(hasher),
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
