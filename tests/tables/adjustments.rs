//! Columns that are changed by what they hold: markers that only grow, counters.

use walwright::{Row, Table, Value, WriteError};

use crate::bed::{Bed, conflict, constraint, hold, not_applied, not_started, run};

const MARKERS: &str = "CREATE TABLE t (user TEXT, buffer INTEGER, read_to, hits, note TEXT, v INTEGER,
                       PRIMARY KEY (user, buffer)) WITHOUT ROWID";

fn row(bed: &Bed) -> String {
    bed.one("SELECT read_to, hits, note, v FROM t")
}

#[test]
fn a_marker_only_grows() {
    run(|| {
        let bed = Bed::new(MARKERS);
        let markers = bed.revised::<Row>();
        let raise = |to: Value| markers.update(("ann", 7)).set_greatest("read_to", to).or_insert().wait();

        let made = raise(5.into()).unwrap();
        assert_eq!((made.created, made.rows_changed, made.revision), (true, 1, Some(1)));
        for lower in [4, 5] {
            let kept = raise(lower.into()).unwrap();
            assert_eq!((kept.created, kept.rows_changed, kept.revision), (false, 0, None));
        }
        assert_eq!(row(&bed), "5|NULL|NULL|1", "the revision stays, too");
        let raised = raise(6.into()).unwrap();
        assert_eq!((raised.created, raised.rows_changed, raised.revision), (false, 1, Some(2)));

        bed.sql("UPDATE t SET read_to = NULL");
        assert_eq!(raise((-1).into()).unwrap().revision, Some(3), "everything is greater than NULL");
        assert_eq!(
            raise("a".into()).unwrap().revision,
            Some(4),
            "a text than a number, as SQLite sorts them"
        );
        assert_eq!(raise(9.into()).unwrap().rows_changed, 0);
        assert_eq!(row(&bed), "a|NULL|NULL|4");
    });
}

#[test]
fn a_marker_of_a_row_that_is_not_there_is_not_raised() {
    run(|| {
        let bed = Bed::new(MARKERS);
        let markers = bed.revised::<Row>();
        let receipt = markers.update(("ann", 7)).set_greatest("read_to", 5).wait().unwrap();
        assert_eq!((receipt.created, receipt.rows_changed), (false, 0));
        assert_eq!(bed.one("SELECT count(*) FROM t"), "0");
    });
}

#[test]
fn values_compare_as_the_column_does() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, at REAL, v INTEGER);
             INSERT INTO t VALUES (1, 'b', 2.5, 1)",
        );
        let table = bed.revised::<Row>();
        assert_eq!(table.update(1).set_greatest("name", "B").wait().unwrap().rows_changed, 0);
        assert_eq!(table.update(1).set_greatest("name", "C").wait().unwrap().rows_changed, 1);
        assert_eq!(table.update(1).set_greatest("at", 2).wait().unwrap().rows_changed, 0);
        assert_eq!(table.update(1).set_greatest("at", 3).wait().unwrap().rows_changed, 1);
        assert_eq!(bed.look("SELECT name, at, v FROM t"), ["C|3.0|3"]);
    });
}

#[test]
fn several_are_raised_each_by_itself() {
    run(|| {
        let bed = Bed::new(MARKERS);
        bed.sql("INSERT INTO t VALUES ('ann', 7, 5, 5, 'x', 1)");
        let markers = bed.revised::<Row>();
        let raise = |read_to, hits| {
            let update = markers.update(("ann", 7)).set_greatest("read_to", read_to);
            update.set_greatest("hits", hits).wait().unwrap().rows_changed
        };
        assert_eq!(raise(5, 4), 0);
        assert_eq!(raise(4, 6), 1);
        assert_eq!(row(&bed), "5|6|x|2");
        // With something else to do the row is changed in any case.
        markers
            .update(("ann", 7))
            .set_greatest("read_to", 1)
            .set("note", "y")
            .add("hits", -2)
            .wait()
            .unwrap();
        assert_eq!(row(&bed), "5|4|y|3");
    });
}

