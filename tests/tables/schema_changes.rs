//! The schema changes under a table's handle.

use serde::{Deserialize, Serialize};
use walwright::{Filter, Migration, Pending, ReadError, Row, RowReceipt, Store, Table, WriteError};

use crate::bed::{Bed, constraint, hold, not_applied, run};

#[derive(Serialize, Deserialize)]
struct Item {
    id: i64,
    name: String,
}

const ITEMS: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, v INTEGER); \
                     INSERT INTO t VALUES (1, 'one', 1), (2, 'two', 1)";

fn item(id: i64) -> Item {
    Item { id, name: "new".to_owned() }
}

#[track_caller]
fn schema_changed<T>(result: Result<T, WriteError>) {
    let error = not_applied(result);
    assert!(matches!(&error, WriteError::SchemaChanged { table } if table == "t"), "{error}");
    assert!(error.to_string().ends_with("nothing was applied; open it again"), "{error}");
}

/// Warms the handle's statements, then runs SQL and gives the handle.
fn after(bed: &Bed, sql: &'static str) -> Table<Item> {
    let items = bed.revised::<Item>();
    items.upsert(&item(9)).wait().unwrap();
    items.upsert(&item(9)).wait().unwrap();
    items.delete(9).wait().unwrap();
    bed.sql(sql);
    items
}

#[test]
fn a_handle_goes_on_when_something_is_added() {
    for sql in [
        "ALTER TABLE t ADD COLUMN extra TEXT DEFAULT 'x'",
        "ALTER TABLE t ADD COLUMN extra INTEGER",
        "CREATE INDEX by_name ON t (name)",
        "CREATE UNIQUE INDEX by_name ON t (name, id)",
        "CREATE TABLE unrelated (x)",
        "CREATE TRIGGER touched AFTER UPDATE ON t BEGIN SELECT 1; END",
        "CREATE TABLE child (parent REFERENCES t ON DELETE CASCADE)",
        "ANALYZE",
    ] {
        run(move || {
            let bed = Bed::new(ITEMS);
            let items = after(&bed, sql);
            assert_eq!(items.insert(&item(3)).wait().unwrap().revision, Some(1), "{sql}");
            assert_eq!(items.update(1).set("name", "uno").if_revision(1).wait().unwrap().revision, Some(2));
            assert_eq!(items.upsert(&item(2)).wait().unwrap().revision, Some(2));
            assert_eq!(items.delete(1).wait().unwrap().rows_changed, 1);
            assert_eq!(items.update_where("name", "new").set("name", "old").wait().unwrap().rows_changed, 2);
            assert_eq!(bed.look("SELECT id, name, v FROM t"), ["2|old|3", "3|old|2"], "{sql}");
        });
    }
}

#[test]
fn a_handle_that_does_not_fit_any_more_writes_nothing() {
    for sql in [
        "ALTER TABLE t RENAME COLUMN name TO title",
        "ALTER TABLE t DROP COLUMN name",
        "ALTER TABLE t DROP COLUMN v",
        "ALTER TABLE t RENAME TO u",
        "DROP TABLE t",
        "DROP TABLE t; CREATE TABLE t (id INTEGER PRIMARY KEY, name BLOB, v INTEGER)",
        "DROP TABLE t; CREATE TABLE t (id TEXT PRIMARY KEY, name TEXT, v INTEGER)",
        "DROP TABLE t; CREATE TABLE t (name TEXT, id INTEGER PRIMARY KEY, v INTEGER)",
        "DROP TABLE t; CREATE TABLE t (id INTEGER, name TEXT PRIMARY KEY, v INTEGER)",
        "DROP TABLE t; CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, v INTEGER, more TEXT NOT NULL)",
        "DROP TABLE t; CREATE VIEW t AS SELECT 1 AS id, 'x' AS name, 1 AS v",
    ] {
        run(move || {
            let bed = Bed::new(ITEMS);
            let items = after(&bed, sql);
            let content = || bed.look("SELECT * FROM (SELECT type, name FROM sqlite_schema) ORDER BY 1, 2");
            let before = content();
            schema_changed(items.insert(&item(3)).wait());
            schema_changed(items.insert_or_ignore(&item(1)).wait());
            schema_changed(items.upsert(&item(1)).wait());
            schema_changed(items.update(1).set("name", "x").wait());
            schema_changed(items.delete(1).if_revision(1).wait());
            schema_changed(items.modify(1, |_| Ok(())).wait());
            schema_changed(items.insert_many([item(3)]).wait());
            schema_changed(items.delete_where("name", "one").wait());
            let batch = bed.store.batch().execute("CREATE TABLE never (x)", ()).add(items.delete(1));
            schema_changed(batch.send().wait());
            assert_eq!(content(), before, "{sql}");
        });
    }
}

