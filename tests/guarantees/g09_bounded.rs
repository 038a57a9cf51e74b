//! 9. Bounded.

use std::future::{Future, IntoFuture};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use walwright::rusqlite::functions::FunctionFlags;
use walwright::rusqlite::{Connection, ffi};
use walwright::{AckLevel, ClosureError, Db, Outcome, ReadError, Store, Tx, WriteError};
use walwright_test_support::{Gate, PATIENCE, watchdog};

use crate::bed::{Bed, hold_writer, ids, insert, one, run, synced};

const ENDLESS: &str =
    "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n WHERE i < 0";

fn pending<F: Future>(future: std::pin::Pin<&mut F>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

#[test]
fn the_queue_of_writes_is_bounded_in_commands_and_fair() {
    run(|| {
        let bed = Bed::new();
        let store = synced(bed.builder().write_queue(3, 1 << 20));
        let gate = hold_writer(&store);
        let inside: Vec<_> = (0..3).map(|id| insert(&store, id).try_submit().unwrap()).collect();
        let refused = insert(&store, 90).try_submit().map(drop).unwrap_err();
        assert!(matches!(refused, WriteError::Overloaded), "{refused:?}");
        assert_eq!(refused.outcome(), Outcome::NotStarted);
        let mut waiting: Vec<_> = (3..8).map(|id| Box::pin(insert(&store, id).submit())).collect();
        for one in &mut waiting {
            assert!(pending(one.as_mut()));
        }
        let stats = store.stats();
        assert_eq!((stats.queued_commands, stats.waiting_writers), (3, 5));
        gate.open();
        for one in inside {
            one.wait().unwrap();
        }
        let mut sequences = Vec::new();
        for mut one in waiting {
            let admitted = loop {
                match one.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(admitted) => break admitted.unwrap(),
                    Poll::Pending => thread::yield_now(),
                }
            };
            sequences.push(admitted.wait().unwrap().sequence);
        }
        assert!(sequences.is_sorted(), "first come, first served: {sequences:?}");
        assert_eq!(ids(&store).len(), 8);
    });
}

#[test]
fn the_queue_of_writes_is_bounded_in_bytes() {
    run(|| {
        let bed = Bed::new();
        let limit = 64 << 10;
        let store = synced(bed.builder().write_queue(usize::MAX, limit));
        let gate = hold_writer(&store);
        let sql = "INSERT INTO t (v) VALUES (?1)";
        let mut admitted = Vec::new();
        let refused = loop {
            match store.execute(sql, (vec![7_u8; 2_000],)).try_submit() {
                Ok(one) => admitted.push(one),
                Err(error) => break error,
            }
            assert!(store.stats().queued_bytes <= limit);
        };
        assert!(matches!(refused, WriteError::Overloaded));
        // Each holds its blob and what is counted for itself.
        assert!((20..=32).contains(&admitted.len()), "{}", admitted.len());
        // What can never fit is refused for good, wherever its bytes are.
        let large = store.execute(sql, (vec![7_u8; limit],)).wait().unwrap_err();
        assert!(matches!(large, WriteError::TooLarge { .. }), "{large:?}");
        let declared = store.write(|_| Ok(())).bytes(limit + 1).wait().unwrap_err();
        assert!(matches!(declared, WriteError::TooLarge { .. }), "{declared:?}");
        let text = format!("INSERT INTO t (v) VALUES (1) -- {}", "x".repeat(limit));
        let text = store.execute(text, ()).wait().unwrap_err();
        assert!(matches!(text, WriteError::TooLarge { .. }), "{text:?}");
        let batch = store.batch().execute(sql, (vec![7_u8; limit / 2],));
        let batch = batch.execute(sql, (vec![7_u8; limit / 2],)).send().wait().unwrap_err();
        assert!(matches!(batch, WriteError::TooLarge { .. }), "{batch:?}");
        gate.open();
        for one in admitted {
            one.wait().unwrap();
        }
        assert_eq!(store.stats().queued_bytes, 0, "all bytes are given back");
    });
}

