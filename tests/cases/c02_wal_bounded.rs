//! C02. A reader that stayed open kept checkpoints from starting the log over: the `-wal` file grew past the
//! database, filled the disk, and made the restart slow (superseriousbusiness/gotosocial#2808).
//!
//! Must hold: a read that is too old is ended with a typed error; when readers are gone the log falls below
//! its limit with no manual call; a read that cannot be ended makes writes wait instead of growing the log;
//! gauges show all of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tracing::Level;
use walwright::rusqlite::{Connection, OpenFlags};
use walwright::{ReadError, Store, WriteError};
use walwright_test_support::vfs::FileKind;
use walwright_test_support::{FaultVfs, Gate, Scratch, watchdog};

use crate::support_read::{FOREVER, KIB, LIMIT, MIB, beside, events, eventually, length, number};

const SOFT: u64 = 256 * KIB;
const BLOB: usize = 64 * KIB as usize;
/// What one group can add to the log before the writer looks again: one blob, its pages, a few others.
const ONE_GROUP: u64 = 160 * KIB;

fn open(scratch: &Scratch, least: Duration, greatest: Duration, hard: u64) -> Store {
    let builder = Store::builder(scratch.join("a.db")).readers(3);
    let store = builder.read_age(least, greatest).wal_limits(SOFT, hard).open().wait().unwrap();
    store.execute("CREATE TABLE blob (id INTEGER PRIMARY KEY, data BLOB)", ()).wait().unwrap();
    for _ in 0..10 {
        write(&store).unwrap();
    }
    store
}

fn write(store: &Store) -> Result<(), WriteError> {
    store.execute("INSERT INTO blob (data) VALUES (?1)", (vec![7_u8; BLOB],)).wait().map(drop)
}

/// A read that takes one row after the other and would go on for ever.
fn stepping_read(store: &Store, begun: &Gate) -> thread::JoinHandle<Result<(), ReadError>> {
    begun.open();
    let (store, begun) = (store.clone(), begun.clone());
    thread::spawn(move || {
        let read = store.read(move |db| {
            let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                       SELECT i, (SELECT count(*) FROM blob) FROM n";
            let mut statement = db.prepare(sql)?;
            let mut rows = statement.query(())?;
            while rows.next()?.is_some() {
                begun.wait();
            }
            Ok(())
        });
        read.wait()
    })
}

/// The log falls below the limit by itself, and the file is cut.
fn falls(store: &Store, scratch: &Scratch) {
    eventually("the log is in use for less than its limit", || store.stats().wal_bytes < SOFT);
    let wal = beside(&scratch.join("a.db"), "-wal");
    // The file itself is cut in a quiet moment once it was four times as long.
    eventually("the file of the log is short", || length(&wal) <= 4 * SOFT + ONE_GROUP);
    assert_eq!(store.stats().oldest_snapshot, None);
}

#[test]
fn c02_a_read_past_its_greatest_age_is_ended_and_the_log_shrinks() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let greatest = Duration::from_millis(400);
        let store = open(&scratch, Duration::from_millis(10), greatest, 1024 * MIB);
        let (begun, sent) = (Gate::new(), Instant::now());
        let read = stepping_read(&store, &begun);
        begun.wait_until_entered();
        let mut written = 0;
        while !read.is_finished() {
            write(&store).unwrap();
            written += 1;
        }
        match read.join().unwrap() {
            Err(ReadError::TooOld { greatest_age }) => assert_eq!(greatest_age, greatest),
            other => panic!("{other:?} after {written} writes"),
        }
        assert!(sent.elapsed() >= greatest, "its age is granted");
        falls(&store, &scratch);
        assert_eq!(number(&store, "SELECT count(*) FROM blob"), 10 + written);
    });
}

#[test]
fn c02_a_loop_of_short_queries_on_one_snapshot_ages_too() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch, Duration::ZERO, Duration::from_millis(50), 1024 * MIB);
        let read = store.read(|db| -> Result<(), _> {
            loop {
                db.query_row("SELECT max(id) FROM blob", (), |_| Ok(()))?;
            }
        });
        assert!(matches!(read.wait(), Err(ReadError::TooOld { .. })));
        // Also one that takes no notice of the errors, and says that all is well.
        let read = store.read(|db| {
            while db.query_row("SELECT max(id) FROM blob", (), |_| Ok(())).is_ok() {}
            Ok(())
        });
        assert!(matches!(read.wait(), Err(ReadError::TooOld { .. })));
    });
}

#[test]
fn c02_gauges_rise_while_a_closure_holds_its_rows_and_fall_after_it() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch, Duration::ZERO, FOREVER, 1024 * MIB);
        let gate = Gate::new();
        let holder = thread::spawn({
            let (store, gate) = (store.clone(), gate.clone());
            move || {
                let read = store.read(move |db| {
                    let mut statement = db.prepare("SELECT id FROM blob")?;
                    let mut rows = statement.query(())?;
                    rows.next()?;
                    gate.wait();
                    Ok(())
                });
                read.wait()
            }
        });
        gate.wait_until_entered();
        let before = store.stats();
        let age = before.oldest_snapshot.expect("a snapshot is held");
        for _ in 0..64 {
            write(&store).unwrap();
        }
        let after = store.stats();
        assert!(after.wal_bytes > before.wal_bytes + 64 * BLOB as u64, "{after:?}");
        assert!(after.wal_pending_frames > 64 * BLOB as u64 / 4096 / 2, "{after:?}");
        assert!(after.oldest_snapshot.expect("it is held still") > age);
        assert!(after.oldest_read >= after.oldest_snapshot);
        assert!(length(&beside(&scratch.join("a.db"), "-wal")) >= after.wal_bytes);
        gate.open();
        holder.join().unwrap().unwrap();
        falls(&store, &scratch);
        assert_eq!(store.stats().wal_pending_frames, 0);
    });
}

