//! C59. After a crash the server said that it was ready, and the first request took minutes: a log of
//! gigabytes was recovered on the first call of a user (Dicklesworthstone/coding_agent_session_search#389).
//!
//! Must hold: when open returns, recovery is done, the log is empty and a write has gone through; the first
//! read and write of users pay for nothing; its size and time are told; opening has a time limit.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tracing::Level;
use walwright::{AckLevel, OpenError, Store};
use walwright_test_support::{FaultVfs, Gate, Probe, Scratch, watchdog};

use crate::support_read::{
    FOREVER, Helper, LIMIT, MIB, beside, events, length, number, say, until_dismissed,
};

/// The case has 500 MB, its reports 37 GB.
const LOG: u64 = 60 * MIB;
const ROW: usize = 20_000;

/// In a process of its own: writes a long log and waits for its end. A reader that stays keeps the log from
/// starting over.
pub fn write_and_wait(path: &Path) {
    let builder = Store::builder(path).wal_limits(1 << 40, 1 << 41).read_age(FOREVER, FOREVER);
    let store = builder.open().wait().unwrap();
    store.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB)", ()).wait().unwrap();
    let gate = Gate::new();
    gate.open();
    let reader = store.clone();
    let entered = gate.clone();
    std::thread::spawn(move || {
        let read = reader.read(move |db| {
            let mut statement = db.prepare("SELECT * FROM sqlite_schema")?;
            let mut rows = statement.query(())?;
            rows.next()?;
            entered.wait();
            until_dismissed();
            Ok(())
        });
        read.wait()
    });
    gate.wait_until_entered();
    let mut written = 0_i64;
    while length(&beside(path, "-wal")) < LOG {
        let insert = "INSERT INTO t (data) VALUES (?1)";
        store.execute(insert, (vec![(written % 251) as u8; ROW],)).ack(AckLevel::Committed).wait().unwrap();
        written += 1;
    }
    store.flush().wait().unwrap();
    say(written);
    until_dismissed();
}

/// A database whose owner was killed, and how many rows were acknowledged.
fn killed(scratch: &Scratch) -> (PathBuf, i64) {
    let path = scratch.join("a.db");
    let helper = Helper::start("c59 write", &path);
    let written = helper.hear().parse().unwrap();
    helper.kill();
    assert!(length(&beside(&path, "-wal")) >= LOG);
    (path, written)
}

#[test]
fn c59_open_returns_when_recovery_is_over() {
    watchdog(LIMIT, || {
        let events = events();
        let scratch = Scratch::new();
        let (path, written) = killed(&scratch);
        let vfs = FaultVfs::unique("c59");
        let store = Store::builder(&path).readers(1).vfs(vfs.name()).open().wait().unwrap();
        // Told, and done: the log is what the engine's own first write has made of it.
        assert!(store.settings().recovered);
        assert!(store.settings().wal_bytes_recovered >= LOG, "{:?}", store.settings());
        assert!(events.any(Level::INFO, &[path.to_str().unwrap(), "recovered", "bytes", "millis"]));
        assert!(length(&beside(&path, "-wal")) < MIB / 2, "{}", length(&beside(&path, "-wal")));
        assert!(store.stats().wal_bytes < MIB / 2);
        // The first write and read of users touch a handful of pages, nothing of 60 MiB.
        let before = vfs.total_counts();
        store.execute("INSERT INTO t (data) VALUES (x'00')", ()).wait().unwrap();
        assert_eq!(number(&store, "SELECT id FROM t WHERE id = 1"), 1);
        let first = vfs.total_counts() - before;
        assert!(first.reads < 20 && first.bytes_written < 100_000, "{first:?}");
        // And everything that was acknowledged is there.
        assert_eq!(number(&store, "SELECT count(*) FROM t"), written + 1);
        assert_eq!(number(&store, "SELECT max(id) FROM t"), written + 1);
        store.close().wait().unwrap();
        let probe = Probe::open(&path).unwrap();
        probe.integrity_check().unwrap();
        let wrong = format!("SELECT count(*) FROM t WHERE id <= {written} AND length(data) <> {ROW}");
        assert_eq!(probe.count(&wrong).unwrap(), 0);
    });
}

#[test]
fn c59_recovery_that_others_block_ends_at_the_time_limit_of_opening() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let path = scratch.join("a.db");
        // A short log will do: what counts is who holds its locks.
        let connection = walwright::rusqlite::Connection::open(&path).unwrap();
        connection.query_row("PRAGMA journal_mode = wal", [], |_| Ok(())).unwrap();
        connection.execute_batch("CREATE TABLE t (id); INSERT INTO t VALUES (1)").unwrap();
        connection.execute_batch("BEGIN; SELECT * FROM t").unwrap();
        let (begun, limit) = (Instant::now(), Duration::from_millis(150));
        let error = Store::builder(&path).open_timeout(limit).open().wait().map(drop).unwrap_err();
        assert!(begun.elapsed() >= limit);
        match &error {
            OpenError::Busy { doing, waited, .. } => {
                assert!(doing.contains("WAL") && *waited >= limit, "{error}");
            }
            other => panic!("{other}"),
        }
        assert!(error.is_retryable());
        connection.execute_batch("ROLLBACK").unwrap();
        let store = Store::builder(&path).open_timeout(limit * 100).open().wait().unwrap();
        assert!(store.settings().recovered);
        assert_eq!(number(&store, "SELECT count(*) FROM t"), 1);
    });
}