/// What comes back the same fits again, and an ordinary rebuild of the table is no change.
#[test]
fn a_table_that_is_rebuilt_the_same_fits_again() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let items = after(&bed, "ALTER TABLE t RENAME TO u");
        schema_changed(items.delete(1).wait());
        bed.sql("ALTER TABLE u RENAME TO t");
        assert_eq!(items.update(1).set("name", "x").wait().unwrap().revision, Some(2));
        bed.sql(
            "CREATE TABLE copy (id INTEGER PRIMARY KEY, name TEXT, v INTEGER, more TEXT); \
                 INSERT INTO copy SELECT *, 'm' FROM t; DROP TABLE t; ALTER TABLE copy RENAME TO t",
        );
        assert_eq!(items.update(1).set("name", "y").wait().unwrap().revision, Some(3));
    });
}

/// A closure changes the schema between row commands of one group: those behind it go by the new schema at once.
fn around(bed: &Bed, sql: &'static str) -> (Pending<RowReceipt>, Vec<Pending<RowReceipt>>) {
    let items = bed.revised::<Item>();
    items.update(1).set("name", "one").wait().unwrap();
    let gate = hold(&bed.store);
    let before = items.update(1).set("name", "before").try_submit().unwrap();
    let change = bed.store.write(move |tx| tx.execute_batch(sql)).try_submit().unwrap();
    let behind = [
        items.update(1).set("name", "behind").try_submit().unwrap(),
        items.insert(&item(5)).try_submit().unwrap(),
        items.insert(&item(6)).try_submit().unwrap(),
        items.update(5).set("name", "again").try_submit().unwrap(),
    ];
    gate.open();
    change.wait().unwrap();
    (before, behind.into())
}

#[test]
fn a_trigger_made_in_the_same_group_runs() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let sql = "CREATE TABLE log (x); CREATE TRIGGER a AFTER UPDATE ON t BEGIN INSERT INTO log VALUES (new.name); \
                   UPDATE t SET v = v + 100 WHERE id = new.id; END";
        let (before, behind) = around(&bed, sql);
        assert_eq!(before.wait().unwrap().revision, Some(3));
        let revisions: Vec<_> = behind.into_iter().map(|one| one.wait().unwrap().revision).collect();
        assert_eq!(revisions, [Some(104), Some(1), Some(1), Some(102)]);
        assert_eq!(
            bed.look("SELECT x FROM log"),
            ["behind", "again"],
            "none was taken together with another"
        );
    });
}

/// A command on another table comes first behind the change, and looks at the schema for its own table alone.
#[test]
fn a_trigger_made_in_the_same_group_runs_behind_a_command_on_another_table() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, v INTEGER); CREATE TABLE log (x); \
             CREATE TABLE other (id INTEGER PRIMARY KEY, name TEXT)",
        );
        let (items, others) = (bed.revised::<Item>(), bed.table::<Item>("other"));
        items.delete(1).wait().unwrap();
        others.delete(1).wait().unwrap();
        let gate = hold(&bed.store);
        let sql = "CREATE TRIGGER a AFTER UPDATE ON t BEGIN INSERT INTO log VALUES (new.name); END";
        let change = bed.store.write(move |tx| tx.execute_batch(sql)).try_submit().unwrap();
        let sent = [
            others.insert(&item(1)).try_submit().unwrap(),
            others.update(1).set("name", "x").try_submit().unwrap(),
            items.insert(&item(1)).try_submit().unwrap(),
            items.update(1).set("name", "x").try_submit().unwrap(),
        ];
        gate.open();
        change.wait().unwrap();
        for one in sent {
            assert_eq!(one.wait().unwrap().rows_changed, 1);
        }
        assert_eq!(bed.look("SELECT x FROM log"), ["x"], "it was not taken together with the insert");
    });
}