#[test]
fn c02_at_the_hard_limit_reads_are_ended_so_that_writes_go_on() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let hard = 4 * MIB;
        let store = open(&scratch, Duration::from_millis(20), FOREVER, hard);
        let begun = Gate::new();
        let read = stepping_read(&store, &begun);
        begun.wait_until_entered();
        let wal = beside(&scratch.join("a.db"), "-wal");
        let mut longest = 0;
        // Twice what fits into the log: without an end of the read these could not all be written.
        for _ in 0..2 * hard / BLOB as u64 {
            write(&store).unwrap();
            longest = longest.max(length(&wal));
        }
        assert!(matches!(read.join().unwrap(), Err(ReadError::WalPressure)));
        assert!(longest <= hard + ONE_GROUP, "the log grew to {longest}");
        falls(&store, &scratch);
    });
}

#[test]
fn c02_writes_wait_at_the_hard_limit_while_a_read_cannot_be_ended() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let hard = 2 * MIB;
        let events = events();
        let store = open(&scratch, Duration::ZERO, FOREVER, hard);
        let gate = Gate::new();
        let holder = thread::spawn({
            let (store, gate) = (store.clone(), gate.clone());
            move || {
                let read = store.read(move |db| {
                    let count: i64 = db.query_row("SELECT count(*) FROM blob", (), |row| row.get(0))?;
                    gate.wait();
                    Ok(count)
                });
                read.wait()
            }
        });
        gate.wait_until_entered();
        let enough = Arc::new(AtomicBool::new(false));
        let writer = thread::spawn({
            let (store, enough) = (store.clone(), enough.clone());
            move || {
                let mut written = 0_i64;
                while !enough.load(Ordering::SeqCst) {
                    write(&store).unwrap();
                    written += 1;
                }
                written
            }
        });
        eventually("writes are held back", || store.stats().stalls > 0);
        let held = store.stats();
        assert!(held.wal_bytes >= hard - ONE_GROUP && held.wal_bytes <= hard + ONE_GROUP, "{held:?}");
        // A deadline still reaches a write that waits; nothing is carried out meanwhile; reads go on.
        let expired = store.execute("DELETE FROM blob", ()).deadline(Duration::from_millis(50)).wait();
        assert!(matches!(expired, Err(WriteError::Expired)), "{expired:?}");
        assert!(number_in_the_end(&store, "SELECT count(*) FROM blob") >= 10);
        // It is reported, with the age of the read that holds the log.
        let path = scratch.join("a.db");
        let words = [path.to_str().unwrap(), "hard limit", "oldest_read=Some("];
        eventually("a warning", || events.any(Level::WARN, &words));
        let still = store.stats();
        assert_eq!(still.commands, held.commands, "no write was carried out");
        assert_eq!(still.wal_bytes, held.wal_bytes);
        assert!(length(&beside(&scratch.join("a.db"), "-wal")) <= hard + ONE_GROUP);
        enough.store(true, Ordering::SeqCst);
        gate.open();
        let written = writer.join().unwrap();
        // Its snapshot was asked to end, but the closure ran no more SQL: it keeps what it has.
        assert_eq!(holder.join().unwrap().unwrap(), 10);
        assert_eq!(number_in_the_end(&store, "SELECT count(*) FROM blob"), 10 + written);
        falls(&store, &scratch);
    });
}

/// No read is granted any age there: one that is told to end is sent again.
fn number_in_the_end(store: &Store, sql: &'static str) -> i64 {
    loop {
        match store.read(move |db| db.query_row(sql, (), |row| row.get(0))).wait() {
            Ok(number) => return number,
            Err(ReadError::WalPressure) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// While another connection copies the log SQLite does not tell how long that is. It is not short for that.
#[test]
fn c02_another_program_that_checkpoints_for_long_does_not_let_the_log_grow() {
    watchdog(LIMIT, || {
        const HARD: u64 = MIB;
        let (scratch, vfs) = (Scratch::new(), FaultVfs::unique("c02"));
        let path = scratch.join("a.db");
        let builder = Store::builder(&path).vfs(vfs.name()).readers(1).wal_limits(SOFT, HARD);
        let store = builder.group(1, MIB as usize, LIMIT).open().wait().unwrap();
        store.execute("CREATE TABLE blob (id INTEGER PRIMARY KEY, data BLOB)", ()).wait().unwrap();
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let outside = Connection::open_with_flags_and_vfs(&path, flags, vfs.name()).unwrap();
        let hold = vfs.hold_syncs(FileKind::Database);
        let copying = thread::spawn(move || {
            outside.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get::<_, i64>(0)).unwrap()
        });
        hold.wait_until_blocked(1);
        let insert = || store.execute("INSERT INTO blob (data) VALUES (?1)", (vec![7_u8; BLOB],));
        let writes: Vec<_> = (0..40).map(|_| insert().try_submit().unwrap()).collect();
        eventually("writes wait", || store.stats().stalls > 0);
        let wal = length(&beside(&path, "-wal"));
        assert!((HARD..=HARD + ONE_GROUP).contains(&wal), "{wal}");
        assert!(store.stats().wal_bytes >= HARD - ONE_GROUP, "{:?}", store.stats());
        hold.release();
        copying.join().unwrap();
        for write in writes {
            write.wait().unwrap();
        }
        falls(&store, &scratch);
        assert_eq!(number(&store, "SELECT count(*) FROM blob"), 40);
        store.close().wait().unwrap();
    });
}
