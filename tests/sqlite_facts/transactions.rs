//! What ends a transaction, and what is left of it.

use rusqlite::{Connection, ErrorCode, ffi};

use crate::bench::{Bench, count, memory, one};

/// Opens a transaction with a savepoint and two rows in it.
fn begun(schema: &str) -> Connection {
    let connection = memory();
    connection.execute_batch(schema).unwrap();
    connection
        .execute_batch(
            "PRAGMA foreign_keys=ON; BEGIN IMMEDIATE; INSERT INTO t VALUES (1, 1);
             SAVEPOINT walwright; INSERT INTO t VALUES (2, 2)",
        )
        .unwrap();
    connection
}

/// `Transaction::apply` asks `is_autocommit` after every command, and the group is carried out again.
#[track_caller]
fn the_whole_transaction_is_gone(connection: &Connection) {
    assert!(connection.is_autocommit());
    assert_eq!(count(connection), 0);
    let error = connection.execute_batch("RELEASE walwright").unwrap_err();
    assert!(error.to_string().contains("no such savepoint"), "{error}");
    // What follows commits by itself.
    connection.execute("INSERT INTO t VALUES (9, 9)", []).unwrap();
    assert_eq!(count(connection), 1);
}

/// `Transaction::apply` asks for it.
#[test]
fn or_rollback_ends_the_whole_transaction() {
    let connection = begun("");
    connection.execute("INSERT OR ROLLBACK INTO t VALUES (1, 1)", []).unwrap_err();
    the_whole_transaction_is_gone(&connection);
}

/// `Transaction::apply` asks for it.
#[test]
fn raise_rollback_ends_the_whole_transaction() {
    let connection = begun(
        "CREATE TABLE bell (id); CREATE TRIGGER ring AFTER INSERT ON bell BEGIN SELECT RAISE(ROLLBACK, 'x'); END",
    );
    connection.execute("INSERT INTO bell VALUES (1)", []).unwrap_err();
    the_whole_transaction_is_gone(&connection);
}

/// `Transaction::apply` asks for it.
#[test]
fn an_interrupted_write_ends_the_whole_transaction() {
    let mut connection = begun("");
    connection.progress_handler(100, Some(|| true)).unwrap();
    let endless = "WITH n (i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n) INSERT INTO t SELECT i, i FROM n";
    let error = connection.execute(endless, []).unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::OperationInterrupted));
    connection.progress_handler(0, None::<fn() -> bool>).unwrap();
    the_whole_transaction_is_gone(&connection);
}

/// `Reader` counts on it: a read that is stopped keeps its transaction, and the engine ends it.
#[test]
fn an_interrupted_read_leaves_the_transaction_open() {
    let mut connection = begun("");
    connection.progress_handler(100, Some(|| true)).unwrap();
    let endless = "WITH n (i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    connection.query_row(endless, [], |_| Ok(())).unwrap_err();
    assert!(!connection.is_autocommit());
}

/// `Transaction::apply` asks for it. `max_page_count` fills the disk here.
#[test]
fn a_full_disk_in_a_statement_ends_the_whole_transaction() {
    let bench = Bench::new();
    let connection = bench.wal();
    connection.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (1, 1); SAVEPOINT walwright").unwrap();
    let pages: i64 = one(&connection, "PRAGMA page_count");
    connection.pragma_update(None, "max_page_count", pages + 2).unwrap();
    let error = connection.execute("INSERT INTO t VALUES (2, randomblob(100000))", []).unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DiskFull));
    the_whole_transaction_is_gone(&connection);
}

/// `StatementFacts::needs_savepoint`: these errors leave the transaction open and keep what was done.
#[test]
fn fail_keeps_what_the_statement_did_before_it_failed() {
    let connection = begun(
        "CREATE TABLE bell (id); CREATE TRIGGER ring AFTER INSERT ON bell WHEN new.id = 2
             BEGIN INSERT INTO t VALUES (50, 50); SELECT RAISE(FAIL, 'x'); END;
         CREATE TABLE failing (id PRIMARY KEY ON CONFLICT FAIL)",
    );
    connection.execute("INSERT OR FAIL INTO t VALUES (3, 3), (1, 1), (4, 4)", []).unwrap_err();
    connection.execute("INSERT INTO failing VALUES (1), (1)", []).unwrap_err();
    connection.execute("INSERT INTO bell VALUES (1), (2), (3)", []).unwrap_err();
    assert!(!connection.is_autocommit());
    assert_eq!(one::<String>(&connection, "SELECT group_concat(id) FROM t"), "1,2,3,50");
    assert_eq!(one::<i64>(&connection, "SELECT count(*) FROM failing"), 1);
    assert_eq!(one::<i64>(&connection, "SELECT count(*) FROM bell"), 2);
    // A savepoint takes it back.
    connection.execute_batch("ROLLBACK TO walwright").unwrap();
    assert_eq!(count(&connection), 1);
}

/// `inserts_one_row`: a plain error of one statement undoes it, but not always.
#[test]
fn abort_undoes_the_statement_but_a_value_that_is_too_big_does_not() {
    let connection =
        begun("CREATE TABLE plain (id INTEGER PRIMARY KEY, v); INSERT INTO plain VALUES (1, 1), (2, 2)");
    connection.execute("INSERT INTO t VALUES (3, 3), (1, 1)", []).unwrap_err();
    assert_eq!(count(&connection), 2);
    connection.execute("UPDATE plain SET v = hex(randomblob(300)) WHERE id = 2", []).unwrap();
    // SAFETY: the connection is open.
    unsafe { ffi::sqlite3_limit(connection.handle(), ffi::SQLITE_LIMIT_LENGTH, 1_000) };
    let sql = "UPDATE plain SET v = CASE id WHEN 1 THEN 'changed' ELSE v || v END";
    let error = connection.execute(sql, []).unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::TooBig));
    let kept: i64 = one(&connection, "SELECT count(*) FROM plain WHERE v = 'changed'");
    assert_eq!(kept, 1, "SQLite kept no statement journal: the savepoint is needed");
}

