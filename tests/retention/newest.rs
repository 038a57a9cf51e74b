//! The newest rows of each group.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use walwright::{Fixup, FixupProgress, Migration, Retention, Store, Value};
use walwright_test_support::{Probe, Scratch};

use crate::bed::{Bed, run};

const MESSAGES: &str = "CREATE TABLE message (id INTEGER PRIMARY KEY, buffer INTEGER, at INTEGER);
                        CREATE INDEX message_place ON message (buffer, at);";

#[derive(Serialize, Deserialize)]
struct Message {
    id: Option<i64>,
    buffer: i64,
    at: i64,
}

fn newest(count: u32) -> Retention {
    Retention::of("message").newest(count, "buffer", "at")
}

/// 20 groups of 100 rows, all of them in two moments.
const TWENTY_GROUPS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
                             INSERT INTO message SELECT i, i % 20, i / 1001 FROM n;";

const KEPT: &str = "SELECT count(*) FROM message AS m WHERE id IN
                        (SELECT id FROM message WHERE buffer = m.buffer ORDER BY at DESC, id DESC LIMIT 7)";

#[test]
fn after_opening_all_groups_are_looked_at() {
    run(|| {
        let bed = Bed::filled(MESSAGES, TWENTY_GROUPS, &[newest(7)]);
        bed.until("SELECT count(*) FROM message", 140);
        // Rows of one moment count by rowid: the last seven of each group are the highest ones.
        assert_eq!(bed.count("SELECT min(id) FROM message"), 2000 - 140 + 1);
        bed.until_line(|line| line.rows == 2000 - 140);
        bed.store.close().wait().unwrap();
    });
}

#[test]
fn a_group_that_grows_by_row_commands_is_looked_at() {
    run(|| {
        let bed = Bed::filled(MESSAGES, TWENTY_GROUPS, &[newest(7)]);
        bed.until("SELECT count(*) FROM message", 140);
        let messages = bed.store.table::<Message>("message").open().wait().unwrap();
        for at in 10..13 {
            messages.insert(&Message { id: None, buffer: 3, at }).wait().unwrap();
        }
        bed.until("SELECT count(*) FROM message", 140);
        assert_eq!(bed.count("SELECT count(*) FROM message WHERE buffer = 3 AND at >= 10"), 3);
        assert_eq!(bed.count(KEPT), 140);
        // Bulk work, an upsert, and a row that changes its group.
        let many = (20..40).map(|at| Message { id: None, buffer: 4, at });
        messages.insert_many(many).wait().unwrap();
        messages.upsert(&Message { id: Some(90_000), buffer: 5, at: 50 }).wait().unwrap();
        messages.update(90_000).set("buffer", 6).wait().unwrap();
        bed.until("SELECT count(*) FROM message WHERE buffer = 4", 7);
        bed.until("SELECT count(*) FROM message WHERE buffer = 6", 7);
        assert_eq!(bed.count("SELECT min(at) FROM message WHERE buffer = 4"), 33);
        bed.store.close().wait().unwrap();
    });
}

/// Statements, closures and other programs say nothing of groups.
#[test]
fn what_grew_in_other_ways_is_found_by_a_look_at_all_groups() {
    run(|| {
        let bed = Bed::new(MESSAGES, &[newest(2)]);
        bed.sql("INSERT INTO message (buffer, at) VALUES (1, 1), (1, 2), (1, 3), (2, 1)");
        bed.until("SELECT count(*) FROM message", 3);
        assert_eq!(bed.count("SELECT min(at) FROM message WHERE buffer = 1"), 2);
        bed.probe()
            .connection()
            .execute_batch("INSERT INTO message (buffer, at) VALUES (2, 2), (2, 3)")
            .unwrap();
        // The store hears of it when it next writes.
        bed.store.table::<Message>("message").open().wait().unwrap().delete(77).wait().unwrap();
        bed.until("SELECT count(*) FROM message WHERE buffer = 2", 2);
        bed.store.close().wait().unwrap();
    });
}

#[test]
fn null_is_no_group_and_the_oldest_in_its_order() {
    run(|| {
        let bed = Bed::filled(
            MESSAGES,
            "INSERT INTO message (buffer, at) VALUES (NULL, 1), (NULL, 2), (NULL, 3),
                 (1, NULL), (1, NULL), (1, NULL), (1, 5),
                 (2, NULL), (2, 7), (2, 8), (2, 9);",
            &[newest(2)],
        );
        bed.until("SELECT count(*) FROM message", 3 + 2 + 2);
        assert_eq!(bed.count("SELECT count(*) FROM message WHERE buffer IS NULL"), 3);
        assert_eq!(bed.count("SELECT id FROM message WHERE buffer = 1 AND at IS NULL"), 6);
        assert_eq!(bed.count("SELECT min(at) FROM message WHERE buffer = 2"), 8);
        bed.store.close().wait().unwrap();
    });
}

