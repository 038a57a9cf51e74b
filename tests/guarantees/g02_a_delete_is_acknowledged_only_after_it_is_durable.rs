//! 2. A delete is acknowledged only after it is durable, whatever level was asked for.

use walwright::rusqlite::params;
use walwright::{AckLevel, ClosureError, Store};
use walwright_test_support::vfs::Image;

use crate::bed::{Bed, foreign, ids, one, run};

/// A schema in which no write is a delete.
const PLAIN: &str = "
    CREATE TABLE wide (id, gone);
    CREATE TABLE t (id INTEGER PRIMARY KEY, v UNIQUE);
    INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three');
";

/// What a schema adds to `PLAIN`, what deletes there, and a count that is 0 once it did.
const DELETES: &[(&str, &str, &str)] = &[
    ("", "DELETE FROM t WHERE id = 1", "SELECT count(*) FROM t WHERE id = 1"),
    ("", "DELETE FROM t", "SELECT count(*) FROM t"),
    ("", "DELETE FROM t WHERE id = 1 RETURNING v", "SELECT count(*) FROM t WHERE id = 1"),
    (
        "",
        "WITH gone (id) AS (VALUES (1)) DELETE FROM t WHERE id IN gone",
        "SELECT count(*) FROM t WHERE id = 1",
    ),
    ("", "INSERT OR REPLACE INTO t VALUES (9, 'one')", "SELECT count(*) FROM t WHERE id = 1"),
    ("", "REPLACE INTO t VALUES (9, 'one')", "SELECT count(*) FROM t WHERE id = 1"),
    ("", "UPDATE OR REPLACE t SET v = 'one' WHERE id = 2", "SELECT count(*) FROM t WHERE id = 1"),
    ("", "DROP TABLE t", "SELECT count(*) FROM sqlite_schema WHERE name = 't'"),
    (
        "",
        "ALTER TABLE wide DROP COLUMN gone",
        "SELECT count(*) FROM pragma_table_info('wide') WHERE name = 'gone'",
    ),
    (
        "CREATE TABLE bell (id);
         CREATE TRIGGER ring AFTER INSERT ON bell BEGIN DELETE FROM t WHERE id = new.id; END",
        "INSERT INTO bell VALUES (1)",
        "SELECT count(*) FROM t WHERE id = 1",
    ),
    (
        "CREATE TABLE bell (id, v);
         CREATE TRIGGER ring AFTER INSERT ON bell BEGIN INSERT OR REPLACE INTO t VALUES (new.id, new.v); END",
        "INSERT INTO bell VALUES (9, 'one')",
        "SELECT count(*) FROM t WHERE id = 1",
    ),
    (
        "CREATE VIEW seen AS SELECT * FROM t;
         CREATE TRIGGER hide INSTEAD OF UPDATE ON seen BEGIN DELETE FROM t WHERE id = old.id; END",
        "UPDATE seen SET v = 'x' WHERE id = 1",
        "SELECT count(*) FROM t WHERE id = 1",
    ),
    (
        "CREATE TABLE parent (id INTEGER PRIMARY KEY);
         CREATE TABLE child (id INTEGER PRIMARY KEY, parent REFERENCES parent ON DELETE CASCADE);
         INSERT INTO parent VALUES (1); INSERT INTO child VALUES (10, 1)",
        "DELETE FROM parent",
        "SELECT count(*) FROM child",
    ),
    (
        "CREATE TABLE only (id INTEGER PRIMARY KEY, v UNIQUE ON CONFLICT REPLACE);
         INSERT INTO only VALUES (1, 'one')",
        "INSERT INTO only VALUES (9, 'one')",
        "SELECT count(*) FROM only WHERE id = 1",
    ),
    (
        "CREATE VIRTUAL TABLE words USING fts5(body); INSERT INTO words (rowid, body) VALUES (1, 'apple')",
        "DELETE FROM words WHERE rowid = 1",
        "SELECT count(*) FROM words WHERE words MATCH 'apple'",
    ),
    (
        "CREATE VIRTUAL TABLE words USING fts5(body, content='');
         INSERT INTO words (rowid, body) VALUES (1, 'apple')",
        "INSERT INTO words (words, rowid, body) VALUES ('delete', 1, 'apple')",
        "SELECT count(*) FROM words WHERE words MATCH 'apple'",
    ),
];

