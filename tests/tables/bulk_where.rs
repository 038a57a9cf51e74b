//! Work on all rows whose column holds a value.

use walwright::{Row, Value};

use crate::bed::{Bed, run};
use crate::visits::Visits;

/// Three tables of 3,000 rows each in three states: with a rowid, with a key that is none, and without a rowid.
const STATES: &str = "CREATE TABLE a (id INTEGER PRIMARY KEY, state TEXT, n INTEGER DEFAULT 0, v INTEGER DEFAULT 1); \
                      INSERT INTO a (id, state) \
                          WITH number(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number LIMIT 3000) \
                          SELECT value * 7, CASE value % 3 WHEN 0 THEN 'old' WHEN 1 THEN 'new' END FROM number; \
                      CREATE TABLE b (id TEXT PRIMARY KEY, state TEXT, n INTEGER DEFAULT 0, v INTEGER DEFAULT 1); \
                      INSERT INTO b (id, state) SELECT hex(id * 7919 % 30011) || id, state FROM a; \
                      CREATE TABLE c (k INTEGER, id TEXT COLLATE NOCASE, state TEXT, n INTEGER DEFAULT 0, \
                          v INTEGER DEFAULT 1, PRIMARY KEY (k DESC, id)) WITHOUT ROWID; \
                      INSERT INTO c (k, id, state) SELECT id % 5, id || 'x', state FROM a";

#[test]
fn every_row_that_holds_the_value_is_changed_once() {
    for name in ["a", "b", "c"] {
        run(move || {
            let bed = Bed::new(STATES);
            let table = bed.store.table::<Row>(name).revision("v").open().wait().unwrap();
            // The very column that finds the rows may change.
            let moved = table.update_where("state", "new").set("state", "old").set("n", 1).wait().unwrap();
            assert_eq!(moved.rows_changed, 1000);
            let groups = |columns: &str| {
                bed.look(&format!("SELECT {columns}, count(*) FROM {name} GROUP BY {columns} ORDER BY 1, 2"))
            };
            assert_eq!(groups("state, n, v"), ["NULL|0|1|1000", "old|0|1|1000", "old|1|2|1000"]);

            let touched = table.update_where("state", None::<&str>).set("n", 2).wait().unwrap();
            assert_eq!(touched.rows_changed, 1000, "NULL is equal to NULL");
            assert_eq!(table.update_where("state", "none").set("n", 3).wait().unwrap().rows_changed, 0);
            assert_eq!(table.delete_where("state", "old").wait().unwrap().rows_changed, 2000);
            assert_eq!(groups("state, n, v"), ["NULL|2|2|1000"]);
            assert_eq!(table.delete_where("state", Value::Null).atomic().wait().unwrap().rows_changed, 1000);
            assert_eq!(bed.one(&format!("SELECT count(*) FROM {name}")), "0");
        });
    }
}

#[test]
fn all_rows_of_a_step_take_the_sequence_of_their_piece() {
    run(|| {
        let bed = Bed::new(STATES);
        let table = bed.store.table::<Row>("a").revision_by_sequence("v").open().wait().unwrap();
        let moved = table.update_where("state", "new").set("n", 1).atomic().wait().unwrap();
        let revisions = bed.look("SELECT DISTINCT v FROM a WHERE n = 1");
        assert_eq!(revisions, [moved.sequence.to_string()]);
    });
}

/// The column's own collation and type decide, as in the program's SQL.
#[test]
fn a_value_is_found_as_is_finds_it() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, x); \
                            INSERT INTO t VALUES (1, 'Ann', 1), (2, 'ANN', '1'), (3, 'bea', 1.0)",
        );
        let table = bed.table::<Row>("t");
        assert_eq!(table.update_where("name", "ann").set("name", "ann").wait().unwrap().rows_changed, 2);
        assert_eq!(table.delete_where("x", 1).wait().unwrap().rows_changed, 2, "1 and 1.0, not '1'");
        assert_eq!(bed.look("SELECT id FROM t"), ["2"]);
        assert_eq!(table.delete_where("id", 2).wait().unwrap().rows_changed, 1, "the key itself");
    });
}

