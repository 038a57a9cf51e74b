//! 6. One answer each, and it is true of what is on disk.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use walwright::rusqlite::ffi;
use walwright::{AckLevel, Outcome, Pending, Receipt, Store, WriteError};
use walwright_test_support::vfs::{FaultPlan, FileKind, Operation};

use crate::bed::{Bed, hold_writer, ids, insert, run};

/// Counts how often it is woken.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// What an answer lets its caller believe about a row.
#[derive(Debug, PartialEq)]
enum Claim {
    There,
    NotThere,
    Either,
}

fn claim(answer: &Result<Receipt, WriteError>) -> Claim {
    match answer.as_ref().map_err(WriteError::outcome) {
        Ok(_) => Claim::There,
        Err(Outcome::NotStarted | Outcome::NotApplied) => Claim::NotThere,
        Err(Outcome::Unknown) => Claim::Either,
        Err(other) => panic!("{other:?}"),
    }
}

/// Compares the answers to inserts with the rows that are found.
#[track_caller]
fn compare(answers: &[(i64, Result<Receipt, WriteError>)], found: &[i64]) {
    let found: BTreeSet<i64> = found.iter().copied().collect();
    for (id, answer) in answers {
        match claim(answer) {
            Claim::There => assert!(found.contains(id), "{id} is lost: {answer:?}"),
            Claim::NotThere => assert!(!found.contains(id), "{id} is there: {answer:?}"),
            Claim::Either => {}
        }
    }
}

fn wait_all(pending: Vec<(i64, Pending<Receipt>)>) -> Vec<(i64, Result<Receipt, WriteError>)> {
    pending.into_iter().map(|(id, one)| (id, one.wait())).collect()
}

#[test]
fn every_write_is_answered_once() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let gate = hold_writer(&store);
        let mut pending = Vec::new();
        for id in 0..30 {
            let write = match id % 3 {
                0 => insert(&store, id),
                1 => insert(&store, 0),
                _ => store.execute("INSERT OR ROLLBACK INTO t (id) VALUES (?1), (?1)", (id,)),
            };
            let bell = Arc::new(Bell::default());
            let waker = Waker::from(bell.clone());
            let mut one = write.try_submit().unwrap();
            assert!(Pin::new(&mut one).poll(&mut Context::from_waker(&waker)).is_pending());
            pending.push((one, bell));
        }
        gate.open();
        store.flush().wait().unwrap();
        for (at, (mut one, bell)) in pending.into_iter().enumerate() {
            assert_eq!(bell.0.load(Ordering::SeqCst), 1, "{at}");
            let mut context = Context::from_waker(Waker::noop());
            let Poll::Ready(answer) = Pin::new(&mut one).poll(&mut context) else {
                panic!("{at}: no answer")
            };
            assert_eq!(answer.is_ok(), at % 3 == 0, "{at}: {answer:?}");
            assert!(Pin::new(&mut one).poll(&mut context).is_pending(), "{at}: a second answer");
        }
    });
}

#[test]
fn a_dropped_future_withdraws_nothing_that_was_admitted() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let gate = hold_writer(&store);
        drop(insert(&store, 1).try_submit().unwrap());
        let mut awaited = Box::pin(std::future::IntoFuture::into_future(insert(&store, 2)));
        assert!(awaited.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(awaited);
        // Never polled: never sent.
        drop(std::future::IntoFuture::into_future(insert(&store, 3)));
        gate.open();
        store.flush().wait().unwrap();
        assert_eq!(ids(&store), [1, 2]);
    });
}

#[test]
fn a_future_that_is_dropped_while_it_waits_for_room_was_never_admitted() {
    run(|| {
        let bed = Bed::new();
        let store = bed.builder().write_queue(1, 1 << 20).open().wait().unwrap();
        let gate = hold_writer(&store);
        let first = insert(&store, 1).try_submit().unwrap();
        let mut context = Context::from_waker(Waker::noop());
        let mut second = Box::pin(insert(&store, 2).submit());
        assert!(second.as_mut().poll(&mut context).is_pending());
        let mut third = Box::pin(insert(&store, 3).submit());
        assert!(third.as_mut().poll(&mut context).is_pending());
        drop(second);
        gate.open();
        first.wait().unwrap();
        let third = loop {
            if let Poll::Ready(pending) = third.as_mut().poll(&mut context) {
                break pending.unwrap();
            }
            thread::yield_now();
        };
        third.wait().unwrap();
        assert_eq!(ids(&store), [1, 3]);
    });
}

#[test]
fn a_deadline_that_passes_in_the_queue_answers_not_started_at_once() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let gate = hold_writer(&store);
        let expired = insert(&store, 1).deadline(Duration::from_millis(5)).try_submit().unwrap();
        let kept = insert(&store, 2).deadline(Duration::from_secs(600)).try_submit().unwrap();
        // Answered while the writer is still held.
        let error = expired.wait().unwrap_err();
        assert!(matches!(error, WriteError::Expired), "{error:?}");
        assert_eq!(error.outcome(), Outcome::NotStarted);
        assert_eq!(store.stats().queued_commands, 1, "its place is given back");
        gate.open();
        kept.wait().unwrap();
        assert_eq!(ids(&store), [2]);
    });
}

