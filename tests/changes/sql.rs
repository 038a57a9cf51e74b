//! Statements, closures, triggers, cascades: as far as SQLite tells, and a doubt in the place of the rest.

use crate::bed::{Bed, run};

const SCHEMA: &str = "
    CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE k (id TEXT PRIMARY KEY, n INTEGER UNIQUE);
    CREATE TABLE w (id TEXT PRIMARY KEY, n) WITHOUT ROWID;
    CREATE TABLE u (id INTEGER PRIMARY KEY, n UNIQUE ON CONFLICT REPLACE);
    CREATE TABLE parent (id INTEGER PRIMARY KEY);
    CREATE TABLE child (id INTEGER PRIMARY KEY, p REFERENCES parent ON DELETE CASCADE ON UPDATE SET NULL);
    CREATE VIEW names AS SELECT name FROM t;
    CREATE TRIGGER through INSTEAD OF INSERT ON names BEGIN INSERT INTO t (name) VALUES (new.name); END;
    CREATE TABLE bell (id INTEGER PRIMARY KEY);
    CREATE TRIGGER rings AFTER INSERT ON bell BEGIN INSERT INTO w VALUES (new.id, 1); INSERT INTO t (name) VALUES ('rung'); END;
    CREATE TABLE swap (id INTEGER PRIMARY KEY);
    CREATE TRIGGER swaps AFTER INSERT ON swap BEGIN INSERT OR REPLACE INTO k VALUES ('s', new.id); END;
    CREATE VIRTUAL TABLE words USING fts5(text);
";

#[test]
fn statements_tell_rows_by_key_or_rowid() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        assert_eq!(bed.told_of("INSERT INTO t VALUES (1, 'a'), (2, 'b')"), ["insert t(1)", "insert t(2)"]);
        assert_eq!(bed.told_of("UPDATE t SET name = 'c' WHERE id > 1"), ["update t(2)"]);
        assert_eq!(bed.told_of("INSERT INTO k VALUES ('x', 1)"), ["insert k rowid 1"]);
        assert_eq!(bed.told_of("DELETE FROM t WHERE id = 1"), ["delete t(1)"]);
        assert!(bed.told_of("DELETE FROM t WHERE id = 1").is_empty());
        assert!(bed.told_of("INSERT OR IGNORE INTO t VALUES (2, 'z')").is_empty());
        let upsert = "INSERT INTO t VALUES (2, 'z') ON CONFLICT DO UPDATE SET name = 'z'";
        assert_eq!(bed.told_of(upsert), ["update t(2)"]);
        assert_eq!(bed.told_of("INSERT INTO names VALUES ('v')"), ["insert t(3)"]);
        assert!(bed.told_of("CREATE INDEX by_name ON t (name)").is_empty());
        assert!(bed.told_of("ANALYZE").is_empty());
        assert_eq!(bed.told_of("INSERT INTO t (name) VALUES (replace('a', 'a', 'b'))"), ["insert t(4)"]);
    });
}

/// SQLite would empty the table without a word.
#[test]
fn a_delete_of_a_whole_table_tells_each_row() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        bed.told_of("INSERT INTO t VALUES (1, 'a'), (2, 'b')");
        assert_eq!(bed.told_of("DELETE FROM t"), ["delete t(1)", "delete t(2)"]);
    });
}

#[test]
fn a_statement_that_was_prepared_unwatched_is_prepared_anew() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        // A stream of another store: nobody watches this one.
        let other = Bed::new(SCHEMA);
        bed.changes = other.store.changes();
        bed.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')");
        // Often enough to be kept at hand.
        for _ in 0..3 {
            bed.sql("DELETE FROM t");
        }
        bed.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')");
        bed.changes = bed.store.changes();
        assert_eq!(bed.told_of("DELETE FROM t"), ["delete t(1)", "delete t(2)"]);
    });
}

#[test]
fn tables_without_rowid_and_virtual_ones_are_told_whole() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        assert_eq!(bed.told_of("INSERT INTO w VALUES ('a', 1), ('b', 2)"), ["table w"]);
        assert!(bed.told_of("UPDATE w SET n = 3 WHERE id = 'nobody'").is_empty());
        assert_eq!(bed.told_of("DELETE FROM w"), ["table w"]);
        assert_eq!(bed.told_of("INSERT INTO words VALUES ('one two')"), ["table words"]);
        assert_eq!(bed.told_of("DELETE FROM words"), ["table words"]);
        let both = &["INSERT INTO t VALUES (1, 'a')", "INSERT INTO w VALUES ('c', 1)"];
        assert_eq!(bed.told_of_closure(both), ["insert t(1)", "table w"]);
    });
}

/// The search index writes what it held back when the next command sets its savepoint.
#[test]
fn what_a_virtual_table_held_back_is_not_the_next_commands() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        let gate = crate::bed::hold(&bed.store);
        let first = bed.store.execute("INSERT INTO words VALUES ('one two')", ()).try_submit().unwrap();
        let second = bed
            .store
            .write(|tx| tx.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')", []))
            .try_submit()
            .unwrap();
        gate.open();
        first.wait().unwrap();
        second.wait().unwrap();
        assert_eq!(bed.told(), ["table words", "insert t(1)", "insert t(2)"]);
    });
}

