//! What users' SQL may and may not do.

use super::super::{SessionError, StatementFacts};
use super::*;

const SCHEMA: &str = "
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
    CREATE TABLE walwright_sequence(next INTEGER);
    INSERT INTO walwright_sequence VALUES (7);
    CREATE VIRTUAL TABLE f USING fts5(body);
    INSERT INTO f VALUES ('hello world');
";

const DENIED: &[(&str, &str)] = &[
    ("BEGIN", "BEGIN"),
    ("COMMIT", "COMMIT"),
    ("END", "COMMIT"),
    ("ROLLBACK", "ROLLBACK"),
    ("SAVEPOINT a", "SAVEPOINT"),
    ("RELEASE a", "RELEASE"),
    ("ROLLBACK TO a", "ROLLBACK TO"),
    ("ATTACH ':memory:' AS other", "ATTACH"),
    ("DETACH main", "DETACH"),
    ("VACUUM", "VACUUM"),
    ("PRAGMA foreign_keys=OFF", "PRAGMA foreign_keys"),
    ("PRAGMA main.journal_mode(DELETE)", "PRAGMA journal_mode"),
    ("PRAGMA query_only=0", "PRAGMA query_only"),
    ("PRAGMA user_version=3", "PRAGMA user_version"),
    ("PRAGMA Defer_Foreign_Keys=1", "PRAGMA defer_foreign_keys"),
    ("PRAGMA writable_schema=1", "PRAGMA writable_schema"),
    ("PRAGMA wal_checkpoint", "PRAGMA wal_checkpoint"),
    ("PRAGMA optimize", "PRAGMA optimize"),
    ("PRAGMA temp_store_directory", "PRAGMA temp_store_directory"),
    ("PRAGMA no_such_pragma", "PRAGMA no_such_pragma"),
    ("SELECT load_extension('x')", "load_extension()"),
];

#[test]
fn what_outlives_the_call_is_denied_on_every_connection() {
    for bench in [Bench::writer(SCHEMA), Bench::reader(SCHEMA)] {
        for (sql, what) in DENIED {
            assert_eq!(bench.refusal(sql).as_deref(), Some(*what), "{sql}");
            let failed = bench.session().run_statement(sql, &Params::default(), None).unwrap_err();
            assert!(matches!(failed, SessionError::NotAllowed { what: named } if named == *what), "{sql}");
        }
        for sql in [
            "CREATE TEMP TABLE x(a)",
            "CREATE TEMP VIEW x AS SELECT 1",
            "CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END",
            "CREATE TABLE temp.x(a)",
            "CREATE VIRTUAL TABLE temp.x USING fts5(a)",
            "CREATE TEMP TABLE x AS SELECT 1",
        ] {
            let refused = bench.refusal(sql).unwrap();
            assert!(refused.contains("temporary"), "{sql}: {refused}");
        }
        // The engine's own SQL goes through, before and after.
        bench
            .connection
            .execute_batch("SAVEPOINT a; RELEASE a; PRAGMA query_only=1; PRAGMA query_only=0")
            .unwrap();
        assert!(!bench.connection.is_autocommit());
    }
}

#[test]
fn the_engines_table_can_be_read_only() {
    let bench = Bench::writer(SCHEMA);
    assert_eq!(
        bench
            .closure(|tx| tx.query_row("SELECT next FROM walwright_sequence", [], |r| r.get::<_, i64>(0)))
            .unwrap(),
        7
    );
    for sql in [
        "UPDATE walwright_sequence SET next = 1",
        "INSERT INTO Walwright_Sequence VALUES (1)",
        "DELETE FROM walwright_sequence",
        "DROP TABLE walwright_sequence",
        "ALTER TABLE walwright_sequence ADD COLUMN x",
        "CREATE INDEX i ON walwright_sequence(next)",
        "CREATE TRIGGER x AFTER UPDATE ON walwright_sequence BEGIN SELECT 1; END",
    ] {
        let refused = bench.refusal(sql).unwrap();
        assert!(refused.contains("walwright_sequence") && !refused.contains("another"), "{sql}: {refused}");
    }
    bench
        .closure(|tx| {
            tx.execute("CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM walwright_sequence; END", [])
        })
        .unwrap();
    assert!(bench.refusal("INSERT INTO t VALUES (1, 'x')").unwrap().contains("walwright_sequence"));
    assert_eq!(bench.one("SELECT next FROM walwright_sequence"), 7);
}

