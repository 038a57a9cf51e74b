//! What is refused before anything is queued, with an error that names what is wrong.

use serde::{Deserialize, Serialize};
use walwright::{Row, Table, WriteError};

use crate::bed::{Bed, not_started, run};

#[derive(Serialize, Deserialize)]
struct Item {
    id: i64,
    name: String,
    load: f64,
    size: u64,
}

const ITEMS: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, load REAL, size INTEGER, \
                     g INTEGER AS (size + 1), v INTEGER)";

fn item() -> Item {
    Item { id: 1, name: "a".to_owned(), load: 0.5, size: 1 }
}

/// Holds the writer meanwhile, so that whatever were queued would be counted.
fn refusing(test: impl FnOnce(&Bed, &Table<Item>) + Send + 'static) {
    run(|| {
        let bed = Bed::new(ITEMS);
        let table = bed.revised::<Item>();
        let gate = crate::bed::hold(&bed.store);
        test(&bed, &table);
        assert_eq!(bed.store.stats().queued_commands, 0, "nothing was queued");
        gate.open();
        bed.store.flush().wait().unwrap();
        assert_eq!(bed.one("SELECT count(*) FROM t"), "0");
    });
}

#[test]
fn a_column_that_is_not_there() {
    refusing(|bed, table| {
        let named = |error: WriteError| match error {
            WriteError::UnknownColumn { table, column } => (table, column),
            error => panic!("{error}"),
        };
        let expected = ("t".to_owned(), "colour".to_owned());
        assert_eq!(named(not_started(table.update(1).set("colour", 1).wait())), expected);
        assert_eq!(
            named(not_started(table.update(1).set("name", "x").only_if("colour", 1).wait())),
            expected
        );
        assert_eq!(named(not_started(table.delete(1).only_if("colour", 1).wait())), expected);
        assert_eq!(named(not_started(table.delete_where("colour", 1).wait())), expected);
        assert_eq!(named(not_started(table.update_where("colour", 1).set("name", "x").wait())), expected);
        assert_eq!(named(not_started(table.update_many([1]).set("colour", 1).wait())), expected);
        let rows = bed.store.table::<Row>("t").open().wait().unwrap();
        let row = Row::new().with("id", 1).unwrap().with("colour", 1).unwrap();
        assert_eq!(named(not_started(rows.insert(&row).wait())), expected);
        assert_eq!(named(not_started(rows.update(1).set_row(&row).wait())), expected);
        let error = not_started(rows.upsert_many([&row]).wait());
        assert_eq!(error.to_string(), "the table t has no column colour, the command was not queued");
    });
}

#[test]
fn a_key_of_another_length() {
    refusing(|_, table| {
        let error = not_started(table.update((1, 2)).set("name", "x").wait());
        assert_eq!(
            error.to_string(),
            "the key of the table t has 1 columns, not 2; the command was not queued"
        );
        for result in [
            table.delete((1, 2)).wait().map(drop),
            table.delete_many([(1, 2)]).wait().map(drop),
            table.update_many([(1, 2)]).set("name", "x").wait().map(drop),
            table.delete(Vec::<walwright::Value>::new()).wait().map(drop),
            table.modify((1, 2), |_| Ok(())).wait().map(drop),
        ] {
            assert!(matches!(not_started(result), WriteError::WrongKey { expected: 1, .. }));
        }
    });
}

