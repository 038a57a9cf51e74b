//! What a statement may do that the engine has to know before or after it runs it.
//!
//! The authorizer sees deletes, but not REPLACE, FAIL or a deferred foreign key. Those are looked for as
//! words, in the statement's text and in the schema. A word that stands in a name, a string or a comment
//! counts too: the scan errs only towards a stricter commit or a needless savepoint.

use std::collections::HashSet;

use rusqlite::Connection;

use super::authorizer::AuthorizerNotes;
use super::writes::{Writes, says_replace};
use crate::sync::Arc;

/// What the texts of the schema hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaFacts {
    /// `PRAGMA schema_version` at the time of the scan.
    pub version: i64,
    /// REPLACE stands somewhere: any write may delete rows.
    pub mentions_replace: bool,
    /// FAIL stands somewhere: a failing statement may keep what it did.
    pub mentions_fail: bool,
    /// ROLLBACK stands somewhere: a failing statement may end the whole transaction.
    pub mentions_rollback: bool,
    /// DEFERRED stands somewhere: a statement may leave a foreign key open.
    pub mentions_deferred: bool,
    /// The names of all tables.
    pub tables: Vec<String>,
    /// Virtual tables, in lower case.
    virtual_tables: HashSet<String>,
    /// Triggers whose text has the word DELETE (FTS5 takes its delete command as a string), in lower case.
    deleting_triggers: HashSet<String>,
}

impl SchemaFacts {
    /// Reads the schema. Takes the engine's own SQL for granted (see `Guard::set_users`).
    pub fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let mut facts = Self { version: schema_version(connection)?, ..Self::default() };
        let mut statement = connection.prepare("SELECT type, name, sql FROM main.sqlite_schema")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let kind = row.get_ref(0)?.as_bytes_or_null().ok().flatten().unwrap_or_default();
            let name = row.get_ref(1)?.as_bytes_or_null().ok().flatten().unwrap_or_default();
            let sql = row.get_ref(2)?.as_bytes_or_null().ok().flatten().unwrap_or_default();
            facts.add(kind, name, sql);
        }
        Ok(facts)
    }

    fn add(&mut self, kind: &[u8], name: &[u8], sql: &[u8]) {
        self.mentions_replace |= has_word(sql, "REPLACE");
        self.mentions_fail |= has_word(sql, "FAIL");
        self.mentions_rollback |= has_word(sql, "ROLLBACK");
        self.mentions_deferred |= has_word(sql, "DEFERRED");
        let name = String::from_utf8_lossy(name);
        if kind == b"table" {
            self.tables.push(name.clone().into_owned());
        }
        let name = name.to_ascii_lowercase();
        if kind == b"trigger" {
            if has_word(sql, "DELETE") {
                self.deleting_triggers.insert(name);
            }
        } else if kind == b"table" && has_word(sql, "VIRTUAL") {
            // A generated column may be VIRTUAL too; holding its table for virtual costs a sync at most.
            self.virtual_tables.insert(name);
        }
    }

    /// Whether one of the writes may be a delete in disguise: virtual tables take commands as rows.
    fn deletes_in_virtual_table(&self, notes: &AuthorizerNotes) -> bool {
        !self.virtual_tables.is_empty()
            && notes.written.iter().any(|(table, accessor)| {
                self.virtual_tables.contains(&table.to_ascii_lowercase())
                    && accessor
                        .as_ref()
                        .is_none_or(|trigger| self.deleting_triggers.contains(&trigger.to_ascii_lowercase()))
            })
    }

    fn writes_virtual_table(&self, notes: &AuthorizerNotes) -> bool {
        notes.written.iter().any(|(table, _)| self.virtual_tables.contains(&table.to_ascii_lowercase()))
    }
}

/// The number that SQLite raises with every change of the schema.
pub fn schema_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA main.schema_version", [], |row| row.get(0))
}

/// What the text of a statement holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextFacts {
    mentions_replace: bool,
    mentions_fail: bool,
    inserts_one_row: bool,
    says_replace: bool,
}

impl TextFacts {
    /// Scans the text of one statement.
    pub fn of(sql: &str) -> Self {
        Self { inserts_one_row: inserts_one_row(sql.as_bytes()), ..Self::of_script(sql) }
    }

    /// Scans a text of many statements, for each of them: what stands in one counts for all.
    pub fn of_script(sql: &str) -> Self {
        let text = sql.as_bytes();
        Self {
            mentions_replace: has_word(text, "REPLACE"),
            mentions_fail: has_word(text, "FAIL"),
            inserts_one_row: false,
            says_replace: says_replace(text),
        }
    }
}

