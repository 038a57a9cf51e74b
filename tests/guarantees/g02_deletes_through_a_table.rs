//! 2. A delete is acknowledged only after it is durable: row commands and work on many rows.

use serde::{Deserialize, Serialize};
use walwright::{AckLevel, Row, Store, Table};

use crate::bed::{AnyWrite, Bed, run};

const SCHEMA: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT);
    INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')";

#[derive(Serialize, Deserialize)]
struct Line {
    id: i64,
    v: String,
}

/// Every way in which a table deletes the row 1, or finds that it is not there.
fn deletes(store: &Store) -> Vec<(&'static str, AnyWrite)> {
    let table: Table<Line> = store.table("t").open().wait().unwrap();
    let level = AckLevel::Committed;
    vec![
        ("delete", table.delete(1).ack(level).into()),
        ("delete_many", table.delete_many([1]).ack(level).into()),
        ("delete_many, atomic", table.delete_many([1, 77]).atomic().send().ack(level).into()),
        ("delete_where", table.delete_where("v", "one").ack(level).into()),
        ("delete_where, atomic", table.delete_where("v", "one").atomic().send().ack(level).into()),
        ("batch", store.batch().add(table.delete(1)).send().ack(level).into()),
    ]
}

#[test]
fn every_delete_of_a_table() {
    run(|| {
        for way in 0.. {
            let bed = Bed::with(SCHEMA);
            let store = bed.open();
            let mut deletes = deletes(&store);
            if way == deletes.len() {
                break;
            }
            let (name, delete) = deletes.swap_remove(way);
            let image = bed.image_at_answer(&store, delete);
            assert_eq!(bed.ids_in(&image), [2, 3], "{name}");
        }
    });
}

/// Found by the random programs of `tests/simulation`: work on all rows with a value asks first which row is the
/// last. When there was none it was done, with no statement that deletes, and was answered before it was
/// durable that there is none: the rows that an update without a sync had taken away came back.
#[test]
fn a_row_that_was_gone_before_does_not_come_back() {
    run(|| {
        for way in 0.. {
            let bed = Bed::with(SCHEMA);
            let store = bed.open();
            let table: Table<Row> = store.table("t").open().wait().unwrap();
            let mut deletes = deletes(&store);
            if way == deletes.len() {
                break;
            }
            // It goes away by its key and by its value, neither of which is a delete.
            let away = table.update(1).set("id", 100).set("v", "a hundred").ack(AckLevel::Committed);
            let moved = bed.image_at_answer(&store, away);
            assert_eq!(bed.ids_in(&moved), [1, 2, 3], "or this test shows nothing");
            let (name, delete) = deletes.swap_remove(way);
            let (answer, image) = bed.answer(&store, delete);
            assert_eq!(answer.unwrap().rows_changed, 0, "{name}");
            assert_eq!(bed.ids_in(&image), [2, 3, 100], "{name}: nothing was found to delete");
        }
    });
}

#[test]
fn a_change_that_deletes_nothing_is_not_held_for_it() {
    run(|| {
        let bed = Bed::with(SCHEMA);
        let store = bed.open();
        let table: Table<Line> = store.table("t").open().wait().unwrap();
        let level = AckLevel::Committed;
        let four = Line { id: 4, v: "four".into() };
        let changes: [AnyWrite; 5] = [
            table.insert(&four).ack(level).into(),
            table.upsert(&four).ack(level).into(),
            table.update(4).set("v", "vier").ack(level).into(),
            table.insert_or_ignore_many([&four]).ack(level).into(),
            table.update_where("v", "vier").set("v", "quatre").ack(level).into(),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let image = bed.image_at_answer(&store, change);
            assert_eq!(bed.ids_in(&image), [1, 2, 3], "or the other tests here show nothing: {number}");
        }
    });
}
