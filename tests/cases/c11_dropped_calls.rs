//! C11. A request is cancelled and its future dropped in mid-call: later calls fail with "cannot start a
//! transaction within a transaction" or hang, or the worker panics because nobody takes its reply
//! (transact-rs/sqlx#3932; also programatik29/tokio-rusqlite#8).
//!
//! What must hold: a call that is dropped at any moment is applied as a whole or not at all, the writer does
//! not care whether anybody listens, the next call works, and no transaction stays open.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use walwright::{AckLevel, StoreState, WriteError};
use walwright_test_support::vfs::FileKind;
use walwright_test_support::{FaultVfs, Gate, Scratch, watchdog};

use crate::support_write::{
    ByHand, INSERT, LIMIT, Numbers, builder, hold, ids, in_its_own_process, probe, read_ids, send, until,
};

/// One call of the storm: two rows, whole only together.
fn pair(store: &walwright::Store, id: i64) -> walwright::Write<walwright::Applied<()>> {
    store.write(move |tx| {
        tx.execute(INSERT, (2 * id, "first"))?;
        tx.execute(INSERT, (2 * id + 1, "second"))?;
        Ok(())
    })
}

#[test]
fn c11_ten_thousand_calls_dropped_at_random_moments() {
    let output = in_its_own_process("c11_dropped_calls::c11_storm");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(!printed.contains("panicked"), "{printed}");
}

#[test]
#[ignore = "run by c11_ten_thousand_calls_dropped_at_random_moments, which looks for printed panics"]
fn c11_storm() {
    const TASKS: i64 = 100;
    const CALLS: i64 = 100;
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        // A queue that is mostly full, so that calls are also dropped while they wait for room.
        let store =
            builder(&scratch).write_queue(20, 1 << 20).group(16, 1 << 20, LIMIT).open().wait().unwrap();
        let acknowledged = Arc::new(AtomicUsize::new(0));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
        runtime.unwrap().block_on(async {
            let tasks: Vec<_> = (0..TASKS)
                .map(|task| {
                    let (store, acknowledged) = (store.clone(), acknowledged.clone());
                    tokio::spawn(async move {
                        let mut numbers = Numbers(task as u64);
                        for call in 0..CALLS {
                            let id = task * CALLS + call;
                            let level = [AckLevel::Committed, AckLevel::Durable][numbers.below(2) as usize];
                            let limit = Duration::from_micros(numbers.below(2_000));
                            let call = pair(&store, id).ack(level).into_future();
                            if let Ok(result) = tokio::time::timeout(limit, call).await {
                                result.unwrap();
                                acknowledged.fetch_add(1, Ordering::SeqCst);
                            }
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        pair(&store, TASKS * CALLS).wait().unwrap();
        let seen = read_ids(&store);
        let outside = probe(&scratch);
        drop(outside.begin_immediate().unwrap());
        assert_eq!(seen, ids(&outside));
        let halves = outside.count("SELECT count(*) FROM item GROUP BY id / 2 HAVING count(*) != 2");
        assert!(halves.is_err(), "a call is there in part");
        let whole = seen.len() / 2;
        assert!(whole > acknowledged.load(Ordering::SeqCst), "an acknowledged call is missing");
        let stats = store.stats();
        assert_eq!((stats.panics, stats.failed_commands, stats.queued_commands), (0, 0, 0));
        assert!(matches!(stats.state, StoreState::Running));
        store.close().wait().unwrap();
    });
}

/// Before the first poll, while it waits for room, once it is admitted, and in the middle of its group.
#[test]
fn c11_dropped_at_each_stage() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).write_queue(2, 1 << 20).open().wait().unwrap();
        drop(store.execute(INSERT, (1, "never polled")).into_future());

        let held = hold(&store);
        let mut admitted = ByHand::new(store.execute(INSERT, (2, "admitted")).into_future());
        assert!(admitted.poll().is_pending());
        drop(admitted);
        drop(send(&store, 3));
        assert_eq!(store.stats().queued_commands, 2);
        let mut waiting = ByHand::new(store.execute(INSERT, (4, "waits for room")).into_future());
        let mut submitting = ByHand::new(store.execute(INSERT, (5, "waits for room")).submit());
        let mut behind = ByHand::new(store.execute(INSERT, (6, "stays")).into_future());
        assert!(waiting.poll().is_pending() && submitting.poll().is_pending() && behind.poll().is_pending());
        assert_eq!(store.stats().waiting_writers, 3);
        drop(waiting);
        drop(submitting);
        assert_eq!(store.stats().waiting_writers, 1, "their places are given back at once");
        held.open();
        behind.finish().unwrap();

        let gate = Gate::new();
        let inside = gate.clone();
        let mut running = ByHand::new(
            store
                .write(move |tx| {
                    tx.execute(INSERT, (7, "first half"))?;
                    inside.wait();
                    tx.execute(INSERT, (8, "second half"))
                })
                .into_future(),
        );
        assert!(running.poll().is_pending());
        gate.wait_until_entered();
        drop(running);
        gate.open();
        send(&store, 9).wait().unwrap();
        assert_eq!(ids(&probe(&scratch)), [2, 3, 6, 7, 8, 9]);
    });
}

/// While its group is being synced, and when the answer is there but was never taken.
#[test]
fn c11_dropped_while_its_group_commits() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let vfs = FaultVfs::unique("c11");
        let store = builder(&scratch).vfs(vfs.name()).open().wait().unwrap();
        let syncs = vfs.hold_syncs(FileKind::Wal);
        let mut committing = ByHand::new(store.execute(INSERT, (1, "syncing")).into_future());
        assert!(committing.poll().is_pending());
        syncs.wait_until_blocked(1);
        drop(committing);
        syncs.release();

        let mut answered = ByHand::new(store.execute(INSERT, (2, "answered")).into_future());
        assert!(answered.poll().is_pending());
        until("the answer", || answered.is_woken());
        drop(answered);
        send(&store, 3).wait().unwrap();
        let outside = probe(&scratch);
        drop(outside.begin_immediate().unwrap());
        assert_eq!(ids(&outside), [1, 2, 3]);
    });
}

