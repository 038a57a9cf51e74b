//! Random tables and commands, with more traps in them than anyone has in one schema.

use rusqlite::Connection;

use super::super::row_values;
use super::Handle;
use crate::coalescing::TableFacts;
use crate::row::{Guard, RevisionKind, RowCommand, RowOp, Value};

/// SplitMix64: small, and good enough to choose with.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        b ^ (b >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// True once in so many times.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn choose<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    fn text(&mut self, from: &[&str]) -> Value {
        Value::Text((*self.choose(from)).to_owned())
    }
}

/// A schema, statements that put rows into it (some may fail), and the seed of the commands.
pub(super) struct Program {
    pub(super) schema: String,
    rows: Vec<String>,
    revision: Option<RevisionKind>,
    seed: u64,
}

const KEYS: &[&str] = &[
    "id TEXT PRIMARY KEY",
    "id TEXT PRIMARY KEY",
    "id INTEGER PRIMARY KEY",
    "id INTEGER PRIMARY KEY AUTOINCREMENT",
    "id INT PRIMARY KEY",
    "id BLOB PRIMARY KEY",
    "id TEXT COLLATE NOCASE PRIMARY KEY",
    "id TEXT NOT NULL PRIMARY KEY",
];
const TYPES: &[&str] = &["INT", "TEXT", "REAL", "BLOB", "ANY", "INTEGER"];
const CLAUSES: &[&str] = &[
    "NOT NULL",
    "DEFAULT 5",
    "DEFAULT 'five'",
    "NOT NULL DEFAULT 0",
    "DEFAULT (abs(-9223372036854775807 - 1))",
    "DEFAULT (json_extract('bad', '$'))",
    "UNIQUE",
    "COLLATE NOCASE",
    "UNIQUE COLLATE NOCASE",
    "REFERENCES p",
    "REFERENCES p ON DELETE CASCADE",
    "REFERENCES t",
    "REFERENCES p DEFERRABLE INITIALLY DEFERRED",
    "UNIQUE ON CONFLICT IGNORE",
    "NOT NULL ON CONFLICT REPLACE DEFAULT 3",
];
const CHECKS: &[&str] = &[
    "CHECK (x <> 2)",
    "CHECK (x IS NOT y)",
    "CHECK (typeof(z) <> 'text')",
    "UNIQUE (x, y)",
    "UNIQUE (z, rev)",
];
const GENERATED: &[&str] = &[
    "g AS (x + 1)",
    "g AS (nullif(x, 1)) NOT NULL",
    "g AS (json_extract(y, '$')) STORED",
    "g AS (x || y) UNIQUE",
];
const EXTRAS: &[&str] = &[
    "CREATE INDEX i ON t (x, y);",
    "CREATE UNIQUE INDEX i ON t (x) WHERE y = 1;",
    "CREATE INDEX i ON t (x) WHERE json_extract(y, '$') = 1;",
    "CREATE INDEX i ON t (json_extract(z, '$'));",
    "CREATE UNIQUE INDEX i ON t (lower(y));",
    "CREATE TABLE c (id INTEGER PRIMARY KEY, r REFERENCES t, rev INTEGER);",
    "CREATE TABLE c (id INTEGER PRIMARY KEY, r REFERENCES t ON DELETE CASCADE, rev INTEGER);",
    "CREATE TABLE c (id INTEGER PRIMARY KEY, r REFERENCES t (x) ON UPDATE SET NULL, rev INTEGER);",
    "CREATE TRIGGER a AFTER UPDATE ON t BEGIN INSERT INTO log VALUES (new.x); END;",
    "CREATE TRIGGER a AFTER INSERT ON o BEGIN UPDATE t SET x = 1; END;",
    "CREATE TRIGGER a AFTER INSERT ON o BEGIN INSERT INTO log SELECT count(*) FROM t WHERE x = 1; END;",
    "CREATE TRIGGER a BEFORE INSERT ON t WHEN new.x = 1 BEGIN SELECT RAISE(ABORT, 'one'); END;",
];

