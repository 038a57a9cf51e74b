//! A row command that fails leaves nothing behind, whatever the schema does beside it: triggers, cascades, deferred
//! foreign keys, clauses that keep half of what was done or take the whole transaction along.

use walwright::{Receipt, Row, RowReceipt, Table, WriteError};

use crate::bed::{Bed, constraint, hold, not_applied, run};

fn row(id: i64, n: i64) -> Row {
    Row::new().with("id", id).unwrap().with("n", n).unwrap()
}

/// Sends a failing command between two good ones, all in one group, and gives its answer and what is in `t` then.
fn among_others(
    bed: &Bed,
    table: &Table<Row>,
    send: impl FnOnce(&Table<Row>) -> Result<walwright::Pending<RowReceipt>, WriteError>,
) -> (Result<RowReceipt, WriteError>, Vec<String>) {
    let gate = hold(&bed.store);
    let before = table.insert(&row(101, 0)).try_submit().unwrap();
    let failing = send(table).unwrap();
    let after = table.insert(&row(102, 0)).try_submit().unwrap();
    gate.open();
    let answer = failing.wait();
    assert_eq!(before.wait().unwrap().rows_changed, 1);
    assert_eq!(after.wait().unwrap().rows_changed, 1);
    (answer, bed.look("SELECT id, n FROM t ORDER BY id"))
}

/// RAISE(FAIL) keeps what the statement did before; RAISE(ROLLBACK) takes the transaction of all others along.
#[test]
fn a_trigger_that_raises_undoes_its_command_alone() {
    for raise in ["ABORT", "FAIL", "ROLLBACK"] {
        run(move || {
            let bed = Bed::new(
                "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER); CREATE TABLE log (what); \
                                INSERT INTO t VALUES (1, 5)",
            );
            let trigger = format!(
                "CREATE TRIGGER a AFTER INSERT ON t WHEN new.n < 0 BEGIN \
                     INSERT INTO log VALUES ('insert'); SELECT RAISE({raise}, 'no'); END; \
                 CREATE TRIGGER b AFTER UPDATE ON t WHEN new.n < 0 BEGIN \
                     INSERT INTO log VALUES ('update'); SELECT RAISE({raise}, 'no'); END; \
                 CREATE TRIGGER c AFTER DELETE ON t WHEN old.n = 5 BEGIN \
                     INSERT INTO log VALUES ('delete'); SELECT RAISE({raise}, 'no'); END"
            );
            bed.store.write(move |tx| tx.execute_batch(&trigger)).wait().unwrap();
            let table = bed.table::<Row>("t");
            let sends: [fn(&Table<Row>) -> _; 5] = [
                |table| table.insert(&row(2, -1)).try_submit(),
                |table| table.insert_or_ignore(&row(2, -1)).try_submit(),
                |table| table.upsert(&row(1, -1)).try_submit(),
                |table| table.update(1).set("n", -1).try_submit(),
                |table| table.delete(1).try_submit(),
            ];
            for send in sends {
                let (answer, rows) = among_others(&bed, &table, send);
                constraint(answer);
                assert_eq!(rows, ["1|5", "101|0", "102|0"], "{raise}");
                table.delete_many([101, 102]).wait().unwrap();
            }
            assert_eq!(bed.one("SELECT count(*) FROM log"), "0");
        });
    }
}

/// ON CONFLICT FAIL keeps rows that a statement changed before, ON CONFLICT ROLLBACK ends the transaction.
#[test]
fn clauses_of_the_schema_undo_the_command_alone() {
    for clause in ["ABORT", "FAIL", "ROLLBACK"] {
        run(move || {
            let bed = Bed::new("CREATE TABLE other (x)");
            let create = format!(
                "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER UNIQUE ON CONFLICT {clause} \
                     CHECK (n <> 13), x INTEGER NOT NULL ON CONFLICT {clause} DEFAULT 0); \
                 INSERT INTO t VALUES (1, 1, 0), (2, 2, 0), (3, 3, 0)"
            );
            bed.store.write(move |tx| tx.execute_batch(&create)).wait().unwrap();
            let table = bed.table::<Row>("t");
            let sends: [fn(&Table<Row>) -> _; 4] = [
                |table| table.insert(&row(4, 1)).try_submit(),
                |table| table.upsert(&row(2, 1)).try_submit(),
                |table| table.update(3).set("n", 1).try_submit(),
                |table| table.update(3).set("n", 13).set("x", None::<i64>).try_submit(),
            ];
            for send in sends {
                bed.sql("DELETE FROM t WHERE id > 3; INSERT INTO t VALUES (50, -1, 0)");
                let gate = hold(&bed.store);
                let before = bed.store.execute("INSERT INTO other VALUES (1)", ()).try_submit().unwrap();
                let failing = send(&table).unwrap();
                let after = table.update(50).set("n", 50).try_submit().unwrap();
                gate.open();
                constraint(failing.wait());
                before.wait().unwrap();
                after.wait().unwrap();
                assert_eq!(bed.look("SELECT id, n FROM t"), ["1|1", "2|2", "3|3", "50|50"], "{clause}");
            }
            // Work on many rows is undone as one, too.
            constraint(table.update_where("x", 0).set("n", 7).atomic().wait());
            constraint(table.update_many([1, 2, 3]).set("n", 7).atomic().wait());
            assert_eq!(bed.look("SELECT id, n FROM t"), ["1|1", "2|2", "3|3", "50|50"], "{clause}");
        });
    }
}

