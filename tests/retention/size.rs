//! The greatest size of the file.

use walwright::Retention;

use crate::bed::{Bed, run};

#[test]
fn the_first_rows_go_until_the_data_fits() {
    run(|| {
        let bed = Bed::filled(
            "CREATE TABLE event (id INTEGER PRIMARY KEY, at INTEGER, body BLOB);
             CREATE INDEX event_at ON event (at);",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
             INSERT INTO event SELECT i, i, zeroblob(4000) FROM n;
             INSERT INTO event VALUES (5000, NULL, 'kept');",
            &[Retention::of("event").file_at_most(2 << 20, "at")],
        );
        let used = "SELECT (SELECT page_count FROM pragma_page_count)
                        - (SELECT freelist_count FROM pragma_freelist_count)";
        bed.settled();
        assert!(bed.count(used) * 4096 <= 2 << 20);
        // No more than had to: the last slice may have been one of many rows, but not of half of them.
        let left = bed.count("SELECT count(*) FROM event");
        assert!((250..520).contains(&left), "{left}");
        // The first ones went.
        assert_eq!(bed.count("SELECT max(at) - min(at) FROM event"), left - 2);
        assert_eq!(bed.count("SELECT max(at) FROM event"), 1000);
        bed.store.close().wait().unwrap();
    });
}

#[test]
fn rows_that_a_trigger_keeps_are_reported() {
    run(|| {
        let bed = Bed::filled(
            "CREATE TABLE event (id INTEGER PRIMARY KEY, at INTEGER, body BLOB);
             CREATE INDEX event_at ON event (at);
             CREATE TRIGGER keeps BEFORE DELETE ON event BEGIN SELECT RAISE(IGNORE); END;",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
             INSERT INTO event SELECT i, i, zeroblob(4000) FROM n;",
            &[Retention::of("event").file_at_most(1, "at")],
        );
        bed.until_line(|line| line.last_error.is_some());
        let error = bed.line().last_error.unwrap();
        assert!(error.contains("a trigger of table event"), "{error}");
        bed.sql("DROP TRIGGER keeps");
        bed.sql("UPDATE event SET at = NULL WHERE id > 90");
        // What is left are rows that never go, and that is no failure.
        bed.until("SELECT count(*) FROM event", 10);
        bed.until_line(|line| line.last_error.is_none());
        bed.store.close().wait().unwrap();
    });
}