fn open_foreign_keys(connection: &Connection) -> i32 {
    let (mut current, mut highest) = (0, 0);
    // SAFETY: the connection is open; both integers outlive the call.
    let code = unsafe {
        let status = ffi::SQLITE_DBSTATUS_DEFERRED_FKS;
        ffi::sqlite3_db_status(connection.handle(), status, &mut current, &mut highest, 0)
    };
    assert_eq!(code, ffi::SQLITE_OK);
    current
}

/// `wal_log::has_open_foreign_keys` asks it after every command with a savepoint.
#[test]
fn the_status_tells_whether_a_deferred_foreign_key_is_open() {
    let connection =
        begun("CREATE TABLE child (id, parent INTEGER REFERENCES t DEFERRABLE INITIALLY DEFERRED)");
    assert_eq!(open_foreign_keys(&connection), 0);
    connection.execute("INSERT INTO child VALUES (1, 77)", []).unwrap();
    assert_eq!(open_foreign_keys(&connection), 1);
    let error = connection.execute_batch("COMMIT").unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::ConstraintViolation));
    assert!(!connection.is_autocommit(), "the transaction stays open");
    connection.execute_batch("ROLLBACK TO walwright").unwrap();
    assert_eq!(open_foreign_keys(&connection), 0, "the savepoint takes it back");
    connection.execute_batch("COMMIT").unwrap();
}

/// `Session::finish` resets what a closure forgot: a statement that writes and is in progress holds COMMIT up.
#[test]
fn a_commit_fails_while_a_write_is_in_progress() {
    let connection = memory();
    connection.execute_batch("INSERT INTO t VALUES (1, 1), (2, 2); BEGIN").unwrap();
    let mut write = connection.prepare("UPDATE t SET v = v + 10 RETURNING id").unwrap();
    let mut rows = write.query([]).unwrap();
    rows.next().unwrap();
    assert!(connection.execute_batch("COMMIT").is_err());
    drop(rows);
    connection.execute_batch("COMMIT").unwrap();
}

/// `opening::migrate` guards its transaction with the authorizer, since `execute_batch` would commit.
#[test]
fn vacuum_and_begin_are_refused_inside_a_transaction_and_attach_is_not() {
    let connection = begun("");
    assert!(connection.execute_batch("VACUUM").is_err());
    assert!(connection.execute_batch("BEGIN").is_err());
    connection.execute_batch("ATTACH ':memory:' AS more").unwrap();
    assert!(!connection.is_autocommit());
}

/// `EngineStatement` runs BEGIN IMMEDIATE: a deferred one would fail later, at once and without waiting.
#[test]
fn a_read_that_becomes_a_write_after_a_foreign_commit_is_busy_at_once() {
    let bench = Bench::new();
    let (connection, other) = (bench.wal(), bench.connect());
    connection.busy_timeout(std::time::Duration::from_secs(30)).unwrap();
    connection.execute_batch("BEGIN").unwrap();
    count(&connection);
    other.execute("INSERT INTO t VALUES (1, 1)", []).unwrap();
    let begun = std::time::Instant::now();
    let error = connection.execute("INSERT INTO t VALUES (2, 2)", []).unwrap_err();
    assert_eq!(error.sqlite_error().unwrap().extended_code, ffi::SQLITE_BUSY_SNAPSHOT);
    assert!(begun.elapsed() < std::time::Duration::from_secs(15), "the busy timeout is not waited for");
}

/// `Session::run_prepared` takes SQLite's count for that of an INSERT, without looking whether anything was changed.
#[test]
fn an_insert_sets_the_count_of_changes_whatever_it_does() {
    let connection = memory();
    connection
        .execute_batch(
            "CREATE VIEW w AS SELECT id, v FROM t;
             CREATE TRIGGER idle INSTEAD OF INSERT ON w BEGIN SELECT 1; END;
             CREATE VIEW d AS SELECT id, v FROM t;
             CREATE TRIGGER clears INSTEAD OF INSERT ON d BEGIN DELETE FROM t WHERE id > new.id; END;
             CREATE TABLE q (id);
             CREATE TRIGGER skips BEFORE INSERT ON q BEGIN SELECT RAISE(IGNORE); END;
             CREATE VIRTUAL TABLE f USING fts5 (body)",
        )
        .unwrap();
    let all: [(&str, u64); 7] = [
        ("INSERT INTO t VALUES (7, 7)", 1),
        ("INSERT OR IGNORE INTO t VALUES (1, 1)", 0),
        ("INSERT OR REPLACE INTO t VALUES (1, 2)", 1),
        ("INSERT INTO w VALUES (8, 8)", 0),
        ("INSERT INTO d VALUES (1, 1)", 0),
        ("INSERT INTO q VALUES (1)", 0),
        ("INSERT INTO f VALUES ('a word')", 1),
    ];
    for (sql, rows) in all {
        connection.execute_batch("DELETE FROM t; INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)").unwrap();
        assert_eq!(connection.changes(), 3);
        connection.execute(sql, []).unwrap();
        assert_eq!(connection.changes(), rows, "{sql}");
    }
}
