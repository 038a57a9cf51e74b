//! C35. A write closure calls the store that runs it, directly or through a helper, and the writer waits for
//! itself for ever, without an error (openclaw/openclaw#152946; also ccgus/fmdb#415, eclipse-iofog/Controller#826).
//!
//! What must hold: any call of a store from inside a closure, of the same store or another, that would wait
//! is answered at once with a typed error, and is not carried out later. The closure itself can go on and
//! succeed, and the store lives.

use std::future::IntoFuture;
use std::time::Duration;

use walwright::{CloseError, ReadError, Store, WriteError};
use walwright_test_support::{Scratch, watchdog};

use crate::support_write::{INSERT, LIMIT, builder, hold, ids, not_started, probe, read_ids, send};

/// Every call that a closure can be tempted to make. None of them may wait, and none may be carried out.
fn tempted(store: &Store) {
    let reentrant = |result: Result<(), WriteError>| {
        let error = not_started(result);
        assert!(matches!(error, WriteError::Reentrant { admitted: false }), "{error}");
    };
    let insert = || store.execute(INSERT, (666, "from inside"));
    reentrant(insert().wait().map(drop));
    reentrant(insert().deadline(Duration::from_secs(1)).wait().map(drop));
    reentrant(insert().try_submit().map(drop));
    reentrant(helper(store));
    reentrant(store.write(|tx| tx.execute(INSERT, (666, "nested"))).wait().map(drop));
    reentrant(store.batch().execute(INSERT, (666, "batch")).send().wait().map(drop));
    reentrant(store.execute_returning("DELETE FROM item RETURNING id", ()).wait().map(drop));
    reentrant(store.flush().wait().map(drop));
    // With a runtime's block_on, and with the plainest one there is.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    reentrant(runtime.block_on(insert().into_future()).map(drop));
    reentrant(runtime.block_on(insert().submit()).map(drop));
    reentrant(runtime.block_on(store.flush().into_future()).map(drop));
    reentrant(block_on(insert().into_future()).map(drop));
    reentrant(block_on(insert().submit()).map(drop));
    for result in [
        store.query("SELECT 1", ()).wait().map(drop),
        store.read(|_| Ok(())).wait(),
        block_on(store.read(|_| Ok(())).into_future()),
        runtime.block_on(store.read(|_| Ok(())).into_future()),
    ] {
        assert!(matches!(result, Err(ReadError::Reentrant)));
    }
    // What does not wait is allowed.
    assert_eq!(store.stats().panics, 0);
    assert!(store.settings().foreign_keys);
}

fn helper(store: &Store) -> Result<(), WriteError> {
    store.execute(INSERT, (666, "through a helper")).wait().map(drop)
}

fn block_on<F: Future>(future: F) -> F::Output {
    crate::support_write::ByHand::new(future).finish()
}

#[test]
fn c35_from_a_write_closure() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).open().wait().unwrap();
        let inner = store.clone();
        let applied = store
            .write(move |tx| {
                tx.execute(INSERT, (1, "before"))?;
                tempted(&inner);
                tx.execute(INSERT, (2, "after"))?;
                Ok("delivered")
            })
            .wait()
            .unwrap();
        assert_eq!(applied.value, "delivered");
        send(&store, 3).wait().unwrap();
        assert_eq!(ids(&probe(&scratch)), [1, 2, 3]);
        assert_eq!(read_ids(&store), [1, 2, 3]);
    });
}

/// With one reader and a full queue of writes, a read closure that waits for a write could wait for ever.
#[test]
fn c35_from_a_read_closure() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).readers(1).write_queue(1, 1 << 20).open().wait().unwrap();
        let held = hold(&store);
        let fills = send(&store, 1);
        let inner = store.clone();
        let value = store
            .read(move |db| {
                tempted(&inner);
                db.query_row("SELECT count(*) FROM item", (), |row| row.get::<_, i64>(0))
            })
            .wait()
            .unwrap();
        assert_eq!(value, 0);
        assert_eq!(store.stats().waiting_writers, 0, "nothing of it stands in the line");
        held.open();
        fills.wait().unwrap();
        assert_eq!(ids(&probe(&scratch)), [1]);
    });
}

/// Two stores whose closures call each other would stop both writers.
#[test]
fn c35_from_the_closure_of_another_store() {
    watchdog(LIMIT, || {
        let (here, there) = (Scratch::new(), Scratch::new());
        let (first, second) = (builder(&here).open().wait().unwrap(), builder(&there).open().wait().unwrap());
        for (outer, inner) in [(&first, second.clone()), (&second, first.clone())] {
            let also = inner.clone();
            outer
                .write(move |tx| {
                    tempted(&inner);
                    tx.execute(INSERT, (1, "outer"))
                })
                .wait()
                .unwrap();
            outer
                .read(move |_| {
                    tempted(&also);
                    Ok(())
                })
                .wait()
                .unwrap();
        }
        assert_eq!((ids(&probe(&here)), ids(&probe(&there))), (vec![1], vec![1]));
    });
}

/// A write that was sent before and is waited for inside: it cannot be refused any more, and the error says
/// that it is carried out.
#[test]
fn c35_waiting_inside_for_what_was_sent_outside() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).open().wait().unwrap();
        let held = hold(&store);
        let mut polled = Some(send(&store, 2));
        let mut waited = Some(send(&store, 3));
        let outer = store
            .read(move |_| {
                let polled = polled.take().map(block_on);
                let waited = waited.take().map(walwright::Pending::wait);
                for result in [polled, waited] {
                    let error = result.unwrap().unwrap_err();
                    assert!(matches!(error, WriteError::Reentrant { admitted: true }), "{error}");
                    assert_eq!(error.outcome(), walwright::Outcome::Unknown);
                }
                Ok("delivered")
            })
            .wait()
            .unwrap();
        assert_eq!(outer, "delivered");
        held.open();
        send(&store, 4).wait().unwrap();
        assert_eq!(ids(&probe(&scratch)), [2, 3, 4]);
    });
}

/// Opening a store inside a closure, and closing the very store: no stall either. The store closes when the
/// closure is done.
#[test]
fn c35_opening_and_closing_from_inside() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).open().wait().unwrap();
        store
            .write(|tx| {
                assert!(Store::temporary().open().wait().is_err());
                assert!(block_on(Store::temporary().open().into_future()).is_err());
                tx.execute(INSERT, (1, "opening"))
            })
            .wait()
            .unwrap();
        let inner = store.clone();
        store
            .write(move |tx| {
                assert!(matches!(inner.close().wait(), Err(CloseError::Reentrant)));
                assert!(matches!(block_on(inner.close().into_future()), Err(CloseError::Reentrant)));
                tx.execute(INSERT, (2, "closing"))
            })
            .wait()
            .unwrap();
        store.close().wait().unwrap();
        assert_eq!(ids(&probe(&scratch)), [1, 2]);
    });
}