#[test]
fn groups_compare_as_their_column_does_and_keys_may_be_many() {
    run(|| {
        let bed = Bed::filled(
            "CREATE TABLE message (channel TEXT COLLATE NOCASE, at REAL, a TEXT, b INTEGER, PRIMARY KEY (a, b))
                 WITHOUT ROWID;
             CREATE INDEX message_place ON message (channel, at);",
            "INSERT INTO message VALUES ('x', 1.5, 'a', 1), ('X', 1.5, 'a', 2), ('x', 1.5, 'b', 0), ('y', 1, 'c', 0);",
            &[Retention::of("message").newest(2, "channel", "at")],
        );
        bed.until("SELECT count(*) FROM message", 3);
        assert_eq!(bed.count("SELECT count(*) FROM message WHERE a = 'a' AND b = 1"), 0);
        bed.store.close().wait().unwrap();
    });
}

/// As with rows that expire: SQLite takes it for success when a trigger keeps them.
#[test]
fn rows_that_a_trigger_keeps_are_reported() {
    run(|| {
        let bed = Bed::filled(
            "CREATE TABLE message (id INTEGER PRIMARY KEY, buffer INTEGER, at INTEGER);
             CREATE INDEX message_place ON message (buffer, at);
             CREATE TABLE held (id);
             CREATE TRIGGER keeps BEFORE DELETE ON message WHEN EXISTS (SELECT 1 FROM held)
             BEGIN SELECT RAISE(IGNORE); END;
             INSERT INTO held VALUES (1);",
            TWENTY_GROUPS,
            &[newest(7)],
        );
        bed.until_line(|line| line.last_error.is_some());
        let error = bed.line().last_error.unwrap();
        assert!(error.contains("a trigger of table message"), "{error}");
        bed.sql("DELETE FROM held");
        bed.until("SELECT count(*) FROM message", 140);
        bed.store.close().wait().unwrap();
    });
}

/// The triggers of a table may put rows into any group of it, whatever the row command says.
#[test]
fn a_group_that_grows_by_a_trigger_of_the_same_table_is_looked_at() {
    run(|| {
        const COPIES: &str = "CREATE TABLE message (id INTEGER PRIMARY KEY, buffer INTEGER, at INTEGER);
             CREATE INDEX message_place ON message (buffer, at);
             CREATE TRIGGER copies AFTER INSERT ON message WHEN new.buffer < 100
             BEGIN INSERT INTO message (buffer, at) VALUES (100 + new.at / 1000, new.at); END;";
        let bed = Bed::new(COPIES, &[newest(3)]);
        bed.until_line(|line| line.slices > 0);
        let messages = bed.store.table::<Message>("message").open().wait().unwrap();
        for at in 0..10 {
            messages.insert(&Message { id: None, buffer: at, at }).wait().unwrap();
        }
        bed.until("SELECT count(*) FROM message WHERE buffer = 100", 3);
        messages
            .insert_many((1000..1010).map(|at| Message { id: None, buffer: at - 1000, at }))
            .wait()
            .unwrap();
        bed.until("SELECT count(*) FROM message WHERE buffer = 101", 3);
        bed.store.close().wait().unwrap();
    });
}

/// A fix-up is the program's, and may put rows anywhere, also long after all groups were looked at.
#[test]
fn a_group_that_grows_by_a_fixup_is_looked_at() {
    run(|| {
        let (scratch, begins) = (Scratch::new(), Arc::new(AtomicBool::new(false)));
        let fixup = {
            let begins = begins.clone();
            Fixup::new("fills", move |step| {
                if !begins.load(Ordering::SeqCst) {
                    return Ok(FixupProgress::More { at: Value::Null });
                }
                step.tx().execute_batch("INSERT INTO message (buffer, at) VALUES (1, 1), (1, 2), (1, 3)")?;
                Ok(FixupProgress::Done)
            })
        };
        let store = Store::builder(scratch.join("store.db")).migrations(&[Migration::sql(MESSAGES)]);
        let store = store.retention(newest(2)).fixup(fixup).open().wait().unwrap();
        // All groups were looked at: none.
        while store.stats().chores.iter().all(|line| line.name == "fix-ups" || line.slices == 0) {
            std::thread::sleep(Duration::from_millis(2));
        }
        begins.store(true, Ordering::SeqCst);
        store.fixups_done().wait().unwrap();
        let probe = Probe::open(scratch.join("store.db")).unwrap();
        while probe.count("SELECT count(*) FROM message").unwrap() != 2 {
            std::thread::sleep(Duration::from_millis(2));
        }
        store.close().wait().unwrap();
    });
}