#[test]
fn a_command_that_makes_no_sense() {
    refusing(|bed, table| {
        let plain = bed.store.table::<Item>("t").open().wait().unwrap();
        let cases = [
            (table.update(1).wait().map(drop), "an update sets at least one column"),
            (table.update_many([1]).wait().map(drop), "an update sets at least one column"),
            (table.update_where("id", 1).wait().map(drop), "an update sets at least one column"),
            (
                table.update(1).set("V", 7).wait().map(drop),
                "the revision column is written by the engine alone",
            ),
            (
                table.update_where("id", 1).set("v", 7).wait().map(drop),
                "the revision column is written by the engine alone",
            ),
            (table.update(1).set("g", 7).wait().map(drop), "a generated column cannot be set"),
            (
                table.update(1).set("name", "x").if_revision(None).wait().map(drop),
                "a guard needs a revision, and the receipt carries none",
            ),
            (
                plain.delete(1).if_revision(1).wait().map(drop),
                "the table was opened without a revision column",
            ),
            (
                table.update_many([1, 2]).set("id", 3).wait().map(drop),
                "the key of many rows cannot be set to one value",
            ),
        ];
        for (result, what) in cases {
            let error = not_started(result);
            assert_eq!(error.to_string(), format!("{what} (table t); the command was not queued"));
            assert!(matches!(error, WriteError::InvalidCommand { .. }));
        }
    });
}

#[test]
fn a_value_that_cannot_be_stored() {
    refusing(|bed, table| {
        let field = |error: WriteError| match error {
            WriteError::InvalidValue(error) => error.name.unwrap_or_default(),
            error => panic!("{error}"),
        };
        let nan = Item { load: f64::NAN, ..item() };
        let wide = Item { size: u64::MAX, ..item() };
        assert_eq!(field(not_started(table.insert(&nan).wait())), "load");
        assert_eq!(field(not_started(table.upsert(&wide).wait())), "size");
        assert_eq!(field(not_started(table.insert_many([&item(), &wide]).wait())), "size");
        assert_eq!(field(not_started(table.update(1).set_row(&nan).wait())), "load");
        assert_eq!(field(not_started(table.update(1).set("LOAD", f64::NAN).wait())), "load");
        let error = not_started(table.update(1).set("load", f64::NAN).wait());
        assert_eq!(error.to_string().matches("cannot be stored").count(), 1, "{error}");
        assert_eq!(field(not_started(table.delete(1).only_if("size", u64::MAX).wait())), "size");
        assert_eq!(field(not_started(table.delete_where("size", u64::MAX).wait())), "size");
        let batch = bed.store.batch().add(table.insert(&item())).add(table.insert(&nan));
        assert_eq!(field(not_started(batch.send().wait())), "load");
        let error = not_started(table.delete(f64::NAN).wait());
        assert!(matches!(error, WriteError::InvalidValue(error) if error.position == 1));
    });
}

#[test]
fn the_first_mistake_is_reported_and_none_is_lost() {
    refusing(|_, table| {
        let error = not_started(table.update(1).set("colour", 1).set("load", f64::NAN).wait());
        assert!(matches!(error, WriteError::UnknownColumn { .. }), "{error}");
        let error = not_started(table.update((1, 2)).set("colour", 1).if_revision(None).wait());
        assert!(matches!(error, WriteError::WrongKey { .. }), "{error}");
        let error = not_started(table.update(1).set("g", 1).set("name", "x").try_submit());
        assert!(matches!(error, WriteError::InvalidCommand { .. }), "{error}");
    });
}

#[test]
fn a_value_or_a_command_that_is_too_large() {
    run(|| {
        let bed = Bed::with(ITEMS, |builder| builder.largest_value(1000).write_queue(100, 20_000));
        let table = bed.revised::<Item>();
        let large = Item { name: "x".repeat(1001), ..item() };
        for result in [
            table.insert(&large).wait().map(drop),
            table.update(1).set("name", large.name.as_str()).wait().map(drop),
            table.delete(1).only_if("name", large.name.as_str()).wait().map(drop),
            table.insert_many([&large]).wait().map(drop),
            table.delete_where("name", large.name.as_str()).wait().map(drop),
            bed.store.batch().add(table.upsert(&large)).send().wait().map(drop),
        ] {
            assert!(matches!(not_started(result), WriteError::TooLarge { size: 1001, limit: 1000 }));
        }
        table.insert(&Item { name: "x".repeat(1000), ..item() }).wait().unwrap();
        let error = not_started(table.delete_many(0..1000).wait());
        assert!(matches!(error, WriteError::TooLarge { limit: 20_000, .. }), "{error}");
        assert_eq!(bed.one("SELECT count(*) FROM t"), "1");
    });
}
