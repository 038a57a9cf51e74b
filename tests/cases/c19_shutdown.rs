//! C19. A server is told to stop: writes that were accepted a moment ago are missing afterwards, or their
//! callers hang (NOFireAI/ravel#1489; also kaeawc/auto-mobile#2880, promptfoo/promptfoo#9009).
//!
//! What must hold: when the shutdown is over, every accepted call has its answer, Ok and on disk or Closed
//! and not; nobody hangs, also with a read that never ends; later calls are refused at once; handles that are
//! still around do not keep the store open; and closing twice does no harm.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use walwright::{CloseError, ReadError, Store, StoreState, WriteError};
use walwright_test_support::{Gate, Scratch, watchdog};

use crate::support_write::{
    ByHand, INSERT, LIMIT, builder, has_open_files_in, hold, ids, not_started, probe, send, until,
};

/// How a store may be closed.
#[derive(Clone, Copy)]
enum Closing {
    Complete,
    Within(Duration),
}

impl Closing {
    fn start(self, store: &Store) -> walwright::Close {
        match self {
            Self::Complete => store.close(),
            Self::Within(limit) => store.close_within(limit),
        }
    }
}

/// 32 tasks write until they are refused; the store is closed when 500 writes have been answered.
async fn shut_down_under_load(store: &Store, closing: Closing) -> (Vec<i64>, Result<(), CloseError>) {
    let next = Arc::new(AtomicI64::new(1));
    let answered = Arc::new(AtomicUsize::new(0));
    let enough = Arc::new(tokio::sync::Notify::new());
    let tasks: Vec<_> = (0..32)
        .map(|_| {
            let (store, next, answered, enough) =
                (store.clone(), next.clone(), answered.clone(), enough.clone());
            tokio::spawn(async move {
                let mut acknowledged = Vec::new();
                loop {
                    let id = next.fetch_add(1, Ordering::SeqCst);
                    match store.execute(INSERT, (id, "under load")).await {
                        Ok(_) => acknowledged.push(id),
                        result => {
                            assert!(matches!(not_started(result), WriteError::Closed));
                            return acknowledged;
                        }
                    }
                    if answered.fetch_add(1, Ordering::SeqCst) == 500 {
                        enough.notify_one();
                    }
                }
            })
        })
        .collect();
    enough.notified().await;
    let closed = closing.start(store).await;
    let mut acknowledged = Vec::new();
    for task in tasks {
        acknowledged.extend(task.await.unwrap());
    }
    acknowledged.sort_unstable();
    (acknowledged, closed)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap()
}

#[test]
fn c19_what_was_acknowledged_is_what_is_there() {
    watchdog(LIMIT, || {
        // A queue that is too small for all: some are refused while they wait for room.
        for (queue, closing) in [
            (1_000, Closing::Complete),
            (4, Closing::Complete),
            (1_000, Closing::Within(LIMIT)),
            (4, Closing::Within(Duration::ZERO)),
        ] {
            let scratch = Scratch::new();
            let store = builder(&scratch).write_queue(queue, 1 << 20).open().wait().unwrap();
            let other_handle = store.clone();
            let (acknowledged, closed) = runtime().block_on(shut_down_under_load(&store, closing));
            closed.unwrap();
            assert!(acknowledged.len() >= 500);
            assert!(!scratch.join("store.db-wal").exists(), "everything is in the file itself");
            assert!(!has_open_files_in(scratch.path()));
            assert_eq!(ids(&probe(&scratch)), acknowledged);

            // Whoever still has a handle is refused, and may close as often as they like.
            assert!(matches!(not_started(other_handle.execute(INSERT, (0, "")).wait()), WriteError::Closed));
            assert!(matches!(not_started(other_handle.flush().wait()), WriteError::Closed));
            assert!(matches!(other_handle.query("SELECT 1", ()).wait(), Err(ReadError::Closed)));
            other_handle.close().wait().unwrap();
            other_handle.close_within(Duration::ZERO).wait().unwrap();
            let again = builder(&scratch).open().wait().unwrap();
            assert_eq!(crate::support_write::read_ids(&again), acknowledged);
        }
    });
}