/// Dropping the handle of the whole store in mid-call changes nothing for what was admitted.
#[test]
fn c11_dropped_together_with_the_store() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).open().wait().unwrap();
        let held = hold(&store);
        let mut first = ByHand::new(store.execute(INSERT, (1, "dropped")).into_future());
        assert!(first.poll().is_pending());
        let second = send(&store, 2);
        let outside = probe(&scratch);
        drop(store);
        drop(first);
        held.open();
        second.wait().unwrap();
        // The store is closing behind this answer, and holds the whole file for a moment of that.
        outside.connection().busy_timeout(LIMIT).unwrap();
        assert_eq!(ids(&outside), [1, 2]);
    });
}

/// A submission that waits for room is carried into a closure and polled there, where nobody may wait. What
/// it says must be so: refused means that it is never carried out.
#[test]
fn c11_a_refused_submission_is_not_carried_out() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).write_queue(1, 1 << 20).open().wait().unwrap();
        let held = hold(&store);
        let fills = send(&store, 1);
        let mut submitting = ByHand::new(store.execute(INSERT, (2, "waits for room")).submit());
        assert!(submitting.poll().is_pending());
        let (submitting, refused) = store
            .read(move |_| {
                let polled = submitting.poll();
                Ok((submitting, polled))
            })
            .wait()
            .unwrap();
        match refused {
            std::task::Poll::Ready(Err(WriteError::Reentrant { admitted: false })) => {}
            std::task::Poll::Ready(Ok(_)) => panic!("there was no room"),
            std::task::Poll::Ready(Err(error)) => panic!("{error}"),
            std::task::Poll::Pending => panic!("a closure must not be made to wait"),
        }
        // The future still lives, as a variable of somebody's stack: that must not keep its place.
        held.open();
        fills.wait().unwrap();
        store.execute(INSERT, (3, "waits its turn")).wait().unwrap();
        drop(submitting);
        assert_eq!(ids(&probe(&scratch)), [1, 3]);
    });
}