/// The ways to send a statement.
#[derive(Clone, Copy, Debug)]
enum How {
    Statement,
    Returning,
    Batch,
    Closure,
    ClosureText,
    ClosurePrepared,
}

const ALL: [How; 6] =
    [How::Statement, How::Returning, How::Batch, How::Closure, How::ClosureText, How::ClosurePrepared];

/// Runs `sql` at the weaker level, and gives the disk at the moment of the answer.
#[track_caller]
fn image(bed: &Bed, store: &Store, how: How, sql: &'static str) -> Image {
    let level = AckLevel::Committed;
    match how {
        How::Statement => bed.image_at_answer(store, store.execute(sql, ()).ack(level)),
        How::Returning => bed.image_at_answer(store, store.execute_returning(sql, ()).ack(level)),
        How::Batch => {
            let batch = store.batch().execute("INSERT INTO wide VALUES (1, 1)", ()).execute(sql, ());
            bed.image_at_answer(store, batch.send().ack(level))
        }
        How::Closure => bed.image_at_answer(store, store.write(move |tx| tx.execute(sql, ())).ack(level)),
        How::ClosureText => {
            bed.image_at_answer(store, store.write(move |tx| tx.execute_batch(sql)).ack(level))
        }
        How::ClosurePrepared => {
            let write = store.write(move |tx| {
                tx.prepare(sql)?.query(()).and_then(|mut rows| {
                    while rows.next()?.is_some() {}
                    Ok(())
                })
            });
            bed.image_at_answer(store, write.ack(level))
        }
    }
}

#[test]
fn a_write_that_deletes_nothing_is_not_held_for_it() {
    run(|| {
        let bed = Bed::with(PLAIN);
        let store = bed.open();
        for how in ALL {
            let image = image(&bed, &store, how, "INSERT INTO t (v) VALUES (4) ON CONFLICT DO NOTHING");
            assert_eq!(bed.ids_in(&image), [1, 2, 3], "or the other tests here show nothing: {how:?}");
        }
    });
}

fn every_delete(how: How) {
    for &(more, sql, check) in DELETES {
        let bed = Bed::with(String::leak(format!("{PLAIN}{more}")));
        let store = bed.open();
        assert!(one::<i64>(&store, check) > 0, "or {sql} shows nothing");
        let image = image(&bed, &store, how, sql);
        assert_eq!(bed.one_in::<i64>(&image, check), 0, "{how:?}: {sql}");
    }
}

#[test]
fn every_delete_by_a_statement() {
    run(|| every_delete(How::Statement));
}

#[test]
fn every_delete_by_a_statement_whose_rows_are_wanted() {
    run(|| every_delete(How::Returning));
}

#[test]
fn every_delete_in_a_batch() {
    run(|| every_delete(How::Batch));
}

#[test]
fn every_delete_in_a_closure() {
    run(|| every_delete(How::Closure));
}

#[test]
fn every_delete_in_a_closure_by_text() {
    run(|| every_delete(How::ClosureText));
}

#[test]
fn every_delete_in_a_closure_row_by_row() {
    run(|| every_delete(How::ClosurePrepared));
}

#[test]
fn a_row_that_was_gone_before_does_not_come_back() {
    run(|| {
        for how in ALL {
            let bed = Bed::with(PLAIN);
            let store = bed.open();
            // The key is taken away by an update, which is no delete and is not synced.
            let moved = image(&bed, &store, How::Statement, "UPDATE t SET id = 100 WHERE id = 1");
            assert_eq!(bed.ids_in(&moved), [1, 2, 3], "or this test shows nothing");
            let image = image(&bed, &store, how, "DELETE FROM t WHERE id = 1");
            assert_eq!(bed.ids_in(&image), [2, 3, 100], "{how:?}: nothing was found to delete");
        }
    });
}

