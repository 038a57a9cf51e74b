//! SQLite's update hook: which rows of tables with rowids were changed.
//!
//! It is on the connection only while somebody watches. It says nothing of tables WITHOUT ROWID, of rows that
//! REPLACE removed, and of the rowid that a row had before an update gave it another one.

use rusqlite::Connection;
use rusqlite::hooks::Action;

use crate::changes::Operation;
use crate::sync::{Arc, Mutex};

/// Rows that are noted of one transaction; of tables that change in more only this is known. It bounds the memory of
/// a statement over a large table, whose rows no subscriber would take one by one.
pub const MOST_ROWS: usize = 10_000;

/// What the hook saw since it was last cleared. One per connection; cheap to share.
#[derive(Clone, Default)]
pub struct RowHook(Arc<Mutex<HookNotes>>);

/// What the hook saw.
#[derive(Default)]
pub struct HookNotes {
    /// In the order in which they were changed.
    pub rows: Vec<HookRow>,
    /// How many rows were changed, those that there was no room for included.
    pub seen: u64,
    /// Tables with rows that there was no room for.
    pub overflowed: Vec<Arc<str>>,
    /// Rows that were taken from here since the transaction began.
    taken: usize,
    table: Option<Arc<str>>,
}

/// One row that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookRow {
    pub table: Arc<str>,
    pub operation: Operation,
    pub rowid: i64,
}

/// A place in the notes, to which they can be cut back.
#[derive(Clone, Copy)]
pub struct HookMark {
    rows: usize,
    seen: u64,
}

impl RowHook {
    /// Puts the hook onto the connection, or takes it off.
    pub fn set(&self, connection: &mut Connection, on: bool) -> rusqlite::Result<()> {
        let notes = self.clone();
        let hook = move |action: Action, database: &str, table: &str, rowid: i64| {
            let operation = match action {
                Action::SQLITE_INSERT => Operation::Insert,
                Action::SQLITE_DELETE => Operation::Delete,
                _ => Operation::Update,
            };
            if database == "main" {
                notes.0.lock().note(table, operation, rowid);
            }
        };
        connection.update_hook(on.then_some(hook))
    }

    /// Forgets everything: a transaction begins.
    pub fn clear(&self) {
        *self.0.lock() = HookNotes::default();
    }

    /// Where the notes stand.
    pub fn mark(&self) -> HookMark {
        let notes = self.0.lock();
        HookMark { rows: notes.rows.len(), seen: notes.seen }
    }

    /// Forgets what was noted since.
    pub fn cut(&self, mark: HookMark) {
        let mut notes = self.0.lock();
        notes.rows.truncate(mark.rows);
        notes.seen = mark.seen;
    }

    /// Takes what was noted.
    pub fn take(&self) -> HookNotes {
        let mut notes = self.0.lock();
        let taken = notes.taken + notes.rows.len();
        let table = notes.table.clone();
        std::mem::replace(&mut *notes, HookNotes { taken, table, ..HookNotes::default() })
    }
}

impl HookNotes {
    fn note(&mut self, table: &str, operation: Operation, rowid: i64) {
        self.seen += 1;
        // Mostly the table is that of the row before.
        let table = match &self.table {
            Some(known) if &**known == table => known.clone(),
            _ => {
                let table: Arc<str> = Arc::from(table);
                self.table = Some(table.clone());
                table
            }
        };
        if self.taken + self.rows.len() < MOST_ROWS {
            self.rows.push(HookRow { table, operation, rowid });
        } else if !self.overflowed.contains(&table) {
            self.overflowed.push(table);
        }
    }
}
