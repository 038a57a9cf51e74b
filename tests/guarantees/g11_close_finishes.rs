//! 11. Close finishes.

use std::future::Future;
use std::future::IntoFuture;
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use walwright::{AckLevel, CloseError, Outcome, ReadError, StoreState, WriteError};
use walwright_test_support::Gate;

use crate::bed::{Bed, hold_writer, ids, insert, run, synced};

const ENDLESS_WRITE: &str =
    "INSERT INTO t (v) WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0";
const ENDLESS_READ: &str =
    "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0";

#[test]
fn a_close_answers_everything_that_was_admitted_and_releases_the_files() {
    run(|| {
        let bed = Bed::new();
        let store = synced(bed.builder().group(4, 1 << 20, Duration::from_secs(60)));
        let gate = hold_writer(&store);
        let pending: Vec<_> = (0..20)
            .map(|id| {
                let level = if id % 2 == 0 { AckLevel::Committed } else { AckLevel::Durable };
                insert(&store, id).ack(level).try_submit().unwrap()
            })
            .collect();
        let close = store.close();
        let late = insert(&store, 90).wait().unwrap_err();
        assert!(matches!(late, WriteError::Closed), "{late:?}");
        assert_eq!(late.outcome(), Outcome::NotStarted);
        assert!(matches!(store.query("SELECT 1", ()).wait(), Err(ReadError::Closed)));
        gate.open();
        for one in pending {
            one.wait().unwrap();
        }
        close.wait().unwrap();
        assert_eq!(bed.vfs.open_files(), 0);
        assert!(!bed.scratch.join("store.db-wal").exists(), "the log is copied and gone");
        assert!(!bed.scratch.join("store.db-shm").exists());
        assert!(matches!(store.stats().state, StoreState::Closed));
        assert_eq!(bed.survivors().len(), 20, "what was only committed too");
        // The same process can open it again at once.
        let again = bed.open();
        assert_eq!(ids(&again).len(), 20);
        assert!(insert(&store, 91).wait().is_err(), "the old handle stays closed");
    });
}

#[test]
fn a_second_close_is_harmless_and_hears_the_same() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let (first, second) = (store.close(), store.clone().close());
        first.wait().unwrap();
        second.wait().unwrap();
        store.close().wait().unwrap();
        store.close_within(Duration::ZERO).wait().unwrap();
    });
}

#[test]
fn a_close_waits_for_reads_in_progress() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        insert(&store, 1).wait().unwrap();
        let gate = Gate::new();
        let (inside, reader) = (gate.clone(), store.clone());
        let read = thread::spawn(move || {
            let read = reader.read(move |db| {
                inside.wait();
                db.query_row("SELECT count(*) FROM t", (), |row| row.get::<_, i64>(0))
            });
            read.wait()
        });
        gate.wait_until_entered();
        let mut close = Box::pin(store.close().into_future());
        assert!(close.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        gate.open();
        assert_eq!(read.join().unwrap().unwrap(), 1);
        store.close().wait().unwrap();
    });
}

#[test]
fn writers_that_wait_for_room_are_answered_by_a_close() {
    run(|| {
        let bed = Bed::new();
        let store = synced(bed.builder().write_queue(1, 1 << 20));
        let gate = hold_writer(&store);
        let admitted = insert(&store, 1).try_submit().unwrap();
        let waiting: Vec<_> = (2..5)
            .map(|id| {
                let store = store.clone();
                thread::spawn(move || insert(&store, id).wait())
            })
            .collect();
        while store.stats().waiting_writers < 3 {
            thread::yield_now();
        }
        let close = store.close();
        for one in waiting {
            let error = one.join().unwrap().unwrap_err();
            assert!(matches!(error, WriteError::Closed), "{error:?}");
        }
        gate.open();
        admitted.wait().unwrap();
        close.wait().unwrap();
        let again = bed.open();
        assert_eq!(ids(&again), [1]);
    });
}

#[test]
fn a_close_within_a_time_stops_the_sql_that_runs_and_answers_the_rest() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let gate = hold_writer(&store);
        let running = store.execute(ENDLESS_WRITE, ()).try_submit().unwrap();
        let queued: Vec<_> = (0..300).map(|id| insert(&store, id).try_submit().unwrap()).collect();
        let (entered, reader) = (Gate::new(), store.clone());
        let inside = entered.clone();
        entered.open();
        let read = thread::spawn(move || {
            let read = reader.read(move |db| {
                inside.wait();
                db.query(ENDLESS_READ, (), |_| Ok(()))
            });
            read.wait()
        });
        entered.wait_until_entered();
        let close = store.close_within(Duration::from_millis(50));
        gate.open();
        let error = running.wait().unwrap_err();
        assert!(matches!(error, WriteError::CloseTimedOut), "{error:?}");
        assert_eq!(error.outcome(), Outcome::NotApplied);
        for one in queued {
            let error = one.wait().unwrap_err();
            assert!(matches!(error, WriteError::Closed), "{error:?}");
            assert_eq!(error.outcome(), Outcome::NotStarted);
        }
        let error = read.join().unwrap().unwrap_err();
        assert!(matches!(error, ReadError::Closed), "{error:?}");
        close.wait().unwrap();
        assert_eq!(bed.vfs.open_files(), 0);
        assert_eq!(ids(&bed.open()), [] as [i64; 0]);
    });
}

