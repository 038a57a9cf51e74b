//! 1. Acknowledged means durable.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use walwright::AckLevel;
use walwright_test_support::Gate;
use walwright_test_support::vfs::{Fate, FileKind};

use crate::bed::{Bed, foreign, ids, insert, run};

#[test]
fn a_durable_answer_is_on_the_disk_when_it_is_given() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let image = bed.image_at_answer(&store, insert(&store, 1));
        assert_eq!(bed.ids_in(&image), [1], "a statement");
        let batch = store.batch().execute("INSERT INTO t VALUES (2, NULL)", ()).execute("SELECT 1", ());
        let image = bed.image_at_answer(&store, batch.send());
        assert_eq!(bed.ids_in(&image), [1, 2], "a batch");
        let closure = store.write(|tx| tx.execute("INSERT INTO t (id) VALUES (3)", ()));
        let image = bed.image_at_answer(&store, closure);
        assert_eq!(bed.ids_in(&image), [1, 2, 3], "a closure");
        let returning = store.execute_returning("UPDATE t SET id = 4 WHERE id = 3 RETURNING id", ());
        let image = bed.image_at_answer(&store, returning);
        assert_eq!(bed.ids_in(&image), [1, 2, 4], "a statement that returns rows");
        store.close().wait().unwrap();
        assert_eq!(bed.survivors(), [1, 2, 4], "after the close");
    });
}

#[test]
fn durable_is_the_default_and_the_builder_can_choose_another() {
    run(|| {
        let bed = Bed::new();
        let store = crate::bed::synced(bed.builder().ack(AckLevel::Committed));
        let image = bed.image_at_answer(&store, insert(&store, 1));
        assert_eq!(bed.ids_in(&image), [] as [i64; 0], "the builder's level");
        let image = bed.image_at_answer(&store, insert(&store, 2).ack(AckLevel::Durable));
        assert_eq!(bed.ids_in(&image), [1, 2], "the call's level");
    });
}

#[test]
fn no_answer_comes_before_the_sync_has_returned() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let hold = bed.vfs.hold_syncs(FileKind::Wal);
        let pending = insert(&store, 1).try_submit().unwrap();
        hold.wait_until_blocked(1);
        let mut pending = pin!(pending);
        assert!(pending.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        hold.release();
        while pending.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            std::thread::yield_now();
        }
        assert_eq!(bed.survivors(), [1]);
    });
}

#[test]
fn one_durable_member_makes_the_whole_group_durable() {
    run(|| {
        // Wherever the durable member stands, its answer covers what was carried out before it, and the
        // group is one transaction.
        for durable in 0..3 {
            let bed = Bed::new();
            let store = bed.open();
            let writes = (0..3).map(|place| {
                let level = if place == durable { AckLevel::Durable } else { AckLevel::Committed };
                insert(&store, place).ack(level)
            });
            let answers = bed.answers(&store, writes);
            for (place, (answer, image)) in answers.iter().enumerate() {
                assert!(answer.is_ok());
                assert_eq!(bed.ids_in(image), [0, 1, 2], "durable: {durable}, answered: {place}");
            }
        }
    });
}

#[test]
fn a_durable_answer_covers_what_was_only_committed_before() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        for id in [1, 2] {
            let image = bed.image_at_answer(&store, insert(&store, id).ack(AckLevel::Committed));
            assert_eq!(bed.ids_in(&image), [] as [i64; 0], "or this test shows nothing");
        }
        let image = bed.image_at_answer(&store, insert(&store, 3));
        assert_eq!(bed.ids_in(&image), [1, 2, 3]);
    });
}

#[test]
fn a_durable_answer_that_writes_nothing_covers_what_was_only_committed_before() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let mut expected = Vec::new();
        let mut check = |name: &str, id: i64, image: walwright_test_support::vfs::Image| {
            expected.push(id);
            assert_eq!(bed.ids_in(&image), expected, "{name}");
        };
        let committed = |id: i64| {
            insert(&store, id).ack(AckLevel::Committed).wait().unwrap();
            assert!(!bed.survivors().contains(&id), "or this test shows nothing");
        };
        committed(1);
        let nothing = store.execute("UPDATE t SET v = 1 WHERE id = -1", ());
        check("an update of no row", 1, bed.image_at_answer(&store, nothing));
        committed(2);
        let reads = store.write(|tx| tx.query_row("SELECT count(*) FROM t", (), |row| row.get::<_, i64>(0)));
        check("a closure that reads", 2, bed.image_at_answer(&store, reads));
        committed(3);
        check("a flush", 3, bed.image_at_answer(&store, store.flush()));
        committed(4);
        check("an empty batch", 4, bed.image_at_answer(&store, store.batch().send()));
        committed(5);
        let ignored = store.execute("INSERT OR IGNORE INTO t (id) VALUES (1)", ());
        check("an insert that is ignored", 5, bed.image_at_answer(&store, ignored));
    });
}