#[test]
fn a_row_that_another_program_deleted_does_not_come_back() {
    run(|| {
        let bed = Bed::with(PLAIN);
        let store = bed.open();
        let other = foreign(&bed);
        other.execute("DELETE FROM t WHERE id = 1", []).unwrap();
        assert_eq!(bed.survivors(), [1, 2, 3], "or this test shows nothing");
        let delete = store.execute("DELETE FROM t WHERE id = 1", ()).ack(AckLevel::Committed);
        let (answer, image) = bed.answer(&store, delete);
        assert_eq!(answer.unwrap().rows_changed, 0);
        assert_eq!(bed.ids_in(&image), [2, 3]);
    });
}

#[test]
fn one_delete_makes_its_whole_group_wait_for_the_sync() {
    run(|| {
        for place in 0..3 {
            let bed = Bed::with(PLAIN);
            let store = bed.open();
            let writes = (0..3).map(|number| {
                let (sql, id) = if number == place {
                    ("DELETE FROM t WHERE id = ?1", 1)
                } else {
                    ("INSERT INTO t (id) VALUES (?1)", 10 + number)
                };
                store.execute(sql, (id,)).ack(AckLevel::Committed)
            });
            for (answer, image) in bed.answers(&store, writes) {
                answer.unwrap();
                assert!(!bed.ids_in(&image).contains(&1), "the delete stands at {place}");
            }
        }
    });
}

#[test]
fn a_statement_that_was_prepared_before_is_still_known_to_delete() {
    run(|| {
        let bed = Bed::with(PLAIN);
        let store = bed.open();
        for id in 1..=3 {
            let delete = store.execute("DELETE FROM t WHERE id = ?1", (id,)).ack(AckLevel::Committed);
            let image = bed.image_at_answer(&store, delete);
            assert!(!bed.ids_in(&image).contains(&id), "round {id}");
        }
        store.execute("INSERT INTO t (id) VALUES (4), (5), (6)", ()).wait().unwrap();
        for id in 4..=6 {
            let write = store.write(move |tx| tx.execute("DELETE FROM t WHERE id = ?1", params![id]));
            let image = bed.image_at_answer(&store, write.ack(AckLevel::Committed));
            assert!(!bed.ids_in(&image).contains(&id), "round {id}");
        }
    });
}

/// An insert that a later trigger turns into a delete.
const RING: &str = "INSERT INTO bell VALUES (1)";
const TRIGGER: &str = "CREATE TRIGGER ring AFTER INSERT ON bell BEGIN DELETE FROM t WHERE id = new.id; END";
const BELL: &str =
    "CREATE TABLE wide (id, gone); CREATE TABLE bell (id); CREATE TABLE t (id INTEGER PRIMARY KEY, v);
    INSERT INTO t (id) VALUES (1), (2)";

#[test]
fn a_statement_learns_of_a_trigger_that_the_store_made() {
    run(|| {
        for how in ALL {
            let bed = Bed::with(BELL);
            let store = bed.open();
            // Often enough to be kept at hand.
            for _ in 0..3 {
                let image = image(&bed, &store, how, RING);
                assert_eq!(bed.one_in::<i64>(&image, "SELECT count(*) FROM bell"), 0, "no delete yet");
            }
            store.execute(TRIGGER, ()).ack(AckLevel::Committed).wait().unwrap();
            let image = image(&bed, &store, how, RING);
            assert_eq!(bed.ids_in(&image), [2], "{how:?}");
        }
    });
}

#[test]
fn a_statement_learns_of_a_trigger_that_another_program_made() {
    run(|| {
        for how in ALL {
            let bed = Bed::with(BELL);
            let store = bed.open();
            for _ in 0..3 {
                image(&bed, &store, how, RING);
            }
            foreign(&bed).execute_batch(TRIGGER).unwrap();
            let image = image(&bed, &store, how, RING);
            assert_eq!(bed.ids_in(&image), [2], "{how:?}");
        }
    });
}