#[test]
fn a_closure_that_cannot_be_stopped_is_reported_and_what_waits_behind_it_is_answered() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let gate = hold_writer(&store);
        let queued = insert(&store, 1).try_submit().unwrap();
        let error = store.close_within(Duration::from_millis(10)).wait().unwrap_err();
        let CloseError::StillRunning { what, .. } = error else { panic!("{error:?}") };
        assert!(what.contains("write"), "{what}");
        let error = queued.wait().unwrap_err();
        assert_eq!(error.outcome(), Outcome::NotStarted, "{error:?}");
        // When it ends at last, the close does.
        gate.open();
        store.close().wait().unwrap();
        assert_eq!(bed.vfs.open_files(), 0);
    });
}

#[test]
fn a_read_that_cannot_be_stopped_is_reported() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let gate = Gate::new();
        let (inside, reader) = (gate.clone(), store.clone());
        let read = thread::spawn(move || {
            reader
                .read(move |_| {
                    inside.wait();
                    Ok(())
                })
                .wait()
        });
        gate.wait_until_entered();
        let error = store.close_within(Duration::from_millis(10)).wait().unwrap_err();
        let CloseError::StillRunning { what, .. } = error else { panic!("{error:?}") };
        assert!(what.contains("read"), "{what}");
        gate.open();
        let _ = read.join().unwrap();
        store.close().wait().unwrap();
    });
}

#[test]
fn dropping_the_last_handle_finishes_what_was_admitted() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let gate = hold_writer(&store);
        let pending: Vec<_> = (0..50).map(|id| insert(&store, id).try_submit().unwrap()).collect();
        drop(insert(&store, 50).try_submit().unwrap());
        drop(store);
        gate.open();
        for one in pending {
            one.wait().unwrap();
        }
        bed.wait_until_released();
        assert_eq!(bed.survivors().len(), 51);
        assert!(!bed.scratch.join("store.db-wal").exists());
    });
}

#[test]
fn the_last_handle_can_be_dropped_on_the_writers_thread() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let gate = hold_writer(&store);
        let mine = store.clone();
        let first = store.write(move |tx| {
            let _held = &mine;
            tx.execute("INSERT INTO t (id) VALUES (1)", ())
        });
        let first = first.try_submit().unwrap();
        let second = insert(&store, 2).try_submit().unwrap();
        drop(store);
        gate.open();
        first.wait().unwrap();
        second.wait().unwrap();
        bed.wait_until_released();
        assert_eq!(bed.survivors(), [1, 2]);
    });
}

#[test]
fn the_last_handle_can_be_dropped_on_a_readers_thread() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        insert(&store, 1).wait().unwrap();
        let gate = Gate::new();
        let (inside, mine) = (gate.clone(), store.clone());
        let mut read = Box::pin(
            store
                .read(move |_| {
                    inside.wait();
                    drop(mine);
                    Ok(())
                })
                .into_future(),
        );
        assert!(read.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        gate.wait_until_entered();
        drop(store);
        // The future holds a handle too: nobody waits for the read any more.
        drop(read);
        gate.open();
        bed.wait_until_released();
        assert_eq!(bed.survivors(), [1]);
    });
}

#[test]
fn an_opening_that_nobody_waits_for_closes_again() {
    run(|| {
        let bed = Bed::new();
        let mut opening = Box::pin(bed.builder().open().into_future());
        assert!(opening.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(opening);
        // Until it has closed it is the owner.
        let store = loop {
            match bed.builder().open().wait() {
                Ok(store) => break store,
                Err(walwright::OpenError::AlreadyOpen { .. }) => thread::yield_now(),
                Err(error) => panic!("{error:?}"),
            }
        };
        insert(&store, 1).wait().unwrap();
    });
}

#[test]
fn nothing_blocks_the_thread_of_a_runtime() {
    run(|| {
        let bed = Bed::new();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = bed.builder().open().await.unwrap();
            insert(&store, 1).await.unwrap();
            let refused = insert(&store, 2).wait();
            assert!(matches!(refused, Err(WriteError::WouldBlockRuntime { admitted: false })));
            let refused = store.close().wait();
            assert!(matches!(refused, Err(CloseError::WouldBlockRuntime)));
            store.close().await.unwrap();
            let store = bed.builder().open().await.unwrap();
            assert_eq!(store.query("SELECT id FROM t", ()).await.unwrap().len(), 1);
            drop(store);
        });
        bed.wait_until_released();
    });
}

/// A filesystem gives the inode of a removed file to the next one. A store that is closing behind its last
/// handle has let go of its file by then, and must not claim it any more.
#[test]
fn a_store_that_closes_by_itself_does_not_claim_the_next_file() {
    run(|| {
        let rounds = || {
            for _ in 0..40 {
                let scratch = walwright_test_support::Scratch::new();
                let opened = walwright::Store::builder(scratch.join("store.db")).readers(1).open().wait();
                // Removed while it closes.
                drop(opened.expect("the file is new"));
            }
        };
        let threads: Vec<_> = (0..4).map(|_| thread::spawn(rounds)).collect();
        for one in threads {
            one.join().unwrap();
        }
    });
}

/// A closure forgot a statement with just the text of one of the engine's own. It could not be ended, the
/// files stayed open, and `close` answered Ok.
#[test]
fn a_close_that_could_not_release_the_files_says_so() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        store
            .write(|tx| {
                std::mem::forget(tx.prepare("PRAGMA main.data_version")?);
                Ok(())
            })
            .wait()
            .unwrap();
        let error = store.close().wait().unwrap_err();
        assert!(matches!(error, CloseError::StatementsLeft(_)), "{error:?}");
    });
}
