//! Running statements and closures.

use rusqlite::params;

use super::super::{Db, SessionError, TransactionEnded};
use super::*;
use crate::handle::params::IntoParams;

const SCHEMA: &str = "CREATE TABLE t(id INTEGER PRIMARY KEY, v UNIQUE);";

#[test]
fn trailing_sql_is_refused_before_anything_runs() {
    let bench = Bench::writer(SCHEMA);
    for sql in [
        "INSERT INTO t VALUES (1, 'a'); DELETE FROM t",
        "INSERT INTO t VALUES (1, 'a'); /* and */ SELECT 1;",
        "INSERT INTO t VALUES (1, 'a')\0; DELETE FROM t",
    ] {
        let failed = bench.session().run_statement(sql, &Params::default(), None).unwrap_err();
        assert!(matches!(failed, SessionError::MultipleStatements) || sql.contains('\0'), "{sql}: {failed}");
        bench.closure(|tx| tx.execute(sql, [])).unwrap_err();
        bench.closure(|tx| tx.prepare(sql).map(drop)).unwrap_err();
    }
    assert_eq!(bench.one("SELECT count(*) FROM t"), 0);
    for sql in ["SELECT 1;", "SELECT 1; -- x", " \n SELECT 1 ;; /* x */ ; ", "/* first */ SELECT 1"] {
        assert_eq!(bench.run(sql).rows.unwrap().len(), 1, "{sql}");
        assert_eq!(bench.closure(|tx| tx.query_row(sql, [], |row| row.get::<_, i64>(0))).unwrap(), 1);
    }
    for sql in ["", " ; ", "-- nothing"] {
        bench.session().run_statement(sql, &Params::default(), None).unwrap_err();
    }
}

#[test]
fn counts_the_rows_of_this_statement_alone() {
    let bench = Bench::writer(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v); CREATE TABLE u(a);
         CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO u VALUES (1), (2); END;",
    );
    for (sql, rows) in [
        ("INSERT INTO t(v) VALUES (1), (2)", 2),
        ("SELECT * FROM t", 0),
        ("CREATE TABLE x(a)", 0),
        ("INSERT INTO t(v) VALUES (3) RETURNING id", 1),
        ("UPDATE t SET v = 9 WHERE id = 99", 0),
        ("CREATE TABLE y AS SELECT * FROM t", 0),
        ("DROP TABLE y", 0),
        ("DELETE FROM t", 3),
    ] {
        assert_eq!(bench.run(sql).rows_changed, rows, "{sql}");
    }
}

#[test]
fn rows_are_taken_or_dropped_and_bounded() {
    let bench = Bench::writer(SCHEMA);
    let session = bench.session();
    let params = (1, "x").into_params().unwrap();
    let sql = "INSERT INTO t VALUES (?1, ?2), (?1 + 1, 'y') RETURNING id AS n";
    let rows = session.run_statement(sql, &params, Some(1_000)).unwrap().rows.unwrap();
    assert_eq!(rows.iter().map(|row| row.get::<i64>("n").unwrap()).collect::<Vec<_>>(), [1, 2]);
    session.run_statement("DELETE FROM t", &Params::default(), None).unwrap();
    let outcome = session.run_statement(sql, &params, None).unwrap();
    assert!(outcome.rows.is_none() && outcome.rows_changed == 2);
    let empty = session.run_statement("SELECT id, v FROM t WHERE 0", &Params::default(), Some(0)).unwrap();
    assert_eq!(empty.rows.unwrap().columns(), ["id", "v"]);
    let failed = session.run_statement("SELECT zeroblob(5000)", &Params::default(), Some(4_000));
    assert!(matches!(failed, Err(SessionError::ResultTooLarge { limit: 4_000 })));
    assert!(!bench.connection.is_busy());
    let failed = session.run_statement("INSERT INTO t VALUES (1, 'again')", &Params::default(), None);
    assert!(matches!(failed, Err(SessionError::Sqlite(error)) if error.is_constraint()));
    let failed = session.run_statement("SELECT ?1", &Params::default(), None);
    assert!(matches!(failed, Err(SessionError::Sqlite(_))));
}

