//! Which statements are held for deletes.

use super::*;

const SCHEMA: &str = "
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT UNIQUE);
    CREATE TABLE log(v);
    CREATE TABLE parent(id INTEGER PRIMARY KEY);
    CREATE TABLE child(id INTEGER PRIMARY KEY, p REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE);
    CREATE VIEW w AS SELECT * FROM t;
    CREATE TRIGGER wi INSTEAD OF UPDATE ON w BEGIN DELETE FROM t WHERE id = new.id; END;
    INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c');
    INSERT INTO parent VALUES (1), (2);
    INSERT INTO child VALUES (1, 1), (2, 2);
";

#[test]
fn plain_writes_do_not_and_deletes_do() {
    let bench = Bench::writer(SCHEMA);
    for (sql, deletes) in [
        ("SELECT * FROM t", false),
        ("INSERT INTO t VALUES (10, 'x')", false),
        ("INSERT OR IGNORE INTO t VALUES (10, 'x')", false),
        ("INSERT INTO t VALUES (10, 'x') ON CONFLICT(id) DO UPDATE SET v = 'y'", false),
        ("UPDATE t SET v = 'z' WHERE id = 10", false),
        ("UPDATE parent SET id = 20 WHERE id = 2", false),
        ("CREATE TABLE other(a)", false),
        ("DELETE FROM t WHERE id = 99", true),
        ("DELETE FROM t", true),
        ("WITH gone AS (SELECT 1 AS id) DELETE FROM t WHERE id IN gone", true),
        ("DELETE FROM log RETURNING v", true),
        ("DELETE FROM parent WHERE id = 1", true),
        ("UPDATE w SET v = 'q' WHERE id = 3", true),
        ("REPLACE INTO t VALUES (1, 'r')", true),
        ("INSERT OR/**/replace INTO t VALUES (1, 's')", true),
        ("UPDATE OR REPLACE t SET v = 's' WHERE id = 1", true),
        ("DROP TABLE other", true),
        ("DROP VIEW w", true),
    ] {
        // Twice: the second time the statement comes out of the cache, unasked, where it can run again.
        for round in 0..2 {
            let session = bench.session();
            match session.run_statement(sql, &Params::default(), None) {
                Ok(_) => assert_eq!(session.deletes(), deletes, "{sql}, round {round}"),
                Err(_) => assert_eq!(round, 1, "{sql}"),
            }
        }
    }
}

#[test]
fn a_trigger_that_deletes_makes_its_insert_a_delete() {
    let bench = Bench::writer(
        "CREATE TABLE t(a); CREATE TABLE u(a);
         CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM u WHERE a = new.a; END;",
    );
    assert!(bench.run("INSERT INTO t VALUES (1)").deletes);
    assert!(bench.run("INSERT INTO t VALUES (1)").deletes);
    assert!(!bench.run("INSERT INTO u VALUES (1)").deletes);
}

#[test]
fn replace_in_a_column_or_trigger_makes_every_write_a_delete() {
    for schema in [
        "CREATE TABLE t(a UNIQUE ON CONFLICT REPLACE)",
        "CREATE TABLE t(a UNIQUE); CREATE TABLE u(a);
         CREATE TRIGGER g AFTER INSERT ON u BEGIN INSERT OR REPLACE INTO t VALUES (new.a); END",
    ] {
        let bench = Bench::writer(schema);
        for _ in 0..2 {
            assert!(bench.run("INSERT INTO t VALUES (abs(random()))").deletes);
            assert!(!bench.run("SELECT * FROM t").deletes);
        }
    }
}

#[test]
fn the_facts_follow_the_schema() {
    let bench = Bench::writer("CREATE TABLE t(a); CREATE TABLE u(a);");
    assert!(!bench.run("INSERT INTO t VALUES (1)").deletes);
    // Within the transaction, by users' SQL: the cached statement is prepared anew during its step.
    bench.run("CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM u; END");
    assert!(bench.run("INSERT INTO t VALUES (1)").deletes);
    assert!(bench.run("INSERT INTO t VALUES (1)").deletes);
    bench.connection.execute_batch("ROLLBACK").unwrap();
    bench.begin();
    assert!(!bench.run("INSERT INTO t VALUES (1)").deletes);
    bench.connection.execute_batch("COMMIT").unwrap();

    // By another program, between two transactions, and with the same text in the cache.
    let other = Connection::open(bench.connection.path().unwrap()).unwrap();
    other
        .execute_batch("CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT OR REPLACE INTO u VALUES (1); END")
        .unwrap();
    bench.begin();
    assert!(bench.run("INSERT INTO t VALUES (1)").deletes);
    bench.connection.execute_batch("COMMIT").unwrap();
    other.execute_batch("DROP TRIGGER g").unwrap();
    bench.begin();
    assert!(!bench.run("INSERT INTO t VALUES (1)").deletes);
}

