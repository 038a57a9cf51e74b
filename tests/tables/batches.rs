//! Row commands and statements as one command.

use std::time::Duration;

use walwright::rusqlite::Connection;
use walwright::rusqlite::functions::FunctionFlags;
use walwright::{Row, WriteError};

use crate::bed::{Bed, conflict, constraint, hold, not_applied, run};

const SCHEMA: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, v INTEGER); CREATE TABLE log (x); \
                      INSERT INTO t VALUES (1, 1, 1)";

fn row(id: i64, n: i64) -> Row {
    Row::new().with("id", id).unwrap().with("n", n).unwrap()
}

#[test]
fn a_batch_is_applied_in_its_order_and_counts_all_rows() {
    run(|| {
        let bed = Bed::new(SCHEMA);
        let table = bed.revised::<Row>();
        let receipt = bed
            .store
            .batch()
            .add(table.insert(&row(2, 2)))
            .execute("UPDATE t SET n = n + 10", ())
            .add(table.update(2).set("n", 5).only_if("n", 12))
            .add(table.upsert(&row(3, 3)))
            .add(table.insert_or_ignore(&row(3, 9)))
            .add(table.delete(1).if_revision(1))
            .execute("INSERT INTO log VALUES (1), (2)", ())
            .send()
            .wait()
            .unwrap();
        assert_eq!(receipt.rows_changed, 1 + 2 + 1 + 1 + 1 + 2);
        assert_eq!(bed.look("SELECT * FROM t"), ["2|5|2", "3|3|1"]);
    });
}

#[test]
fn a_batch_is_all_or_none() {
    run(|| {
        let bed = Bed::new(SCHEMA);
        let table = bed.revised::<Row>();
        let batch =
            || bed.store.batch().add(table.insert(&row(2, 2))).execute("INSERT INTO log VALUES (1)", ());
        let gate = hold(&bed.store);
        let before = table.update(1).set("n", 7).try_submit().unwrap();
        let stale = batch().add(table.update(1).set("n", 8).if_revision(1)).send().try_submit().unwrap();
        let doubled = batch().add(table.insert(&row(1, 8))).send().try_submit().unwrap();
        let refused = batch().execute("no SQL", ()).send().try_submit().unwrap();
        let after = table.update(1).set("n", 9).if_revision(2).try_submit().unwrap();
        gate.open();
        before.wait().unwrap();
        assert_eq!(conflict(stale.wait()), Some(Some(2)));
        constraint(doubled.wait());
        assert!(matches!(not_applied(refused.wait()), WriteError::Sql(_)));
        assert_eq!(after.wait().unwrap().revision, Some(3));
        assert_eq!(bed.look("SELECT * FROM t"), ["1|9|3"]);
        assert_eq!(bed.one("SELECT count(*) FROM log"), "0");
    });
}

/// A guard sees what the commands of its batch did before it.
#[test]
fn a_guard_in_a_batch_sees_the_batch() {
    run(|| {
        let bed = Bed::new(SCHEMA);
        let table = bed.revised::<Row>();
        let counted = bed
            .store
            .batch()
            .add(table.update(1).set("n", 2).if_revision(1))
            .add(table.update(1).set("n", 3).if_revision(2))
            .add(table.update(1).set("n", 4).if_revision(2));
        assert_eq!(conflict(counted.send().wait()), Some(Some(3)));
        let gone = bed.store.batch().add(table.delete(1)).add(table.delete(1).if_revision(1));
        assert_eq!(conflict(gone.send().wait()), None);
        assert_eq!(bed.look("SELECT * FROM t"), ["1|1|1"]);
    });
}

#[test]
fn a_transaction_that_a_batch_ends_is_carried_out_again_without_it() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY ON CONFLICT ROLLBACK, n INTEGER, v INTEGER); \
                            INSERT INTO t VALUES (1, 1, 1)",
        );
        let table = bed.revised::<Row>();
        let gate = hold(&bed.store);
        let before = table.insert(&row(2, 2)).try_submit().unwrap();
        let ends = bed.store.batch().add(table.update(1).set("n", 7)).add(table.insert(&row(1, 0)));
        let ends = ends.send().try_submit().unwrap();
        let after = table.update(1).set("n", 9).try_submit().unwrap();
        gate.open();
        assert_eq!(before.wait().unwrap().revision, Some(1));
        constraint(ends.wait());
        assert_eq!(after.wait().unwrap().revision, Some(2));
        assert_eq!(bed.look("SELECT * FROM t"), ["1|9|2", "2|2|1"]);
    });
}

/// A batch goes to the store that it was started on. A command on a table of another store was carried out there, if
/// a table of that name was there, and not where its handle says.
#[test]
fn a_command_of_another_store_is_refused() {
    run(|| {
        let (here, there) = (Bed::new(SCHEMA), Bed::new(SCHEMA));
        let table = there.revised::<Row>();
        for sent in [
            here.store.batch().add(table.insert(&row(2, 2))).send().wait(),
            here.store.batch().add(table.update(1).set("n", 2)).send().wait(),
        ] {
            assert!(matches!(sent, Err(WriteError::InvalidCommand { .. })), "{sent:?}");
        }
        assert_eq!(here.look("SELECT * FROM t"), ["1|1|1"]);
        assert_eq!(there.look("SELECT * FROM t"), ["1|1|1"]);
    });
}

/// Each part takes few steps of SQLite's machine, which looks by itself every thousand only, but long in a function of
/// the program: statements at hand and row commands went on to the end of the batch, however long that took.
#[test]
fn a_batch_ends_between_two_of_its_parts_when_its_time_is_up() {
    const SCHEMA: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER); CREATE TABLE log (x); \
                          CREATE TABLE nap (id INTEGER PRIMARY KEY, n INTEGER CHECK (nap(n) = n))";
    const SLEEP: &str = "INSERT INTO log VALUES (nap(?1))";
    const PARTS: i64 = 14;
    fn add_nap(connection: &Connection) -> walwright::rusqlite::Result<()> {
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS;
        connection.create_scalar_function("nap", 1, flags, |context| {
            let milliseconds: u32 = context.get(0)?;
            std::thread::sleep(Duration::from_millis(milliseconds.into()));
            Ok(milliseconds)
        })
    }
    run(|| {
        let limit = Duration::from_millis(200);
        let bed = Bed::with(SCHEMA, |builder| builder.on_connection(add_nap).run_limit(limit));
        let naps = bed.table::<Row>("nap");
        for _ in 0..3 {
            bed.store.execute(SLEEP, (0,)).wait().unwrap();
        }
        let statements = (0..PARTS).fold(bed.store.batch(), |batch, _| batch.execute(SLEEP, (40,)));
        let rows = (0..PARTS).fold(bed.store.batch(), |batch, id| batch.add(naps.insert(&row(id, 40))));
        for batch in [statements, rows] {
            let ended = not_applied(batch.send().wait());
            assert!(matches!(ended, WriteError::RunLimit { .. }), "{ended}");
        }
        let left = "SELECT (SELECT count(*) FROM log), (SELECT count(*) FROM nap)";
        let left = bed.store.read(move |db| db.query_row(left, [], |row| Ok((row.get(0)?, row.get(1)?))));
        assert_eq!(left.wait().unwrap(), (3_i64, 0_i64));
    });
}
