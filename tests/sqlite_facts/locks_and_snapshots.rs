//! Locks of others, and what a connection sees.

use std::ffi::c_int;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, ffi};

use crate::bench::{Bench, count, one};

/// `Patience`: opening repeats the switch by itself.
#[test]
fn the_switch_to_wal_does_not_wait_for_a_reserved_lock() {
    let bench = Bench::new();
    let (first, second) = (bench.connect(), bench.connect());
    first.execute_batch("CREATE TABLE t (id); BEGIN IMMEDIATE").unwrap();
    second.busy_timeout(Duration::from_secs(30)).unwrap();
    let begun = Instant::now();
    let error = second.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(())).unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
    assert!(begun.elapsed() < Duration::from_secs(15), "the busy timeout is not waited for");
}

/// `SqliteStorage::look_for_foreign_writes` leans on both halves.
#[test]
fn data_version_notices_commits_of_others_and_not_its_own() {
    let bench = Bench::new();
    let (connection, other) = (bench.wal(), bench.connect());
    let version = || one::<i64>(&connection, "PRAGMA data_version");
    let first = version();
    connection.execute("INSERT INTO t VALUES (1, 1)", []).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (2, 2); COMMIT").unwrap();
    assert_eq!(version(), first);
    other.execute_batch("BEGIN IMMEDIATE; DELETE FROM t WHERE id = 99; COMMIT").unwrap();
    assert_eq!(version(), first, "a commit that wrote nothing is none");
    other.execute("INSERT INTO t VALUES (3, 3)", []).unwrap();
    let second = version();
    assert_ne!(second, first);
    // Inside a transaction that holds the write lock the answer stays right.
    other.execute("INSERT INTO t VALUES (4, 4)", []).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_ne!(version(), second);
    connection.execute_batch("COMMIT").unwrap();
}

/// `SqliteStorage::look_for_foreign_writes` is not misled by the writer's own checkpoints.
#[test]
fn data_version_does_not_notice_a_checkpoint_of_its_own() {
    let bench = Bench::new();
    let connection = bench.wal();
    connection.execute("INSERT INTO t VALUES (1, 1)", []).unwrap();
    let before: i64 = one(&connection, "PRAGMA data_version");
    for mode in ["RESTART", "TRUNCATE"] {
        connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(())).unwrap();
        connection.execute("UPDATE t SET v = v + 1", []).unwrap();
        assert_eq!(one::<i64>(&connection, "PRAGMA data_version"), before, "{mode}");
    }
}

/// `Session::finish` on a reader: the next read would see an old state.
#[test]
fn an_unfinished_cursor_pins_its_snapshot() {
    let bench = Bench::new();
    let (connection, reader) = (bench.wal(), bench.connect());
    connection.execute("INSERT INTO t VALUES (1, 1), (2, 2)", []).unwrap();
    let mut statement = reader.prepare("SELECT id FROM t").unwrap();
    let mut rows = statement.query([]).unwrap();
    rows.next().unwrap();
    connection.execute("INSERT INTO t VALUES (3, 3)", []).unwrap();
    assert_eq!(count(&reader), 2, "another statement of the connection sees the old state");
    drop(rows);
    assert_eq!(count(&reader), 3);
}

/// `Reader` takes its snapshot with the first query of a closure, after everything that was answered.
#[test]
fn a_deferred_transaction_takes_its_snapshot_at_its_first_read() {
    let bench = Bench::new();
    let (connection, reader) = (bench.wal(), bench.connect());
    reader.execute_batch("BEGIN").unwrap();
    connection.execute("INSERT INTO t VALUES (1, 1)", []).unwrap();
    assert_eq!(count(&reader), 1);
    connection.execute("INSERT INTO t VALUES (2, 2)", []).unwrap();
    assert_eq!(count(&reader), 1);
}

fn has_moved(connection: &Connection) -> bool {
    let mut moved: c_int = 0;
    // SAFETY: the connection is open; the integer outlives the call.
    let code = unsafe {
        let operation = ffi::SQLITE_FCNTL_HAS_MOVED;
        ffi::sqlite3_file_control(connection.handle(), c"main".as_ptr(), operation, (&raw mut moved).cast())
    };
    assert_eq!(code, ffi::SQLITE_OK);
    moved != 0
}

/// `SqliteStorage::look_after_file`: writes to a file that has lost its name succeed.
#[test]
fn a_file_that_has_moved_is_told_only_when_asked() {
    let bench = Bench::new();
    let connection = bench.wal();
    assert!(!has_moved(&connection));
    for suffix in ["", "-wal", "-shm"] {
        std::fs::remove_file(format!("{}{suffix}", bench.path().display())).unwrap();
    }
    connection.execute("INSERT INTO t VALUES (1, 1)", []).unwrap();
    assert!(has_moved(&connection));
}