/// Each place where a call can stand when the close comes.
#[test]
fn c19_every_admitted_call_is_answered() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).write_queue(3, 1 << 20).open().wait().unwrap();
        let held = hold(&store);
        let queued: Vec<_> = (1..=3).map(|id| send(&store, id)).collect();
        let mut for_room = ByHand::new(store.execute(INSERT, (4, "waits for room")).into_future());
        let mut submitting = ByHand::new(store.execute(INSERT, (5, "waits for room")).submit());
        assert!(for_room.poll().is_pending() && submitting.poll().is_pending());
        let close = store.close();
        // The writer still stands at the gate: nobody needs it for a refusal.
        assert!(matches!(not_started(for_room.finish()), WriteError::Closed));
        assert!(matches!(not_started(submitting.finish()), WriteError::Closed));
        assert!(matches!(not_started(store.execute(INSERT, (6, "late")).try_submit()), WriteError::Closed));
        let second = store.close();
        held.open();
        for pending in queued {
            pending.wait().unwrap();
        }
        close.wait().unwrap();
        second.wait().unwrap();
        assert_eq!(ids(&probe(&scratch)), [1, 2, 3]);
        assert!(matches!(store.stats().state, StoreState::Closed));
    });
}

/// When the time is up, what was not started is refused, although the writer is stuck in a closure.
#[test]
fn c19_a_stuck_write_does_not_hold_the_others() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).open().wait().unwrap();
        let gate = Gate::new();
        let inside = gate.clone();
        let stuck = store
            .write(move |tx| {
                tx.execute(INSERT, (1, "stuck"))?;
                inside.wait();
                tx.execute(INSERT, (2, "after the close"))
            })
            .try_submit()
            .unwrap();
        gate.wait_until_entered();
        let queued: Vec<_> = (10..20).map(|id| send(&store, id)).collect();
        let closed = store.close_within(Duration::from_millis(50)).wait();
        for pending in queued {
            assert!(matches!(not_started(pending.wait()), WriteError::Closed));
        }
        let Err(CloseError::StillRunning { what, .. }) = &closed else { panic!("{closed:?}") };
        assert!(what.contains("a write"), "{what}");
        gate.open();
        // Its next statement was told to end; its caller hears that nothing is there.
        let error = crate::support_write::not_applied(stuck.wait());
        assert!(matches!(error, WriteError::CloseTimedOut), "{error}");
        store.close().wait().unwrap();
        assert!(ids(&probe(&scratch)).is_empty());
    });
}

/// The same under load, with a read that runs SQL for ever: it is stopped, and the close is complete.
#[test]
fn c19_a_read_that_never_ends_is_stopped() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).readers(1).open().wait().unwrap();
        let runtime = runtime();
        let endless = runtime.spawn({
            let store = store.clone();
            async move {
                let sql =
                    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
                store.read(move |db| db.query_row(sql, (), |row| row.get::<_, i64>(0))).await
            }
        });
        until("the read", || store.stats().oldest_snapshot.is_some());
        let closing = Closing::Within(Duration::from_millis(200));
        let (acknowledged, closed) = runtime.block_on(shut_down_under_load(&store, closing));
        closed.unwrap();
        assert!(matches!(runtime.block_on(endless).unwrap(), Err(ReadError::Closed)));
        assert_eq!(ids(&probe(&scratch)), acknowledged);
        assert!(!has_open_files_in(scratch.path()));
    });
}

/// The same with a read closure that does nothing at all: the close says so in time, and every write is
/// answered although the reader is not done.
#[test]
fn c19_a_closure_that_hangs_is_reported() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).readers(1).open().wait().unwrap();
        let gate = Gate::new();
        let runtime = runtime();
        let hanging = runtime.spawn({
            let (store, gate) = (store.clone(), gate.clone());
            async move {
                store
                    .read(move |_| {
                        gate.wait();
                        Ok(())
                    })
                    .await
            }
        });
        gate.wait_until_entered();
        let closing = Closing::Within(Duration::from_millis(50));
        let (acknowledged, closed) = runtime.block_on(shut_down_under_load(&store, closing));
        let Err(CloseError::StillRunning { what, .. }) = &closed else { panic!("{closed:?}") };
        assert!(what.contains("a read"), "{what}");
        assert_eq!(ids(&probe(&scratch)), acknowledged);
        gate.open();
        store.close().wait().unwrap();
        runtime.block_on(hanging).unwrap().unwrap();
        assert!(!has_open_files_in(scratch.path()));
    });
}
