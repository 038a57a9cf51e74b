//! C09. Processes that started together failed at once with "database is locked": the switch to WAL mode does
//! not run SQLite's busy handler, whatever the timeout (russellromney/honker#102).
//!
//! Must hold: opening retries the switch within its own time limit; a file in WAL mode needs no lock for it;
//! who loses a race is told that the store is open, never of a raw lock.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use walwright::rusqlite::Connection;
use walwright::{OpenError, Store};
use walwright_test_support::{Probe, Scratch, watchdog};

use crate::support_read::{FOREVER, Helper, LIMIT, say, until_dismissed};

fn rollback_journal(scratch: &Scratch) -> PathBuf {
    let path = scratch.join("a.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = DELETE; CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        .unwrap();
    path
}

/// The locks that keep a file in rollback-journal mode.
const LOCKS: [&str; 3] = ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE", "BEGIN; SELECT * FROM t"];

#[test]
fn c09_opening_waits_for_the_lock_and_then_converts() {
    watchdog(LIMIT, || {
        for lock in LOCKS {
            let scratch = Scratch::new();
            let path = rollback_journal(&scratch);
            let probe = Probe::open(&path).unwrap();
            probe.connection().execute_batch(lock).unwrap();
            let opening = thread::spawn({
                let path = path.clone();
                move || Store::builder(path).open_timeout(FOREVER).open().wait()
            });
            // Long enough for SQLite to have said BUSY a hundred times; it can only go on when it is released.
            thread::sleep(Duration::from_millis(200));
            assert!(!opening.is_finished(), "{lock}: opened or failed under the lock");
            probe.connection().execute_batch("ROLLBACK").unwrap();
            let store = opening.join().unwrap().unwrap_or_else(|error| panic!("{lock}: {error}"));
            assert!(store.settings().converted);
            assert_eq!(store.settings().journal_mode, "wal");
            store.execute("INSERT INTO t VALUES (2)", ()).wait().unwrap();
            assert_eq!(probe.count("SELECT count(*) FROM t").unwrap(), 2);
        }
    });
}

#[test]
fn c09_a_lock_that_stays_is_a_typed_error_after_the_time_limit() {
    watchdog(LIMIT, || {
        for lock in LOCKS {
            let scratch = Scratch::new();
            let path = rollback_journal(&scratch);
            let probe = Probe::open(&path).unwrap();
            probe.connection().execute_batch(lock).unwrap();
            let (begun, limit) = (Instant::now(), Duration::from_millis(150));
            let error = Store::builder(&path).open_timeout(limit).open().wait().map(drop).unwrap_err();
            assert!(begun.elapsed() >= limit, "{lock}: gave up early");
            assert!(matches!(error, OpenError::Busy { .. }), "{lock}: {error:?}");
            assert!(error.is_retryable());
            probe.connection().execute_batch("ROLLBACK").unwrap();
            assert_eq!(probe.journal_mode().unwrap(), "delete", "the refused file is as it was");
        }
    });
}

#[test]
fn c09_a_file_in_wal_mode_needs_no_exclusive_lock() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let path = rollback_journal(&scratch);
        Store::builder(&path).open().wait().unwrap().close().wait().unwrap();
        let probe = Probe::open(&path).unwrap();
        probe.connection().execute_batch("BEGIN; SELECT * FROM t").unwrap();
        // No patience at all: the reader outside is in nobody's way.
        let store = Store::builder(&path).open_timeout(Duration::ZERO).open().wait().unwrap();
        assert!(!store.settings().converted);
        store.execute("INSERT INTO t VALUES (2)", ()).wait().unwrap();
        assert_eq!(probe.count("SELECT count(*) FROM t").unwrap(), 1, "its own snapshot");
        drop(store);
    });
}

/// The report had 640 starts. Ten rounds of eight are enough to lose a race in each.
#[test]
fn c09_processes_that_start_together_hear_of_no_raw_lock() {
    watchdog(LIMIT, || {
        for round in 0..10 {
            let scratch = Scratch::new();
            let path = if round % 2 == 0 { scratch.join("a.db") } else { rollback_journal(&scratch) };
            let mut helpers: Vec<_> = (0..8).map(|_| Helper::start("c09 race", &path)).collect();
            for helper in &helpers {
                assert_eq!(helper.hear(), "here");
            }
            // All at once.
            helpers.iter_mut().for_each(Helper::dismiss);
            let told: Vec<_> = helpers.iter().map(Helper::hear).collect();
            assert!(told.iter().all(|said| said == "opened" || said == "already open"), "{told:?}");
            assert!(told.iter().any(|said| said == "opened"), "{told:?}");
            helpers.into_iter().for_each(Helper::finish);
            assert_eq!(Probe::open(&path).unwrap().journal_mode().unwrap(), "wal");
        }
    });
}

/// In a process of its own: opens and closes at once.
pub fn race(path: &Path) {
    say("here");
    until_dismissed();
    match Store::builder(path).open().wait() {
        Ok(store) => {
            store.close().wait().unwrap();
            say("opened");
        }
        Err(OpenError::AlreadyOpen { .. }) => say("already open"),
        Err(error) => say(error),
    }
}
