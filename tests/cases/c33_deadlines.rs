//! C33. A call has a timeout of half a second and comes back after minutes; or it is reported as timed out and
//! carried out later, the client sends it again, and it is there twice (tursodatabase/libsql-js#221; also
//! ohdearquant/khive#1382, rustrak/rustrak#264): the clock started only when the call did.
//!
//! What must hold: a deadline covers the time in the queue. A call that expires before it starts is never
//! carried out, says so at once, and gives back its place and its bytes. One that has started gets the answer
//! of its group, however late.

use std::time::{Duration, Instant};

use walwright::{Pending, Receipt, Store, WriteError};
use walwright_test_support::{FaultVfs, Gate, Scratch, watchdog};

use crate::support_write::{
    ByHand, INSERT, LIMIT, builder, hold, ids, not_started, probe, send, send_gate, until,
};

const SOON: Duration = Duration::from_millis(30);

fn send_hurried(store: &Store, id: i64, deadline: Duration) -> Pending<Receipt> {
    store.execute(INSERT, (id, "hurried")).deadline(deadline).try_submit().unwrap()
}

#[track_caller]
fn assert_expired<T>(result: Result<T, WriteError>) {
    let error = not_started(result);
    assert!(matches!(error, WriteError::Expired), "{error}");
    assert!(error.is_retryable());
}

/// All 100 are answered while the writer still stands at the gate.
#[test]
fn c33_expired_in_the_queue() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).open().wait().unwrap();
        let held = hold(&store);
        let begun = Instant::now();
        let hurried: Vec<_> = (1..=100).map(|id| send_hurried(&store, id, SOON)).collect();
        let zero = send_hurried(&store, 101, Duration::ZERO);
        let patient = send_hurried(&store, 102, LIMIT);
        for pending in hurried {
            assert_expired(pending.wait());
        }
        assert_expired(zero.wait());
        assert!(begun.elapsed() >= SOON, "not before its time");
        // Only the patient one still counts.
        let stats = store.stats();
        assert_eq!(stats.queued_commands, 1);
        assert!(stats.queued_bytes < 2_000, "{} bytes", stats.queued_bytes);
        held.open();
        patient.wait().unwrap();
        send(&store, 200).wait().unwrap();
        assert_eq!(ids(&probe(&scratch)), [102, 200]);
        let stats = store.stats();
        assert_eq!((stats.queued_commands, stats.queued_bytes), (0, 0));
        store.close().wait().unwrap();
        // The gate's closure and the two inserts.
        assert_eq!(store.stats().statements, 3, "an expired command is never run");
    });
}

/// Only the alarm's thread looked at deadlines: a writer that was quicker carried out what had expired.
#[test]
fn c33_expired_before_the_alarm_rings() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).open().wait().unwrap();
        for id in 1..=300 {
            assert_expired(send_hurried(&store, id, Duration::ZERO).wait());
            let read = store.query("SELECT 1", ()).deadline(Duration::ZERO).wait();
            assert!(matches!(read, Err(walwright::ReadError::Expired)), "{read:?}");
        }
        store.close().wait().unwrap();
        assert_eq!(ids(&probe(&scratch)), [] as [i64; 0]);
    });
}

/// The writer has taken them into its group, but not started them: a closure before them takes long.
#[test]
fn c33_expired_in_the_group() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).open().wait().unwrap();
        let first = hold(&store);
        let second = send_gate(&store);
        // Long enough that the writer has taken the group by then, if the machine is not asleep; if it is,
        // they expire in the queue, and the answers are the same.
        let hurried: Vec<_> =
            (1..=10).map(|id| send_hurried(&store, id, Duration::from_millis(300))).collect();
        let patient = send(&store, 11);
        first.open();
        second.wait_until_entered();
        assert_eq!(store.stats().queued_commands, 0, "the writer has taken them all");
        for pending in hurried {
            assert_expired(pending.wait());
        }
        second.open();
        patient.wait().unwrap();
        assert_eq!(ids(&probe(&scratch)), [11]);
    });
}

