//! When SQLite syncs, and when it does not.

use rusqlite::hooks::Wal;
use rusqlite::{Connection, ffi};
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use walwright_test_support::vfs::{FaultPlan, FileKind, Operation};

use crate::bench::{Bench, count, one, wal_file};

fn insert(connection: &Connection, id: i64) {
    connection.execute("INSERT INTO t VALUES (?1, ?1)", [id]).unwrap();
}

/// `SyncLedger`: this is why there is a dirty flag.
#[test]
fn a_full_transaction_that_writes_nothing_syncs_nothing() {
    let bench = Bench::new();
    let connection = bench.wal();
    connection.execute_batch("PRAGMA synchronous=NORMAL").unwrap();
    insert(&connection, 1);
    connection.execute_batch("PRAGMA synchronous=FULL").unwrap();
    let before = bench.wal_syncs();
    connection.execute_batch("BEGIN IMMEDIATE; DELETE FROM t WHERE id = 99; COMMIT").unwrap();
    assert_eq!(bench.wal_syncs(), before);
    assert!(bench.vfs.image_at_power_cut() != bench.vfs.image_with(&|_| true), "a row is not synced");
}

/// `SyncLedger::committed`: the sync of a FULL commit covers what was committed before it; a NORMAL commit
/// syncs nothing.
#[test]
fn a_full_commit_syncs_once_and_a_normal_one_does_not() {
    let bench = Bench::new();
    let connection = bench.wal();
    let before = bench.wal_syncs();
    connection.execute_batch("PRAGMA synchronous=NORMAL").unwrap();
    insert(&connection, 1);
    assert_eq!(bench.wal_syncs(), before);
    connection.execute_batch("PRAGMA synchronous=FULL").unwrap();
    insert(&connection, 2);
    assert_eq!(bench.wal_syncs(), before + 1);
    assert_eq!(bench.vfs.image_at_power_cut(), bench.vfs.image_with(&|_| true));
}

/// `wal_log::sync` calls the method of SQLite's own file object.
#[test]
fn the_journal_pointer_is_the_wal_and_its_sync_syncs_it() {
    let bench = Bench::new();
    let connection = bench.wal();
    connection.execute_batch("PRAGMA synchronous=NORMAL").unwrap();
    insert(&connection, 1);
    let before = bench.wal_syncs();
    let file = wal_file(&connection);
    // SAFETY: the object belongs to the open connection, and the method is its own.
    let code = unsafe {
        let methods = (*file).pMethods.as_ref().expect("the WAL is open after a first read");
        methods.xSync.unwrap()(file, ffi::SQLITE_SYNC_NORMAL)
    };
    assert_eq!((code, bench.wal_syncs()), (ffi::SQLITE_OK, before + 1));
    assert_eq!(bench.vfs.image_at_power_cut(), bench.vfs.image_with(&|_| true));
}

/// `wal_log::sync` asks whether the object is open: before a first read it is not.
#[test]
fn the_wal_is_not_open_before_the_first_read() {
    let bench = Bench::new();
    let first = bench.wal();
    let second = bench.connect();
    // SAFETY: the pointer is to an object of the open connection; only its table of methods is looked at.
    assert!(unsafe { (*wal_file(&second)).pMethods.is_null() });
    assert_eq!(count(&second), 0);
    // SAFETY: as above.
    assert!(unsafe { !(*wal_file(&second)).pMethods.is_null() });
    drop(first);
}

/// `SqliteStorage::sync` is no checkpoint: with a reader in the way a PASSIVE one skips the sync.
#[test]
fn a_passive_checkpoint_with_a_pinned_reader_skips_the_sync() {
    let bench = Bench::new();
    let connection = bench.wal();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let reader = bench.connect();
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(count(&reader), 0);
    connection.execute_batch("PRAGMA synchronous=NORMAL").unwrap();
    insert(&connection, 1);
    let before = bench.wal_syncs();
    connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)").unwrap();
    assert_eq!(bench.wal_syncs(), before, "and yet it reports success");
    assert!(bench.vfs.image_at_power_cut() != bench.vfs.image_with(&|_| true));
}

