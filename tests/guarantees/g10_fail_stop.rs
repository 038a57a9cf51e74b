//! 10. Fail-stop.

use std::time::Duration;

use walwright::rusqlite::ffi;
use walwright::{AckLevel, CloseError, Outcome, Store, StoreFailure, StoreState, WriteError};
use walwright_test_support::vfs::{FaultPlan, FileKind, Operation};

use crate::bed::{Bed, hold_writer, ids, insert, one, run, synced};

/// The store has stopped: no write is acknowledged any more, whatever the disk does, and reads go on.
#[track_caller]
fn has_stopped(bed: &Bed, store: &Store, seen: &[i64]) {
    // The disk is well again; a retry that succeeds would prove nothing.
    bed.vfs.disarm();
    let syncs = bed.wal_syncs();
    for write in [
        insert(store, 900).wait(),
        insert(store, 901).ack(AckLevel::Committed).wait(),
        store.execute("DELETE FROM t WHERE id = -1", ()).wait(),
        store.flush().wait(),
        store.batch().send().wait(),
        store.write(|_| Ok(())).wait().map(|applied| applied.receipt),
    ] {
        let error = write.unwrap_err();
        assert!(matches!(error, WriteError::Stopped(_)), "{error:?}");
        assert_eq!(error.outcome(), Outcome::NotStarted);
    }
    assert!(matches!(insert(store, 902).try_submit().map(drop), Err(WriteError::Stopped(_))));
    assert!(matches!(store.stats().state, StoreState::Failed(_)));
    assert_eq!(ids(store), seen, "reads go on");
    assert_eq!(bed.wal_syncs(), syncs, "no sync is tried again");
    let closed = store.close().wait();
    assert!(matches!(closed, Err(CloseError::Stopped(_))), "{closed:?}");
    assert_eq!(bed.vfs.open_files(), 0, "the files are released");
    assert_eq!(bed.wal_syncs(), syncs, "nor by the close");
}

/// Opening again settles it: what is seen is durable and holds all that was acknowledged.
#[track_caller]
fn settled(bed: &Bed, acknowledged: &[i64], in_doubt: &[i64]) {
    let store = bed.builder().open().wait().unwrap();
    let found = ids(&store);
    let image = bed.vfs.image_at_power_cut();
    assert_eq!(bed.ids_in(&image), found, "what is seen after opening is durable");
    for id in acknowledged {
        assert!(found.contains(id), "{id} was acknowledged: {found:?}");
    }
    for id in &found {
        assert!(acknowledged.contains(id) || in_doubt.contains(id), "{id} was refused: {found:?}");
    }
    let image = bed.image_at_answer(&store, insert(&store, 1_000));
    assert_eq!(bed.ids_in(&image), [found, vec![1_000]].concat());
    assert_eq!(one::<String>(&store, "PRAGMA integrity_check"), "ok");
}

fn commit_fails(plan: FaultPlan) {
    let bed = Bed::new();
    let store = bed.open();
    insert(&store, 1).wait().unwrap();
    let gate = hold_writer(&store);
    bed.vfs.arm(plan.clone());
    let together = [2, 3].map(|id| insert(&store, id).try_submit().unwrap());
    gate.open();
    for pending in together {
        let error = pending.wait().unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown, "{plan:?}: {error:?}");
        let WriteError::Unknown(failure) = error else { panic!("{error:?}") };
        assert!(matches!(*failure, StoreFailure::Commit { .. }), "{failure:?}");
    }
    assert_eq!(bed.vfs.fired(), 1);
    let cut = bed.vfs.image_at_power_cut();
    has_stopped(&bed, &store, &[1]);
    settled(&bed, &[1], &[2, 3]);
    // A power cut at the moment of the failure: the group is there whole or not at all.
    let found = bed.ids_in(&cut);
    assert!(found == [1] || found == [1, 2, 3], "{found:?}");
}

#[test]
fn a_commit_whose_write_fails_stops_the_store() {
    run(|| {
        for nth in 1..=2 {
            commit_fails(FaultPlan::fail(Operation::Write).on(FileKind::Wal).nth(nth));
        }
    });
}