impl Program {
    pub(super) fn random(random: &mut Random) -> Self {
        let revision = match random.below(5) {
            0 => None,
            1 | 2 => Some(RevisionKind::Sequence),
            _ => Some(RevisionKind::Counter),
        };
        let is_strict = random.once_in(5);
        let mut columns = vec![(*random.choose(KEYS)).to_owned()];
        for name in ["x", "y", "z"] {
            let clause = if random.once_in(6) { *random.choose(CLAUSES) } else { "" };
            columns.push(format!("{name} {} {clause}", random.choose(TYPES)));
        }
        let of_revision = if random.once_in(20) { "CHECK (rev <> 2)" } else { "" };
        columns.push(format!("rev INTEGER {of_revision}"));
        if random.once_in(8) {
            let kind = if is_strict { " ANY AS" } else { " AS" };
            columns.push(random.choose(GENERATED).replacen(" AS", kind, 1));
        }
        if random.once_in(5) {
            columns.push((*random.choose(CHECKS)).to_owned());
        }
        let options = match (is_strict, random.once_in(4) && !columns[0].contains("AUTOINCREMENT")) {
            (true, true) => "STRICT, WITHOUT ROWID",
            (true, false) => "STRICT",
            (false, true) => "WITHOUT ROWID",
            (false, false) => "",
        };
        let extra = if random.once_in(4) { *random.choose(EXTRAS) } else { "" };
        let schema = format!(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, n, rev INTEGER); CREATE TABLE log (entry);
             CREATE TABLE o (id TEXT PRIMARY KEY, x, y, z, rev INTEGER);
             CREATE TABLE t ({}) {options}; {extra}
             INSERT INTO p VALUES (1, 0, 1), (2, 0, 1); PRAGMA foreign_keys = ON; BEGIN;",
            columns.join(", ")
        );
        let of_integer = columns[0].contains("INT");
        let mut row = || {
            let key = literal(key(random, of_integer));
            let values: Vec<_> = (0..3).map(|_| literal(value(random))).collect();
            let revision = random.choose(&["1", "1", "2", "7", "NULL", "1.5", "9223372036854775806"]);
            format!("INSERT INTO t (id, x, y, z, rev) VALUES ({key}, {}, {revision})", values.join(", "))
        };
        let rows = (0..3).map(|_| row()).collect();
        Self { schema, rows, revision, seed: random.next() }
    }

    /// A database of the schema with its rows, inside a transaction. `None` if SQLite does not take the schema.
    pub(super) fn database(&self) -> Option<Connection> {
        let connection = Connection::open_in_memory().ok()?;
        connection.execute_batch(&self.schema).ok()?;
        for row in &self.rows {
            // Without a savepoint of its own a row that is refused could leave something behind.
            connection.execute_batch("SAVEPOINT one").ok()?;
            let undo = if connection.execute_batch(row).is_err() { "ROLLBACK TO one;" } else { "" };
            connection.execute_batch(&format!("{undo} RELEASE one")).ok()?;
        }
        Some(connection)
    }

    /// The commands, with facts read from a database of the schema.
    pub(super) fn commands(&self, connection: &Connection) -> Option<Vec<(RowCommand, TableFacts)>> {
        let random = &mut Random::new(self.seed);
        let t = Handle::open(connection, "t", None, self.revision)?;
        let mut handles = vec![t; 8];
        handles.extend(Handle::open(connection, "o", None, self.revision));
        handles.extend(Handle::open(connection, "p", None, self.revision));
        handles.extend(Handle::open(connection, "c", None, self.revision));
        if random.once_in(8) {
            handles.extend(Handle::open(connection, "T", None, None));
            handles.extend(
                ["x", "y"].iter().filter_map(|key| Handle::open(connection, "t", Some(*key), self.revision)),
            );
        }
        let count = 3 + random.below(14);
        Some((0..count).map(|_| command(random, &handles)).collect())
    }
}