fn checkpoint(connection: &Connection, mode: &str) -> (i64, i64, i64) {
    let sql = format!("PRAGMA wal_checkpoint({mode})");
    connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap()
}

/// `SqliteStorage::run_checkpoint` uses RESTART, whose `busy` does tell.
#[test]
fn busy_0_of_passive_does_not_mean_that_it_finished() {
    let bench = Bench::new();
    let connection = bench.wal();
    connection.busy_timeout(std::time::Duration::ZERO).unwrap();
    let reader = bench.connect();
    reader.execute_batch("BEGIN").unwrap();
    count(&reader);
    insert(&connection, 1);
    let (busy, frames, copied) = checkpoint(&connection, "PASSIVE");
    assert_eq!(busy, 0);
    assert!(copied < frames, "{copied} of {frames}");
    let (busy, frames, copied) = checkpoint(&connection, "RESTART");
    assert!(busy == 1 && copied < frames, "{copied} of {frames}");
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(checkpoint(&connection, "RESTART").0, 0);
    assert_eq!(checkpoint(&connection, "TRUNCATE"), (0, 0, 0));
}

/// `WalLog` follows the log by this hook alone.
#[test]
fn the_wal_hook_tells_the_frames_of_every_commit_that_wrote_and_of_no_other() {
    let bench = Bench::new();
    let mut connection = bench.wal();
    let (frames, calls) = (Arc::new(AtomicI32::new(-1)), Arc::new(AtomicUsize::new(0)));
    let (seen, called) = (frames.clone(), calls.clone());
    connection
        .wal_hook(Some(move |_: &mut Wal, frames: c_int| {
            seen.store(frames, Ordering::Relaxed);
            called.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }))
        .unwrap();
    insert(&connection, 1);
    let first = frames.load(Ordering::Relaxed);
    assert!(first > 0);
    insert(&connection, 2);
    assert!(frames.load(Ordering::Relaxed) > first);
    connection.execute_batch("BEGIN IMMEDIATE; DELETE FROM t WHERE id = 99; COMMIT").unwrap();
    connection.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (3, 3); ROLLBACK").unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 2, "neither wrote");
    // The log starts over after a checkpoint, and the count with it.
    assert_eq!(checkpoint(&connection, "RESTART").0, 0);
    insert(&connection, 4);
    assert!(frames.load(Ordering::Relaxed) <= first);
}

/// `opening::recover` copies a WAL before anybody reads, and `Outcome::Unknown` is for this.
#[test]
fn a_commit_whose_sync_failed_is_invisible_until_the_file_is_opened_anew() {
    let bench = Bench::new();
    let connection = bench.wal();
    let other = bench.connect();
    insert(&connection, 1);
    bench.vfs.arm(FaultPlan::fail(Operation::Sync).on(FileKind::Wal));
    connection.execute("INSERT INTO t VALUES (2, 2)", []).unwrap_err();
    assert_eq!((count(&connection), count(&other)), (1, 1));
    assert!(connection.is_autocommit());
    drop((connection, other));
    assert_eq!(count(&bench.connect()), 2, "the row is back");
}

/// `CheckpointPolicy` and the hard limit: the log file shrinks by TRUNCATE only.
#[test]
fn a_restart_keeps_the_length_of_the_log_and_a_truncate_cuts_it() {
    let bench = Bench::new();
    let connection = bench.wal();
    for id in 0..20 {
        insert(&connection, id);
    }
    let length = || std::fs::metadata(bench.scratch.join("fact.db-wal")).unwrap().len();
    let long = length();
    assert_eq!(checkpoint(&connection, "RESTART").0, 0);
    insert(&connection, 100);
    assert_eq!(length(), long, "it is written over from the start");
    assert_eq!(checkpoint(&connection, "TRUNCATE").0, 0);
    assert_eq!(length(), 0);
    assert_eq!(one::<i64>(&connection, "SELECT count(*) FROM t"), 21);
}