#[test]
fn a_prepared_statement_learns_of_a_trigger_while_it_is_held() {
    run(|| {
        let bed = Bed::with(BELL);
        let store = bed.open();
        let write = store.write(|tx| {
            let mut ring = tx.prepare(RING)?;
            ring.execute(())?;
            tx.execute_batch(TRIGGER)?;
            // SQLite prepares it anew, in the middle of this call.
            ring.execute(())
        });
        let image = bed.image_at_answer(&store, write.ack(AckLevel::Committed));
        assert_eq!(bed.ids_in(&image), [2]);
    });
}

#[test]
fn a_trigger_that_was_rolled_back_is_forgotten_and_one_that_came_back_is_not() {
    run(|| {
        let bed = Bed::with(BELL);
        let store = bed.open();
        let failed = store.write(|tx| {
            tx.execute_batch(TRIGGER)?;
            tx.execute(RING, ())?;
            Err::<(), _>(ClosureError::message("no"))
        });
        failed.ack(AckLevel::Committed).wait().unwrap_err();
        image(&bed, &store, How::Statement, RING);
        assert_eq!(ids(&store), [1, 2]);
        store.execute(TRIGGER, ()).ack(AckLevel::Committed).wait().unwrap();
        let image = image(&bed, &store, How::Statement, RING);
        assert_eq!(bed.ids_in(&image), [2]);
    });
}

#[test]
fn a_closure_is_held_for_what_it_deleted_before_it_did_something_else() {
    run(|| {
        let bed = Bed::with(PLAIN);
        let store = bed.open();
        let write = store.write(|tx| {
            tx.execute("DELETE FROM t WHERE id = 1", ())?;
            tx.execute("INSERT INTO t (id) VALUES (7)", ())?;
            tx.query_row("SELECT count(*) FROM t", (), |row| row.get::<_, i64>(0))
        });
        let image = bed.image_at_answer(&store, write.ack(AckLevel::Committed));
        assert_eq!(bed.ids_in(&image), [2, 3, 7]);
    });
}

#[test]
fn a_failed_delete_that_a_closure_passes_over_does_not_hide_the_others() {
    run(|| {
        let bed = Bed::with(PLAIN);
        let store = bed.open();
        let write = store.write(|tx| {
            tx.execute("DELETE FROM t WHERE id = 1", ())?;
            assert!(tx.execute("INSERT INTO t (id) VALUES (2)", ()).is_err());
            Ok(())
        });
        let image = bed.image_at_answer(&store, write.ack(AckLevel::Committed));
        assert_eq!(bed.ids_in(&image), [2, 3]);
    });
}

#[test]
fn a_statement_learns_of_a_replace_that_another_program_brought_in() {
    run(|| {
        for how in ALL {
            let bed = Bed::with(BELL);
            let store = bed.open();
            for _ in 0..2 {
                image(&bed, &store, how, RING);
            }
            // SQLite asks about the insert in the trigger, and says nothing of the row that it takes away.
            let trigger = "CREATE TRIGGER ring AFTER INSERT ON bell
                BEGIN INSERT OR REPLACE INTO t VALUES (new.id, 'new'); END";
            foreign(&bed).execute_batch(trigger).unwrap();
            let image = image(&bed, &store, how, RING);
            let sql = "SELECT count(*) FROM t WHERE id = 1 AND v = 'new'";
            assert_eq!(bed.one_in::<i64>(&image, sql), 1, "{how:?}");
        }
    });
}

#[test]
fn a_delete_that_is_a_row_of_a_virtual_table_is_known_each_time() {
    run(|| {
        let bed = Bed::with(
            "CREATE VIRTUAL TABLE words USING fts5(body, content='');
             INSERT INTO words (rowid, body) VALUES (1, 'apple'), (2, 'apple'), (3, 'apple')",
        );
        let store = bed.open();
        // SQLite asks about the table's own statements the first time only.
        for id in 1..=3 {
            let sql = "INSERT INTO words (words, rowid, body) VALUES ('delete', ?1, 'apple')";
            let delete = store.execute(sql, (id,)).ack(AckLevel::Committed);
            let image = bed.image_at_answer(&store, delete);
            let sql = "SELECT count(*) FROM words WHERE words MATCH 'apple'";
            assert_eq!(bed.one_in::<i64>(&image, sql), 3 - id);
        }
    });
}
