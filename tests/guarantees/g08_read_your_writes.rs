//! 8. Read your writes.

use std::sync::{Arc, Barrier};
use std::thread;

use walwright::{AckLevel, Store};
use walwright_test_support::Gate;
use walwright_test_support::vfs::{FaultPlan, FileKind};

use crate::bed::{Bed, ids, insert, one, run};

const READERS: usize = 3;

/// What each reader sees, all at the same time, so that every one of them is asked.
fn on_every_reader(store: &Store) -> Vec<i64> {
    let together = Arc::new(Barrier::new(READERS));
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let (store, together) = (store.clone(), together.clone());
            thread::spawn(move || {
                let read = store.read(move |db| {
                    together.wait();
                    db.query_row("SELECT count(*) FROM t", (), |row| row.get(0))
                });
                read.wait().unwrap()
            })
        })
        .collect();
    readers.into_iter().map(|reader| reader.join().unwrap()).collect()
}

#[test]
fn a_read_that_starts_after_an_answer_sees_the_write_on_every_reader() {
    run(|| {
        let bed = Bed::new();
        let store = crate::bed::synced(bed.builder().readers(READERS));
        assert_eq!(on_every_reader(&store), [0; READERS]);
        for id in 0..20 {
            let level = if id % 2 == 0 { AckLevel::Durable } else { AckLevel::Committed };
            insert(&store, id).ack(level).wait().unwrap();
            assert_eq!(on_every_reader(&store), [id + 1; READERS]);
        }
    });
}

#[test]
fn a_reader_that_held_an_older_snapshot_sees_the_write_in_its_next_read() {
    run(|| {
        let bed = Bed::new();
        let store = crate::bed::synced(bed.builder().readers(1));
        let gate = Gate::new();
        let inside = gate.clone();
        let reader = store.clone();
        let old = thread::spawn(move || {
            let count = "SELECT count(*) FROM t";
            let read = reader.read(move |db| {
                let before: i64 = db.query_row(count, (), |row| row.get(0))?;
                inside.wait();
                let after: i64 = db.query_row(count, (), |row| row.get(0))?;
                // A cursor that stays open behind the closure would pin the snapshot.
                let mut statement = db.prepare("SELECT id FROM t UNION SELECT 1")?;
                let mut rows = statement.query(())?;
                rows.next()?;
                std::mem::forget(rows);
                std::mem::forget(statement);
                Ok((before, after))
            });
            read.wait().unwrap()
        });
        gate.wait_until_entered();
        insert(&store, 1).wait().unwrap();
        gate.open();
        assert_eq!(old.join().unwrap(), (0, 0), "one closure, one snapshot");
        assert_eq!(ids(&store), [1]);
    });
}

#[test]
fn no_reader_sees_a_durable_write_before_it_is_durable() {
    run(|| {
        let bed = Bed::new();
        let store = crate::bed::synced(bed.builder().readers(READERS));
        let hold = bed.vfs.hold_syncs(FileKind::Wal);
        let pending = insert(&store, 1).try_submit().unwrap();
        hold.wait_until_blocked(1);
        assert_eq!(on_every_reader(&store), [0; READERS], "the sync has not returned");
        hold.release();
        pending.wait().unwrap();
        assert_eq!(on_every_reader(&store), [1; READERS]);
    });
}

#[test]
fn no_reader_ever_sees_what_a_failed_sync_may_have_lost() {
    run(|| {
        let bed = Bed::new();
        let store = crate::bed::synced(bed.builder().readers(READERS));
        insert(&store, 1).wait().unwrap();
        bed.vfs.arm(FaultPlan::fail_sync_dropping_pages().on(FileKind::Wal));
        insert(&store, 2).wait().unwrap_err();
        assert_eq!(on_every_reader(&store), [1; READERS]);
    });
}

#[test]
fn what_is_seen_right_after_opening_is_durable() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        insert(&store, 1).wait().unwrap();
        insert(&store, 2).ack(AckLevel::Committed).wait().unwrap();
        assert_eq!(bed.survivors(), [1], "or this test shows nothing");
        // The next opening finds the log as a crash of the process leaves it: nobody has synced it.
        bed.vfs.arm(FaultPlan::fail_sync_dropping_pages().on(FileKind::Wal));
        insert(&store, 3).wait().unwrap_err();
        drop(store.close().wait());
        assert_eq!(bed.survivors(), [1], "or this test shows nothing");
        let store = bed.builder().open().wait().unwrap();
        let image = bed.vfs.image_at_power_cut();
        let seen = ids(&store);
        assert!(seen.starts_with(&[1, 2]));
        assert_eq!(bed.ids_in(&image), seen);
    });
}

#[test]
fn a_reader_sees_whole_groups_and_never_goes_back() {
    run(|| {
        let bed = Bed::with(
            "CREATE TABLE pair (id INTEGER PRIMARY KEY, n); INSERT INTO pair VALUES (1, 0), (2, 0)",
        );
        let store = crate::bed::synced(bed.builder().readers(READERS));
        let readers: Vec<_> = (0..READERS)
            .map(|_| {
                let store = store.clone();
                thread::spawn(move || {
                    let mut last = 0;
                    while last < 100 {
                        let sql = "SELECT min(n), max(n) FROM pair";
                        let (low, high): (i64, i64) = store
                            .read(move |db| db.query_row(sql, (), |row| Ok((row.get(0)?, row.get(1)?))))
                            .wait()
                            .unwrap();
                        assert_eq!(low, high, "half of a command");
                        assert!(low >= last, "back from {last} to {low}");
                        last = low;
                    }
                })
            })
            .collect();
        for _ in 0..100 {
            let batch = store.batch().execute("UPDATE pair SET n = n + 1 WHERE id = 1", ());
            batch.execute("UPDATE pair SET n = n + 1 WHERE id = 2", ()).send().wait().unwrap();
        }
        for reader in readers {
            reader.join().unwrap();
        }
        assert_eq!(one::<i64>(&store, "SELECT sum(n) FROM pair"), 200);
    });
}