#[test]
fn reading_pragmas_and_ordinary_ddl_are_allowed() {
    for bench in [Bench::writer(SCHEMA), Bench::reader(SCHEMA)] {
        for sql in [
            "PRAGMA table_info(t)",
            "PRAGMA main.table_xinfo('t')",
            "PRAGMA table_list",
            "PRAGMA index_list(t)",
            "PRAGMA foreign_key_list(t)",
            "PRAGMA foreign_key_check",
            "PRAGMA integrity_check(5)",
            "PRAGMA quick_check",
            "PRAGMA data_version",
            "PRAGMA user_version",
            "PRAGMA journal_mode",
            "PRAGMA Foreign_Keys",
            "PRAGMA compile_options",
            "PRAGMA database_list",
            "SELECT * FROM pragma_table_info('t')",
            "SELECT count(*) FROM sqlite_temp_schema",
            "SELECT * FROM f WHERE f MATCH 'hello'",
            "EXPLAIN SELECT * FROM t",
        ] {
            assert_eq!(bench.refusal(sql), None, "{sql}");
        }
    }
    let bench = Bench::writer(SCHEMA);
    for sql in [
        "CREATE TABLE n(a, b UNIQUE)",
        "CREATE INDEX i ON n(a)",
        "CREATE VIEW w AS SELECT * FROM n",
        "CREATE TRIGGER g AFTER INSERT ON n BEGIN UPDATE n SET a = 1; END",
        "ALTER TABLE n RENAME COLUMN a TO c",
        "ALTER TABLE n ADD COLUMN d",
        "ALTER TABLE n DROP COLUMN d",
        "ALTER TABLE n RENAME TO m",
        "REINDEX m",
        "ANALYZE",
        "DROP TRIGGER g",
        "DROP VIEW w",
        "DROP INDEX i",
        "DROP TABLE m",
        "CREATE VIRTUAL TABLE g USING fts5(a)",
        "INSERT INTO g VALUES ('x')",
        "CREATE VIRTUAL TABLE r USING rtree(id, a, b)",
        "INSERT INTO r VALUES (1, 0, 1)",
        "UPDATE g SET a = 'y'",
        "DELETE FROM g",
        "INSERT INTO g(g) VALUES ('optimize')",
        "DROP TABLE g",
        "DROP TABLE r",
    ] {
        assert_eq!(bench.refusal(sql), None, "{sql}");
    }
    bench.connection.execute_batch("COMMIT").unwrap();
}

#[test]
fn full_text_search_works_in_fresh_connections() {
    // FTS5 prepares its own statements, PRAGMA data_version among them, during the first user's call.
    let bench = Bench::writer(SCHEMA);
    bench
        .closure(|tx| {
            tx.execute("INSERT INTO f VALUES (?1)", ["a new line"])?;
            let found: Vec<String> =
                tx.query("SELECT body FROM f WHERE f MATCH ?1 ORDER BY rank", ["line"], |row| row.get(0))?;
            assert_eq!(found, ["a new line"]);
            Ok(())
        })
        .unwrap();
    bench.connection.execute_batch("COMMIT").unwrap();
    let reader = Bench::reader(SCHEMA);
    assert_eq!(reader.run("SELECT body FROM f WHERE f MATCH 'world'").rows.unwrap().len(), 1);
}

#[test]
fn the_engine_may_do_in_between_what_users_may_not() {
    let bench = Bench::writer(SCHEMA);
    let session = bench.session();
    let engine = |sql| {
        let run = |_: &StatementFacts| Ok(bench.connection.execute_batch(sql)?);
        session.run_statement_after("SELECT 1", &Params::default(), None, run)
    };
    engine("SAVEPOINT a").unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let panics = |_: &StatementFacts| std::panic::resume_unwind(Box::new("the engine's own"));
        session.run_statement_after("SELECT 1", &Params::default(), None, panics)
    }));
    assert!(panicked.is_err());
    assert!(session.run_statement("RELEASE a", &Params::default(), None).is_err());
    engine("RELEASE a").unwrap();
    fn is_send<T: Send>(_: &T) {}
    is_send(&bench.state);
}

#[test]
fn foreign_key_actions_are_asked_about() {
    // Shown on the engine's table: its rows would go with those of a table that it refers to.
    let bench = Bench::writer(
        "CREATE TABLE p(id INTEGER PRIMARY KEY);
         CREATE TABLE walwright_sequence(p REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE);
         INSERT INTO p VALUES (1); INSERT INTO walwright_sequence VALUES (1);",
    );
    for sql in ["DELETE FROM p", "UPDATE p SET id = 2"] {
        assert!(bench.refusal(sql).unwrap().contains("walwright_sequence"), "{sql}");
    }
}