#[test]
fn a_unique_index_made_in_the_same_group_counts() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let (before, behind) = around(&bed, "CREATE UNIQUE INDEX by_name ON t (name)");
        before.wait().unwrap();
        let mut behind = behind.into_iter().map(Pending::wait);
        assert_eq!(behind.next().unwrap().unwrap().revision, Some(4));
        assert_eq!(behind.next().unwrap().unwrap().revision, Some(1));
        constraint(behind.next().unwrap());
        assert_eq!(behind.next().unwrap().unwrap().revision, Some(2));
        assert_eq!(bed.look("SELECT * FROM t"), ["1|behind|4", "2|two|1", "5|again|2"]);
    });
}

#[test]
fn a_column_renamed_in_the_same_group_is_noticed() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let (before, behind) = around(&bed, "ALTER TABLE t RENAME COLUMN name TO title");
        assert_eq!(before.wait().unwrap().revision, Some(3));
        for one in behind {
            schema_changed(one.wait());
        }
        assert_eq!(bed.look("SELECT id, title, v FROM t"), ["1|before|3", "2|two|1"]);
    });
}

/// A change of the schema that is undone with its closure never was.
#[test]
fn a_change_that_is_undone_is_forgotten() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let items = bed.revised::<Item>();
        let gate = hold(&bed.store);
        let before = items.update(1).set("name", "before").try_submit().unwrap();
        let undone = bed.store.write(|tx| {
            tx.execute_batch("ALTER TABLE t DROP COLUMN name")?;
            Err::<(), _>(walwright::ClosureError::message("changed my mind"))
        });
        let undone = undone.try_submit().unwrap();
        let after = items.update(1).set("name", "after").try_submit().unwrap();
        gate.open();
        not_applied(undone.wait());
        assert_eq!(before.wait().unwrap().revision, Some(2));
        assert_eq!(after.wait().unwrap().revision, Some(3));
        assert_eq!(bed.one("SELECT name FROM t WHERE id = 1"), "after");
    });
}

/// Another program changes the schema between two groups.
#[test]
fn a_change_by_another_program_is_noticed() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let items = after(&bed, "SELECT 1");
        bed.outside().execute_batch("ALTER TABLE t ADD COLUMN extra DEFAULT 'e'").unwrap();
        assert_eq!(items.insert(&item(3)).wait().unwrap().revision, Some(1));
        bed.outside().execute_batch("ALTER TABLE t DROP COLUMN name").unwrap();
        schema_changed(items.insert(&item(4)).wait());
        assert_eq!(bed.look("SELECT * FROM t WHERE id > 2"), ["3|1|e"]);
    });
}

/// What the writer knew of the table before does not let two commands be taken together any more.
#[test]
fn a_trigger_made_by_another_program_runs_for_each_command() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let items = after(&bed, "CREATE TABLE log (x)");
        items.update(1).set("name", "one").wait().unwrap();
        let trigger = "CREATE TRIGGER a AFTER UPDATE ON t BEGIN INSERT INTO log VALUES (new.name); END";
        bed.outside().execute_batch(trigger).unwrap();
        let gate = hold(&bed.store);
        let inserted = items.insert(&item(5)).try_submit().unwrap();
        let updated = items.update(5).set("name", "x").try_submit().unwrap();
        gate.open();
        assert_eq!(inserted.wait().unwrap().revision, Some(1));
        assert_eq!(updated.wait().unwrap().revision, Some(2));
        assert_eq!(bed.look("SELECT x FROM log"), ["x"]);
    });
}

