//! C34. A few slow reports blocked every lookup: reads were dealt out in turn, also to connections that were
//! busy, and more connections did not help (markmhendrickson/neotoma#2217).
//!
//! Must hold: a read goes to an idle reader if there is one; with all busy it waits, and fails at its
//! deadline; the deadline really stops SQL that runs; afterwards all is well.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use walwright::rusqlite::functions::FunctionFlags;
use walwright::{ReadError, ResultRows, Store};
use walwright_test_support::{Scratch, watchdog};

use crate::support_read::{ENDLESS, LIMIT, eventually, number};

const READERS: usize = 4;

/// A report that runs until the test ends it.
const REPORT: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE goes_on())
                      SELECT count(*) FROM n";

struct Bench {
    store: Store,
    goes_on: Arc<AtomicBool>,
    /// On how many connections a report has begun.
    begun: Arc<AtomicUsize>,
    _scratch: Scratch,
}

impl Bench {
    fn new() -> Self {
        let (scratch, goes_on) = (Scratch::new(), Arc::new(AtomicBool::new(true)));
        let begun = Arc::new(AtomicUsize::new(0));
        let (answer, count) = (goes_on.clone(), begun.clone());
        let builder =
            Store::builder(scratch.join("a.db")).readers(READERS).on_connection(move |connection| {
                let (answer, count, called) = (answer.clone(), count.clone(), AtomicBool::new(false));
                connection.create_scalar_function("goes_on", 0, FunctionFlags::SQLITE_UTF8, move |_| {
                    if !called.swap(true, Ordering::SeqCst) {
                        count.fetch_add(1, Ordering::SeqCst);
                    }
                    Ok(answer.load(Ordering::SeqCst))
                })
            });
        let store = builder.open().wait().unwrap();
        store.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)", ()).wait().unwrap();
        store.execute("INSERT INTO t VALUES (7)", ()).wait().unwrap();
        Self { store, goes_on, begun, _scratch: scratch }
    }

    /// Starts reports, and waits until each of them runs on a reader.
    fn start_reports(&self, count: usize) -> Vec<JoinHandle<Result<ResultRows, ReadError>>> {
        let reports = (0..count).map(|_| self.spawn(REPORT, None)).collect();
        // None of them ends, so each runs on a connection of its own.
        eventually("the reports run", || self.begun.load(Ordering::SeqCst) == count);
        reports
    }

    fn spawn(
        &self,
        sql: &'static str,
        deadline: Option<Duration>,
    ) -> JoinHandle<Result<ResultRows, ReadError>> {
        let read = self.store.query(sql, ());
        let read = match deadline {
            Some(deadline) => read.deadline(deadline),
            None => read,
        };
        thread::spawn(move || read.wait())
    }
}

#[test]
fn c34_one_idle_reader_is_enough_for_point_reads() {
    watchdog(LIMIT, || {
        let bench = Bench::new();
        let reports = bench.start_reports(READERS - 1);
        // Dealt out in turn, three of four of these would stand behind a report for ever.
        for _ in 0..1000 {
            assert_eq!(number(&bench.store, "SELECT id FROM t WHERE id = 7"), 7);
        }
        assert!(reports.iter().all(|report| !report.is_finished()));
        bench.goes_on.store(false, Ordering::SeqCst);
        for report in reports {
            report.join().unwrap().unwrap();
        }
    });
}

#[test]
fn c34_with_all_readers_busy_a_read_fails_at_its_deadline() {
    watchdog(LIMIT, || {
        let bench = Bench::new();
        let reports = bench.start_reports(READERS);
        let (sent, deadline) = (Instant::now(), Duration::from_millis(30));
        let points: Vec<_> = (0..20).map(|_| bench.spawn("SELECT id FROM t", Some(deadline))).collect();
        for point in points {
            let answer = point.join().unwrap();
            assert!(matches!(answer, Err(ReadError::Expired)), "{answer:?}");
        }
        assert!(sent.elapsed() >= deadline, "not before its time");
        assert_eq!(bench.store.stats().queued_reads, 0, "they gave their places back");
        assert!(reports.iter().all(|report| !report.is_finished()), "answered while all readers are busy");
        // One without a deadline waits, and is answered when a reader is free.
        let patient = bench.spawn("SELECT id FROM t", None);
        bench.goes_on.store(false, Ordering::SeqCst);
        assert_eq!(patient.join().unwrap().unwrap().len(), 1);
        for report in reports {
            report.join().unwrap().unwrap();
        }
    });
}

#[test]
fn c34_a_deadline_ends_sql_that_runs_on_every_reader() {
    watchdog(LIMIT, || {
        let bench = Bench::new();
        // Nothing but the deadline can end these.
        let (sent, deadline) = (Instant::now(), Duration::from_millis(100));
        let endless: Vec<_> = (0..READERS).map(|_| bench.spawn(ENDLESS, Some(deadline))).collect();
        for read in endless {
            let answer = read.join().unwrap();
            assert!(matches!(answer, Err(ReadError::Expired)), "{answer:?}");
        }
        assert!(sent.elapsed() >= deadline);
        for _ in 0..100 {
            assert_eq!(number(&bench.store, "SELECT id FROM t WHERE id = 7"), 7);
        }
        assert_eq!(bench.store.stats().oldest_read, None);
    });
}

#[test]
fn c34_the_queue_of_reads_is_bounded_and_waiting_is_fair() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let builder = Store::builder(scratch.join("a.db")).readers(1).read_queue(2, 1 << 20);
        let store = builder.open().wait().unwrap();
        let gate = walwright_test_support::Gate::new();
        let holder = thread::spawn({
            let (store, gate) = (store.clone(), gate.clone());
            move || {
                let read = store.read(move |_| {
                    gate.wait();
                    Ok(())
                });
                read.wait()
            }
        });
        gate.wait_until_entered();
        let spawn = |deadline: Option<Duration>| {
            let read = store.query("SELECT 1", ());
            let read = if let Some(deadline) = deadline { read.deadline(deadline) } else { read };
            thread::spawn(move || read.wait())
        };
        let waiting: Vec<_> = (0..2).map(|_| spawn(None)).collect();
        eventually("two are admitted", || store.stats().queued_reads == 2);
        // A third one has no room: it stays outside, and its deadline counts there as well.
        let outside = spawn(Some(Duration::from_millis(30))).join().unwrap();
        assert!(matches!(outside, Err(ReadError::Expired)), "{outside:?}");
        assert_eq!(store.stats().queued_reads, 2);
        gate.open();
        holder.join().unwrap().unwrap();
        for read in waiting {
            read.join().unwrap().unwrap();
        }
    });
}