/// The answer to a conflict may be a delete of the other row: then the command deletes, and says what it did itself.
#[test]
fn a_replace_clause_replaces_other_rows() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER UNIQUE ON CONFLICT REPLACE, v INTEGER); \
                            INSERT INTO t VALUES (1, 1, 1), (2, 2, 1), (3, 3, 1)",
        );
        let table = bed.revised::<Row>();
        assert_eq!(table.insert(&row(4, 1)).wait().unwrap().rows_changed, 1);
        assert_eq!(bed.look("SELECT * FROM t"), ["2|2|1", "3|3|1", "4|1|1"]);
        assert_eq!(table.update(3).set("n", 2).wait().unwrap().revision, Some(2));
        assert_eq!(bed.look("SELECT * FROM t"), ["3|2|2", "4|1|1"]);
        assert_eq!(table.upsert(&row(4, 2)).wait().unwrap().revision, Some(2));
        assert_eq!(bed.look("SELECT * FROM t"), ["4|2|2"]);
        let ignored = table.insert_or_ignore(&row(5, 2)).wait().unwrap();
        assert_eq!((ignored.created, ignored.rows_changed), (false, 0), "what the command says comes first");
        assert_eq!(bed.look("SELECT * FROM t"), ["4|2|2"]);
    });
}

const FAMILY: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, v INTEGER); \
                      CREATE TABLE child (id INTEGER PRIMARY KEY, \
                          parent INTEGER REFERENCES t ON DELETE CASCADE ON UPDATE CASCADE); \
                      CREATE TABLE guard (parent INTEGER REFERENCES t (id)); \
                      INSERT INTO t VALUES (1, 0, 1), (2, 0, 1); \
                      INSERT INTO child VALUES (10, 1), (11, 1), (20, 2); INSERT INTO guard VALUES (2)";

#[test]
fn cascades_happen_with_their_command_or_not_at_all() {
    run(|| {
        let bed = Bed::new(FAMILY);
        let table = bed.revised::<Row>();
        let (answer, rows) = among_others(&bed, &table, |table| table.delete(2).try_submit());
        constraint(answer);
        assert_eq!(rows, ["1|0", "2|0", "101|0", "102|0"]);
        assert_eq!(bed.look("SELECT * FROM child"), ["10|1", "11|1", "20|2"], "nothing of it cascaded");

        let moved = table.update(1).set("id", 5).wait().unwrap();
        assert_eq!((moved.rows_changed, moved.revision), (1, Some(2)));
        assert_eq!(bed.look("SELECT * FROM child"), ["10|5", "11|5", "20|2"]);
        let deleted = table.delete(5).wait().unwrap();
        assert_eq!(deleted.rows_changed, 1, "its own row; what cascades is not counted");
        assert_eq!(bed.look("SELECT * FROM child"), ["20|2"]);
    });
}