#[test]
fn a_counter_counts_from_nothing() {
    run(|| {
        let bed = Bed::new(MARKERS);
        let counters = bed.revised::<Row>();
        let count = |by| counters.update(("ann", 7)).add("hits", by).set("note", "n").or_insert().wait();
        assert!(count(2).unwrap().created);
        assert_eq!(count(3).unwrap().revision, Some(2));
        assert_eq!(row(&bed), "NULL|5|n|2");
        bed.sql("UPDATE t SET hits = NULL");
        count(-4).unwrap();
        assert_eq!(row(&bed), "NULL|-4|n|3");
        assert_eq!(counters.update(("bob", 7)).add("hits", 1).wait().unwrap().rows_changed, 0);
    });
}

/// SQLite would turn the sum into a real number.
#[test]
fn a_counter_does_not_leave_the_integers() {
    run(|| {
        let bed = Bed::new(MARKERS);
        let counters = bed.revised::<Row>();
        let uncountable = |by: i64, or_insert: bool| {
            let update = counters.update(("ann", 7)).set("note", "never").add("hits", by);
            let error = not_applied(if or_insert { update.or_insert().wait() } else { update.wait() });
            let WriteError::NotCountable { table, column } = &error else { panic!("{error}") };
            assert_eq!((table.as_str(), column.as_str()), ("t", "hits"));
            assert!(!error.is_retryable());
        };
        bed.sql("INSERT INTO t VALUES ('ann', 7, 0, 9223372036854775806, NULL, 1)");
        uncountable(2, false);
        uncountable(i64::MAX, true);
        assert_eq!(counters.update(("ann", 7)).add("hits", 1).wait().unwrap().revision, Some(2));
        assert_eq!(row(&bed), "0|9223372036854775807|NULL|2");
        bed.sql("UPDATE t SET hits = -1");
        counters.update(("ann", 7)).add("hits", i64::MIN + 1).wait().unwrap();
        uncountable(-1, false);
        for held in ["'5'", "1.5", "x'05'"] {
            bed.store.execute(format!("UPDATE t SET hits = {held}"), ()).wait().unwrap();
            uncountable(1, true);
        }
        assert_eq!(bed.one("SELECT note FROM t"), "NULL");
    });
}

#[test]
fn guards_hold_before_anything_is_raised_or_counted() {
    run(|| {
        let bed = Bed::new(MARKERS);
        bed.sql("INSERT INTO t VALUES ('ann', 7, 5, 9223372036854775807, 'x', 1)");
        let table = bed.revised::<Row>();
        let raise = |to: i64| table.update(("ann", 7)).set_greatest("read_to", to);
        assert_eq!(conflict(raise(9).if_revision(4).wait()), Some(Some(1)));
        assert_eq!(conflict(raise(1).only_if("note", "y").wait()), Some(Some(1)));
        assert_eq!(conflict(table.update(("bob", 7)).add("hits", 1).if_revision(1).wait()), None);
        // A guard that does not hold says so before the sum does; one that holds does not hide it.
        let count = || table.update(("ann", 7)).add("hits", 1);
        assert_eq!(conflict(count().if_revision(4).wait()), Some(Some(1)));
        let error = not_applied(count().if_revision(1).wait());
        assert!(matches!(error, WriteError::NotCountable { .. }), "{error}");

        assert_eq!(raise(1).if_revision(1).only_if("note", "x").wait().unwrap().rows_changed, 0);
        assert_eq!(raise(6).if_revision(1).only_if("note", "x").wait().unwrap().revision, Some(2));
        assert_eq!(row(&bed), "6|9223372036854775807|x|2");
    });
}

#[test]
fn what_cannot_be_meant_is_refused() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER, r REAL, s TEXT, g AS (x), v INTEGER)",
        );
        let table: Table<Row> = bed.revised();
        let update = || table.update(1);
        for refused in [
            update().set_greatest("x", None::<i64>),
            update().set_greatest("x", 1).set_greatest("x", 2),
            update().set_greatest("id", 2),
            update().add("x", 1).set("x", 2),
            update().add("x", 1).add("X", 2),
            update().add("id", 1),
            update().add("v", 1),
            update().add("g", 1),
            update().add("r", 1),
            update().add("x", 1).if_revision(1).or_insert(),
            update().set("id", 2).or_insert(),
            update().or_insert(),
        ] {
            let error = not_started(refused.wait());
            assert!(matches!(error, WriteError::InvalidCommand { .. }), "{error}");
        }
        let error = not_started(update().add("s", 1).wait());
        assert!(matches!(error, WriteError::InvalidValue(_)), "{error}");
        let error = not_started(update().add("nowhere", 1).wait());
        assert!(matches!(error, WriteError::UnknownColumn { .. }), "{error}");
    });
}

