//! Read, change and write one row as one command.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use walwright::{ClosureError, DecodeError, InvalidValue, Row, WriteError};

use crate::bed::{Bed, constraint, hold, not_applied, run};

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Counter {
    id: String,
    hits: i64,
    note: Option<String>,
    v: i64,
}

const COUNTERS: &str = "CREATE TABLE t (id TEXT PRIMARY KEY, hits INTEGER NOT NULL CHECK (hits < 100), note TEXT, \
                        hidden TEXT DEFAULT 'kept', v INTEGER); \
                        INSERT INTO t (id, hits, note, v) VALUES ('a', 1, NULL, 1), ('b', 5, 'x', 7)";

#[test]
fn what_the_closure_changes_is_written() {
    run(|| {
        let bed = Bed::new(COUNTERS);
        let counters = bed.revised::<Counter>();
        let hits = counters.modify("a", |row| {
            row.hits += 1;
            row.note = Some("seen".to_owned());
            Ok(row.hits)
        });
        let modified = hits.wait().unwrap().unwrap();
        assert_eq!(modified.value, 2);
        assert_eq!((modified.receipt.rows_changed, modified.receipt.revision), (1, Some(2)));
        assert!(!modified.receipt.created);
        assert_eq!(bed.look("SELECT * FROM t"), ["a|2|seen|kept|2", "b|5|x|kept|7"]);
    });
}

#[test]
fn a_row_that_is_not_changed_or_not_there_is_left_alone() {
    run(|| {
        let bed = Bed::new(COUNTERS);
        let counters = bed.revised::<Counter>();
        let looked = counters.modify("b", |row| Ok(row.hits)).wait().unwrap().unwrap();
        assert_eq!(looked.value, 5);
        assert_eq!((looked.receipt.rows_changed, looked.receipt.revision), (0, None));
        let missing = counters.modify("c", |row| Ok(row.hits)).wait().unwrap();
        assert!(missing.is_none());
        // The key and the revision are not the closure's to change.
        let moved = counters.modify("b", |row| {
            row.id = "z".to_owned();
            row.v = 1000;
            Ok(())
        });
        assert_eq!(moved.wait().unwrap().unwrap().receipt.rows_changed, 0);
        assert_eq!(bed.look("SELECT id, hits, v FROM t"), ["a|1|1", "b|5|7"]);
    });
}

#[test]
fn a_closure_that_fails_changes_nothing() {
    #[derive(Debug)]
    struct SoldOut;
    impl std::fmt::Display for SoldOut {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("sold out")
        }
    }
    impl std::error::Error for SoldOut {}
    run(|| {
        let bed = Bed::new(COUNTERS);
        let counters = bed.revised::<Counter>();
        let refused = counters.modify("a", |row| {
            row.hits = 50;
            Err::<(), ClosureError>(SoldOut.into())
        });
        match not_applied(refused.wait()) {
            WriteError::Closure(error) => assert!(error.downcast_ref::<SoldOut>().is_some()),
            error => panic!("{error}"),
        }
        let panicked = counters.modify("a", |row| {
            row.hits = 50;
            assert!(row.hits == 1, "on purpose");
            Ok(())
        });
        match not_applied(panicked.wait()) {
            WriteError::Panic { message } => assert_eq!(message, "on purpose"),
            error => panic!("{error}"),
        }
        let invalid = counters.modify("a", |row| {
            row.hits = 100;
            Ok(())
        });
        constraint(invalid.wait());
        assert_eq!(bed.look("SELECT id, hits, v FROM t"), ["a|1|1", "b|5|7"]);
        assert_eq!(bed.store.stats().panics, 1);
        counters.update("a").set("hits", 2).wait().unwrap();
    });
}

#[test]
fn a_row_that_does_not_fit_the_type_is_an_error() {
    run(|| {
        let bed = Bed::new(COUNTERS);
        let counters = bed.revised::<Counter>();
        bed.sql("UPDATE t SET note = x'00' WHERE id = 'a'");
        match not_applied(counters.modify("a", |_| Ok(())).wait()) {
            WriteError::Closure(error) => {
                let error = error.downcast_ref::<DecodeError>().unwrap();
                assert_eq!((error.column(), error.found()), (Some("note"), Some("a BLOB")));
            }
            error => panic!("{error}"),
        }
        // The same for a row that cannot be stored: the error names the field.
        #[derive(Serialize, Deserialize)]
        struct Loose {
            id: String,
            hits: u64,
        }
        let loose = bed.table::<Loose>("t");
        let wide = loose.modify("b", |row| {
            row.hits = u64::MAX;
            Ok(())
        });
        match not_applied(wide.wait()) {
            WriteError::Closure(error) => {
                let error = error.downcast_ref::<InvalidValue>().unwrap();
                assert_eq!(error.name.as_deref(), Some("hits"));
            }
            error => panic!("{error}"),
        }
        assert_eq!(bed.look("SELECT id, hits, v FROM t"), ["a|1|1", "b|5|7"]);
    });
}