/// They wait for room: the line lets them go, and whoever stands behind them moves up.
#[test]
fn c33_expired_while_waiting_for_room() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).write_queue(2, 1 << 20).open().wait().unwrap();
        let held = hold(&store);
        let fills = [send(&store, 1), send(&store, 2)];
        let mut waiting: Vec<_> = (3..=10)
            .map(|id| ByHand::new(store.execute(INSERT, (id, "hurried")).deadline(SOON).into_future()))
            .collect();
        let mut submitting = ByHand::new(store.execute(INSERT, (11, "hurried")).deadline(SOON).submit());
        let mut patient = ByHand::new(store.execute(INSERT, (12, "patient")).into_future());
        assert!(waiting.iter_mut().all(|one| one.poll().is_pending()));
        assert!(submitting.poll().is_pending() && patient.poll().is_pending());
        assert_eq!(store.stats().waiting_writers, 10);
        for one in waiting {
            assert_expired(one.finish());
        }
        assert_expired(submitting.finish());
        assert_eq!(store.stats().waiting_writers, 1);
        held.open();
        for pending in fills {
            pending.wait().unwrap();
        }
        patient.finish().unwrap();
        assert_eq!(ids(&probe(&scratch)), [1, 2, 12]);
    });
}

/// The queue is full of commands that expire: who waits is let in at that moment, by count and by bytes, while
/// the writer has not moved.
#[test]
fn c33_expired_ones_give_back_their_place() {
    watchdog(LIMIT, || {
        for (commands, bytes) in [(4, 1 << 20), (1_000, 50_000)] {
            let scratch = Scratch::new();
            let store = builder(&scratch).write_queue(commands, bytes).open().wait().unwrap();
            let held = hold(&store);
            let send_large = |id, deadline| {
                let write = store.execute(INSERT, (id, vec![7_u8; 11_500]));
                write.deadline(deadline).try_submit()
            };
            let hurried: Vec<_> = (1..=4).map(|id| send_large(id, SOON).unwrap()).collect();
            let large = store.execute(INSERT, (5, vec![7_u8; 30_000])).submit();
            let mut next = ByHand::new(large);
            assert!(next.poll().is_pending());
            assert_eq!(store.stats().waiting_writers, 1);
            for pending in hurried {
                assert_expired(pending.wait());
            }
            let admitted = next.finish().unwrap();
            let stats = store.stats();
            assert_eq!((stats.queued_commands, stats.waiting_writers), (1, 0));
            held.open();
            admitted.wait().unwrap();
            assert_eq!(ids(&probe(&scratch)), [5]);
        }
    });
}

/// Its deadline passes after it has started, in the closure and in the sync: the answer is the truth.
#[test]
fn c33_a_started_write_gets_the_answer_of_its_group() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let vfs = FaultVfs::unique("c33");
        let store = builder(&scratch).vfs(vfs.name()).open().wait().unwrap();
        let gate = Gate::new();
        let inside = gate.clone();
        // Started before its deadline for certain: it is the first, and its deadline is long enough. The
        // other one, with the same deadline, shows that the moment has passed.
        let deadline = Duration::from_millis(300);
        let slow = store
            .write(move |tx| {
                tx.execute(INSERT, (1, "slow"))?;
                inside.wait();
                Ok(())
            })
            .deadline(deadline)
            .try_submit()
            .unwrap();
        gate.wait_until_entered();
        let late = send_hurried(&store, 2, deadline);
        assert_expired(late.wait());
        let syncs = vfs.hold_syncs(None);
        gate.open();
        syncs.wait_until_blocked(1);
        syncs.release();
        slow.wait().unwrap();
        assert_eq!(ids(&probe(&scratch)), [1]);
    });
}

/// Thousands of expired commands behind a stuck writer leave nothing behind, and deadlines of commands that
/// were answered long ago never hit a later one.
#[test]
fn c33_deadlines_are_forgotten_with_their_commands() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).write_queue(100, 1 << 20).open().wait().unwrap();
        let held = hold(&store);
        for round in 0..100 {
            let hurried: Vec<_> =
                (0..100).map(|id| send_hurried(&store, 100 * round + id, Duration::ZERO)).collect();
            for pending in hurried {
                assert_expired(pending.wait());
            }
        }
        assert_eq!(store.stats().queued_commands, 0);
        held.open();
        // Answered in time, and their deadlines pass afterwards.
        let mut last = Vec::new();
        for id in 20_000..20_300 {
            last.push(send_hurried(&store, id, LIMIT));
            if last.len() == 100 {
                for pending in last.drain(..) {
                    pending.wait().unwrap();
                }
            }
        }
        until("the queue", || store.stats().queued_commands == 0);
        assert_eq!(ids(&probe(&scratch)).len(), 300);
    });
}
