//! C55. Only the first statement of a text ran, and the rest was dropped without a word; and programs that
//! build their SQL grew without end, because evicted statements were kept (rusqlite/rusqlite#397).
//!
//! Must hold: a second statement is refused before the first one runs, while `;`, blanks and comments may
//! follow; the cache of each connection is bounded in entries and bytes; statements are reset after use.

use std::fs;
use std::path::Path;

use walwright::rusqlite::{self, ffi};
use walwright::{ReadError, Store, WriteError};
use walwright_test_support::{Scratch, watchdog};

use crate::support_read::{Helper, KIB, LIMIT, MIB, number, say};

const TWO: [&str; 5] = [
    "INSERT INTO t VALUES (1); DELETE FROM t",
    "INSERT INTO t VALUES (1);DELETE FROM t;",
    "INSERT INTO t VALUES (1); -- and\n DELETE FROM t",
    "INSERT INTO t VALUES (1); /* and */ SELECT 1",
    "INSERT INTO t VALUES (1); nonsense",
];

const ONE: [&str; 5] = [
    "INSERT INTO t VALUES (1);",
    "INSERT INTO t VALUES (1); \n\t ",
    "INSERT INTO t VALUES (1); -- the end",
    "  /* first */ INSERT INTO t VALUES (1) ;; /* last */ ;",
    "-- a comment\nINSERT INTO t VALUES (1)",
];

fn open(scratch: &Scratch) -> Store {
    let store = Store::builder(scratch.join("a.db")).readers(1).open().wait().unwrap();
    store.execute("CREATE TABLE t (x)", ()).wait().unwrap();
    store
}

#[test]
fn c55_a_second_statement_is_refused_before_the_first_runs() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        for sql in TWO {
            let error = store.execute(sql, ()).wait().unwrap_err();
            assert!(matches!(error, WriteError::Sql(_)), "{sql}: {error}");
            let error = store.execute_returning(sql, ()).wait().map(drop).unwrap_err();
            assert!(matches!(error, WriteError::Sql(_)), "{sql}: {error}");
            let batch = store.batch().execute("INSERT INTO t VALUES (0)", ()).execute(sql, ()).send();
            assert!(matches!(batch.wait(), Err(WriteError::Sql(_))), "{sql}");
            for prepare in [false, true] {
                let closure = store.write(move |tx| match prepare {
                    true => tx.prepare(sql)?.execute(()),
                    false => tx.execute(sql, ()),
                });
                assert!(matches!(closure.wait(), Err(WriteError::Sql(_))), "{sql}");
            }
        }
        for sql in ["SELECT 1; SELECT 2", "SELECT 1; nonsense", "SELECT 1; DELETE FROM t"] {
            assert!(matches!(store.query(sql, ()).wait(), Err(ReadError::Sql(_))), "{sql}");
            let read = store.read(move |db| db.query_row(sql, (), |_| Ok(())));
            assert!(matches!(read.wait(), Err(ReadError::Sql(_))), "{sql}");
        }
        assert_eq!(number(&store, "SELECT count(*) FROM t"), 0, "nothing of all that was applied");
    });
}

#[test]
fn c55_semicolons_blanks_and_comments_may_follow() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        for sql in ONE {
            assert_eq!(store.execute(sql, ()).wait().unwrap().rows_changed, 1, "{sql}");
            assert_eq!(store.batch().execute(sql, ()).send().wait().unwrap().rows_changed, 1, "{sql}");
            assert_eq!(store.write(move |tx| tx.execute(sql, ())).wait().unwrap().value, 1, "{sql}");
        }
        assert_eq!(number(&store, "SELECT count(*) FROM t"), 15);
        for sql in ["SELECT 1; -- x", "SELECT 1;;", "SELECT 1 ; \n/* x */ "] {
            assert_eq!(store.query(sql, ()).wait().unwrap().len(), 1, "{sql}");
            assert_eq!(number(&store, sql), 1);
        }
    });
}

#[test]
fn c55_a_statement_is_reset_after_its_use() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        store.execute("INSERT INTO t VALUES (1), (2), (3)", ()).wait().unwrap();
        let sql = "SELECT x FROM t ORDER BY x";
        for _ in 0..3 {
            // Half used, by a closure and by a statement that wants no rows.
            let first = store.read(move |db| db.query_row(sql, (), |row| row.get::<_, i64>(0)));
            assert_eq!(first.wait().unwrap(), 1);
            let first = store.write(move |tx| tx.query_row(sql, (), |row| row.get::<_, i64>(0)));
            assert_eq!(first.wait().unwrap().value, 1);
            // From the start again, with all rows; and a table that is not in use can be dropped.
            assert_eq!(store.query(sql, ()).wait().unwrap().len(), 3);
            assert_eq!(store.execute_returning(sql, ()).wait().unwrap().value.len(), 3);
            // Parameters of the last use are not those of the next.
            let bound = store.read(|db| {
                let mut statement = db.prepare("SELECT ?1")?;
                statement.query_row((5,), |row| row.get::<_, i64>(0))?;
                statement.query_row((rusqlite::types::Null,), |row| row.get::<_, Option<i64>>(0))
            });
            assert_eq!(bound.wait().unwrap(), None);
        }
        store.execute("DROP TABLE t", ()).wait().unwrap();
    });
}

#[test]
fn c55_memory_stays_flat_under_texts_that_are_never_the_same() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        // In a process of its own: what SQLite counts is counted for the whole process.
        let helper = Helper::start("c55 memory", &scratch.join("a.db"));
        assert_eq!(helper.hear(), "flat");
        helper.finish();
    });
}

/// In a process of its own. The case has 200,000 texts of 10 kB; these are 6,000 of each of two lengths, one
/// that is kept prepared and one that is too long for it, on the reader and on the writer: without a bound
/// some hundred MiB.
pub fn many_texts(path: &Path) {
    let store = Store::builder(path).readers(1).open().wait().unwrap();
    store.execute("CREATE TABLE t (x)", ()).wait().unwrap();
    let run = |numbers: std::ops::Range<usize>| {
        for n in numbers {
            for length in [3_000, 10_000] {
                let text = format!("SELECT {n} /* {} */", "x".repeat(length));
                assert_eq!(store.query(text.clone(), ()).wait().unwrap().len(), 1);
                let closure = text.clone();
                store.read(move |db| db.query_row(&closure, (), |_| Ok(()))).wait().unwrap();
                if n % 8 == 0 {
                    store.execute(text.clone(), ()).wait().unwrap();
                    store.write(move |tx| tx.query_row(&text, (), |_| Ok(()))).wait().unwrap();
                }
            }
        }
    };
    run(0..600);
    let before = (of_sqlite(), of_process());
    // The bound is known: 64 statements of at most 4 KiB of text on each of two connections.
    assert!(before.0 < 4 * MIB, "{} bytes in SQLite", before.0);
    run(600..6_000);
    let after = (of_sqlite(), of_process());
    assert!(after.0 <= before.0 + 256 * KIB, "SQLite: {} bytes, then {}", before.0, after.0);
    assert!(after.1 <= before.1 + 16 * MIB, "process: {} bytes, then {}", before.1, after.1);
    store.close().wait().unwrap();
    say("flat");
}

/// The bytes that SQLite has allocated.
fn of_sqlite() -> u64 {
    // SAFETY: SQLite's counter, behind a lock of its own.
    unsafe { ffi::sqlite3_memory_used() }.unsigned_abs()
}

/// The bytes of the process that are in memory.
fn of_process() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}