#[test]
fn a_commit_whose_sync_fails_stops_the_store() {
    run(|| {
        commit_fails(FaultPlan::fail(Operation::Sync).on(FileKind::Wal));
        commit_fails(FaultPlan::fail_sync_dropping_pages().on(FileKind::Wal));
    });
}

#[test]
fn what_waits_behind_a_failure_is_not_started() {
    run(|| {
        let bed = Bed::new();
        let store = synced(bed.builder().group(2, 1 << 20, Duration::from_secs(60)));
        let gate = hold_writer(&store);
        bed.vfs.arm(FaultPlan::fail(Operation::Sync).on(FileKind::Wal));
        let pending: Vec<_> = (0..6).map(|id| insert(&store, id).try_submit().unwrap()).collect();
        gate.open();
        let outcomes: Vec<_> = pending.into_iter().map(|one| one.wait().unwrap_err().outcome()).collect();
        assert_eq!(outcomes[..2], [Outcome::Unknown; 2]);
        assert_eq!(outcomes[2..], [Outcome::NotStarted; 4]);
        has_stopped(&bed, &store, &[]);
        settled(&bed, &[], &[0, 1]);
    });
}

#[test]
fn a_sync_that_fails_for_a_durable_answer_without_a_write_stops_the_store() {
    run(|| {
        for plan in [FaultPlan::fail(Operation::Sync), FaultPlan::fail_sync_dropping_pages()] {
            let bed = Bed::new();
            let store = bed.open();
            insert(&store, 1).wait().unwrap();
            insert(&store, 2).ack(AckLevel::Committed).wait().unwrap();
            bed.vfs.arm(plan.on(FileKind::Wal));
            let error = store.execute("UPDATE t SET v = 1 WHERE id = -1", ()).wait().unwrap_err();
            let WriteError::Unknown(failure) = error else { panic!("{error:?}") };
            assert!(matches!(*failure, StoreFailure::Sync { .. }), "{failure:?}");
            has_stopped(&bed, &store, &[1, 2]);
            // The file still has the row, for whoever reads it through the cache.
            settled(&bed, &[1, 2], &[]);
        }
    });
}

#[test]
fn a_sync_that_fails_for_a_delete_stops_the_store() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        insert(&store, 1).wait().unwrap();
        bed.vfs.arm(FaultPlan::fail_sync_dropping_pages().on(FileKind::Wal));
        let error = store.execute("DELETE FROM t", ()).ack(AckLevel::Committed).wait().unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown);
        has_stopped(&bed, &store, &[]);
        settled(&bed, &[], &[1]);
    });
}

#[test]
fn a_checkpoint_that_fails_stops_the_store() {
    run(|| {
        for plan in [
            FaultPlan::fail(Operation::Sync).on(FileKind::Wal),
            FaultPlan::fail(Operation::Sync).on(FileKind::Database),
            FaultPlan::fail(Operation::Write).on(FileKind::Database),
            FaultPlan::fail_sync_dropping_pages().on(FileKind::Database),
        ] {
            let bed = Bed::new();
            let store = synced(bed.builder().wal_limits(1, 1 << 30));
            let gate = hold_writer(&store);
            let pending = insert(&store, 1).ack(AckLevel::Committed).try_submit().unwrap();
            bed.vfs.arm(plan.clone());
            gate.open();
            pending.wait().unwrap();
            // Committed, so the checkpoint after the group is the first that touches the disk.
            while !matches!(store.stats().state, StoreState::Failed(_)) {
                std::thread::yield_now();
            }
            has_stopped(&bed, &store, &[1]);
            settled(&bed, &[1], &[]);
        }
    });
}

#[test]
fn an_opening_whose_sync_fails_is_refused_and_the_next_one_works() {
    run(|| {
        let bed = Bed::new();
        bed.vfs.arm(FaultPlan::fail(Operation::Sync).on(FileKind::Wal));
        let refused = bed.builder().open().wait();
        assert!(refused.is_err(), "the first opening makes tables and reserves a range, durably");
        bed.vfs.disarm();
        let store = bed.open();
        insert(&store, 1).wait().unwrap();
    });
}