/// The closure runs on the writer: no other write comes in between.
#[test]
fn modifies_that_are_sent_together_all_count() {
    run(|| {
        let bed = Bed::new(COUNTERS);
        let counters = bed.revised::<Counter>();
        let gate = hold(&bed.store);
        let sent: Vec<_> = (0..20)
            .map(|_| {
                let add = counters.modify("a", |row| {
                    row.hits += 1;
                    Ok(row.hits)
                });
                add.try_submit().unwrap()
            })
            .collect();
        gate.open();
        let values: Vec<i64> = sent.into_iter().map(|one| one.wait().unwrap().unwrap().value).collect();
        assert_eq!(values, Vec::from_iter(2..=21));
        assert_eq!(bed.look("SELECT hits, v FROM t WHERE id = 'a'"), ["21|21"]);
    });
}

/// When another command takes the transaction along, the closure runs again, on the row as it is then.
#[test]
fn a_closure_runs_again_after_its_transaction_was_lost() {
    run(|| {
        let bed = Bed::new(COUNTERS);
        let counters = bed.revised::<Counter>();
        let runs = Arc::new(AtomicUsize::new(0));
        let gate = hold(&bed.store);
        let before = counters.update("a").set("hits", 10).try_submit().unwrap();
        let counted = Arc::clone(&runs);
        let modified = counters.modify("a", move |row| {
            counted.fetch_add(1, Ordering::SeqCst);
            row.hits += 1;
            Ok(row.hits)
        });
        let modified = modified.try_submit().unwrap();
        let culprit = bed.store.execute("INSERT OR ROLLBACK INTO t (id, hits) VALUES ('a', 1)", ());
        let culprit = culprit.try_submit().unwrap();
        gate.open();
        before.wait().unwrap();
        constraint(culprit.wait());
        let modified = modified.wait().unwrap().unwrap();
        assert_eq!((modified.value, modified.receipt.revision), (11, Some(3)));
        assert_eq!(runs.load(Ordering::SeqCst), 2);
        assert_eq!(bed.look("SELECT hits, v FROM t WHERE id = 'a'"), ["11|3"]);
    });
}

/// What a column holds and how a field shows it may differ: an integer stands in a column of numbers, and a field of
/// floats shows it as one. Looking at it changes nothing.
#[test]
fn a_field_that_shows_its_column_in_another_kind_is_not_changed_by_a_look() {
    #[derive(Serialize, Deserialize)]
    struct Reading {
        id: i64,
        number: f64,
        state: State,
        flag: bool,
    }
    #[derive(Serialize, Deserialize, PartialEq)]
    enum State {
        #[serde(rename = "on", alias = "ON")]
        On,
        Off,
    }
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, number NUMERIC, state TEXT, flag, v INTEGER); \
                            INSERT INTO t VALUES (1, 3, 'ON', 1.0, 1)",
        );
        let readings = bed.revised::<Reading>();
        let looked = readings.modify(1, |row| Ok(row.number)).wait().unwrap().unwrap();
        assert_eq!((looked.value, looked.receipt.rows_changed), (3.0, 0));
        let changed = readings.modify(1, |row| {
            row.state = State::Off;
            Ok(())
        });
        assert_eq!(changed.wait().unwrap().unwrap().receipt.revision, Some(2));
        assert_eq!(bed.look("SELECT * FROM t"), ["1|3|Off|1.0|2"]);
    });
}

/// -0.0 is equal to 0.0 and not the same, where a column keeps it.
#[test]
fn the_sign_of_zero_is_a_change() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, x, v INTEGER); INSERT INTO t VALUES (1, 0.0, 1)",
        );
        let table = bed.revised::<Row>();
        let turned = table.modify(1, |row| Ok(row.set("x", -0.0)?));
        assert_eq!(turned.wait().unwrap().unwrap().receipt.revision, Some(2));
        assert_eq!(bed.one("SELECT x FROM t"), "-0.0");
    });
}

#[test]
fn an_untyped_row_can_be_modified() {
    run(|| {
        let bed = Bed::new(COUNTERS);
        let rows = bed.revised::<Row>();
        let modified = rows.modify("a", |row| {
            row.set("hits", 9)?;
            row.remove("note");
            Ok(row.len())
        });
        let modified = modified.wait().unwrap().unwrap();
        assert_eq!((modified.value, modified.receipt.revision), (4, Some(2)));
        let unknown = rows.modify("a", |row| Ok(row.set("colour", 1)?));
        let error = not_applied(unknown.wait());
        assert!(error.to_string().contains("colour"), "{error}");
        assert_eq!(bed.look("SELECT * FROM t WHERE id = 'a'"), ["a|9|NULL|kept|2"]);
    });
}