#[test]
fn a_schema_change_that_was_rolled_back_is_forgotten() {
    let bench = Bench::writer(
        "CREATE TABLE t(a UNIQUE); CREATE TABLE u(a);
         CREATE TRIGGER g AFTER INSERT ON u BEGIN INSERT OR REPLACE INTO t VALUES (new.a); END",
    );
    bench.connection.execute_batch("SAVEPOINT c").unwrap();
    bench.run("DROP TRIGGER g");
    assert!(!bench.run("INSERT INTO u VALUES (1)").deletes);
    bench.connection.execute_batch("ROLLBACK TO c; RELEASE c").unwrap();
    assert!(bench.run("INSERT INTO u VALUES (1)").deletes);
}

#[test]
fn a_version_that_was_rolled_back_is_used_again_by_another_program() {
    let bench = Bench::writer("CREATE TABLE t(a); CREATE TABLE u(a);");
    bench.run("CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END");
    assert!(!bench.run("INSERT INTO t VALUES (1)").deletes);
    let seen = bench.one("PRAGMA schema_version");
    bench.connection.execute_batch("ROLLBACK").unwrap();
    let other = Connection::open(bench.connection.path().unwrap()).unwrap();
    other
        .execute_batch("CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT OR REPLACE INTO u VALUES (1); END")
        .unwrap();
    bench.begin();
    assert_eq!(bench.one("PRAGMA schema_version"), seen);
    assert!(bench.run("INSERT INTO t VALUES (2)").deletes);
}

#[test]
fn statements_that_are_prepared_anew_in_their_step_are_asked_there() {
    let bench = Bench::writer("CREATE TABLE t(a); CREATE TABLE u(a); INSERT INTO u VALUES (1);");
    let session = bench.session();
    let tx = Tx::new(&session);
    let mut held = tx.prepare("INSERT INTO t VALUES (1)").unwrap();
    held.execute([]).unwrap();
    assert!(!session.deletes());
    tx.execute_batch("CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM u; END;").unwrap();
    assert!(!session.deletes());
    held.execute([]).unwrap();
    assert!(session.deletes());
}

#[test]
fn only_what_ran_counts_and_batches_count() {
    let bench = Bench::writer("CREATE TABLE t(a);");
    let session = bench.session();
    let tx = Tx::new(&session);
    let prepared = tx.prepare("DELETE FROM t").unwrap();
    drop(prepared);
    assert!(!session.deletes());
    tx.execute_batch("INSERT INTO t VALUES (1); -- DELETE\n SELECT 1;").unwrap();
    assert!(!session.deletes());
    tx.execute_batch("INSERT INTO t VALUES (2); DELETE FROM t;").unwrap();
    assert!(session.deletes());
}

#[test]
fn commands_to_virtual_tables_count_where_they_may_delete() {
    let bench = Bench::writer(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v);
         CREATE VIRTUAL TABLE f USING fts5(v, content='t', content_rowid='id');
         CREATE TRIGGER ai AFTER INSERT ON t BEGIN INSERT INTO f(rowid, v) VALUES (new.id, new.v); END;
         CREATE TRIGGER au AFTER UPDATE ON t BEGIN
            INSERT INTO f(f, rowid, v) VALUES ('delete', old.id, old.v);
            INSERT INTO f(rowid, v) VALUES (new.id, new.v); END;",
    );
    for _ in 0..2 {
        assert!(!bench.run("INSERT INTO t(v) VALUES ('x')").deletes);
        assert!(bench.run("UPDATE t SET v = 'y' WHERE id = 1").deletes);
        assert!(bench.run("INSERT INTO f(f) VALUES ('rebuild')").deletes);
    }
}

#[test]
fn what_a_virtual_table_prepares_during_a_step_takes_nothing_back() {
    let bench = Bench::writer(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v);
         CREATE VIRTUAL TABLE f USING fts5(v);
         CREATE TRIGGER ad AFTER DELETE ON t BEGIN INSERT INTO f VALUES (old.v); END;
         INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c');",
    );
    for id in 1..=3 {
        // FTS5 prepares statements of its own in the first step, and the authorizer is asked about those.
        let sql = "DELETE FROM t WHERE id = ?1";
        let session = bench.session();
        let params = Params::positional([id]).unwrap();
        session.run_statement(sql, &params, None).unwrap();
        assert!(session.deletes());
    }
}