#[test]
fn an_insert_that_cannot_be_fails_like_any_other() {
    run(|| {
        let bed = Bed::new("CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER, s TEXT NOT NULL, v INTEGER)");
        let table = bed.revised::<Row>();
        constraint(table.update(1).add("x", 1).or_insert().wait());
        assert!(table.update(1).add("x", 1).set("s", "a").or_insert().wait().unwrap().created);
        assert_eq!(bed.look("SELECT * FROM t"), ["1|1|a|1"]);
    });
}

/// Each is a statement of its own, at its own place among others on its key.
#[test]
fn they_keep_their_place_in_a_group() {
    run(|| {
        let bed = Bed::new(MARKERS);
        let table = bed.revised::<Row>();
        let update = || table.update(("ann", 7));
        let gate = hold(&bed.store);
        let new =
            Row::new().with("user", "ann").unwrap().with("buffer", 7).unwrap().with("hits", 10).unwrap();
        let inserted = table.insert(&new).try_submit().unwrap();
        let counted = update().add("hits", 1).try_submit().unwrap();
        let raised = update().set_greatest("hits", 5).try_submit().unwrap();
        let set = update().set("hits", 20).try_submit().unwrap();
        let again = update().add("hits", 2).try_submit().unwrap();
        gate.open();
        assert_eq!(inserted.wait().unwrap().revision, Some(1));
        assert_eq!(counted.wait().unwrap().revision, Some(2));
        assert_eq!(raised.wait().unwrap().rows_changed, 0);
        assert_eq!(set.wait().unwrap().revision, Some(3));
        assert_eq!(again.wait().unwrap().revision, Some(4));
        assert_eq!(row(&bed), "NULL|22|NULL|4");
    });
}

#[test]
fn they_are_part_of_a_batch() {
    run(|| {
        let bed = Bed::new(MARKERS);
        bed.sql("INSERT INTO t VALUES ('ann', 7, 5, 5, 'x', 1)");
        let table = bed.revised::<Row>();
        let batch = bed.store.batch().add(table.update(("ann", 7)).add("hits", 1));
        batch.add(table.update(("bob", 7)).set_greatest("read_to", 3).or_insert()).send().wait().unwrap();
        assert_eq!(bed.look("SELECT user, read_to, hits FROM t"), ["ann|5|6", "bob|3|NULL"]);
    });
}

/// Triggers may change the row further, or keep it from being changed.
#[test]
fn triggers_see_them_as_updates() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER, log TEXT DEFAULT '', v INTEGER);
             INSERT INTO t (id, x, v) VALUES (1, 1, 1), (2, 1, 1);
             CREATE TRIGGER keep BEFORE UPDATE ON t WHEN old.id = 2 BEGIN SELECT RAISE(IGNORE); END;
             CREATE TRIGGER seen AFTER UPDATE OF x ON t BEGIN
                 UPDATE t SET log = log || new.x, v = v + 10 WHERE id = new.id;
             END",
        );
        let table = bed.revised::<Row>();
        assert_eq!(table.update(1).add("x", 4).wait().unwrap().revision, Some(12));
        assert_eq!(table.update(1).set_greatest("x", 3).wait().unwrap().rows_changed, 0);
        for or_insert in [false, true] {
            let update = table.update(2).add("x", 4);
            let receipt = if or_insert { update.or_insert().wait() } else { update.wait() }.unwrap();
            assert_eq!((receipt.rows_changed, receipt.created), (0, false), "{or_insert}");
        }
        assert_eq!(bed.look("SELECT * FROM t"), ["1|5|5|12", "2|1||1"]);
    });
}