/// Opening a file that needs nothing writes nothing, so the first write is what reserves a range of sequences.
#[test]
fn a_first_write_whose_reservation_fails_stops_the_store() {
    run(|| {
        let bed = Bed::new();
        bed.open().close().wait().unwrap();
        let store = bed.builder().open().wait().unwrap();
        bed.vfs.arm(FaultPlan::fail(Operation::Sync).on(FileKind::Wal));
        let error = insert(&store, 1).wait().unwrap_err();
        assert!(matches!(error, WriteError::Stopped(_)), "{error:?}");
        assert_eq!(error.outcome(), Outcome::NotStarted);
        bed.vfs.disarm();
        assert!(matches!(insert(&store, 2).wait(), Err(WriteError::Stopped(_))));
        assert!(store.close().wait().is_err());
        let store = bed.open();
        insert(&store, 3).wait().unwrap();
        let rows = store.query("SELECT group_concat(id) FROM t", ()).wait().unwrap();
        assert_eq!(rows[0].get::<String>(0).unwrap(), "3");
    });
}

const BLOB: &str = "INSERT INTO t VALUES (?1, randomblob(?2))";

/// The disk is full and says so; nothing stops, and with room everything works again.
#[track_caller]
fn full_and_not_stopped(bed: &Bed, store: &Store, error: WriteError) {
    assert!(matches!(error, WriteError::DiskFull(_)), "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert!(error.is_retryable());
    assert!(matches!(store.stats().state, StoreState::Running));
    bed.vfs.set_free_bytes(None);
    let image = bed.image_at_answer(store, insert(store, 500));
    assert!(bed.ids_in(&image).contains(&500));
}

#[test]
fn a_full_disk_at_commit_is_no_fail_stop() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        insert(&store, 1).wait().unwrap();
        bed.vfs.set_free_bytes(Some(100));
        let error = store.execute(BLOB, (2, 20_000)).wait().unwrap_err();
        full_and_not_stopped(&bed, &store, error);
        assert_eq!(ids(&store), [1, 500]);
        store.close().wait().unwrap();
        assert_eq!(bed.survivors(), [1, 500]);
    });
}

#[test]
fn a_full_disk_in_a_statement_is_no_fail_stop_and_hits_nobody_else() {
    run(|| {
        let bed = Bed::new();
        // A cache this small spills into the log in the middle of the statement.
        let store = synced(bed.builder().page_cache(40 << 10));
        insert(&store, 1).wait().unwrap();
        let gate = hold_writer(&store);
        bed.vfs.set_free_bytes(Some(200 << 10));
        let first = insert(&store, 2).try_submit().unwrap();
        let large = store.execute(BLOB, (3, 2_000_000)).try_submit().unwrap();
        let last = insert(&store, 4).try_submit().unwrap();
        gate.open();
        first.wait().unwrap();
        let error = large.wait().unwrap_err();
        last.wait().unwrap();
        full_and_not_stopped(&bed, &store, error);
        assert_eq!(ids(&store), [1, 2, 4, 500]);
    });
}

#[test]
fn a_full_disk_in_a_checkpoint_is_no_fail_stop() {
    run(|| {
        let bed = Bed::new();
        let store = synced(bed.builder().wal_limits(100 << 10, 1 << 30));
        bed.vfs.arm(
            FaultPlan::fail(Operation::Write)
                .on(FileKind::Database)
                .with_code(ffi::SQLITE_FULL)
                .from_then_on(),
        );
        for id in 0..40 {
            store.execute(BLOB, (id, 8_000)).ack(AckLevel::Committed).wait().unwrap();
        }
        assert!(bed.vfs.fired() > 0, "or this test shows nothing");
        let image = bed.image_at_answer(&store, insert(&store, 100));
        assert_eq!(bed.ids_in(&image).len(), 41);
        bed.vfs.disarm();
        for id in 200..260 {
            store.execute(BLOB, (id, 8_000)).ack(AckLevel::Committed).wait().unwrap();
        }
        store.close().wait().unwrap();
        assert_eq!(bed.survivors().len(), 101);
    });
}