#[test]
fn the_queue_of_reads_is_bounded() {
    run(|| {
        let bed = Bed::new();
        let store = synced(bed.builder().readers(1).read_queue(2, 1 << 20));
        let gate = Gate::new();
        let inside = gate.clone();
        let mut held = Box::pin(
            store
                .read(move |_| {
                    inside.wait();
                    Ok(())
                })
                .into_future(),
        );
        assert!(pending(held.as_mut()));
        gate.wait_until_entered();
        let read = || Box::pin(store.query("SELECT 1", ()).into_future());
        let mut reads = [read(), read(), read()];
        for one in &mut reads {
            assert!(pending(one.as_mut()));
        }
        assert_eq!(store.stats().queued_reads, 2, "the third waits for room");
        let late = store.query("SELECT 1", ()).deadline(Duration::from_millis(5)).wait().unwrap_err();
        assert!(matches!(late, ReadError::Expired), "{late:?}");
        gate.open();
        for one in reads {
            let (send, receive) = std::sync::mpsc::channel();
            thread::scope(|scope| {
                scope.spawn(|| send.send(block_on(one).unwrap().len()).unwrap());
            });
            assert_eq!(receive.recv().unwrap(), 1);
        }
    });
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn values_are_bounded() {
    run(|| {
        let bed = Bed::new();
        let store = synced(bed.builder().largest_value(100));
        let sql = "INSERT INTO t (v) VALUES (?1)";
        store.execute(sql, ("x".repeat(100),)).wait().unwrap();
        for large in [
            store.execute(sql, ("x".repeat(101),)).wait().unwrap_err(),
            store.execute(sql, (vec![1_u8; 101],)).wait().unwrap_err(),
            store.batch().execute(sql, ("x".repeat(101),)).send().wait().unwrap_err(),
        ] {
            assert!(matches!(large, WriteError::TooLarge { size: 101, limit: 100 }), "{large:?}");
            assert_eq!(large.outcome(), Outcome::NotStarted);
        }
        assert_eq!(ids(&store).len(), 1);
    });
}

#[test]
fn results_are_bounded() {
    run(|| {
        let bed = Bed::new();
        let store = synced(bed.builder().largest_result(10_000));
        for id in 0..100 {
            store
                .execute("INSERT INTO t VALUES (?1, zeroblob(1000))", (id,))
                .ack(AckLevel::Committed)
                .wait()
                .unwrap();
        }
        assert_eq!(store.query("SELECT * FROM t WHERE id < 5", ()).wait().unwrap().len(), 5);
        let error = store.query("SELECT * FROM t", ()).wait().unwrap_err();
        assert!(matches!(error, ReadError::ResultTooLarge { limit: 10_000 }), "{error:?}");
        let endless = "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
        let error = store.query(endless, ()).wait().unwrap_err();
        assert!(matches!(error, ReadError::ResultTooLarge { .. }), "{error:?}");
        let error = store.execute_returning("UPDATE t SET v = 1 RETURNING zeroblob(1000)", ()).wait();
        let error = error.unwrap_err();
        assert!(matches!(error, WriteError::ResultTooLarge { .. }), "{error:?}");
        assert_eq!(one::<i64>(&store, "SELECT count(*) FROM t WHERE v = 1"), 0, "and was undone");
    });
}

/// Short statements without end: a progress handler never sees them.
fn short_reads(db: &Db<'_>) -> Result<(), ClosureError> {
    loop {
        db.query_row("SELECT 1", (), |_| Ok(()))?;
    }
}

fn short_writes(tx: &Tx<'_>) -> Result<(), ClosureError> {
    loop {
        tx.execute("INSERT INTO t (v) VALUES (1)", ())?;
    }
}

#[test]
fn the_age_of_a_read_is_bounded() {
    run(|| {
        let bed = Bed::new();
        let store = synced(bed.builder().read_age(Duration::ZERO, Duration::from_millis(30)));
        for error in [
            store.query(ENDLESS, ()).wait().map(drop).unwrap_err(),
            store.read(|db| db.query(ENDLESS, (), |_| Ok(()))).wait().map(drop).unwrap_err(),
            store.read(short_reads).wait().unwrap_err(),
            store
                .read(|db| {
                    while short_reads(db).is_ok() {}
                    Ok(())
                })
                .wait()
                .unwrap_err(),
        ] {
            assert!(matches!(error, ReadError::TooOld { .. }), "{error:?}");
        }
        assert_eq!(ids(&store), [] as [i64; 0], "and the readers go on");
    });
}

#[test]
fn the_deadline_of_a_read_ends_it() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let deadline = Duration::from_millis(30);
        for error in [
            store.query(ENDLESS, ()).deadline(deadline).wait().map(drop).unwrap_err(),
            store.read(short_reads).deadline(deadline).wait().unwrap_err(),
        ] {
            assert!(matches!(error, ReadError::Expired), "{error:?}");
        }
    });
}

