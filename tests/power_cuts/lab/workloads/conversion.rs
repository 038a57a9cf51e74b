//! A file that another program has made in rollback-journal mode.

use super::super::rig::Rig;
use super::super::schema::BASE;
use super::super::script::Script;
use rusqlite::Connection;
use std::fs;
use std::path::Path;
use walwright_test_support::Rng;

/// The tables of the other program, which are none of the engine's business.
fn found(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE message (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
         CREATE INDEX message_text ON message (text);
         WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
         INSERT INTO message SELECT i, 'message ' || i || ' ' || hex(zeroblob(40)) FROM n;",
    )
}

/// The file is switched to WAL mode.
pub fn clean(rig: &mut Rig, rng: &mut Rng) {
    rig.found(found, |_| {});
    write(rig, rng);
}

/// The other program died in the middle of a transaction: its journal has to be played back first.
pub fn hot_journal(rig: &mut Rig, rng: &mut Rng) {
    rig.found(found, die_in_a_transaction);
    write(rig, rng);
}

fn write(rig: &mut Rig, rng: &mut Rng) {
    rig.open(BASE, |builder| builder);
    let mut script = Script::new(rng);
    for _ in 0..6 {
        let commands = script.some(3);
        rig.group(commands);
    }
    rig.close();
}

/// Leaves the files as they are when half of a transaction was written to the database.
fn die_in_a_transaction(path: &Path) {
    let beside = |suffix: &str| path.with_file_name(format!("{}{suffix}", super::super::rig::NAME));
    let connection = Connection::open(path).expect("the database");
    // With so small a cache SQLite syncs the journal and writes pages long before the COMMIT.
    connection
        .execute_batch("PRAGMA cache_size = 1; BEGIN; UPDATE message SET text = 'changed ' || id; DELETE FROM message WHERE id > 300")
        .expect("a transaction");
    for suffix in ["", "-journal"] {
        fs::copy(beside(suffix), beside(&format!("{suffix}.copy"))).expect("a copy");
    }
    connection.execute_batch("ROLLBACK").expect("its end");
    drop(connection);
    for suffix in ["", "-journal"] {
        fs::rename(beside(&format!("{suffix}.copy")), beside(suffix)).expect("the copy in its place");
    }
}
