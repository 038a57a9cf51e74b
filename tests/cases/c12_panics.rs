//! C12. One closure panics, and from then on every call fails or hangs until a restart: the panic went
//! through the lock or the worker, and its transaction stayed open (deadpool-rs/deadpool#113; also
//! ryanfowler/async-sqlite#46, ActivityWatch/aw-server-rust#405).
//!
//! What must hold: that caller gets a typed error with the panic's message, its effects are undone, the
//! others of its group commit, writer and readers go on, and a counter tells. Code of the caller runs in more
//! places than the closure's body: SQL functions, and the destructors of what a closure captures or returns.

use std::panic;
use std::sync::Once;
use std::time::Duration;

use walwright::rusqlite::functions::FunctionFlags;
use walwright::{ClosureError, ReadError, StoreState, WriteError};
use walwright_test_support::{Gate, Scratch, watchdog};

use crate::support_write::{
    ByHand, INSERT, LIMIT, builder, hold, ids, not_applied, not_started, probe, read_ids, send, until,
};

/// Every panic of this file begins with this, and the hook prints none of them.
const BOOM: &str = "boom";

/// Keeps the output readable: panics that a test wants are not printed.
fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            if text.is_some_and(|text| !text.starts_with(BOOM)) {
                print(info);
            }
        }));
    });
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        // Twice at once would end the process, which no library can help.
        if !std::thread::panicking() {
            panic!("{BOOM} in a destructor");
        }
    }
}

#[test]
fn c12_a_panicking_write_fails_alone() {
    hush();
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).open().wait().unwrap();
        let held = hold(&store);
        let before: Vec<_> = (1..=5).map(|id| send(&store, id)).collect();
        let panicking = store
            .write(|tx| -> Result<(), ClosureError> {
                tx.execute(INSERT, (99, "undone"))?;
                panic!("{BOOM} at item {}", 99)
            })
            .try_submit()
            .unwrap();
        let after: Vec<_> = (6..=10).map(|id| send(&store, id)).collect();
        held.open();
        let error = not_applied(panicking.wait());
        assert!(matches!(&error, WriteError::Panic { message } if message == "boom at item 99"), "{error}");
        let receipts: Vec<_> = before.into_iter().chain(after).map(|one| one.wait().unwrap()).collect();
        assert!(receipts.is_sorted_by(|a, b| a.sequence < b.sequence));
        assert_eq!(ids(&probe(&scratch)), Vec::from_iter(1..=10));
        assert_eq!(store.stats().panics, 1);
    });
}

/// Other payloads, other places in the closure: in mid-query, after a prepared statement, after the
/// transaction was lost.
#[test]
fn c12_every_kind_of_panic_in_a_write() {
    hush();
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).open().wait().unwrap();
        send(&store, 1).wait().unwrap();
        let message = |result: Result<_, WriteError>| match not_applied(result) {
            WriteError::Panic { message } => message,
            error => panic!("{error}"),
        };
        let write =
            |panicking: fn(&walwright::Tx<'_>) -> Result<(), ClosureError>| store.write(panicking).wait();
        assert_eq!(message(write(|_| panic!("boom"))), "boom");
        assert_eq!(message(write(|_| panic::panic_any(7))), "a panic without a message");
        assert_eq!(message(write(|_| panic::resume_unwind(Box::new(Bomb)))), "a panic without a message");
        let in_mid_query = write(|tx| {
            tx.query("SELECT id FROM item", (), |_| -> walwright::rusqlite::Result<()> {
                panic!("boom row")
            })?;
            Ok(())
        });
        assert_eq!(message(in_mid_query), "boom row");
        let forgetful = write(|tx| {
            let mut statement = tx.prepare("SELECT id FROM item")?;
            std::mem::forget(statement.query(())?);
            std::mem::forget(statement);
            panic!("boom with an open cursor")
        });
        assert_eq!(message(forgetful), "boom with an open cursor");
        let lost = write(|tx| {
            let _ = tx.execute("INSERT OR ROLLBACK INTO item (id) VALUES (1)", ());
            panic!("boom after the transaction")
        });
        assert_eq!(message(lost), "boom after the transaction");
        send(&store, 2).wait().unwrap();
        assert_eq!(ids(&probe(&scratch)), [1, 2]);
        assert_eq!(store.stats().panics, 6);
    });
}

/// On every reader, more often than there are readers, with an open cursor.
#[test]
fn c12_panicking_reads_leave_clean_readers() {
    hush();
    watchdog(LIMIT, || {
        const READERS: usize = 3;
        let scratch = Scratch::new();
        let store = builder(&scratch).readers(READERS).open().wait().unwrap();
        send(&store, 1).wait().unwrap();
        for round in 0..4 {
            // All at once, so that each reader has one.
            let gate = Gate::new();
            let reads: Vec<_> = (0..READERS)
                .map(|_| {
                    let (store, gate) = (store.clone(), gate.clone());
                    std::thread::spawn(move || {
                        store
                            .read(move |db| -> Result<(), ClosureError> {
                                let mut statement = db.prepare("SELECT id FROM item")?;
                                let mut rows = statement.query(())?;
                                rows.next()?;
                                gate.wait();
                                panic!("boom in a read")
                            })
                            .wait()
                    })
                })
                .collect();
            gate.wait_until_entered_by(READERS);
            gate.open();
            for read in reads {
                let error = read.join().unwrap().unwrap_err();
                assert!(
                    matches!(&error, ReadError::Panic { message } if message == "boom in a read"),
                    "{error}"
                );
            }
            // Each reader is at the newest state, none is stuck in its old snapshot.
            send(&store, 2 + round).wait().unwrap();
            let gate = Gate::new();
            let reads: Vec<_> = (0..READERS)
                .map(|_| {
                    let (store, gate) = (store.clone(), gate.clone());
                    std::thread::spawn(move || {
                        store
                            .read(move |db| {
                                gate.wait();
                                db.query_row("SELECT max(id) FROM item", (), |row| row.get::<_, i64>(0))
                            })
                            .wait()
                    })
                })
                .collect();
            gate.wait_until_entered_by(READERS);
            gate.open();
            for read in reads {
                assert_eq!(read.join().unwrap().unwrap(), 2 + round);
            }
        }
        assert_eq!(store.stats().panics, 4 * READERS as u64);
    });
}