#[test]
fn the_run_time_of_a_write_is_bounded() {
    run(|| {
        let bed = Bed::new();
        let store = synced(bed.builder().run_limit(Duration::from_millis(30)));
        let endless = "INSERT INTO t (v) WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0";
        for error in [
            store.execute(endless, ()).wait().map(drop).unwrap_err(),
            store.batch().execute(endless, ()).send().wait().map(drop).unwrap_err(),
            store.write(move |tx| tx.execute(endless, ())).wait().map(drop).unwrap_err(),
            store.write(short_writes).wait().map(drop).unwrap_err(),
            store
                .write(|tx| {
                    while short_writes(tx).is_ok() {}
                    Ok(())
                })
                .wait()
                .map(drop)
                .unwrap_err(),
        ] {
            assert!(matches!(error, WriteError::RunLimit { .. }), "{error:?}");
            assert_eq!(error.outcome(), Outcome::NotApplied);
        }
        insert(&store, 1).wait().unwrap();
        assert_eq!(ids(&store), [1]);
    });
}

/// How many groups it takes to carry out ten inserts that wait together.
fn groups_for_ten(commands: usize, bytes: usize, time: Duration) -> u64 {
    let bed = Bed::new();
    let store = synced(bed.builder().group(commands, bytes, time));
    let gate = hold_writer(&store);
    let before = store.stats().groups;
    let pending: Vec<_> = (0..10).map(|id| insert(&store, id).try_submit().unwrap()).collect();
    gate.open();
    for one in pending {
        one.wait().unwrap();
    }
    // A group is counted when its answers are given: the flush's group comes after all of them.
    store.flush().wait().unwrap();
    store.close().wait().unwrap();
    store.stats().groups - before - 2
}

#[test]
fn groups_are_bounded_in_commands_bytes_and_time() {
    run(|| {
        let long = Duration::from_secs(60);
        assert_eq!(groups_for_ten(256, 1 << 20, long), 1);
        assert_eq!(groups_for_ten(4, 1 << 20, long), 3);
        assert_eq!(groups_for_ten(256, 0, long), 10, "a command larger than the limit has its own");
        assert_eq!(groups_for_ten(256, 1 << 20, Duration::ZERO), 10);
    });
}

fn wal_length(bed: &Bed) -> u64 {
    std::fs::metadata(bed.scratch.join("store.db-wal")).unwrap().len()
}

const SOFT: u64 = 64 << 10;
const HARD: u64 = 256 << 10;

#[test]
fn the_log_stays_short_without_readers_in_its_way() {
    run(|| {
        let bed = Bed::new();
        let store = synced(bed.builder().wal_limits(SOFT, HARD));
        for id in 0..200 {
            let write = store.execute("INSERT INTO t VALUES (?1, randomblob(8000))", (id,));
            write.ack(AckLevel::Committed).wait().unwrap();
            assert!(wal_length(&bed) <= SOFT + (64 << 10), "{} bytes", wal_length(&bed));
        }
        assert!(store.stats().checkpoints > 10);
    });
}

