//! Files to start from: made once by plain SQLite, copied for every run.

use std::fs;
use std::path::{Path, PathBuf};

use walwright::rusqlite::Connection;
use walwright_test_support::Scratch;

use crate::ledger::Rows;
use crate::run::rows_of;

/// A database as some program has left it, and the rows that are committed in it.
pub struct Template {
    folder: Scratch,
    rows: Rows,
}

impl Template {
    /// No file at all.
    pub fn none() -> Self {
        Self { folder: Scratch::new(), rows: Rows::new() }
    }

    /// A closed database in rollback mode.
    pub fn rollback_mode() -> Self {
        Self::made(|connection| fill(connection, "delete"))
    }

    /// A closed database in WAL mode.
    pub fn closed() -> Self {
        Self::made(|connection| fill(connection, "wal"))
    }

    /// A database in WAL mode with a WAL that was left behind: some of its pages are copied already.
    pub fn left_behind_wal() -> Self {
        Self::made_and_left(|connection| {
            fill(connection, "wal");
            let change = "PRAGMA wal_autocheckpoint = 0;
                 UPDATE item SET text = text || ', changed' WHERE id <= 4;
                 PRAGMA wal_checkpoint(PASSIVE);
                 UPDATE item SET text = text || ' again' WHERE id <= 2;
                 DELETE FROM item WHERE id = 40;";
            connection.execute_batch(change).unwrap();
        })
    }

    /// A database in rollback mode whose program was killed in the middle of a transaction, after pages of
    /// it had gone to the file.
    pub fn hot_journal() -> Self {
        let template = Self::made_and_left(|connection| {
            fill(connection, "delete");
            let change = "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN;
                 UPDATE item SET text = text || ', never committed';";
            connection.execute_batch(change).unwrap();
        });
        assert!(template.folder.join("db-journal").exists());
        template
    }

    fn made(make: impl FnOnce(&Connection)) -> Self {
        let folder = Scratch::new();
        let connection = Connection::open(folder.join("db")).unwrap();
        make(&connection);
        let rows = rows_of(&connection);
        connection.close().unwrap();
        Self { folder, rows }
    }

    /// Copies the files while they are in use, which is what a crash leaves.
    fn made_and_left(make: impl FnOnce(&Connection)) -> Self {
        let (place, folder) = (Scratch::new(), Scratch::new());
        let connection = Connection::open(place.join("db")).unwrap();
        make(&connection);
        for name in ["db", "db-wal", "db-journal"] {
            if place.join(name).exists() {
                fs::copy(place.join(name), folder.join(name)).unwrap();
            }
        }
        drop(connection);
        let check = Self { folder, rows: Rows::new() };
        let second = Scratch::new();
        let rows = rows_of(&Connection::open(check.copy_to(second.path())).unwrap());
        Self { rows, ..check }
    }

    /// Copies the files into `folder` and gives the path of the database.
    pub fn copy_to(&self, folder: &Path) -> PathBuf {
        for entry in fs::read_dir(self.folder.path()).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
        folder.join("db")
    }

    pub fn rows(&self) -> Rows {
        self.rows.clone()
    }
}

/// Forty rows on twenty pages: more than the cache of a run holds.
fn fill(connection: &Connection, journal_mode: &str) {
    connection.pragma_update(None, "journal_mode", journal_mode).unwrap();
    let table = "CREATE TABLE item (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
         PRAGMA user_version = 1;
         WITH RECURSIVE n (id) AS (VALUES (1) UNION ALL SELECT id + 1 FROM n WHERE id < 40)
         INSERT INTO item SELECT id, printf('row %d of %.*c', id, 1900, 'x') FROM n;";
    connection.execute_batch(table).unwrap();
}
