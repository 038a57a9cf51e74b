//! C08. A backup tool or a shell holds the database's lock for longer than the timeout: accepted work
//! disappears with a log line, or nothing works any more until a restart (MostroP2P/mostro#954; also
//! rustrak/rustrak#264, DeytaHQ/khora#1606).
//!
//! What must hold: every caller hears a typed error that says "send it again" within its time, never Ok and
//! never nothing; reads go on; once the lock is free the next write works without reopening; and on disk is
//! exactly what was acknowledged.

use std::time::Duration;

use walwright::{StoreState, WriteError};
use walwright_test_support::{Scratch, watchdog};

use crate::support_write::{ByHand, LIMIT, builder, ids, not_started, probe, read_ids, send};

/// The lock is held until every write has its answer, and no longer.
#[test]
fn c08_writes_are_told_busy_and_work_again_when_the_holder_leaves() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).busy_budget(Duration::from_millis(50)).open().wait().unwrap();
        send(&store, 0).wait().unwrap();
        let outside = probe(&scratch);
        // Twice: the first round must not leave anything that spoils the second.
        for round in 0..2 {
            let lock = outside.begin_immediate().unwrap();
            let sent: Vec<_> = (1..=50).map(|id| send(&store, id)).collect();
            for pending in sent {
                let error = not_started(pending.wait());
                assert!(matches!(error, WriteError::Busy(_)), "{error}");
                assert!(error.is_retryable());
            }
            // Reads do not mind the lock, a flush with nothing to do is told as well.
            assert_eq!(read_ids(&store).len(), round + 1);
            assert!(matches!(store.flush().wait(), Err(WriteError::Busy(_))));
            assert!(matches!(store.stats().state, StoreState::Running));
            drop(lock);
            send(&store, 100 + round as i64).wait().unwrap();
        }
        assert_eq!(ids(&outside), [0, 100, 101]);
    });
}

/// A holder that leaves within the budget is waited for: nothing is refused.
#[test]
fn c08_a_lock_that_is_given_back_in_time_costs_nothing() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).busy_budget(LIMIT).open().wait().unwrap();
        let outside = probe(&scratch);
        let lock = outside.begin_immediate().unwrap();
        let sent: Vec<_> = (1..=50).map(|id| send(&store, id)).collect();
        // Reads are answered while the writes wait.
        for _ in 0..20 {
            assert!(read_ids(&store).is_empty());
        }
        let mut first = ByHand::new(store.execute("DELETE FROM item WHERE id = 1", ()).into_future());
        assert!(first.poll().is_pending());
        outside.connection().execute("INSERT INTO item (id) VALUES (0)", []).unwrap();
        lock.commit().unwrap();
        for pending in sent {
            pending.wait().unwrap();
        }
        assert_eq!(first.finish().unwrap().rows_changed, 1);
        let expected: Vec<i64> = [0].into_iter().chain(2..=50).collect();
        assert_eq!(ids(&outside), expected);
    });
}

/// A deadline that is shorter than the budget is kept although the writer stands at the lock.
#[test]
fn c08_deadlines_hold_while_the_writer_waits_for_the_lock() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).busy_budget(LIMIT).open().wait().unwrap();
        let outside = probe(&scratch);
        let lock = outside.begin_immediate().unwrap();
        let patient = send(&store, 1);
        let hurried: Vec<_> = (2..=20)
            .map(|id| {
                let write = store.execute("INSERT INTO item (id) VALUES (?1)", (id,));
                write.deadline(Duration::from_millis(30)).try_submit().unwrap()
            })
            .collect();
        // The lock is still held: only the deadlines can answer these.
        for pending in hurried {
            assert!(matches!(not_started(pending.wait()), WriteError::Expired));
        }
        drop(lock);
        patient.wait().unwrap();
        assert_eq!(ids(&outside), [1]);
    });
}

/// The store can also be closed while somebody else holds the lock for good.
#[test]
fn c08_close_does_not_wait_for_the_holder_for_ever() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).busy_budget(Duration::from_millis(50)).open().wait().unwrap();
        send(&store, 1).wait().unwrap();
        let outside = probe(&scratch);
        let lock = outside.begin_immediate().unwrap();
        let refused = send(&store, 2);
        // What it has to report of the log is not the subject here.
        let _ = store.close().wait();
        assert!(matches!(not_started(refused.wait()), WriteError::Busy(_)));
        assert!(matches!(store.stats().state, StoreState::Closed));
        drop(lock);
        assert_eq!(ids(&outside), [1]);
    });
}