#[test]
fn reads_that_keep_the_log_long_are_ended_and_writes_go_on() {
    run(|| {
        let bed = Bed::new();
        let store = bed.builder().wal_limits(SOFT, HARD).read_age(Duration::ZERO, Duration::from_secs(600));
        let store = synced(store);
        insert(&store, -1).wait().unwrap();
        let (entered, reader) = (Gate::new(), store.clone());
        let inside = entered.clone();
        let read = thread::spawn(move || {
            let read = reader.read(move |db| {
                db.query_row("SELECT count(*) FROM t", (), |_| Ok(()))?;
                inside.open();
                inside.wait();
                db.query(ENDLESS, (), |_| Ok(()))
            });
            read.wait()
        });
        entered.wait_until_entered();
        for id in 0..200 {
            let write = store.execute("INSERT INTO t VALUES (?1, randomblob(8000))", (id,));
            write.ack(AckLevel::Committed).wait().unwrap();
            assert!(wal_length(&bed) <= HARD + (64 << 10), "{} bytes", wal_length(&bed));
        }
        let error = read.join().unwrap().unwrap_err();
        assert!(matches!(error, ReadError::WalPressure), "{error:?}");
    });
}

#[test]
fn past_the_hard_limit_writes_wait_and_the_disk_is_safe() {
    run(|| {
        let bed = Bed::new();
        let store = bed.builder().wal_limits(SOFT, HARD).group(1, 1 << 20, Duration::ZERO);
        let store = synced(store);
        let gate = Gate::new();
        let (inside, reader) = (gate.clone(), store.clone());
        let read = thread::spawn(move || {
            let read = reader.read(move |db| {
                db.query_row("SELECT count(*) FROM t", (), |_| Ok(()))?;
                // Holds its snapshot and runs no SQL: nothing can end it.
                inside.wait();
                Ok(())
            });
            read.wait()
        });
        gate.wait_until_entered();
        let sql = "INSERT INTO t VALUES (?1, randomblob(8000))";
        let pending: Vec<_> = (0..100_i64)
            .map(|id| store.execute(sql, (id,)).ack(AckLevel::Committed).try_submit().unwrap())
            .collect();
        while store.stats().stalls < 3 {
            thread::yield_now();
        }
        let stats = store.stats();
        assert!(stats.queued_commands > 0, "writes are held back");
        assert!(stats.oldest_snapshot.is_some(), "and the gauge shows why");
        assert!(wal_length(&bed) <= HARD + (64 << 10), "{} bytes", wal_length(&bed));
        gate.open();
        read.join().unwrap().unwrap();
        for one in pending {
            one.wait().unwrap();
        }
        assert_eq!(ids(&store).len(), 100);
        assert!(wal_length(&bed) <= HARD + (64 << 10), "{} bytes", wal_length(&bed));
    });
}

/// Gives SQL a function that counts the statements on its own connection.
/// Says when it is gone, and stands for a result of any size.
struct Kept(mpsc::Sender<()>);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// Slots for answers are made in blocks: what lies in one must not wait for the others, least of all in a store that
/// has nothing more to do.
#[test]
fn an_answer_that_nobody_takes_does_not_stay_in_memory() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let (dropped, is_gone) = mpsc::channel();
        let write = || {
            let dropped = dropped.clone();
            store.write(move |_| Ok(Kept(dropped.clone()))).try_submit().unwrap()
        };
        let gate = hold_writer(&store);
        drop(write());
        gate.open();
        is_gone.recv_timeout(PATIENCE).expect("nobody waited when the answer came");
        let answered = write();
        store.flush().wait().unwrap();
        assert!(is_gone.try_recv().is_err(), "it can still be taken");
        drop(answered);
        is_gone.try_recv().expect("the answer was there, and nobody takes it any more");
    });
}

fn count_statements(connection: &Connection) -> walwright::rusqlite::Result<()> {
    connection.create_scalar_function("statements", 0, FunctionFlags::default(), |context| {
        // SAFETY: the connection is used within this call only, and on its own thread.
        let (connection, mut count) = (unsafe { context.get_connection()? }, 0_i64);
        let mut statement = std::ptr::null_mut();
        loop {
            // SAFETY: the handle is open, and the statement is null or on its list.
            statement = unsafe { ffi::sqlite3_next_stmt(connection.handle(), statement) };
            if statement.is_null() {
                return Ok(count);
            }
            count += 1;
        }
    })
}