/// A function that the program gave to SQLite panics.
#[test]
fn c12_a_panicking_sql_function_fails_its_command_alone() {
    hush();
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch)
            .on_connection(|connection| {
                connection.create_scalar_function("explode", 0, FunctionFlags::SQLITE_UTF8, |_| {
                    if true {
                        panic!("{BOOM} in a function");
                    }
                    Ok(1)
                })
            })
            .open()
            .wait()
            .unwrap();
        let held = hold(&store);
        let before = send(&store, 1);
        let panicking = store.execute("INSERT INTO item (id) VALUES (explode())", ()).try_submit().unwrap();
        let after = send(&store, 2);
        held.open();
        not_applied(panicking.wait());
        before.wait().unwrap();
        after.wait().unwrap();
        store.query("SELECT explode()", ()).wait().unwrap_err();
        assert_eq!(read_ids(&store), [1, 2]);
    });
}

/// What a closure captured panics as it is dropped: after it ran, in the queue, at its deadline, at the
/// close. Its group is answered as ever, and the engine's threads go on.
#[test]
fn c12_a_panicking_destructor_stops_nothing() {
    hush();
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).readers(1).open().wait().unwrap();
        let held = hold(&store);
        let before = send(&store, 1);
        let bomb = Bomb;
        let bombed = store
            .write(move |tx| {
                let _ = &bomb;
                tx.execute(INSERT, (2, "with a bomb"))
            })
            .try_submit()
            .unwrap();
        let after = send(&store, 3);
        held.open();
        for id in [before.wait().map(|_| 1), bombed.wait().map(|_| 2), after.wait().map(|_| 3)] {
            id.unwrap();
        }

        // Withdrawn by its deadline, on the alarm's thread: later deadlines must still be kept.
        let held = hold(&store);
        for _ in 0..2 {
            let bomb = Bomb;
            let late = store.write(move |_| {
                let _ = &bomb;
                Ok(())
            });
            let late = late.deadline(Duration::from_millis(1)).try_submit().unwrap();
            assert!(matches!(not_started(late.wait()), WriteError::Expired));
        }
        held.open();

        // Returned to nobody.
        let held = hold(&store);
        drop(store.write(|_| Ok(Bomb)).try_submit().unwrap());
        drop(store.write(|_| Err::<(), _>(BombError(Bomb).into())).try_submit().unwrap());
        // An error of SQLite's kind can carry one too: what a conversion failed with.
        let converting = || walwright::rusqlite::Error::ToSqlConversionFailure(Box::new(BombError(Bomb)));
        drop(store.write(move |_| Err::<(), _>(converting().into())).try_submit().unwrap());
        let gate = Gate::new();
        let inside = gate.clone();
        let mut read = ByHand::new(
            store
                .read(move |_| {
                    inside.wait();
                    Ok(Bomb)
                })
                .into_future(),
        );
        assert!(read.poll().is_pending());
        gate.wait_until_entered();
        drop(read);
        gate.open();
        let gate = Gate::new();
        let inside = gate.clone();
        let mut read = ByHand::new(
            store
                .read(move |_| {
                    inside.wait();
                    Err::<(), _>(converting().into())
                })
                .into_future(),
        );
        assert!(read.poll().is_pending());
        gate.wait_until_entered();
        drop(read);
        gate.open();
        held.open();
        send(&store, 4).wait().unwrap();
        assert_eq!(read_ids(&store), [1, 2, 3, 4]);
        until("the state", || matches!(store.stats().state, StoreState::Running));

        // Still queued when the store gives up.
        let gate = Gate::new();
        let inside = gate.clone();
        let running = store
            .write(move |_| {
                inside.wait();
                Ok(())
            })
            .try_submit()
            .unwrap();
        gate.wait_until_entered();
        let bomb = Bomb;
        let queued = store
            .write(move |_| {
                let _ = &bomb;
                Ok(())
            })
            .try_submit()
            .unwrap();
        let other = send(&store, 5);
        let close = store.close_within(Duration::ZERO);
        assert!(matches!(not_started(queued.wait()), WriteError::Closed));
        assert!(matches!(not_started(other.wait()), WriteError::Closed));
        gate.open();
        running.wait().unwrap();
        close.wait().unwrap();
        assert_eq!(ids(&probe(&scratch)), [1, 2, 3, 4]);
    });
}

/// An error with a bomb in it.
struct BombError(Bomb);

impl std::fmt::Debug for BombError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BombError")
    }
}

impl std::fmt::Display for BombError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an error with a bomb")
    }
}

impl std::error::Error for BombError {}
