//! C32. A cancel that came just after its statement had ended hit the next one on that connection: calls
//! without any deadline failed now and then with "interrupted" (mattn/go-sqlite3#745).
//!
//! Must hold: only the call that had the deadline, or that was ordered to end, ever hears of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use walwright::{CloseError, ReadError, Store, WriteError};
use walwright_test_support::{Gate, Scratch, watchdog};

use crate::support_read::{ENDLESS, FOREVER, KIB, LIMIT, MIB, eventually, number};

/// A query of some 200 µs, long enough for several looks at the clock.
const WORK: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
                    SELECT count(*) FROM n";

/// The report's test did 20,000 rounds on each reader.
const ROUNDS: usize = 1_000;
const READERS: usize = 2;

#[test]
fn c32_plain_reads_never_hear_of_the_deadlines_of_others() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = Store::builder(scratch.join("a.db")).readers(READERS).open().wait().unwrap();
        let callers: Vec<_> = (0..READERS)
            .map(|_| {
                let store = store.clone();
                thread::spawn(move || {
                    // Tuned to the run time of the query: shorter after each success, longer after each failure.
                    let (mut deadline, mut expired) = (Duration::from_millis(1), 0);
                    for round in 0..ROUNDS {
                        let with = store.query(WORK, ()).deadline(deadline).wait();
                        match with {
                            Ok(rows) => {
                                assert_eq!(rows[0].get::<i64>(0).unwrap(), 3000);
                                deadline = deadline.mul_f64(0.9);
                            }
                            Err(ReadError::Expired) => {
                                expired += 1;
                                deadline = deadline.mul_f64(1.1) + Duration::from_micros(1);
                            }
                            Err(error) => panic!("round {round}, with a deadline: {error}"),
                        }
                        let plain = store.query(WORK, ()).wait();
                        let rows = plain.unwrap_or_else(|error| panic!("round {round}, without: {error}"));
                        assert_eq!(rows[0].get::<i64>(0).unwrap(), 3000);
                    }
                    expired
                })
            })
            .collect();
        for caller in callers {
            let expired = caller.join().unwrap();
            // The tuning sees to it that both happen, on any machine.
            assert!(expired > 0 && expired < ROUNDS, "{expired} of {ROUNDS} expired");
        }
    });
}

#[test]
fn c32_orders_that_end_old_reads_do_not_hit_later_ones() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        // At its hard limit all the time, with no least age: whatever reads is ordered to end.
        let builder = Store::builder(scratch.join("a.db")).readers(1).read_age(Duration::ZERO, FOREVER);
        let store = builder.wal_limits(64 * KIB, 64 * KIB).open().wait().unwrap();
        store.execute("CREATE TABLE t (data BLOB)", ()).wait().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let writer = thread::spawn({
            let (store, over) = (store.clone(), over.clone());
            move || {
                while !over.load(Ordering::SeqCst) {
                    store.execute("INSERT INTO t VALUES (?1)", (vec![0_u8; 80 * 1024],)).wait().unwrap();
                }
            }
        });
        let mut ended = 0;
        for _ in 0..200 {
            // Reads without end are ended by an order each.
            match store.query(ENDLESS, ()).wait() {
                Err(ReadError::WalPressure) => ended += 1,
                other => panic!("{other:?}"),
            }
        }
        over.store(true, Ordering::SeqCst);
        writer.join().unwrap();
        assert_eq!(ended, 200);
        // The last write is answered before the log is looked at.
        eventually("the writer has done its upkeep", || store.stats().wal_bytes == 0);
        // Nobody orders any more: what was ordered before names calls that are over.
        for _ in 0..200 {
            assert_eq!(number(&store, WORK), 3000);
        }
    });
}

#[test]
fn c32_the_run_limit_of_one_write_is_not_that_of_the_next() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let limit = Duration::from_millis(700);
        let store = Store::builder(scratch.join("a.db")).run_limit(limit).open().wait().unwrap();
        store.execute("CREATE TABLE t (n INTEGER)", ()).wait().unwrap();
        for _ in 0..2 {
            let gate = Gate::new();
            let first = store.write({
                let gate = gate.clone();
                move |_| {
                    gate.wait();
                    Ok(())
                }
            });
            let first = first.try_submit().unwrap();
            let endless = format!("INSERT INTO t {ENDLESS}").replace("count(*)", "i");
            let plain = || store.execute("INSERT INTO t VALUES (1)", ()).try_submit().unwrap();
            let before = plain();
            let culprit = store.execute(endless, ()).try_submit().unwrap();
            let after: Vec<_> = (0..50).map(|_| plain()).collect();
            gate.open();
            first.wait().unwrap();
            before.wait().unwrap();
            assert!(matches!(culprit.wait(), Err(WriteError::RunLimit { .. })));
            for write in after {
                write.wait().unwrap();
            }
        }
        assert_eq!(number(&store, "SELECT count(*) FROM t"), 2 * 51);
    });
}

#[test]
fn c32_a_close_that_ends_reads_says_so_to_those_reads() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let builder = Store::builder(scratch.join("a.db")).readers(1).wal_limits(MIB, 64 * MIB);
        let store = builder.open().wait().unwrap();
        let begun = Gate::new();
        begun.open();
        let running = thread::spawn({
            let (store, begun) = (store.clone(), begun.clone());
            move || {
                let read = store.read(move |db| {
                    begun.wait();
                    db.query_row(ENDLESS, (), |_| Ok(()))
                });
                read.wait()
            }
        });
        begun.wait_until_entered();
        match store.close_within(Duration::from_millis(50)).wait() {
            // The grace was over first: the read is ended all the same.
            Ok(()) | Err(CloseError::StillRunning { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        assert!(matches!(running.join().unwrap(), Err(ReadError::Closed)));
        store.close().wait().unwrap();
    });
}