#[test]
fn closures_have_the_usual_calls() {
    let bench = Bench::writer(SCHEMA);
    bench
        .closure(|tx| {
            assert_eq!(tx.execute("INSERT INTO t(v) VALUES (?1)", ["a"])?, 1);
            assert_eq!(tx.last_insert_rowid(), 1);
            let mut insert = tx.prepare("INSERT INTO t(v) VALUES (?1) RETURNING id")?;
            for v in ["b", "c"] {
                insert.query_row([v], |row| row.get::<_, i64>(0))?;
            }
            let all: Vec<String> =
                tx.query("SELECT v FROM t WHERE id > ?1 ORDER BY id", params![0], |row| row.get(0))?;
            assert_eq!(all, ["a", "b", "c"]);
            assert_eq!(
                tx.query_optional("SELECT id FROM t WHERE v = 'zz'", (), |r| r.get::<_, i64>(0))?,
                None
            );
            let none = tx.query_row("SELECT id FROM t WHERE v = 'zz'", [], |row| row.get::<_, i64>(0));
            assert!(matches!(none.unwrap_err().as_rusqlite(), Some(rusqlite::Error::QueryReturnedNoRows)));
            tx.execute_batch("UPDATE t SET v = v || 'x'; SELECT * FROM t; DELETE FROM t WHERE id = 1")?;
            let mut select = tx.prepare("SELECT id, v FROM t ORDER BY id")?;
            assert_eq!(select.column_names(), ["id", "v"]);
            let mut rows = select.query([])?;
            let mut seen = 0;
            while let Some(row) = rows.next()? {
                assert!(row.get::<_, String>(1)?.ends_with('x'));
                seen += 1;
            }
            assert_eq!(seen, 2);
            // The same text again, while the first still steps.
            let mut again = tx.prepare("SELECT id, v FROM t ORDER BY id")?;
            assert_eq!(again.query_map([], |row| row.get::<_, i64>(0))?, [2, 3]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn nothing_runs_after_sqlite_ended_the_transaction() {
    let bench = Bench::writer(SCHEMA);
    let ended = bench.closure(|tx| {
        tx.execute("INSERT INTO t VALUES (1, 'a')", [])?;
        let refused = tx.execute("INSERT OR ROLLBACK INTO t VALUES (1, 'a')", []).unwrap_err();
        assert!(refused.as_rusqlite().is_some());
        // A closure that ignores the error would commit this by itself.
        assert!(tx.execute_batch("INSERT INTO t VALUES (2, 'b')").is_err());
        tx.execute("INSERT INTO t VALUES (2, 'b')", [])
    });
    assert!(ended.unwrap_err().downcast_ref::<TransactionEnded>().is_some());
    assert!(bench.connection.is_autocommit());
    assert_eq!(bench.one("SELECT count(*) FROM t"), 0);
}

#[test]
fn a_reader_reads_and_cannot_write() {
    let bench =
        Bench::reader("CREATE TABLE t(id INTEGER PRIMARY KEY, v UNIQUE); INSERT INTO t VALUES (1, 'a');");
    {
        let session = bench.session();
        let db = Db::new(&session);
        assert_eq!(db.query_row("SELECT v FROM t", [], |row| row.get::<_, String>(0)).unwrap(), "a");
        assert_eq!(db.query("SELECT id FROM t", [], |row| row.get::<_, i64>(0)).unwrap(), [1]);
        assert_eq!(db.query_optional("SELECT 1 WHERE 0", [], |row| row.get::<_, i64>(0)).unwrap(), None);
        let refused = db.prepare("DELETE FROM t").unwrap().execute([]).unwrap_err();
        assert!(matches!(
            refused.as_rusqlite().and_then(rusqlite::Error::sqlite_error_code),
            Some(rusqlite::ErrorCode::ReadOnly)
        ));
    }
    for sql in ["INSERT INTO t VALUES (1, 'a')", "DROP TABLE t", "CREATE TABLE x(a)"] {
        assert!(bench.session().run_statement(sql, &Params::default(), None).is_err(), "{sql}");
    }
}

#[test]
fn the_engines_commit_is_not_handed_to_users() {
    let bench = Bench::writer(SCHEMA);
    // The engine prepares outside the cache; nothing of its own text is found there.
    bench.connection.prepare("COMMIT").unwrap().execute([]).unwrap();
    bench.begin();
    assert_eq!(bench.refusal("COMMIT").as_deref(), Some("COMMIT"));
    assert!(!bench.connection.is_autocommit());
}

/// The whole text was scanned once for each statement in it: a script of a few thousand lines took longer than a
/// write may run.
#[test]
fn a_long_script_takes_no_longer_for_each_statement() {
    let bench = Bench::writer(SCHEMA);
    let mut script = format!("-- {}\n", "x".repeat(1 << 20));
    for id in 0..300 {
        script.push_str(&format!("INSERT INTO t VALUES ({id}, 'v{id}');\n"));
    }
    let begun = std::time::Instant::now();
    bench.closure(|tx| tx.execute_batch(&script)).unwrap();
    // Three scans of a MiB, and not nine hundred.
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(bench.one("SELECT count(*) FROM t"), 300);
}