/// What one statement may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementFacts {
    /// It may delete rows, also through triggers, foreign-key actions, REPLACE or DROP.
    pub deletes: bool,
    /// If it fails, something of it may stay behind unless a savepoint is rolled back.
    pub needs_savepoint: bool,
    /// It is surely an INSERT of one row that is given as values.
    pub inserts_one_row: bool,
    /// It changes nothing.
    pub read_only: bool,
    /// It has result columns.
    pub returns_rows: bool,
    /// It changes the schema.
    pub changes_schema: bool,
    /// The tables that it may write. `None` for one that writes nothing, and while nobody watches what is committed.
    pub writes: Option<Arc<Writes>>,
}

impl StatementFacts {
    /// Facts of a statement that SQLite has just prepared, from what its authorizer was asked. The text is
    /// looked at only if the statement writes.
    pub fn of(
        text: impl FnOnce() -> TextFacts,
        schema: &SchemaFacts,
        notes: &AuthorizerNotes,
        read_only: bool,
        returns_rows: bool,
    ) -> Self {
        if read_only && !notes.deletes && notes.written.is_empty() {
            return Self {
                deletes: false,
                needs_savepoint: false,
                inserts_one_row: false,
                read_only: true,
                returns_rows,
                changes_schema: false,
                writes: None,
            };
        }
        let text = text();
        let writes =
            notes.writes.clone().map(|writes| Arc::new(Writes { replaces: text.says_replace, ..writes }));
        let deletes = !notes.asked
            || notes.deletes
            || schema.mentions_replace
            || text.mentions_replace
            || schema.deletes_in_virtual_table(notes);
        let needs_savepoint = !notes.asked
            || returns_rows
            || notes.changes_schema
            || schema.mentions_fail
            || schema.mentions_deferred
            || text.mentions_fail
            || schema.writes_virtual_table(notes)
            || notes.deletes
            || notes.written.iter().any(|(_, trigger)| trigger.is_some())
            || !text.inserts_one_row;
        Self {
            deletes,
            needs_savepoint,
            inserts_one_row: text.inserts_one_row,
            read_only: false,
            returns_rows,
            changes_schema: notes.changes_schema,
            writes,
        }
    }

    /// What may happen when either of the two may.
    pub fn or(&self, other: Self) -> Self {
        Self {
            deletes: self.deletes || other.deletes,
            needs_savepoint: self.needs_savepoint || other.needs_savepoint,
            inserts_one_row: self.inserts_one_row && other.inserts_one_row,
            read_only: self.read_only && other.read_only,
            returns_rows: self.returns_rows || other.returns_rows,
            changes_schema: self.changes_schema || other.changes_schema,
            writes: Writes::both(self.writes.clone(), other.writes),
        }
    }

    /// What must be assumed of a statement of which nothing is remembered.
    pub fn unknown(read_only: bool, returns_rows: bool) -> Self {
        Self {
            deletes: !read_only,
            needs_savepoint: !read_only,
            inserts_one_row: false,
            read_only,
            returns_rows,
            changes_schema: !read_only,
            writes: None,
        }
    }
}

/// Whether the text is surely an INSERT of one row given as values.
///
/// Only such a statement writes nothing before its last expression is evaluated. An UPDATE of many rows may
/// stop half-way without a trace of a constraint: SQLite keeps no statement journal for "string or blob too
/// big" in `a || b`, and leaves the rows changed before (measured).
fn inserts_one_row(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let starts = text.get(..7).is_some_and(|word| word.eq_ignore_ascii_case(b"INSERT "));
    // Quotes and comments could hide anything; parameters carry the values of most statements.
    let plain = !text.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'`' | b'['))
        && !text.windows(2).any(|pair| pair == b"--" || pair == b"/*");
    if !starts || !plain || has_word(text, "SELECT") || has_word(text, "WITH") {
        return false;
    }
    let Some(values) = find_word(text, "VALUES") else { return false };
    let Some(row) = text.get(values + 6..) else { return false };
    let row = row.trim_ascii_start();
    let mut depth = 0_usize;
    for (at, byte) in row.iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 1 => {
                return row[at + 1..].iter().all(|byte| byte.is_ascii_whitespace() || *byte == b';');
            }
            b')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => return false,
            _ => {}
        }
    }
    false
}

/// Whether `word` (upper case) stands in `text` as a token of its own, in any case.
///
/// Digits, `$` and bytes of non-ASCII characters before it count as borders, although SQLite takes most of
/// them for parts of a name: a word too many is harmless.
pub fn has_word(text: &[u8], word: &str) -> bool {
    find_word(text, word).is_some()
}

fn find_word(text: &[u8], word: &str) -> Option<usize> {
    let word = word.as_bytes();
    text.windows(word.len()).enumerate().position(|(at, window)| {
        window.eq_ignore_ascii_case(word)
            && !at.checked_sub(1).is_some_and(|before| is_letter(text[before]))
            && !text.get(at + word.len()).is_some_and(|after| is_letter(*after) || after.is_ascii_digit())
    })
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}
