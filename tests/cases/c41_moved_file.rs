//! C41. The database was deleted, or another one put in its place, while the server ran: every write went on
//! reporting success and was gone at exit (WiseLibs/better-sqlite3#1237).
//!
//! Must hold: noticed on use, at most a second after the last look; then a typed failure, a bad state, an
//! error event, and not one more Ok. A missing `-wal` or `-shm` alone is noticed too. A database that was
//! put in the place is not touched.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tracing::Level;
use walwright::rusqlite::Connection;
use walwright::rusqlite::config::DbConfig;
use walwright::{CloseError, Outcome, Store, StoreFailure, StoreState, WriteError};
use walwright_test_support::{Probe, Scratch, watchdog};

use crate::support_read::{LIMIT, beside, events, eventually, number};

/// Between two looks at the file, as ARCHITECTURE promises.
const INTERVAL: Duration = Duration::from_secs(1);

fn open(path: &Path) -> Store {
    let store = Store::builder(path).open().wait().unwrap();
    store.execute("CREATE TABLE t (x)", ()).wait().unwrap();
    store.execute("INSERT INTO t VALUES (1)", ()).wait().unwrap();
    store
}

fn insert(store: &Store) -> Result<(), WriteError> {
    store.execute("INSERT INTO t VALUES (2)", ()).wait().map(drop)
}

fn is_moved(failure: &StoreFailure, at: &Path) -> bool {
    matches!(failure, StoreFailure::FileMoved { path } if path == at)
}

/// Does something to the files of a running store and sees to it that it is noticed.
fn noticed(what: &str, tamper: impl FnOnce(&Path)) -> (Scratch, PathBuf, Store) {
    let events = events();
    let scratch = Scratch::new();
    let path = scratch.join("a.db");
    let store = open(&path);
    tamper(&path);
    let tampered = Instant::now();
    let error = loop {
        let sent = Instant::now();
        match insert(&store) {
            // A write that is sent a second later begins later still, so it has to look. However slow the
            // machine is, this one was sent earlier.
            Ok(()) => assert!(sent - tampered <= INTERVAL, "{what}: Ok after {:?}", sent - tampered),
            Err(error) => break error,
        }
        thread::sleep(Duration::from_millis(20));
    };
    match &error {
        WriteError::Stopped(failure) => assert!(is_moved(failure, &path), "{what}: {failure}"),
        other => panic!("{what}: {other}"),
    }
    assert_eq!(error.outcome(), Outcome::NotStarted);
    // Not one more Ok, of no kind of write.
    for _ in 0..3 {
        assert!(matches!(insert(&store), Err(WriteError::Stopped(_))), "{what}");
        assert!(matches!(store.flush().wait(), Err(WriteError::Stopped(_))), "{what}");
        assert!(matches!(store.write(|_| Ok(())).wait(), Err(WriteError::Stopped(_))), "{what}");
    }
    match store.stats().state {
        StoreState::Failed(failure) => assert!(is_moved(&failure, &path), "{what}: {failure}"),
        other => panic!("{what}: {other:?}"),
    }
    eventually("an error event", || {
        events.any(Level::ERROR, &[path.to_str().unwrap(), "deleted or replaced"])
    });
    (scratch, path, store)
}

fn closes_with_the_failure(store: &Store, path: &Path) {
    match store.close().wait() {
        Err(CloseError::Stopped(failure)) => assert!(is_moved(&failure, path), "{failure}"),
        other => panic!("{other:?}"),
    }
}

/// Another database with rows in its log, closed without a checkpoint.
fn another(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    connection.query_row("PRAGMA journal_mode = wal", [], |_| Ok(())).unwrap();
    connection.execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1), (2), (3)").unwrap();
}

/// Puts the other database into the place of this one, with its log.
fn put_into_place(other: &Path, path: &Path) {
    for suffix in ["-shm", "-wal", ""] {
        fs::rename(beside(other, suffix), beside(path, suffix)).unwrap();
    }
}

fn is_whole(path: &Path) {
    let probe = Probe::open(path).unwrap();
    probe.integrity_check().unwrap();
    assert_eq!(probe.count("SELECT count(*) FROM theirs").unwrap(), 3);
    assert_eq!(probe.count("SELECT count(*) FROM sqlite_schema").unwrap(), 1, "nothing of ours is in it");
}

#[test]
fn c41_deleted_files_are_noticed() {
    let all: &[&str] = &["", "-wal", "-shm"];
    // All three, and each alone; at the same time, since each takes up to a second.
    let cases = [all, &[""], &["-wal"], &["-shm"]].map(|victims| {
        thread::spawn(move || {
            watchdog(LIMIT, move || {
                let (_scratch, path, store) = noticed(&format!("deleted {victims:?}"), |path| {
                    victims.iter().for_each(|suffix| fs::remove_file(beside(path, suffix)).unwrap());
                });
                // Reads go on: they see what the deleted files hold.
                assert!(number(&store, "SELECT count(*) FROM t") >= 1);
                closes_with_the_failure(&store, &path);
            });
        })
    });
    cases.into_iter().for_each(|case| case.join().unwrap());
}

#[test]
fn c41_a_database_that_took_the_place_is_noticed_and_not_touched() {
    watchdog(LIMIT, || {
        let (_scratch, path, store) = noticed("another database", |path| {
            let other = path.with_file_name("other.db");
            another(&other);
            put_into_place(&other, path);
        });
        is_whole(&path);
        closes_with_the_failure(&store, &path);
        is_whole(&path);
    });
}

#[test]
fn c41_a_folder_that_was_moved_away_is_noticed() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let path = scratch.subdirectory("here").join("a.db");
        let store = open(&path);
        fs::rename(scratch.join("here"), scratch.join("there")).unwrap();
        let moved = Instant::now();
        let error = loop {
            let sent = Instant::now();
            match insert(&store) {
                Ok(()) => assert!(sent - moved <= INTERVAL),
                Err(error) => break error,
            }
            thread::sleep(Duration::from_millis(20));
        };
        assert!(matches!(error, WriteError::Stopped(failure) if is_moved(&failure, &path)));
        closes_with_the_failure(&store, &path);
        // Everything that was acknowledged went with the folder, log and all.
        let store = Store::builder(scratch.join("there/a.db")).open().wait().unwrap();
        assert!(number(&store, "SELECT count(*) FROM t") >= 1);
    });
}

/// Closing is a use as well: it would say that all is well, and delete the log of the other database.
#[test]
fn c41_closing_notices_it_whenever_the_last_look_was() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let path = scratch.join("a.db");
        let (store, other) = (open(&path), scratch.join("other.db"));
        another(&other);
        put_into_place(&other, &path);
        closes_with_the_failure(&store, &path);
        is_whole(&path);
        for victim in ["", "-wal"] {
            let scratch = Scratch::new();
            let path = scratch.join("a.db");
            let store = open(&path);
            fs::remove_file(beside(&path, victim)).unwrap();
            closes_with_the_failure(&store, &path);
        }
    });
}
