//! C23. Most commits were fast and some took hundreds of milliseconds: the checkpoint ran inside the commit
//! of whoever crossed the threshold, and under load the backlog grew without end (chatmail/core#7121).
//!
//! Must hold: checkpoints are the engine's work between groups, after the acknowledgements; past a ceiling
//! writes wait instead of the log growing; readers never do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;

use walwright::Store;
use walwright_test_support::vfs::FileKind;
use walwright_test_support::{FaultVfs, Gate, Probe, Scratch, watchdog};

use crate::support_read::{KIB, LIMIT, MIB, beside, eventually, length, number};

const SOFT: u64 = 256 * KIB;

fn insert(store: &Store) -> walwright::Write<walwright::Receipt> {
    store.execute("INSERT INTO t (data) VALUES (?1)", (vec![1_u8; 16 * KIB as usize],))
}

#[test]
fn c23_who_crosses_the_limit_is_answered_before_the_checkpoint() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let vfs = FaultVfs::unique("c23");
        let builder = Store::builder(scratch.join("a.db")).vfs(vfs.name()).wal_limits(SOFT, 64 * MIB);
        let store = builder.group(64, MIB as usize, LIMIT).open().wait().unwrap();
        store.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB)", ()).wait().unwrap();
        let before = store.stats().checkpoints;
        // From here on no checkpoint can end: the sync of the database file is held.
        let hold = vfs.hold_syncs(FileKind::Database);
        // In one group, so that the log is past its limit when the group ends and not before.
        let gate = Gate::new();
        let first = store.write({
            let gate = gate.clone();
            move |_| {
                gate.wait();
                Ok(())
            }
        });
        let first = first.try_submit().unwrap();
        gate.wait_until_entered();
        let crossing: Vec<_> = (0..40).map(|_| insert(&store).try_submit().unwrap()).collect();
        gate.open();
        first.wait().unwrap();
        for write in crossing {
            write.wait().expect("answered although no checkpoint can end");
        }
        hold.wait_until_blocked(1);
        assert_eq!(store.stats().checkpoints, before, "the checkpoint is in progress");
        // Readers are not in its way, nor it in theirs.
        assert_eq!(number(&store, "SELECT count(*) FROM t"), 40);
        // Nor is who writes: a thread of its own copies the log when many are about.
        for _ in 0..3 {
            insert(&store).wait().expect("answered although the checkpoint is still in progress");
        }
        assert_eq!(store.stats().checkpoints, before);
        hold.release();
        eventually("the log starts over", || {
            insert(&store).wait().unwrap();
            store.stats().checkpoints > before && store.stats().wal_bytes < SOFT
        });
        assert_eq!(store.stats().foreign_writes, 0, "the copier is no other program");
        store.close().wait().unwrap();
        assert!(!beside(&scratch.join("a.db"), "-wal").exists(), "and nothing of it outlives the store");
    });
}

#[test]
fn c23_a_lone_client_waits_for_no_other_thread() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let builder = Store::builder(scratch.join("a.db")).wal_limits(SOFT, 64 * MIB);
        let store = builder.open().wait().unwrap();
        store.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB)", ()).wait().unwrap();
        let mut longest = 0;
        for _ in 0..100 {
            insert(&store).wait().unwrap();
            longest = longest.max(store.stats().wal_bytes);
        }
        store.flush().wait().unwrap();
        assert!(store.stats().checkpoints > 3);
        assert!(longest <= SOFT + 40 * KIB, "the writer copies the log itself, at once: {longest}");
        store.close().wait().unwrap();
    });
}

