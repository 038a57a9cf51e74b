//! Work on many rows: lists of rows and of keys.

use serde::{Deserialize, Serialize};
use walwright::{Row, Table, WriteError};

use crate::bed::{Bed, constraint, hold, run};

#[derive(Serialize, Deserialize, Clone)]
struct Item {
    id: i64,
    name: String,
}

const ITEMS: &str =
    "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, n INTEGER DEFAULT 7, v INTEGER)";

fn items(ids: impl IntoIterator<Item = i64>) -> Vec<Item> {
    ids.into_iter().map(|id| Item { id, name: format!("item {id}") }).collect()
}

#[test]
fn lists_of_rows_are_inserted_ignored_and_upserted() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let table = bed.revised::<Item>();
        let inserted = table.insert_many(items(1..=3)).wait().unwrap();
        assert_eq!(inserted.rows_changed, 3);
        let ignored = table.insert_or_ignore_many(items(2..=5)).wait().unwrap();
        assert_eq!(ignored.rows_changed, 2, "those that were new");
        let renamed = items(5..=6).into_iter().map(|item| Item { name: format!("{}!", item.name), ..item });
        let upserted = table.upsert_many(renamed).wait().unwrap();
        assert_eq!(upserted.rows_changed, 2);
        assert!(inserted.sequence < ignored.sequence && ignored.sequence < upserted.sequence);
        assert_eq!(
            bed.look("SELECT id, name, n, v FROM t ORDER BY id"),
            [
                "1|item 1|7|1",
                "2|item 2|7|1",
                "3|item 3|7|1",
                "4|item 4|7|1",
                "5|item 5!|7|2",
                "6|item 6!|7|1"
            ]
        );
    });
}

#[test]
fn lists_of_keys_are_updated_and_deleted() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let table = bed.revised::<Item>();
        table.insert_many(items(1..=6)).wait().unwrap();
        // A key that is there twice is changed twice; one that is not there is no error.
        let updated = table.update_many([1, 3, 3, 99]).set("n", 0).set("n", 1).wait().unwrap();
        assert_eq!(updated.rows_changed, 3);
        let deleted = table.delete_many([2, 4, 4, 99]).wait().unwrap();
        assert_eq!(deleted.rows_changed, 2);
        assert_eq!(bed.look("SELECT id, n, v FROM t"), ["1|1|2", "3|1|3", "5|7|1", "6|7|1"]);
    });
}

#[test]
fn keys_of_a_list_may_be_compound() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (a TEXT, b INTEGER, n INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID; \
                            INSERT INTO t VALUES ('x', 1, 0), ('x', 2, 0), ('y', 1, 0)",
        );
        let table = bed.table::<Row>("t");
        let keys = [("x", 1), ("y", 1), ("y", 2)];
        assert_eq!(table.update_many(keys).set("n", 5).wait().unwrap().rows_changed, 2);
        assert_eq!(table.delete_many(keys).wait().unwrap().rows_changed, 2);
        assert_eq!(bed.look("SELECT * FROM t"), ["x|2|0"]);
    });
}

#[test]
fn an_empty_list_does_nothing_and_succeeds() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let table = bed.revised::<Item>();
        let before = table.insert_many(items(1..=1)).wait().unwrap();
        let nothing: [Item; 0] = [];
        let no_keys: [i64; 0] = [];
        for receipt in [
            table.insert_many(&nothing).wait(),
            table.insert_or_ignore_many(&nothing).wait(),
            table.upsert_many(&nothing).atomic().wait(),
            table.delete_many(no_keys).wait(),
            table.update_many(no_keys).set("n", 1).atomic().wait(),
        ] {
            let receipt = receipt.unwrap();
            assert_eq!(receipt.rows_changed, 0);
            assert!(receipt.sequence > before.sequence);
        }
    });
}