#[test]
fn a_copy_of_the_log_beside_the_writer_that_fails_is_one() {
    run(|| {
        let bed = Bed::new();
        let store = synced(bed.builder().wal_limits(40 << 10, 1 << 30));
        // Once, where the copier begins: no later checkpoint of the writer's own can be what stops the store.
        bed.vfs.arm(FaultPlan::fail(Operation::Write).on(FileKind::Database));
        let mut acknowledged = write_many(&store);
        // The writer goes on until it hears of the failure.
        let error = loop {
            let id = 100 + acknowledged.len() as i64;
            match insert(&store, id).wait() {
                Ok(_) => acknowledged.push(id),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, WriteError::Stopped(_)), "{error:?}");
        assert_eq!(error.outcome(), Outcome::NotStarted);
        assert!(matches!(store.stats().state, StoreState::Failed(_)));
        drop(store.close().wait());
        bed.vfs.disarm();
        assert_eq!(bed.survivors(), acknowledged, "everything that was acknowledged, and nothing else");
    });
}

#[test]
fn a_full_disk_in_a_copy_beside_the_writer_is_none() {
    run(|| {
        let bed = Bed::new();
        let store = synced(bed.builder().wal_limits(40 << 10, 1 << 30));
        let full = FaultPlan::fail(Operation::Write).on(FileKind::Database);
        bed.vfs.arm(full.with_code(ffi::SQLITE_FULL).from_then_on());
        write_many(&store);
        while bed.vfs.fired() == 0 {
            store.flush().wait().unwrap();
        }
        insert(&store, 100).wait().unwrap();
        bed.vfs.disarm();
        insert(&store, 101).wait().unwrap();
        store.close().wait().unwrap();
        assert_eq!(bed.survivors().len(), 22);
    });
}

/// Fills the log past 40 KiB with one large group: then a thread of its own copies it. Gives the keys.
fn write_many(store: &Store) -> Vec<i64> {
    let gate = hold_writer(store);
    let many: Vec<_> = (0..20).map(|id| store.execute(BLOB, (id, 8_000)).try_submit().unwrap()).collect();
    gate.open();
    for write in many {
        write.wait().expect("the log has it, and was synced");
    }
    (0..20).collect()
}

#[test]
fn what_the_cache_still_shows_is_written_again_before_anything_is_acknowledged() {
    run(|| {
        let bed = Bed::with(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, v); CREATE INDEX t_v ON t (v);
             WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
             INSERT INTO t SELECT 10000 + i, hex(randomblob(100)) FROM n",
        );
        let store = bed.open();
        insert(&store, 1).wait().unwrap();
        for id in 2..40 {
            let write = store.execute("INSERT INTO t VALUES (?1, hex(randomblob(100)))", (id,));
            write.ack(AckLevel::Committed).wait().unwrap();
        }
        bed.vfs.arm(FaultPlan::fail_sync_dropping_pages().on(FileKind::Wal));
        let error = insert(&store, 40).wait().unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown);
        drop(store.close().wait());
        let small = |ids: Vec<i64>| ids.into_iter().filter(|id| *id < 10_000).collect::<Vec<_>>();
        assert_eq!(small(bed.survivors()), [1], "the disk has lost the rest, and no sync brings it back");

        // The kernel's cache shows all of it to the next opening.
        let store = bed.builder().open().wait().unwrap();
        let seen = small(ids(&store));
        assert!(seen.len() >= 39, "or this test shows nothing");
        let image = bed.image_at_answer(&store, insert(&store, 50));
        assert_eq!(small(bed.ids_in(&image)), [seen, vec![50]].concat());
    });
}

#[test]
fn a_file_that_is_replaced_under_the_store_stops_it() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        insert(&store, 1).wait().unwrap();
        std::fs::rename(bed.path(), bed.scratch.join("elsewhere.db")).unwrap();
        std::fs::write(bed.path(), b"").unwrap();
        // It looks at most once a second.
        let mut id = 2;
        let error = loop {
            match insert(&store, id).wait() {
                Ok(_) => id += 1,
                Err(error) => break error,
            }
        };
        let (WriteError::Stopped(failure) | WriteError::Unknown(failure)) = error else {
            panic!("{error:?}")
        };
        assert!(matches!(*failure, StoreFailure::FileMoved { .. }), "{failure:?}");
        assert!(matches!(insert(&store, 900).wait(), Err(WriteError::Stopped(_))));
    });
}