/// A deferred foreign key is judged when a command ends, not with the group's COMMIT, which would fail for everybody.
#[test]
fn a_deferred_foreign_key_left_open_fails_its_command_alone() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE parent (id INTEGER PRIMARY KEY); INSERT INTO parent VALUES (1); \
             CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED); \
             INSERT INTO parent VALUES (0); INSERT INTO t VALUES (1, 1)",
        );
        let (table, parents) = (bed.table::<Row>("t"), bed.table::<Row>("parent"));
        let sends: [fn(&Table<Row>) -> _; 3] = [
            |table| table.insert(&row(2, 7)).try_submit(),
            |table| table.upsert(&row(1, 7)).try_submit(),
            |table| table.update(1).set("n", 7).try_submit(),
        ];
        for send in sends {
            let (answer, rows) = among_others(&bed, &table, send);
            constraint(answer);
            assert_eq!(rows, ["1|1", "101|0", "102|0"]);
            table.delete_many([101, 102]).wait().unwrap();
        }
        constraint(parents.delete(1).wait());
        constraint(parents.delete_many([0, 1]).wait());
        assert_eq!(bed.one("SELECT count(*) FROM parent"), "2", "no half of the list is gone");

        // Within one command the order does not matter.
        let parent = Row::new().with("id", 7).unwrap();
        let together = bed.store.batch().add(table.insert(&row(2, 7))).add(parents.insert(&parent));
        let Receipt { rows_changed, .. } = together.send().wait().unwrap();
        assert_eq!(rows_changed, 2);
        let open = bed.store.batch().add(parents.delete(7)).add(table.update(1).set("n", 0));
        constraint(open.send().wait());
        assert_eq!(bed.look("SELECT * FROM t"), ["1|1", "2|7"]);
    });
}

/// A trigger may change the row again, and the revision with it: the receipt says what is in the row.
#[test]
fn a_receipt_counts_what_triggers_did_to_the_revision() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, v INTEGER); CREATE TABLE log (id INTEGER PRIMARY KEY, x); \
             CREATE TRIGGER a AFTER INSERT ON t BEGIN UPDATE t SET v = 100 WHERE id = new.id; \
                 INSERT INTO log VALUES (77, 'x'); END; \
             CREATE TRIGGER b AFTER UPDATE OF n ON t BEGIN UPDATE t SET v = v + 10 WHERE id = new.id; END",
        );
        let table = bed.revised::<Row>();
        let made = table.insert(&row(1, 0)).wait().unwrap();
        assert_eq!(
            (made.revision, made.rowid),
            (Some(100), Some(1)),
            "not the rowid of what the trigger made"
        );
        let changed = table.update(1).set("n", 1).if_revision(100).wait().unwrap();
        assert_eq!((changed.revision, changed.rows_changed), (Some(111), 1));
        assert_eq!(table.upsert(&row(1, 2)).wait().unwrap().revision, Some(122));
        assert_eq!(bed.look("SELECT * FROM t"), ["1|2|122"]);
    });
}

/// RAISE(IGNORE) skips the row without an error. An upsert whose update was skipped must not try to insert the row
/// that is there.
#[test]
fn a_trigger_that_ignores_a_row_is_no_error() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, v INTEGER); INSERT INTO t VALUES (1, 0, 1); \
             CREATE TRIGGER a BEFORE INSERT ON t WHEN new.n < 0 BEGIN SELECT RAISE(IGNORE); END; \
             CREATE TRIGGER b BEFORE UPDATE ON t WHEN new.n > 5 BEGIN SELECT RAISE(IGNORE); END; \
             CREATE TRIGGER c BEFORE DELETE ON t WHEN old.n = 0 BEGIN SELECT RAISE(IGNORE); END",
        );
        let table = bed.revised::<Row>();
        for ignored in [
            table.insert(&row(2, -1)).wait().unwrap(),
            table.insert_or_ignore(&row(2, -1)).wait().unwrap(),
            table.upsert(&row(2, -1)).wait().unwrap(),
            table.update(1).set("n", 6).wait().unwrap(),
            table.upsert(&row(1, 6)).wait().unwrap(),
            table.delete(1).wait().unwrap(),
        ] {
            assert_eq!((ignored.rows_changed, ignored.created, ignored.revision), (0, false, None));
        }
        assert_eq!(bed.look("SELECT * FROM t"), ["1|0|1"]);
    });
}

/// SQL errors that are none of the schema's constraints.
#[test]
fn an_expression_of_the_schema_that_fails_undoes_the_command() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, big AS (abs(n))); \
                            CREATE INDEX by_big ON t (big); INSERT INTO t (id, n) VALUES (1, 1)",
        );
        let table = bed.table::<Row>("t");
        let (answer, rows) = among_others(&bed, &table, |table| table.insert(&row(2, i64::MIN)).try_submit());
        let error = not_applied(answer);
        assert!(matches!(error, WriteError::Sql(_)), "{error}");
        assert_eq!(rows, ["1|1", "101|0", "102|0"]);
        not_applied(table.update(1).set("n", i64::MIN).wait());
        assert_eq!(bed.one("SELECT n FROM t WHERE id = 1"), "1");
    });
}
