//! What closures leave behind.

use std::mem::forget;

use super::super::session::LeftBehind;
use super::*;

const SCHEMA: &str = "CREATE TABLE t(a); INSERT INTO t VALUES (1), (2), (3);
    CREATE VIRTUAL TABLE f USING fts5(body); INSERT INTO f VALUES ('hello'), ('hello world');";

fn left(bench: &Bench, body: impl FnOnce(&Tx<'_>)) -> LeftBehind {
    let session = bench.session();
    body(&Tx::new(&session));
    session.finish()
}

#[test]
fn forgotten_rows_do_not_keep_the_transaction_open() {
    for sql in ["SELECT a FROM t", &format!("SELECT a FROM t -- {}", "x".repeat(5_000))] {
        let bench = Bench::writer(SCHEMA);
        let nothing = left(&bench, |tx| {
            let mut statement = tx.prepare(sql).unwrap();
            let mut rows = statement.query([]).unwrap();
            rows.next().unwrap();
            forget(rows);
        });
        assert_eq!(nothing, LeftBehind::default(), "the statement's own drop resets it");
        assert!(!bench.connection.is_busy());
        bench.connection.execute_batch("COMMIT").unwrap();
    }
}

#[test]
fn a_statement_can_be_used_again_after_forgotten_rows() {
    let bench = Bench::writer(SCHEMA);
    bench
        .closure(|tx| {
            let mut statement = tx.prepare("SELECT a FROM t WHERE a > ?1 ORDER BY a")?;
            for from in 0..3_i64 {
                let mut rows = statement.query([from])?;
                assert_eq!(rows.next()?.unwrap().get::<_, i64>(0)?, from + 1);
                forget(rows);
            }
            Ok(())
        })
        .unwrap();
    bench.connection.execute_batch("COMMIT").unwrap();
}

#[test]
fn forgotten_statements_are_finalized() {
    let bench = Bench::writer(SCHEMA);
    // Like one of the engine's: prepared outside the cache, kept over the user's call.
    let mut engines = bench.connection.prepare("SELECT count(*) FROM t").unwrap();
    for _ in 0..3 {
        let found = left(&bench, |tx| {
            for sql in
                ["SELECT a FROM t; -- first", "SELECT a FROM t", "SELECT body FROM f WHERE f MATCH 'hello'"]
            {
                let mut statement = tx.prepare(sql).unwrap();
                let mut rows = statement.query([]).unwrap();
                rows.next().unwrap();
                forget(rows);
                forget(statement);
            }
            forget(tx.prepare("INSERT INTO t VALUES (4)").unwrap());
        });
        assert_eq!(found, LeftBehind { statements: 4, finalized: 4 });
        assert!(!bench.connection.is_busy());
        bench.connection.execute_batch("COMMIT; BEGIN IMMEDIATE").unwrap();
        assert_eq!(engines.query_row([], |row| row.get::<_, i64>(0)).unwrap(), 3);
        // FTS5 keeps statements of its own on the connection; they must have survived.
        bench.closure(|tx| tx.execute("INSERT INTO f VALUES ('more')", [])).unwrap();
    }
    drop(engines);
    let Bench { connection, state, _folder } = bench;
    connection.execute_batch("COMMIT").unwrap();
    drop(state);
    connection.close().map_err(|(_, error)| error).unwrap();
}

#[test]
fn a_forgotten_statement_with_the_engines_own_text_is_only_reset() {
    let bench = Bench::writer(SCHEMA);
    let mut engines = bench.connection.prepare("SELECT a FROM t").unwrap();
    let found = left(&bench, |tx| {
        let mut statement = tx.prepare("SELECT a FROM t").unwrap();
        let mut rows = statement.query([]).unwrap();
        rows.next().unwrap();
        forget(rows);
        forget(statement);
    });
    assert_eq!(found, LeftBehind { statements: 1, finalized: 0 });
    assert!(!bench.connection.is_busy());
    bench.connection.execute_batch("COMMIT").unwrap();
    assert_eq!(engines.query_row([], |row| row.get::<_, i64>(0)).unwrap(), 1);
}

#[test]
fn a_panic_leaves_nothing() {
    let bench = Bench::writer(SCHEMA);
    let session = bench.session();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let tx = Tx::new(&session);
        let mut statement = tx.prepare("SELECT a FROM t").unwrap();
        let mut rows = statement.query([]).unwrap();
        rows.next().unwrap();
        std::panic::resume_unwind(Box::new("the closure's own"));
    }));
    assert!(panicked.is_err());
    assert_eq!(session.finish(), LeftBehind::default());
    assert!(!bench.connection.is_busy());
}

#[test]
fn long_texts_do_not_pile_up_in_memory() {
    let bench = Bench::reader(SCHEMA);
    // SAFETY: reads a counter of the library.
    let used = || unsafe { rusqlite::ffi::sqlite3_memory_used() };
    let filler = "x".repeat(10_000);
    let read = |from: usize, to: usize| {
        for at in from..to {
            let session = bench.session();
            let sql = format!("SELECT {at} -- {filler}");
            Tx::new(&session).query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap();
            let sql = format!("SELECT {at} /* {} */", &filler[..3_000]);
            Tx::new(&session).query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap();
        }
    };
    read(0, 500);
    let before = used();
    read(500, 8_000);
    // Other tests share the counter; 7,500 texts of 10 kB would be 75 MB.
    assert!(used() - before < 20_000_000, "{} bytes more", used() - before);
}