#[test]
fn the_caches_of_statements_are_bounded() {
    run(|| {
        let bed = Bed::new();
        let store = synced(bed.builder().readers(1).on_connection(count_statements));
        let mut most = (0, 0);
        for number in 0..400 {
            let text = format!("INSERT INTO t VALUES ({number}, statements())");
            store.execute(text, ()).ack(AckLevel::Committed).wait().unwrap();
            let text = format!("SELECT statements(), {number}");
            let rows = store.query(text, ()).wait().unwrap();
            most.0 = most.0.max(rows[0].get::<i64>(0).unwrap());
        }
        most.1 = one::<i64>(&store, "SELECT max(v) FROM t");
        assert!(most.0 > 30 && most.1 > 30, "or this test shows nothing: {most:?}");
        assert!(most.0 < 100 && most.1 < 100, "{most:?}");
    });
}

/// Counts the bytes that are allocated, and the most that ever were.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl std::alloc::GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: std::alloc::Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { std::alloc::System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: std::alloc::Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { std::alloc::System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Tells the child process of the test below that it is one.
const CHILD: &str = "WALWRIGHT_TEST_MILLION";

/// In a process of its own, where nobody else allocates.
#[test]
fn a_million_inserts_take_no_more_memory_than_the_queue_may_hold() {
    if std::env::var_os(CHILD).is_some() {
        press_in_a_million();
        println!("pressed in");
        return;
    }
    watchdog(Duration::from_secs(120), || {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("g09_bounded::a_million_inserts_take_no_more_memory_than_the_queue_may_hold")
            .env(CHILD, "1")
            .output()
            .unwrap();
        let (said, wrong) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
        assert!(child.status.success() && said.contains("pressed in"), "{said}\n{wrong}");
        println!("{said}");
    });
}

fn press_in_a_million() {
    const QUEUE: usize = 4 << 20;
    const GROUP: usize = 1 << 20;
    const INSERTS: usize = 1_000_000;
    /// Inserts in a command, for the speed of the test.
    const AT_ONCE: usize = 50;
    let bed = Bed::new();
    let store = Store::builder(bed.path())
        .migrations(&[walwright::Migration::sql(crate::bed::SCHEMA)])
        .ack(AckLevel::Committed)
        .write_queue(usize::MAX, QUEUE)
        .group(usize::MAX, GROUP, Duration::from_secs(1))
        .readers(1)
        .open()
        .wait()
        .unwrap();
    let begun = Instant::now();
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let senders: Vec<_> = (0..2)
        .map(|_| {
            let store = store.clone();
            thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(async {
                    for _ in 0..INSERTS / 2 / AT_ONCE {
                        let batch = (0..AT_ONCE).fold(store.batch(), |batch, _| {
                            batch.execute("INSERT INTO t (v) VALUES (?1)", ("x".repeat(200),))
                        });
                        // Nobody waits for the answer: only the queue holds the sender back.
                        drop(batch.send().submit().await.unwrap());
                    }
                });
            })
        })
        .collect();
    let mut most_queued = 0;
    while senders.iter().any(|sender| !sender.is_finished()) {
        most_queued = most_queued.max(store.stats().queued_bytes);
        thread::sleep(Duration::from_millis(1));
    }
    for sender in senders {
        sender.join().unwrap();
    }
    let peak = PEAK.load(Ordering::Relaxed) - before;
    store.flush().wait().unwrap();
    println!("peak {peak} of {QUEUE}, queued {most_queued}, {:?}", begun.elapsed());
    assert_eq!(one::<i64>(&store, "SELECT count(*) FROM t"), INSERTS as i64);
    assert!(most_queued <= QUEUE);
    assert!(most_queued > QUEUE / 2, "or the queue was never full");
    // The queue, the group in progress, and what two senders have in hand.
    assert!(peak <= QUEUE + GROUP + (64 << 10), "{peak} bytes for a queue of {QUEUE}");
}