/// A table without rowids may be opened by another unique key, which may hold NULL: its rows are found all the same.
#[test]
fn rows_with_null_in_the_key_are_found() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, mail TEXT UNIQUE, n INTEGER) WITHOUT ROWID; \
                            INSERT INTO t WITH number(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number LIMIT 100) \
                                SELECT value, iif(value % 2, NULL, 'm' || value), 0 FROM number",
        );
        let table = bed.store.table::<Row>("t").key(["mail"]).open().wait().unwrap();
        assert_eq!(table.update_where("n", 0).set("n", 1).wait().unwrap().rows_changed, 100);
        assert_eq!(table.delete_where("n", 1).wait().unwrap().rows_changed, 100);
    });
}

/// A table without rowids, opened by another key: an update of its primary key moved rows ahead of the walk, which met
/// them again, counted them twice and raised their revision twice.
#[test]
fn rows_that_an_update_moves_are_changed_once() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (a INTEGER, b INTEGER, name TEXT UNIQUE, state TEXT, v INTEGER, PRIMARY KEY (a, b)) \
                 WITHOUT ROWID; \
             INSERT INTO t WITH number(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number LIMIT 1000) \
                 SELECT value, value, 'n' || value, 'old', 1 FROM number",
        );
        let table = bed.store.table::<Row>("t").key(["name"]).revision("v").open().wait().unwrap();
        assert_eq!(table.update_where("state", "old").set("a", 500).wait().unwrap().rows_changed, 1000);
        assert_eq!(bed.look("SELECT a, v, count(*) FROM t GROUP BY a, v"), ["500|2|1000"]);
    });
}

/// Where columns took all names of the rowid, the walk goes by a key that may be NULL: rows with NULL in it were left
/// out, and the answer was a success.
#[test]
fn rows_without_a_place_are_found() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (k TEXT PRIMARY KEY, state TEXT, rowid TEXT, oid TEXT, _rowid_ TEXT); \
             INSERT INTO t (k, state) VALUES (NULL, 'old'), (NULL, 'old'), ('a', 'old'), ('b', 'old'), ('c', 'new')",
        );
        let table = bed.table::<Row>("t");
        assert_eq!(table.update_where("state", "old").set("oid", "x").wait().unwrap().rows_changed, 4);
        assert_eq!(table.delete_where("state", "old").wait().unwrap().rows_changed, 4);
        assert_eq!(bed.look("SELECT k, oid FROM t"), ["c|NULL"]);
    });
}

/// The rows that are there when it begins are its business, not those that come behind the last of them.
#[test]
fn rows_that_are_inserted_meanwhile_are_left_alone() {
    for without_rowid in ["", "WITHOUT ROWID"] {
        run(move || {
            let visits = Visits::default();
            let bed = Bed::with("CREATE TABLE other (x)", |builder| visits.known_to(builder));
            let create = format!(
                "CREATE TABLE t (state TEXT, id INTEGER PRIMARY KEY) {without_rowid}; INSERT INTO t (id, state) \
                     WITH number(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number LIMIT 30) \
                     SELECT value, 'old' FROM number; \
                 CREATE TRIGGER seen BEFORE DELETE ON t BEGIN SELECT visit(old.id); END"
            );
            bed.store.write(move |tx| tx.execute_batch(&create)).wait().unwrap();
            let table = bed.table::<Row>("t");
            let row = |id: i64| Row::new().with("id", id).unwrap().with("state", "old").unwrap();

            let gate = visits.gate_at(5);
            let deleting = table.delete_where("state", "old").try_submit().unwrap();
            gate.wait_until_entered();
            // One in front of where it stands, one behind its end.
            let inserted: Vec<_> =
                [0, 31].iter().map(|id| table.insert(&row(*id)).try_submit().unwrap()).collect();
            let renamed = table.update(29).set("state", "new").try_submit().unwrap();
            gate.open();
            for one in inserted {
                assert!(one.wait().unwrap().created);
            }
            assert_eq!(renamed.wait().unwrap().rows_changed, 1);
            assert_eq!(deleting.wait().unwrap().rows_changed, 29);
            assert_eq!(
                bed.look("SELECT id, state FROM t ORDER BY id"),
                ["0|old", "29|new", "31|old"],
                "{without_rowid}"
            );
        });
    }
}
