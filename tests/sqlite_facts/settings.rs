//! Settings that are refused, ignored or taken over.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Error, OpenFlags};

use crate::bench::{Bench, memory, one};

/// `SqliteStorage::set_level` sets it before BEGIN.
#[test]
fn synchronous_is_refused_inside_a_transaction() {
    let bench = Bench::new();
    let connection = bench.wal();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = connection.execute_batch("PRAGMA synchronous=NORMAL").unwrap_err();
    assert!(error.to_string().contains("Safety level may not be changed inside a transaction"), "{error}");
    assert_eq!(one::<i64>(&connection, "PRAGMA synchronous"), 2);
}

/// `SqliteStorage::set_level` prepares it anew each time: it takes effect when it is prepared, not when it
/// is run. Kept from before, it does nothing at its next run; after that run it has expired, and SQLite
/// prepares it anew for the one that follows.
#[test]
fn synchronous_is_set_when_it_is_prepared_and_not_when_it_is_run() {
    let bench = Bench::new();
    let connection = bench.wal();
    let level = || one::<i64>(&connection, "PRAGMA synchronous");
    let mut normal = connection.prepare("PRAGMA synchronous=NORMAL").unwrap();
    assert_eq!(level(), 1, "it was not run yet");
    connection.execute_batch("PRAGMA synchronous=FULL").unwrap();
    assert!(normal.raw_query().next().unwrap().is_none());
    assert_eq!(level(), 2, "it was run, and had no effect");
    assert!(normal.raw_query().next().unwrap().is_none());
    assert_eq!(level(), 1, "it was prepared anew");
}

/// `opening::convert` reads the mode back, and the authorizer keeps users' SQL from asking for it.
#[test]
fn journal_mode_inside_a_transaction_says_delete_and_changes_nothing() {
    let bench = Bench::new();
    let connection = bench.connect();
    connection.execute_batch("CREATE TABLE t (id); BEGIN; INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(one::<String>(&connection, "PRAGMA journal_mode=WAL"), "delete");
    connection.execute_batch("COMMIT").unwrap();
    assert_eq!(one::<String>(&connection, "PRAGMA journal_mode"), "delete");
}

/// `opening::migrate` switches foreign keys off before BEGIN.
#[test]
fn foreign_keys_inside_a_transaction_is_ignored() {
    let connection = memory();
    connection.execute_batch("PRAGMA foreign_keys=ON; BEGIN; PRAGMA foreign_keys=OFF").unwrap();
    assert_eq!(one::<i64>(&connection, "PRAGMA foreign_keys"), 1);
    connection.execute_batch("COMMIT").unwrap();
    assert_eq!(one::<i64>(&connection, "PRAGMA foreign_keys"), 1);
}

/// `opening::migrate` uses this call, which is not refused inside a transaction: so it is made outside.
#[test]
fn foreign_keys_can_be_switched_by_the_configuration_call() {
    let connection = memory();
    assert!(connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true).unwrap());
    assert_eq!(one::<i64>(&connection, "PRAGMA foreign_keys"), 1);
    assert!(!connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false).unwrap());
}

/// `settings::begin` sets it on every connection: a close must not checkpoint by itself.
#[test]
fn a_close_checkpoints_unless_it_is_forbidden() {
    for forbidden in [false, true] {
        let bench = Bench::new();
        let connection = bench.wal();
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, forbidden).unwrap();
        connection.execute("INSERT INTO t VALUES (1, 1)", []).unwrap();
        connection.close().unwrap();
        assert_eq!(bench.scratch.join("fact.db-wal").exists(), forbidden);
    }
}

/// `Params` refuses NaN, since the row that is stored would be another one.
#[test]
fn nan_is_stored_as_null() {
    let connection = memory();
    connection.execute("INSERT INTO t VALUES (1, ?1)", [f64::NAN]).unwrap();
    assert!(one::<bool>(&connection, "SELECT v IS NULL FROM t"));
}

/// `Store::execute` and `Tx::execute` promise that a second statement is refused before anything runs.
#[test]
fn rusqlite_refuses_a_second_statement_and_accepts_what_is_none() {
    let connection = memory();
    let two = "INSERT INTO t VALUES (1, 1); INSERT INTO t VALUES (2, 2)";
    assert!(matches!(connection.prepare(two), Err(Error::MultipleStatement)));
    assert!(matches!(connection.prepare_cached(two), Err(Error::MultipleStatement)));
    assert!(matches!(connection.execute(two, []), Err(Error::MultipleStatement)));
    connection.execute("INSERT INTO t VALUES (3, 3);  -- the end\n ; /* really */", []).unwrap();
    assert_eq!(one::<String>(&connection, "SELECT group_concat(id) FROM t"), "3");
}

/// `Session::prepare` refuses texts with NUL, of which SQLite would read only the beginning.
#[test]
fn rusqlite_reads_a_text_up_to_its_nul() {
    let connection = memory();
    let prepared = connection.prepare("INSERT INTO t VALUES (1, 1)\0; DELETE FROM t");
    let seen = prepared.map(|statement| statement.expanded_sql());
    assert!(!matches!(seen, Ok(Some(text)) if text.contains("DELETE")), "the rest is not looked at");
}

/// `opening::connect` opens without CREATE, and `is_readonly` tells what the flags do not.
#[test]
fn a_read_only_connection_says_so_and_refuses_writes() {
    let bench = Bench::new();
    let writer = bench.wal();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let reader = Connection::open_with_flags(bench.path(), flags).unwrap();
    assert!(reader.is_readonly("main").unwrap() && !writer.is_readonly("main").unwrap());
    let error = reader.execute("INSERT INTO t VALUES (1, 1)", []).unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::ReadOnly));
    // No setting of the connection lifts it.
    reader.execute_batch("PRAGMA query_only=OFF; PRAGMA writable_schema=ON").unwrap();
    assert!(reader.execute("INSERT INTO t VALUES (1, 1)", []).is_err());
}

/// `opening::connect::check_version`: earlier ones can corrupt a WAL that is reset during a checkpoint.
#[test]
fn the_linked_sqlite_is_new_enough() {
    assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
}