#[test]
fn c23_a_commit_never_writes_to_the_database_file() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let vfs = FaultVfs::unique("c23");
        // Far away limits: SQLite's own 1,000 pages must not count either.
        let builder = Store::builder(scratch.join("a.db")).vfs(vfs.name()).wal_limits(512 * MIB, 1024 * MIB);
        let store = builder.group(64, MIB as usize, LIMIT).open().wait().unwrap();
        store.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB)", ()).wait().unwrap();
        let gate = Gate::new();
        let first = store.write({
            let gate = gate.clone();
            move |_| {
                gate.wait();
                Ok(())
            }
        });
        let first = first.try_submit().unwrap();
        gate.wait_until_entered();
        let before = (vfs.counts(FileKind::Database), store.stats());
        // Always work in the queue: no quiet moment in which the writer would use its time.
        let writes: Vec<_> = (0..1000).map(|_| insert(&store).try_submit().unwrap()).collect();
        let last = store.write({
            let vfs_after = move || vfs.counts(FileKind::Database);
            move |_| Ok(vfs_after())
        });
        let last = last.try_submit().unwrap();
        gate.open();
        first.wait().unwrap();
        for write in writes {
            write.wait().unwrap();
        }
        let after = last.wait().unwrap().value;
        assert!(store.stats().groups > before.1.groups + 10, "many commits");
        assert_eq!((after - before.0).writes, 0);
        assert_eq!((after - before.0).syncs, 0);
    });
}

#[test]
fn c23_with_checkpoints_blocked_writes_wait_at_the_ceiling() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let path = scratch.join("a.db");
        let ceiling = 2 * MIB;
        let store = Store::builder(&path).wal_limits(SOFT, ceiling).open().wait().unwrap();
        store.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB)", ()).wait().unwrap();
        insert(&store).wait().unwrap();
        // Another program that never ends its read: nothing that the engine could end.
        let probe = Probe::open(&path).unwrap();
        probe.connection().execute_batch("BEGIN; SELECT * FROM t").unwrap();
        let (written, enough) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicBool::new(false)));
        let writers: Vec<_> = (0..4)
            .map(|_| {
                let (store, written, enough) = (store.clone(), written.clone(), enough.clone());
                thread::spawn(move || {
                    while !enough.load(Ordering::SeqCst) {
                        insert(&store).wait().unwrap();
                        written.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        eventually("writes are held back", || store.stats().stalls > 3);
        let held = store.stats();
        assert!(held.wal_bytes >= ceiling - 64 * KIB, "{held:?}");
        // The ceiling and the one group of four that crossed it.
        assert!(length(&beside(&path, "-wal")) <= ceiling + 4 * 40 * KIB);
        assert!(number(&store, "SELECT count(*) FROM t") > 1, "readers go on");
        assert_eq!(store.stats().commands, held.commands, "and nothing is written meanwhile");
        enough.store(true, Ordering::SeqCst);
        probe.connection().execute_batch("ROLLBACK").unwrap();
        for writer in writers {
            writer.join().unwrap();
        }
        let written = written.load(Ordering::SeqCst);
        assert_eq!(number(&store, "SELECT count(*) FROM t"), 1 + written);
        eventually("the log is short again", || store.stats().wal_bytes < SOFT);
    });
}

/// The report saw the backlog explode under steady load. Thousands of writes beside readers, and the log is copied
/// again and again in between: how often depends on how many share a group.
#[test]
fn c23_under_steady_load_the_log_stays_short() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let path = scratch.join("a.db");
        let store = Store::builder(&path).wal_limits(SOFT, 8 * MIB).open().wait().unwrap();
        store.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB)", ()).wait().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let reader = thread::spawn({
            let (store, over) = (store.clone(), over.clone());
            move || {
                while !over.load(Ordering::SeqCst) {
                    number(&store, "SELECT count(*) FROM t");
                }
            }
        });
        let mut longest = 0;
        let mut batches = 0;
        while batches < 20 || store.stats().checkpoints < 5 {
            batches += 1;
            assert!(batches <= 200, "{:?}", store.stats());
            let writes: Vec<_> = (0..200)
                .map(|_| {
                    let write = store.execute("INSERT INTO t (data) VALUES (?1)", (vec![1_u8; 1000],));
                    write.try_submit().unwrap()
                })
                .collect();
            for write in writes {
                write.wait().unwrap();
            }
            longest = longest.max(store.stats().wal_bytes);
        }
        over.store(true, Ordering::SeqCst);
        reader.join().unwrap();
        assert!(longest <= 8 * MIB + MIB, "{longest}");
        assert!(length(&beside(&path, "-wal")) <= 8 * MIB + MIB);
    });
}