#[test]
fn a_deadline_does_not_touch_a_write_that_has_started() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let hold = bed.vfs.hold_syncs(FileKind::Wal);
        let started = insert(&store, 1).deadline(Duration::from_millis(1_000)).try_submit().unwrap();
        hold.wait_until_blocked(1);
        // Another deadline, set later and over later, has passed when it is answered.
        let later = insert(&store, 2).deadline(Duration::from_millis(1_100)).try_submit().unwrap();
        assert!(matches!(later.wait(), Err(WriteError::Expired)));
        hold.release();
        started.wait().unwrap();
        assert_eq!(ids(&store), [1]);
    });
}

#[test]
fn a_close_in_the_middle_leaves_no_write_without_a_true_answer() {
    run(|| {
        for round in 0..6 {
            let bed = Bed::new();
            let store = bed.builder().write_queue(16, 1 << 20).group(4, 1 << 20, Duration::from_secs(60));
            let store = store.open().wait().unwrap();
            let senders: Vec<_> = (0..3_i64)
                .map(|sender| {
                    let store = store.clone();
                    thread::spawn(move || {
                        (0..40_i64)
                            .map(|number| {
                                let id = sender * 1_000 + number;
                                (id, insert(&store, id).wait())
                            })
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            // Somewhere in the middle, at another place in each round.
            while store.stats().commands < round * 7 {
                thread::yield_now();
            }
            let limit = Duration::from_millis(round % 2 * 1_000);
            store.close_within(limit).wait().unwrap();
            let answers: Vec<_> = senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect();
            assert_eq!(answers.len(), 120);
            let store = bed.open();
            compare(&answers, &ids(&store));
            for (_, answer) in &answers {
                // A close without time also ends the one that is running.
                let ended = limit.is_zero() && matches!(answer, Err(WriteError::CloseTimedOut));
                assert!(ended || matches!(answer, Ok(_) | Err(WriteError::Closed)), "{answer:?}");
            }
        }
    });
}

/// Groups of three, some durable, with a fault in the middle; then what is on disk, in both senses.
fn under_a_fault(plan: FaultPlan) {
    let bed = Bed::new();
    let store = crate::bed::synced(bed.builder().group(3, 1 << 20, Duration::from_secs(60)));
    let gate = hold_writer(&store);
    let level = |id: i64| if id % 5 < 2 { AckLevel::Committed } else { AckLevel::Durable };
    let send = |store: &Store, id: i64| insert(store, id).ack(level(id)).try_submit().unwrap();
    let pending: Vec<_> = (0..15).map(|id| (id, send(&store, id))).collect();
    bed.vfs.arm(plan.clone());
    gate.open();
    let answers = wait_all(pending);
    assert!(bed.vfs.fired() > 0, "{plan:?}: or this shows nothing");
    bed.vfs.disarm();
    let durable: Vec<_> = answers
        .into_iter()
        .filter(|(id, answer)| answer.is_err() || level(*id) == AckLevel::Durable)
        .collect();
    let image = bed.vfs.image_at_power_cut();
    drop(store.close().wait());
    compare(&durable, &bed.ids_in(&image));
    let again = bed.open();
    compare(&durable, &ids(&again));
}

#[test]
fn answers_are_true_under_faults_of_the_disk() {
    run(|| {
        for nth in [1, 2, 3, 5] {
            for operation in [Operation::Write, Operation::Sync] {
                under_a_fault(FaultPlan::fail(operation).on(FileKind::Wal).nth(nth));
            }
            under_a_fault(FaultPlan::fail_sync_dropping_pages().on(FileKind::Wal).nth(nth));
            under_a_fault(FaultPlan::fail(Operation::Write).on(FileKind::Wal).nth(nth).from_then_on());
            let full = FaultPlan::fail(Operation::Write).on(FileKind::Wal).with_code(ffi::SQLITE_FULL);
            under_a_fault(full.nth(nth));
        }
    });
}

#[test]
fn a_store_that_is_called_from_its_own_closure_answers_instead_of_waiting() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let inner = store.clone();
        let other_bed = Bed::new();
        let other = other_bed.open();
        let write = store.write(move |_| {
            let write = insert(&inner, 1).wait();
            assert!(matches!(write, Err(WriteError::Reentrant { admitted: false })), "{write:?}");
            let read = inner.query("SELECT 1", ()).wait();
            assert!(matches!(read, Err(walwright::ReadError::Reentrant)), "{read:?}");
            assert!(inner.flush().try_submit().is_err());
            assert!(insert(&other, 1).wait().is_err(), "of another store too");
            Ok(())
        });
        write.wait().unwrap();
        assert_eq!(ids(&store), [] as [i64; 0]);
    });
}