#[test]
fn nothing_is_synced_twice() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        insert(&store, 1).ack(AckLevel::Committed).wait().unwrap();
        let before = bed.wal_syncs();
        store.flush().wait().unwrap();
        assert_eq!(bed.wal_syncs(), before + 1);
        store.flush().wait().unwrap();
        store.execute("DELETE FROM t WHERE id = -1", ()).wait().unwrap();
        assert_eq!(bed.wal_syncs(), before + 1, "there was nothing left to sync");
    });
}

#[test]
fn a_durable_answer_covers_what_another_program_wrote_before_it() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        insert(&store, 1).wait().unwrap();
        let other = foreign(&bed);
        other.execute("UPDATE t SET id = 2", []).unwrap();
        assert_eq!(bed.survivors(), [1], "or this test shows nothing");
        // It saw no row with the key 1, and said so.
        let (answer, image) = bed.answer(&store, store.execute("UPDATE t SET v = 1 WHERE id = 1", ()));
        assert_eq!(answer.unwrap().rows_changed, 0);
        assert_eq!(bed.ids_in(&image), [2]);
        other.execute("UPDATE t SET id = 3", []).unwrap();
        let image = bed.image_at_answer(&store, insert(&store, 4));
        assert_eq!(bed.ids_in(&image), [3, 4]);
        assert_eq!(store.stats().foreign_writes, 2);
    });
}

#[test]
fn what_is_only_committed_is_lost_whole_or_kept_whole() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let write = store.write(|tx| {
            for id in 0..8 {
                tx.execute("INSERT INTO t VALUES (?1, randomblob(3000))", (id,))?;
            }
            Ok(())
        });
        write.ack(AckLevel::Committed).wait().unwrap();
        let disk = bed.vfs.disk();
        let events: Vec<usize> = disk.pending().iter().map(|pending| pending.event).collect();
        assert!(events.len() > 8, "or this test shows nothing");
        let all: Vec<i64> = (0..8).collect();
        let mut lost = 0;
        let mut check = |fate: &dyn Fn(usize) -> Fate| {
            let image = disk.image_with_fates(&|pending| fate(pending.event));
            let found = bed.ids_in(&image);
            assert!(found.is_empty() || found == all, "torn: {found:?}");
            lost += usize::from(found.is_empty());
        };
        check(&|_| Fate::Kept);
        for last in events.iter().step_by(3) {
            check(&|event| if event <= *last { Fate::Kept } else { Fate::Lost });
            check(&|event| if event == *last { Fate::Lost } else { Fate::Kept });
            check(&|event| if event == *last { Fate::Head(20) } else { Fate::Kept });
            check(&|event| if event == *last { Fate::Tail(12) } else { Fate::Kept });
        }
        assert!(lost > 4, "or this test shows nothing");
        assert_eq!(ids(&store), all);
    });
}

#[test]
fn what_was_acknowledged_survives_checkpoints_and_new_rounds_of_the_log() {
    run(|| {
        let bed = Bed::new();
        // The log starts over after every few groups.
        let store = crate::bed::synced(bed.builder().wal_limits(40 << 10, 1 << 20));
        let mut expected = Vec::new();
        for id in 0..60 {
            let blob = store.execute("INSERT INTO t VALUES (?1, randomblob(4000))", (id,));
            if id % 3 == 0 {
                blob.ack(AckLevel::Committed).wait().unwrap();
                expected.push(id);
                continue;
            }
            let (answer, image) = bed.answer(&store, blob);
            answer.unwrap();
            expected.push(id);
            if id % 4 == 1 {
                assert_eq!(bed.ids_in(&image), expected, "after {id}");
            }
        }
        assert!(store.stats().checkpoints > 3, "or this test shows nothing");
    });
}

#[test]
fn an_existing_file_that_is_converted_keeps_what_it_had() {
    run(|| {
        let bed = Bed::new();
        let old = foreign(&bed);
        old.execute_batch("PRAGMA synchronous=FULL; CREATE TABLE t (id INTEGER PRIMARY KEY, v)").unwrap();
        old.execute_batch("PRAGMA user_version=1; INSERT INTO t VALUES (1, NULL)").unwrap();
        drop(old);
        let store = bed.open();
        assert!(store.settings().converted);
        assert_eq!(bed.survivors(), [1]);
        let image = bed.image_at_answer(&store, insert(&store, 2));
        assert_eq!(bed.ids_in(&image), [1, 2]);
    });
}

#[test]
fn a_reader_that_holds_an_old_snapshot_does_not_weaken_a_durable_answer() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let gate = Gate::new();
        let (inside, reader) = (gate.clone(), store.clone());
        let read = std::thread::spawn(move || {
            let read = reader.read(move |db| {
                db.query_row("SELECT count(*) FROM t", (), |_| Ok(()))?;
                inside.wait();
                Ok(())
            });
            read.wait()
        });
        gate.wait_until_entered();
        insert(&store, 1).ack(AckLevel::Committed).wait().unwrap();
        // A checkpoint would skip its sync here.
        assert_eq!(bed.ids_in(&bed.image_at_answer(&store, store.flush())), [1]);
        assert_eq!(bed.ids_in(&bed.image_at_answer(&store, insert(&store, 2))), [1, 2]);
        gate.open();
        read.join().unwrap().unwrap();
    });
}
