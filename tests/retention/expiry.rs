//! Rows whose time has passed, and rows that are too old.

use std::time::Duration;

use walwright::{Retention, TimeUnit};

use crate::bed::{Bed, run};

const SESSIONS: &str = "CREATE TABLE session (id INTEGER PRIMARY KEY, expires INTEGER);
                        CREATE INDEX session_expires ON session (expires);";
const DAY: i64 = 86_400_000;

fn expires() -> Retention {
    Retention::of("session").expires("expires", TimeUnit::Milliseconds)
}

/// Expired at 1, 2, .. 5000.
const FIVE_THOUSAND: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
                             INSERT INTO session SELECT i, i FROM n;";

#[test]
fn more_than_a_thousand_expired_rows_are_all_reached() {
    run(|| {
        let bed = Bed::filled(SESSIONS, FIVE_THOUSAND, &[expires()]);
        bed.clock.set(4_000);
        bed.until("SELECT count(*) FROM session", 1_000);
        bed.settled();
        assert_eq!(bed.count("SELECT min(expires) FROM session"), 4_001);
        let line = bed.line();
        assert_eq!((line.rows, line.failures, line.last_error, line.behind), (4_000, 0, None, None));
        assert_eq!(line.name, "expire session.expires");
        bed.store.close().wait().unwrap();
    });
}

#[test]
fn rows_are_counted_without_what_follows_from_them() {
    run(|| {
        let schema = "CREATE TABLE session (id INTEGER PRIMARY KEY, expires INTEGER);
                      CREATE INDEX session_expires ON session (expires);
                      CREATE TABLE gone (id INTEGER);
                      CREATE TRIGGER note AFTER DELETE ON session BEGIN INSERT INTO gone VALUES (old.id), (old.id); END;";
        let bed = Bed::filled(schema, FIVE_THOUSAND, &[expires()]);
        bed.clock.set(4_000);
        bed.until("SELECT count(*) FROM gone", 8_000);
        bed.settled();
        assert_eq!(bed.line().rows, 4_000);
        bed.store.close().wait().unwrap();
    });
}

#[test]
fn what_was_due_while_the_store_was_closed_goes_after_the_next_open() {
    run(|| {
        let bed = Bed::filled(SESSIONS, FIVE_THOUSAND, &[]);
        bed.clock.set(5_000);
        let bed = bed.reopen(&[expires()]);
        bed.until("SELECT count(*) FROM session", 0);
        bed.store.close().wait().unwrap();
    });
}

#[test]
fn null_and_what_is_no_number_never_expire() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE session (id INTEGER PRIMARY KEY, expires);
             CREATE INDEX session_expires ON session (expires);",
            &[expires()],
        );
        bed.sql("INSERT INTO session (expires) VALUES (NULL), ('10'), (x'31'), (10.9), (11), (12.5), (-5)");
        bed.clock.set(11);
        bed.settled();
        assert_eq!(bed.count("SELECT count(*) FROM session"), 4);
        assert_eq!(bed.count("SELECT count(*) FROM session WHERE typeof(expires) = 'real'"), 1);
        bed.store.close().wait().unwrap();
    });
}

#[test]
fn rows_go_when_their_age_is_reached_and_not_before() {
    run(|| {
        let policy =
            Retention::of("SESSION").older_than("EXPIRES", TimeUnit::Seconds, Duration::from_secs(60));
        let bed = Bed::new(SESSIONS, &[policy]);
        bed.sql("INSERT INTO session (expires) VALUES (0), (1), (2), (-100)");
        // 60.999 s after 1970: only what is as old as a whole minute.
        bed.clock.set(60_999);
        bed.settled();
        assert_eq!(bed.count("SELECT min(expires) FROM session"), 1);
        bed.clock.set(61_000);
        bed.settled();
        assert_eq!(bed.count("SELECT min(expires) FROM session"), 2);
        bed.store.close().wait().unwrap();
    });
}

/// An age of which nobody knows when it began.
#[test]
fn a_very_great_age_removes_nothing() {
    run(|| {
        let policy = Retention::of("session").older_than("expires", TimeUnit::Nanoseconds, Duration::MAX);
        let bed = Bed::new(SESSIONS, &[policy]);
        bed.sql("INSERT INTO session (expires) VALUES (0), (-9223372036854775807)");
        bed.settled();
        assert_eq!(bed.count("SELECT count(*) FROM session"), 2);
        bed.store.close().wait().unwrap();
    });
}