/// SQLite takes 32,766 parameters for a statement; a list may be longer.
#[test]
fn a_list_may_hold_a_hundred_thousand_keys() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER); \
                            INSERT INTO t WITH number(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number \
                                LIMIT 100000) SELECT value, 0 FROM number",
        );
        let table = bed.table::<Row>("t");
        assert_eq!(table.update_many(1..=100_000).set("n", 1).wait().unwrap().rows_changed, 100_000);
        assert_eq!(bed.look("SELECT sum(n), count(*) FROM t"), ["100000|100000"]);
        let even = (1..=100_000).filter(|id| id % 2 == 0);
        assert_eq!(table.delete_many(even).wait().unwrap().rows_changed, 50_000);
        assert_eq!(bed.look("SELECT count(*), sum(id % 2) FROM t"), ["50000|50000"]);
        let stats = bed.store.stats();
        assert!(stats.groups > 3, "it went in pieces: {stats:?}");
    });
}

/// The values of an update were copied for each key before anything looked at their size: a thousand keys and a value
/// of 1 MiB took 1 GiB, and were refused then.
#[test]
fn an_update_of_many_keys_carries_its_values_once() {
    run(|| {
        let bed = Bed::with(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT); \
             INSERT INTO t (id) WITH number(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number LIMIT 100) \
                 SELECT value FROM number",
            |builder| builder.write_queue(100, 500_000),
        );
        let table = bed.table::<Row>("t");
        let text = "x".repeat(100_000);
        let updated = table.update_many(1..=1000).set("text", &text).wait().unwrap();
        assert_eq!(updated.rows_changed, 100);
        assert_eq!(bed.one("SELECT sum(length(text)) FROM t"), "10000000");
        let refused = table.update_many([1]).set("text", "x".repeat(500_001)).wait().unwrap_err();
        assert!(matches!(refused, WriteError::TooLarge { limit: 500_000, .. }), "{refused}");
    });
}

/// A list that fails in its first piece, or as a whole, has changed nothing.
#[test]
fn a_short_list_that_fails_is_not_applied() {
    fn lists(table: &Table<Item>) -> [walwright::BulkWrite<Item>; 3] {
        let doubled = || [items(1..=3), items(2..=2)].concat();
        [
            table.insert_many(doubled()),
            table.insert_many(doubled()).atomic(),
            table.upsert_many([Item { id: 8, name: "a".into() }, Item { id: 9, name: "a".into() }]),
        ]
    }
    run(|| {
        let bed = Bed::new(ITEMS);
        let table = bed.revised::<Item>();
        for list in lists(&table) {
            let gate = hold(&bed.store);
            let before = table.insert(&items([50])[0]).try_submit().unwrap();
            let failing = list.try_submit().unwrap();
            let after = table.update(50).set("n", 1).try_submit().unwrap();
            gate.open();
            assert_eq!(before.wait().unwrap().revision, Some(1));
            constraint(failing.wait());
            assert_eq!(after.wait().unwrap().revision, Some(2));
            assert_eq!(bed.look("SELECT id FROM t"), ["50"]);
            table.delete(50).wait().unwrap();
        }
    });
}

/// A short list is a command like any other: it has its place between those before and behind it.
#[test]
fn work_of_one_piece_keeps_its_place_in_the_order() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let table = bed.revised::<Item>();
        let gate = hold(&bed.store);
        let before = table.insert(&items([1])[0]).try_submit().unwrap();
        let list = table.update_many([1, 2]).set("n", 1).try_submit().unwrap();
        let after = table.insert(&items([2])[0]).try_submit().unwrap();
        gate.open();
        let (before, list, after) = (before.wait().unwrap(), list.wait().unwrap(), after.wait().unwrap());
        assert!(before.sequence < list.sequence && list.sequence < after.sequence);
        assert_eq!(list.rows_changed, 1);
        assert_eq!(bed.look("SELECT id, n, v FROM t"), ["1|1|2", "2|7|1"]);
    });
}
