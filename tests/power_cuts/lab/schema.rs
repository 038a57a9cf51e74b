//! The tables of all workloads, and the migrations that make and change them.

use rusqlite::{Connection, Transaction};
use walwright::{ClosureError, Migration};

/// What all accounts together hold, always.
pub const CENTS: i64 = 8_000;

/// How many accounts there are, numbered from 1.
pub const ACCOUNTS: usize = 8;

/// One migration, for the store and for the reference.
#[derive(Clone, Copy)]
pub enum Step {
    Sql(&'static str),
    Run(fn(&Transaction<'_>) -> Result<(), ClosureError>),
}

impl Step {
    pub fn migration(&self) -> Migration {
        match *self {
            Self::Sql(text) => Migration::sql(text),
            Self::Run(function) => Migration::run(function),
        }
    }

    /// Carries the step out on a plain connection, as the engine would.
    pub fn apply(&self, connection: &mut Connection) -> Result<(), ClosureError> {
        // Outside the transaction, where alone it has an effect.
        connection.pragma_update(None, "foreign_keys", false)?;
        let transaction = connection.transaction()?;
        match self {
            Self::Sql(text) => transaction.execute_batch(text)?,
            Self::Run(function) => function(&transaction)?,
        }
        transaction.commit()?;
        Ok(connection.pragma_update(None, "foreign_keys", true)?)
    }
}

/// What every workload works with. Triggers make each row of `crowd` slow, so that work on several is done in
/// pieces.
pub const BASE: &[Step] = &[Step::Sql(
    "CREATE TABLE account (id INTEGER PRIMARY KEY, cents INTEGER NOT NULL CHECK (cents >= 0));
     INSERT INTO account VALUES (1, 1000), (2, 1000), (3, 1000), (4, 1000),
                                (5, 1000), (6, 1000), (7, 1000), (8, 1000);
     CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, body BLOB);
     CREATE TABLE folder (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
     CREATE TABLE file (id INTEGER PRIMARY KEY, folder INTEGER NOT NULL REFERENCES folder ON DELETE CASCADE,
                        body BLOB);
     CREATE INDEX file_folder ON file (folder);
     CREATE TABLE grave (file INTEGER PRIMARY KEY);
     CREATE TRIGGER bury AFTER DELETE ON file BEGIN INSERT INTO grave VALUES (old.id); END;
     CREATE TABLE recent (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
     CREATE TRIGGER forget AFTER INSERT ON recent BEGIN DELETE FROM recent WHERE id <= new.id - 5; END;
     CREATE TABLE tick (at INTEGER PRIMARY KEY);
     CREATE TABLE sheet (id INTEGER PRIMARY KEY, text TEXT NOT NULL, count INTEGER, revision INTEGER NOT NULL);
     CREATE INDEX sheet_count ON sheet (count);
     CREATE TABLE crowd (id INTEGER PRIMARY KEY, room INTEGER NOT NULL, text TEXT NOT NULL);
     CREATE TRIGGER slow_insert AFTER INSERT ON crowd BEGIN SELECT count(*) FROM long; END;
     CREATE TRIGGER slow_update AFTER UPDATE ON crowd BEGIN SELECT count(*) FROM long; END;
     CREATE TRIGGER slow_delete AFTER DELETE ON crowd BEGIN SELECT count(*) FROM long; END;
     CREATE VIEW long AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
                         SELECT i FROM n;",
)];

/// The base and what a program's later versions made of it.
pub const GROWN: &[Step] = &[
    BASE[0],
    Step::Sql(
        "ALTER TABLE note ADD COLUMN words INTEGER NOT NULL DEFAULT 0;
         UPDATE note SET words = words + 1;
         CREATE INDEX note_words ON note (words);",
    ),
    // A parent table is rebuilt: with foreign keys enforced its children would be gone.
    Step::Sql(
        "CREATE TABLE new_folder (id INTEGER PRIMARY KEY, name TEXT NOT NULL, files INTEGER NOT NULL);
         INSERT INTO new_folder SELECT id, name, (SELECT count(*) FROM file WHERE folder = folder.id) FROM folder;
         DROP TABLE folder;
         ALTER TABLE new_folder RENAME TO folder;",
    ),
    // Carried out twice, or half, it would show.
    Step::Run(|transaction| {
        transaction.execute("UPDATE note SET words = words * 2 + 1, body = zeroblob(length(body) + 100)", [])?;
        transaction.execute("UPDATE account SET cents = cents + 1 WHERE id <= 4", [])?;
        transaction.execute("UPDATE account SET cents = cents - 1 WHERE id > 4", [])?;
        Ok(())
    }),
];