fn command(random: &mut Random, handles: &[Handle]) -> (RowCommand, TableFacts) {
    let handle = random.choose(handles);
    let shape = &handle.shape;
    let op = match random.below(12) {
        0 | 1 => RowOp::Insert,
        2 if random.once_in(2) => RowOp::InsertOrIgnore,
        2..=4 => RowOp::Upsert,
        5..=9 => RowOp::Update,
        _ => RowOp::Delete,
    };
    let is_plain =
        |column: usize| !shape.key.contains(&column) && shape.revision.is_none_or(|of| of.column != column);
    let plain: Vec<usize> = (0..shape.columns.len()).filter(|at| is_plain(*at)).collect();
    let of_integer = shape.columns[shape.key[0]].declared_type.contains("int");
    let mut sent_key = vec![key(random, of_integer)];
    let mut set = Vec::new();
    if op != RowOp::Delete {
        let makes = matches!(op, RowOp::Insert | RowOp::InsertOrIgnore | RowOp::Upsert);
        for &column in &plain {
            let is_generated = shape.columns[column].is_generated;
            if !is_generated && (if makes { !random.once_in(8) } else { random.once_in(2) }) {
                let of_type = shape.columns[column].declared_type.as_str();
                let fits = !random.once_in(16);
                let value = (0..20).map(|_| value(random)).find(|value| !fits || of_kind(value, of_type));
                set.extend(value.map(|value| (column, value)));
            }
        }
        if op == RowOp::Update && random.once_in(30) {
            set.push((shape.key[0], key(random, of_integer)));
            set.sort_by_key(|(column, _)| *column);
        }
        if set.is_empty() && matches!(op, RowOp::Update | RowOp::Upsert) {
            set.extend(plain.first().map(|column| (*column, value(random))));
        }
        let is_made = op == RowOp::Insert && shape.key_is_rowid && random.once_in(12);
        if is_made {
            sent_key.clear();
        }
    }
    let mut guard = Guard::default();
    if matches!(op, RowOp::Update | RowOp::Delete) {
        if shape.revision.is_some() && random.once_in(4) {
            let first = super::super::FIRST as i64;
            guard.revision = Some(*random.choose(&[1, 1, 2, 2, 3, 4, 7, 8, first, first + 1, first + 2]));
        }
        if random.once_in(6) {
            guard.column = Some(Box::new((*random.choose(&plain), value(random))));
        }
    }
    let values = row_values(shape, &sent_key, &set);
    let command = RowCommand { table: handle.shape.clone(), op, values, adjust: None, guard };
    (command, handle.facts.clone())
}

fn of_kind(value: &Value, declared_type: &str) -> bool {
    match value {
        Value::Null => true,
        Value::Integer(_) => declared_type.contains("int") || matches!(declared_type, "any" | ""),
        Value::Real(_) => matches!(declared_type, "real" | "any" | ""),
        Value::Text(_) => matches!(declared_type, "text" | "any" | ""),
        Value::Blob(_) => matches!(declared_type, "blob" | "any" | ""),
    }
}

fn key(random: &mut Random, of_integer: bool) -> Value {
    match random.below(40) {
        0 => random.text(&["A", "1", "a ", "01"]),
        1 => Value::Integer(random.below(3) as i64),
        2 if random.once_in(2) => Value::Real(1.0),
        3 if random.once_in(3) => Value::Null,
        _ if of_integer => Value::Integer(1 + random.below(2) as i64),
        _ => random.text(&["a", "a", "b"]),
    }
}

fn value(random: &mut Random) -> Value {
    match random.below(10) {
        0 => Value::Null,
        1..=4 => Value::Integer(random.below(4) as i64),
        5 => Value::Real(*random.choose(&[1.0, 1.5, -0.0])),
        6 => random.text(&["a", "A", "1", "{}"]),
        7 | 8 => random.text(&["a", "b", "bad"]),
        _ => Value::Blob(b"a".to_vec()),
    }
}

fn literal(value: Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Integer(value) => value.to_string(),
        Value::Real(value) => format!("{value:?}"),
        Value::Text(text) => format!("'{text}'"),
        Value::Blob(_) => "x'61'".to_owned(),
    }
}

/// A command as one would write it down.
pub(super) fn describe(command: &RowCommand) -> String {
    let RowCommand { table, op, values, guard, .. } = command;
    let (key, set) = (values.key().to_vec(), values.set().to_vec());
    let key: Vec<_> = key.into_iter().map(|(_, value)| value).collect();
    let name = |column: &usize| table.columns[*column].name.as_str();
    let set: Vec<_> = set.iter().map(|(column, value)| format!("{} = {value:?}", name(column))).collect();
    let mut text = format!("{op:?} {} {key:?} {{{}}}", table.name, set.join(", "));
    if let Some(revision) = guard.revision {
        text += &format!(" if revision {revision}");
    }
    if let Some((column, value)) = guard.column.as_deref() {
        text += &format!(" if {} is {value:?}", name(column));
    }
    text
}