#[test]
fn triggers_and_cascades_are_told() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        assert_eq!(bed.told_of("INSERT INTO bell VALUES (1)"), ["insert bell(1)", "insert t(1)", "table w"]);
        bed.told_of("INSERT INTO parent VALUES (1), (2)");
        bed.told_of("INSERT INTO child VALUES (10, 1), (11, 2)");
        assert_eq!(bed.told_of("DELETE FROM parent WHERE id = 1"), ["delete parent(1)", "delete child(10)"]);
    });
}

#[test]
fn replace_leaves_a_doubt() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        bed.told_of("INSERT INTO k VALUES ('a', 1), ('b', 2)");
        assert_eq!(bed.told_of("INSERT OR REPLACE INTO k VALUES ('c', 2)"), ["table k"]);
        assert_eq!(bed.told_of("REPLACE INTO t VALUES (1, 'a')"), ["table t"]);
        assert_eq!(bed.told_of("INSERT INTO u VALUES (1, 1)"), ["table u"]);
        assert_eq!(bed.told_of("INSERT INTO swap VALUES (1)"), ["insert swap(1)", "table k"]);
        assert_eq!(bed.told_of("DELETE FROM u"), ["delete u(1)"]);
    });
}

#[test]
fn rows_that_move_leave_a_doubt() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        bed.told_of("INSERT INTO t VALUES (1, 'a'), (2, 'b')");
        assert_eq!(bed.told_of("UPDATE t SET id = id + 10"), ["table t"]);
        bed.told_of("INSERT INTO k VALUES ('a', 1)");
        assert_eq!(bed.told_of("UPDATE k SET rowid = 9"), ["table k"]);
        assert_eq!(bed.told_of("UPDATE k SET id = 'z'"), ["update k rowid 9"]);
    });
}

#[test]
fn a_table_that_is_made_dropped_or_altered_is_told() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        assert_eq!(bed.told_of("CREATE TABLE n AS SELECT 1 AS a"), ["table n"]);
        assert_eq!(bed.told_of("ALTER TABLE n ADD COLUMN b"), ["table n"]);
        assert_eq!(bed.told_of("ALTER TABLE n RENAME TO m"), ["table n", "table m"]);
        bed.told_of("INSERT INTO m VALUES (1, 2), (2, 3)");
        assert_eq!(bed.told_of("DROP TABLE m"), ["table m"]);
        let tables =
            bed.store.query("SELECT count(*) FROM sqlite_schema WHERE name = 'm'", ()).wait().unwrap();
        assert_eq!(tables[0].get::<i64>(0).unwrap(), 0, "it is gone indeed");
        bed.told_of("INSERT INTO parent VALUES (1)");
        bed.told_of("INSERT INTO child VALUES (10, 1)");
        assert!(
            bed.told_of_closure(&["DROP TABLE child", "INSERT INTO t VALUES (1, 'a')"])
                .contains(&"table child".to_owned())
        );
        bed.sql("DROP TABLE words");
    });
}

/// While somebody watches, SQLite is told to delete row by row, by an answer that would keep it from dropping anything.
#[test]
fn what_is_dropped_while_somebody_watches_is_gone() {
    run(|| {
        let bed = Bed::new(SCHEMA);
        for sql in ["CREATE INDEX by_name ON t (name)", "CREATE TABLE extra (a)", "ANALYZE"] {
            bed.sql(sql);
        }
        for (name, sql) in [
            ("by_name", "DROP INDEX by_name"),
            ("through", "DROP TRIGGER through"),
            ("names", "DROP VIEW names"),
            ("words", "DROP TABLE words"),
            ("extra", "DROP TABLE extra"),
            ("child", "DROP TABLE child"),
        ] {
            bed.sql(sql);
            let left = "SELECT count(*) FROM sqlite_schema WHERE name = ?1";
            let left: i64 = bed.store.query(left, (name,)).wait().unwrap()[0].get(0).unwrap();
            assert_eq!(left, 0, "{sql}");
        }
    });
}

#[test]
fn what_a_closure_undid_is_not_told() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        bed.told_of("INSERT INTO k VALUES ('a', 1)");
        // The first fails at its third row, and SQLite takes back its first two.
        let statements: &[&str] =
            &["INSERT INTO k VALUES ('b', 2), ('c', 3), ('a', 4)", "INSERT INTO t VALUES (1, 'x')"];
        assert_eq!(bed.told_of_closure(statements), ["insert t(1)"]);
        // This one keeps them, which SQLite does not tell.
        let statements: &[&str] = &["INSERT OR FAIL INTO k VALUES ('b', 2), ('c', 3), ('a', 4)"];
        assert_eq!(bed.told_of_closure(statements), ["table k"]);
        let failed = bed.store.write(|tx| {
            tx.execute("INSERT INTO t VALUES (2, 'x')", [])?;
            Err::<(), _>(walwright::ClosureError::message("no"))
        });
        failed.wait().unwrap_err();
        assert!(bed.told().is_empty());
    });
}

#[test]
fn rows_beyond_the_limit_are_told_as_their_table() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        let many = "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO t SELECT i, 'x' FROM n";
        let closure = bed.store.write(move |tx| {
            tx.execute("INSERT INTO k VALUES ('a', 1)", [])?;
            tx.execute(many, [])
        });
        closure.wait().unwrap();
        assert_eq!(bed.told(), ["insert k rowid 1", "table t"]);
    });
}