#[test]
fn nothing_expires_early_whatever_the_clock_does() {
    run(|| {
        let now = 1_700_000_000_000;
        let mut bed = Bed::new(SESSIONS, &[expires()]);
        bed.sql(
            "INSERT INTO session (expires) VALUES (1700000000000 + 2 * 86400000), (0), (-86400000 * 400)",
        );
        // A day ahead, two days back, the year 1969, and each again after a restart.
        for at in [now + DAY, now - DAY, -DAY, -400 * DAY, now + 2 * DAY - 1] {
            bed.clock.set(at);
            bed.settled();
            assert_eq!(bed.count("SELECT count(*) FROM session WHERE expires > 0"), 1, "at {at}");
            bed = bed.reopen(&[expires()]);
            bed.settled();
            assert_eq!(bed.count("SELECT count(*) FROM session WHERE expires > 0"), 1, "at {at}");
        }
        bed.clock.set(now + 2 * DAY);
        bed.until("SELECT count(*) FROM session", 0);
        bed.store.close().wait().unwrap();
    });
}

#[test]
fn tables_of_every_kind_are_swept() {
    run(|| {
        for schema in [
            // By a key of two columns.
            "CREATE TABLE session (a TEXT DEFAULT 'a', b INTEGER, expires INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID;
             CREATE INDEX session_expires ON session (expires);",
            // The time is the beginning of the key.
            "CREATE TABLE session (expires INTEGER, b INTEGER, PRIMARY KEY (expires, b)) WITHOUT ROWID;",
            // The time is the rowid.
            "CREATE TABLE session (expires INTEGER PRIMARY KEY, b INTEGER);",
            // No key; two names of the rowid are taken; the index is partial, with more columns.
            "CREATE TABLE session (rowid TEXT, _rowid_ TEXT, expires INTEGER, b INTEGER);
             CREATE INDEX session_expires ON session (expires DESC, b) WHERE expires IS NOT NULL;",
        ] {
            let bed = Bed::new(schema, &[expires()]);
            bed.sql(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
                 INSERT INTO session (expires, b) SELECT i, i FROM n;",
            );
            bed.clock.set(490);
            bed.until("SELECT count(*) FROM session", 10);
            assert_eq!(bed.count("SELECT min(expires) FROM session"), 491, "{schema}");
            bed.store.close().wait().unwrap();
        }
    });
}

/// Rows that may not go keep the policy from going on. It says so, and the store goes on.
#[test]
fn a_row_that_cannot_be_deleted_is_reported() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE session (id INTEGER PRIMARY KEY, expires INTEGER);
             CREATE INDEX session_expires ON session (expires);
             CREATE TABLE use_of (session INTEGER REFERENCES session (id));
             INSERT INTO session VALUES (1, 10);
             INSERT INTO use_of VALUES (1);",
            &[expires()],
        );
        bed.clock.set(20);
        bed.store.sweep();
        bed.until_line(|line| line.last_error.is_some());
        let error = bed.line().last_error.unwrap();
        assert!(error.contains("FOREIGN KEY constraint failed"), "{error}");
        assert_eq!(bed.count("SELECT count(*) FROM session"), 1);
        bed.sql("DELETE FROM use_of");
        bed.until("SELECT count(*) FROM session", 0);
        bed.until_line(|line| line.last_error.is_none());
        bed.store.close().wait().unwrap();
    });
}

/// SQLite says nothing of rows that a trigger keeps (`RAISE(IGNORE)`), and rows behind them would never be reached.
#[test]
fn a_row_that_a_trigger_keeps_in_silence_is_reported() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE session (id INTEGER PRIMARY KEY, expires INTEGER, kept);
             CREATE INDEX session_expires ON session (expires);
             CREATE TRIGGER keeps BEFORE DELETE ON session WHEN old.kept BEGIN SELECT RAISE(IGNORE); END;
             WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
             INSERT INTO session SELECT i, i, i <= 4900 FROM n;",
            &[expires()],
        );
        bed.clock.set(10_000);
        bed.store.sweep();
        bed.until_line(|line| line.last_error.is_some());
        let error = bed.line().last_error.unwrap();
        assert!(error.contains("a trigger"), "{error}");
        bed.sql("UPDATE session SET kept = 0");
        bed.until("SELECT count(*) FROM session", 0);
        bed.until_line(|line| line.last_error.is_none());
        bed.store.close().wait().unwrap();
    });
}

/// Without its index a sweep would read the whole table for each slice: rather nothing goes.
#[test]
fn an_index_that_is_dropped_stops_the_policy_and_is_named() {
    run(|| {
        let bed = Bed::new(SESSIONS, &[expires()]);
        bed.sql("INSERT INTO session (expires) VALUES (1)");
        bed.settled();
        bed.sql("DROP INDEX session_expires");
        bed.store.sweep();
        bed.until_line(|line| line.last_error.is_some());
        let error = bed.line().last_error.unwrap();
        assert!(error.contains("no such index: session_expires"), "{error}");
        assert_eq!(bed.count("SELECT count(*) FROM session"), 1);
        bed.store.close().wait().unwrap();
    });
}