/// Work on many rows that goes in pieces is stopped by a change between two of them.
#[test]
fn work_in_pieces_notices_a_change_between_two_pieces() {
    run(|| {
        let visits = crate::visits::Visits::default();
        let bed = Bed::with(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, v INTEGER); \
             CREATE TRIGGER made BEFORE INSERT ON t BEGIN SELECT visit(new.id); END",
            |builder| visits.known_to(builder),
        );
        let items = bed.revised::<Item>();
        let gate = visits.gate_at(5);
        let bulk = items.insert_many((1..=24).map(item)).try_submit().unwrap();
        gate.wait_until_entered();
        let rename = bed.store.execute("ALTER TABLE t RENAME COLUMN name TO title", ()).try_submit().unwrap();
        gate.open();
        rename.wait().unwrap();
        match bulk.wait() {
            Err(WriteError::Partial { rows: 8, source }) => schema_changed::<()>(Err(*source)),
            other => panic!("{other:?}"),
        }
        assert_eq!(bed.one("SELECT count(*) FROM t"), "8");
    });
}

/// Two handles of one table, one opened before and one after a migration.
#[test]
fn a_handle_of_the_new_schema_works_beside_the_old_one() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let old = after(&bed, "ALTER TABLE t ADD COLUMN size INTEGER NOT NULL DEFAULT 3");
        let new = bed.revised::<Row>();
        let row = Row::new().with("id", 3).unwrap().with("size", 8).unwrap();
        let gate = hold(&bed.store);
        let made = new.insert(&row).try_submit().unwrap();
        let named = old.update(3).set("name", "three").try_submit().unwrap();
        let sized = new.update(3).set("size", 9).if_revision(2).try_submit().unwrap();
        let other = old.insert(&item(4)).try_submit().unwrap();
        gate.open();
        assert_eq!(made.wait().unwrap().revision, Some(1));
        assert_eq!(named.wait().unwrap().revision, Some(2));
        assert_eq!(sized.wait().unwrap().revision, Some(3));
        assert_eq!(other.wait().unwrap().filled("size"), None, "its handle does not know the column");
        assert_eq!(bed.look("SELECT id, name, v, size FROM t WHERE id > 2"), ["3|three|3|9", "4|new|1|3"]);
    });
}

/// The next start of a program migrates the file; a new handle goes by what is there then.
#[test]
fn a_store_opened_with_the_next_migration_has_the_new_columns() {
    run(|| {
        let scratch = walwright_test_support::Scratch::new();
        let first = Migration::sql(ITEMS);
        let second = Migration::sql("ALTER TABLE t RENAME COLUMN name TO title");
        let open = |migrations: &[Migration]| {
            Store::builder(scratch.join("store.db")).migrations(migrations).open().wait().unwrap()
        };
        let store = open(std::slice::from_ref(&first));
        let items = store.table::<Item>("t").open().wait().unwrap();
        items.insert(&item(3)).wait().unwrap();
        store.close().wait().unwrap();
        assert!(matches!(items.insert(&item(4)).wait(), Err(WriteError::Closed)));
        let store = open(&[first, second]);
        assert!(store.table::<Item>("t").open().wait().is_err());
        let rows = store.table::<Row>("t").open().wait().unwrap();
        assert_eq!(rows.update(3).set("title", "x").wait().unwrap().rows_changed, 1);
    });
}

#[test]
fn a_read_says_that_the_table_has_changed() {
    for sql in ["ALTER TABLE t RENAME COLUMN name TO title", "ALTER TABLE t DROP COLUMN name", "DROP TABLE t"]
    {
        run(move || {
            let bed = Bed::new(ITEMS);
            let items = bed.revised::<Item>();
            for is_warm in [true, false] {
                let failed = [
                    items.get(1).wait().map(drop),
                    items.page().order_by("name").wait().map(drop),
                    items.count_where(Filter::eq("name", "one")).wait().map(drop),
                ];
                if is_warm {
                    failed.into_iter().for_each(|done| done.unwrap());
                    bed.sql(sql);
                    continue;
                }
                for error in failed.map(Result::unwrap_err) {
                    let is_told = matches!(&error, ReadError::SchemaChanged { table } if table == "t");
                    assert!(is_told, "{sql}: {error}");
                    assert!(error.to_string().ends_with("open it again"), "{error}");
                }
            }
        });
    }
}

#[test]
fn a_filter_that_sqlite_refuses_is_no_change_of_the_table() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let items = bed.revised::<Item>();
        let error = items.count_where(Filter::sql("absent = 1", ())).wait().unwrap_err();
        assert!(matches!(error, ReadError::Sql(_)), "{error}");
    });
}