#[test]
fn only_a_plain_insert_of_one_row_does_without_a_savepoint() {
    let needs = |schema: &str, sql: &str| {
        Bench::writer(schema).session().prepare(sql).unwrap().facts().needs_savepoint
    };
    let plain = "CREATE TABLE t(a, b);";
    assert!(!needs(plain, "INSERT INTO t VALUES (?1, ?2)"));
    assert!(!needs(plain, "insert into t(a, b) values (abs(-1), 2);"));
    assert!(!needs(plain, "SELECT * FROM t"));
    for sql in [
        "INSERT INTO t VALUES (?1, ?2), (?3, ?4)",
        "INSERT INTO t VALUES (?1, ?2) RETURNING a",
        "INSERT INTO t SELECT 1, 2",
        "INSERT OR FAIL INTO t VALUES (?1, ?2)",
        "INSERT INTO t VALUES ('(', 1), (2, ')')",
        "UPDATE t SET a = a || a",
        "DELETE FROM t",
        "CREATE TABLE u(a)",
    ] {
        assert!(needs(plain, sql), "{sql}");
    }
    let insert = "INSERT INTO t VALUES (?1)";
    assert!(needs("CREATE TABLE t(a UNIQUE ON CONFLICT FAIL)", insert));
    assert!(needs(
        "CREATE TABLE p(a PRIMARY KEY); CREATE TABLE t(a REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
        insert
    ));
    assert!(needs(
        "CREATE TABLE t(a); CREATE TABLE u(a);
         CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO u VALUES (1); END",
        insert
    ));
}

#[test]
fn sqlite_keeps_the_first_rows_of_an_update_that_outgrows_the_length_limit() {
    // Why an UPDATE is never without a savepoint.
    let bench = Bench::writer("CREATE TABLE t(a); INSERT INTO t VALUES ('x'), (hex(zeroblob(2000)));");
    // SAFETY: the connection is open and used by this thread alone.
    unsafe {
        rusqlite::ffi::sqlite3_limit(bench.connection.handle(), rusqlite::ffi::SQLITE_LIMIT_LENGTH, 6000)
    };
    bench.session().run_statement("UPDATE t SET a = a || a", &Params::default(), None).unwrap_err();
    assert_eq!(bench.one("SELECT count(*) FROM t WHERE a = 'xx'"), 1);
    assert!(bench.session().prepare("UPDATE t SET a = a || a").unwrap().facts().needs_savepoint);
}

#[test]
fn an_insert_without_a_savepoint_leaves_nothing_when_it_fails() {
    let bench = Bench::writer(
        "CREATE TABLE p(id INTEGER PRIMARY KEY);
         CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT NOT NULL UNIQUE, b INT CHECK (b < 10),
            c TEXT AS (a || a), d INT REFERENCES p) STRICT;
         CREATE INDEX i ON t(b); CREATE INDEX j ON t(c); CREATE INDEX k ON t(a || a || a);
         INSERT INTO t(a) VALUES ('taken');",
    );
    // SAFETY: the connection is open and used by this thread alone.
    unsafe {
        rusqlite::ffi::sqlite3_limit(bench.connection.handle(), rusqlite::ffi::SQLITE_LIMIT_LENGTH, 5_000)
    };
    for (sql, failing) in [
        ("INSERT INTO t(a, b) VALUES (NULL, 1)", true),
        ("INSERT INTO t(b, a) VALUES (1, ?1)", false),
        ("INSERT INTO t(b, a) VALUES (1, ?1)", true),
        ("INSERT INTO t(a, b) VALUES (1, 11)", true),
        ("INSERT INTO t(a, b) VALUES (2, char(120))", true),
        ("INSERT INTO t(a, d) VALUES (3, 4)", true),
        ("INSERT INTO t(a, b) VALUES (hex(zeroblob(1000)), 1)", true),
        ("INSERT INTO t(a, b) VALUES (hex(zeroblob(1500)), 1)", true),
        ("INSERT INTO t(a, b) VALUES (4, abs(-9223372036854775807 - 1))", true),
    ] {
        let state =
            |of: &Bench| (of.one("SELECT count(*) FROM t"), of.one("SELECT max(seq) FROM sqlite_sequence"));
        let before = state(&bench);
        let session = bench.session();
        assert!(!session.prepare(sql).unwrap().facts().needs_savepoint, "{sql}");
        let params = Params::positional(sql.contains("?1").then_some("new")).unwrap();
        let result = session.run_statement(sql, &params, None);
        assert_eq!(result.is_err(), failing, "{sql}: {result:?}");
        drop(session);
        assert!(!bench.connection.is_autocommit());
        assert!(!failing || state(&bench) == before, "{sql}");
    }
    let whole: String = bench.connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
    bench.connection.execute_batch("COMMIT").unwrap();
}
