//! An old file: rollback journal, tables, rows, no version.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use walwright::rusqlite::Connection;
use walwright::{Migration, OpenError, Store, StoreBuilder};
use walwright_test_support::{Scratch, watchdog};

/// Longer than any test takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Messages of the old file.
pub const MESSAGES: i64 = 500;

pub const MIGRATIONS: &[Migration] = &[
    Migration::sql("CREATE TABLE message (id INTEGER PRIMARY KEY, nick TEXT NOT NULL, body TEXT NOT NULL)"),
    Migration::sql("ALTER TABLE message ADD COLUMN lower_nick TEXT"),
    Migration::sql("CREATE TABLE marker (nick TEXT PRIMARY KEY, read_to INTEGER)"),
];

/// Runs a test's body under the watchdog.
#[track_caller]
pub fn run(body: impl FnOnce() + Send + 'static) {
    watchdog(LIMIT, body);
}

/// Makes the old file: its schema is that of the first migration, or of the first two.
pub fn old_file(scratch: &Scratch, migrations: usize) -> PathBuf {
    let path = scratch.join("a.db");
    let connection = Connection::open(&path).unwrap();
    fill(&connection, migrations).unwrap();
    path
}

pub fn fill(connection: &Connection, migrations: usize) -> walwright::rusqlite::Result<()> {
    let later = if migrations > 1 { "ALTER TABLE message ADD COLUMN lower_nick TEXT;" } else { "" };
    connection.execute_batch(&format!(
        "CREATE TABLE message (id INTEGER PRIMARY KEY, nick TEXT NOT NULL, body TEXT NOT NULL); {later}
         WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MESSAGES})
         INSERT INTO message (id, nick, body) SELECT i, 'Nick' || i, hex(zeroblob(40)) FROM n"
    ))
}

/// A builder that knows both.
pub fn recognising(path: &Path) -> StoreBuilder {
    Store::builder(path).readers(1).migrations(MIGRATIONS).recognise(|schema| {
        Ok(match (schema.has_table("message")?, schema.has_column("message", "lower_nick")?) {
            (true, true) => Some(2),
            (true, false) => Some(1),
            (false, _) => None,
        })
    })
}

#[track_caller]
pub fn open(builder: StoreBuilder) -> Store {
    builder.open().wait().unwrap()
}

#[track_caller]
pub fn refused(builder: StoreBuilder) -> OpenError {
    match builder.open().wait() {
        Ok(store) => panic!("opened: {:?}", store.settings()),
        Err(error) => error,
    }
}

/// The bytes of the database and the names beside it, but the lock file, which stays by design.
pub fn content(path: &Path) -> (Vec<u8>, Vec<String>) {
    let names = fs::read_dir(path.parent().unwrap()).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.ends_with("-owner"));
    names.sort();
    (fs::read(path).unwrap(), names)
}
